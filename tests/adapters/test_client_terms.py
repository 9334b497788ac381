"""What the client promises beside each answer: limits, patience, measurements, and bounds of what it reads."""

import asyncio
from collections import Counter
from collections.abc import Awaitable
from pathlib import Path

import pytest

from controller.kube.client import NO_ANSWER
from controller.kube.credentials import FileToken
from controller.kube.framing import LINE_BYTES_MAX
from controller.kube.traffic import CONCURRENT_MAX, Traffic
from controller.ports import ApiError, NotFound, Rejected, Unreachable
from tests.adapters.parts import Answered, Recorder, access_to, always, connected, connected_to
from tests.adapters.raw_server import CHUNKED, WAIT_S, Received, answer, chunk, serving
from tests.spine.tasks import LoopIterations, now_s

BUSY = answer(b"busy", "Retry-After: 0", status="429 Too Many Requests")


async def _passes(*requests: Awaitable[object]) -> float:
    """How long these take together."""
    began_s = now_s()
    await asyncio.gather(*requests)
    return now_s() - began_s


async def test_what_keeps_us_alive_has_no_limit() -> None:
    async with serving(answer(b"{}")) as server, connected_to(server.url, qps=1, burst=1) as client:
        kinds = (Traffic.LIST, Traffic.DISCOVERY, Traffic.HISTORY)
        # With a limit of one a second each of them would take longer than a minute.
        asked = [client.get("/x", kind) for kind in kinds for _ in range(70)]
        asked += [client.contend("PUT", "/x", b"{}", 60.0) for _ in range(70)]
        asked += [client.review("/x", b"{}") for _ in range(70)]
        async with asyncio.timeout(60):
            await asyncio.gather(*asked)


@pytest.mark.parametrize("kind", [Traffic.STATUS, Traffic.EVENT, Traffic.SCALE, Traffic.RESOURCE_METRICS])
async def test_a_limit_is_kept(kind: Traffic) -> None:
    async with serving(answer(b"{}")) as server, connected_to(server.url, qps=10, burst=2) as client:
        assert await _passes(*(client.write("PUT", "/x", kind, b"{}") for _ in range(5))) > 0.25


async def test_reads_of_scales_wait_their_turn_and_their_writes_give_up() -> None:
    async with serving(answer(b"{}")) as server, connected_to(server.url, qps=3, burst=1) as client:
        async with asyncio.timeout(WAIT_S):
            reads = [client.get("/x", Traffic.SCALE, timeout_s=1.0) for _ in range(6)]
            assert await asyncio.gather(*reads) == [b"{}"] * 6
        writes = [client.write("PUT", "/x", Traffic.SCALE, b"{}", timeout_s=0.3, may_send=always) for _ in range(6)]
        ended = await asyncio.gather(*writes, return_exceptions=True)
        assert "not sent within 0.3 s" in str(ended[-1])


async def test_a_silence_of_other_apis_than_metrics_refuses_nobody() -> None:
    """A place that becomes free is for whoever waits."""

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target != "/hang":
            writer.write(answer(b"{}"))

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):
        hanging = [client.get("/hang", Traffic.EVENT, timeout_s=0.3) for _ in range(4)]
        ended = await asyncio.gather(*hanging, client.get("/x", Traffic.EVENT), return_exceptions=True)
        assert [str(one) for one in ended[:-1]] == ["no answer within 0.3 s"] * 4
        assert ended[-1] == b"{}"


async def test_an_answer_that_has_begun_says_that_a_metrics_api_is_not_silent_even_if_its_end_never_comes() -> None:
    """Else whoever waits for a place would be refused for a silence that there was none of."""
    kind = Traffic.RESOURCE_METRICS
    one_hangs = asyncio.Event()

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target == "/hang":
            one_hangs.set()
        elif received.target == "/begin":
            await one_hangs.wait()
            writer.write(CHUNKED)
        else:
            writer.write(answer(b"{}"))

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):
        begun = [
            asyncio.create_task(client.get_in_parts("/begin", kind, lambda _: None))
            for _ in range(CONCURRENT_MAX[kind] - 1)
        ]
        while len(server.requests) < len(begun):  # noqa: ASYNC110 - bounded by the timeout
            await asyncio.sleep(0.01)
        ended = await asyncio.gather(
            client.get("/hang", kind, timeout_s=0.5), client.get("/x", kind), return_exceptions=True
        )
        assert (str(ended[0]), ended[1]) == ("no answer within 0.5 s", b"{}")
        for task in begun:
            task.cancel()
        await asyncio.wait(begun)


async def test_a_server_that_asks_for_time_is_given_it() -> None:
    busy = answer(b"busy", "Retry-After: 1", status="429 Too Many Requests")
    times_s = list[float]()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        times_s.append(now_s())
        writer.write(answer(b"{}") if len(times_s) > 1 else busy)

    async with serving(say) as server, connected_to(server.url) as client:
        assert await client.get("/x", Traffic.LIST) == b"{}"
        assert times_s[1] - times_s[0] >= 1.0


