"""Discovery when an API group does not answer, or has several answers."""

import asyncio
import traceback

import msgspec
import pytest

from controller.kube.discovery import VALID_S, Discovery, NoMatch
from controller.kube.reach import Look, reach
from controller.ports import ApiError, Refused, ServerFailure
from tests.adapters.parts import access_to, connected_to
from tests.adapters.raw_server import Received, answer, serving


async def test_a_group_that_fails_fails_all_who_waited_at_once() -> None:
    """Were each to ask again, the last of many would wait for all of them."""
    asked = 0
    hangs = asyncio.Event()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        async with asyncio.timeout(10):
            await hangs.wait()
        writer.write(answer(b"{}", status="500 Internal Server Error"))

    async with serving(say) as server, connected_to(server.url) as client:
        discovery = Discovery(client, asyncio.get_running_loop().time)
        waiting = [asyncio.create_task(discovery.resources("broken.io", "Widget")) for _ in range(20)]
        await asyncio.sleep(0.05)
        hangs.set()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, ApiError) for one in found)
        assert asked == 1
        with pytest.raises(ApiError):
            await discovery.resources("broken.io", "Widget")
        assert asked == 2, "whoever comes later asks anew"


@pytest.mark.parametrize("fails", ["group", "version"])
async def test_a_failure_that_thousands_are_told_of_keeps_nothing_of_them(fails: str) -> None:
    said = {"/apis/broken.io": answer(b'{"versions": [{"version": "v1"}]}')} if fails == "version" else {}

    async def say(asked: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(said.get(asked.target, answer(b"{}", status="503 Service Unavailable")))

    async with serving(say) as server, connected_to(server.url) as client:
        discovery = Discovery(client, asyncio.get_running_loop().time)
        waiting = [asyncio.create_task(discovery.resources("broken.io", "Widget")) for _ in range(1000)]
        found = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, ServerFailure) for one in found)
        assert all(len(traceback.extract_tb(one.__traceback__)) < 20 for one in found if isinstance(one, ServerFailure))


async def test_groups_that_nobody_asks_for_any_more_are_forgotten_whether_they_failed_or_not() -> None:
    """HPAs may name any number of groups that do not exist, and while an API server is away all of them fail."""
    fails = True

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"{}", status="500 Internal Server Error" if fails else "404 Not Found"))

    now_s = 100.0
    async with serving(say) as server, connected_to(server.url) as client:
        discovery = Discovery(client, lambda: now_s)
        for number in range(20):
            with pytest.raises(ServerFailure):
                await discovery.resources(f"g{number}.io", "Widget")
        fails = False
        now_s += VALID_S
        for number in range(10):
            with pytest.raises(NoMatch):
                await discovery.resources(f"h{number}.io", "Widget")
        now_s += 2 * VALID_S
        with pytest.raises(NoMatch):
            await discovery.resources("last.io", "Widget")
        assert list(discovery._groups) == ["last.io"]


async def test_a_version_that_is_not_told_is_no_reason_not_to_start() -> None:
    """Hardened clusters keep it to themselves."""
    for status, starts in (("403 Forbidden", True), ("401 Unauthorized", False)):
        async with serving(answer(b"{}", status=status)) as server, connected_to(server.url) as client:
            if starts:
                assert (await reach(client, access_to(server.url)))["server_version"] == "unknown"
                look = Look(client)
                assert [await look.version() for _ in range(3)] == ["unknown"] * 3
                assert len(server.requests) == 2, "who does not tell is not asked again"
            else:
                with pytest.raises(Exception, match="does not accept our credentials") as raised:
                    await reach(client, access_to(server.url))
                assert isinstance(raised.value.__cause__, Refused)


async def test_a_resource_that_several_versions_serve_is_found_once_in_the_preferred_one() -> None:
    """Else a scale that is not found would be asked for in each of them."""
    versions = [{"version": "v1beta1"}, {"version": "v1"}]
    group = msgspec.json.encode({"versions": versions, "preferredVersion": {"version": "v1"}})
    listed = msgspec.json.encode(
        {"resources": [{"name": "widgets", "kind": "Widget"}, {"name": "widgets/scale", "kind": "Scale"}]}
    )

    async def say(asked: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(group if asked.target == "/apis/shop.io" else listed))

    async with serving(say) as server, connected_to(server.url) as client:
        found = await Discovery(client, asyncio.get_running_loop().time).resources("shop.io", "Widget")
        assert [(resource.version, resource.plural) for resource in found] == [("v1", "widgets")]
        assert {request.target for request in server.requests[1:]} == {"/apis/shop.io/v1", "/apis/shop.io/v1beta1"}