async def test_the_time_that_a_second_attempt_waits_for_others_is_not_the_servers_either() -> None:
    """Else a server that is busy once would fail all reads of syncs that a limit holds up."""
    asked = Counter[str]()

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        asked[received.target] += 1
        writer.write(answer(b"{}") if asked[received.target] > 1 else BUSY)

    async with serving(say) as server, connected_to(server.url, qps=4, burst=1) as client, asyncio.timeout(WAIT_S):
        reads = [client.get(f"/{number}", Traffic.EXTERNAL_METRICS, timeout_s=1.5) for number in range(8)]
        assert await asyncio.gather(*reads) == [b"{}"] * 8


async def test_what_is_sent_is_what_was_meant_and_nothing_remains_of_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("secret")
    async with (
        serving(answer(b"{}")) as server,
        connected(access_to(server.url, tokens=FileToken(str(path)))) as client,
    ):
        await client.write("PATCH", "/x", Traffic.STATUS, b"[]", content_type="application/merge-patch+json")
        await client.write("POST", "/x", Traffic.EVENT, b"{}", query={"fieldManager": "a b"})
        await client.get("/x", Traffic.LIST)
        first, second, third = server.requests
        assert (first.method, first.body, first.header("content-type")) == (
            "PATCH",
            b"[]",
            "application/merge-patch+json",
        )
        assert (second.target, second.header("content-type")) == ("/x?fieldManager=a+b", "application/json")
        assert (third.body, third.header("content-type")) == (b"", None)
        for request in server.requests:
            assert request.all("authorization") == ["Bearer secret"]
            assert request.header("accept-encoding") == "identity"
            assert request.header("accept") == "application/json"


async def test_every_answer_is_measured_with_its_code_and_none_with_none() -> None:
    recorder, said = (
        Recorder(),
        [answer(b"{}", status="201 Created"), answer(b"no", status="404 Not Found"), b"x\r\n\r\n"],
    )

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(said.pop(0))
        if not said:
            writer.close()

    async with serving(say) as server, connected_to(server.url, recorder=recorder) as client:
        await client.get("/x", Traffic.SCALE)
        for _ in range(2):
            with pytest.raises(ApiError):
                await client.write("PUT", "/x", Traffic.STATUS, b"{}")
    assert recorder.answers == [
        Answered("scale", "GET", "201"),
        Answered("status", "PUT", "404"),
        Answered("status", "PUT", NO_ANSWER),
    ]


async def test_a_lease_is_not_contended_for_longer_than_is_left() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        del writer

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(5):
        with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
            await client.contend("PUT", "/lease", b"{}", 0.2)


async def test_a_long_answer_in_parts_beyond_all_reason_is_not_taken_to_its_end() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        part = chunk(b"x" * 2**20)
        for _index in range(200):
            writer.write(part)
            await writer.drain()

    async with serving(say) as server, connected_to(server.url) as client:
        with pytest.raises(Rejected, match="larger than"):
            await client.get_in_parts("/x", Traffic.RESOURCE_METRICS, lambda _: None)


@pytest.mark.parametrize("in_parts", [False, True], ids=["as a whole", "in parts"])
async def test_a_long_error_is_not_read_to_its_end(*, in_parts: bool) -> None:
    parts = 0

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal parts
        writer.write(CHUNKED.replace(b"200 OK", b"404 Not Found"))
        part = chunk(b"x" * 2**20)
        while parts < 100:
            writer.write(part)
            await writer.drain()
            parts += 1

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):
        asked: Awaitable[object] = (
            client.get_in_parts("/x", Traffic.LIST, lambda _: None) if in_parts else client.get("/x", Traffic.LIST)
        )
        with pytest.raises(NotFound):
            await asked
    assert parts < 100


async def test_a_line_of_a_watch_beyond_all_reason_ends_it() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        part = chunk(b"x" * 2**20)
        for _index in range(LINE_BYTES_MAX // 2**20 + 2):
            writer.write(part)
            await writer.drain()

    async with serving(say) as server, connected_to(server.url) as client:
        with pytest.raises(Rejected):
            await client.stream("/w", {}, 5.0, always, list[bytes]().append)


async def test_a_long_list_of_events_does_not_hold_the_loop() -> None:
    loop = LoopIterations()
    lines = b"{}\n" * 5_000
    async with serving(CHUNKED + chunk(lines) + b"0\r\n\r\n") as server, connected_to(server.url) as client:
        iterations = Counter[int]()
        await client.stream("/w", {}, 5.0, always, lambda _: iterations.update([loop.number]))
    await loop.stop()
    assert iterations.total() == 5_000
    assert max(iterations.values()) <= 100
