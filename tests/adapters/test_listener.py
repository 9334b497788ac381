"""Listeners: where they listen, what they say when they cannot, and the pages on health."""

import asyncio

import aiohttp
import pytest
import structlog
from aiohttp import web

from controller.telemetry.server import BindError, Listener, health_route
from tests.adapters.unread import is_cut_off_unread

FINE, BROKEN = {"ping": None, "caches": None}, {"ping": None, "caches": "not listed yet: pods"}

MORE_THAN_KERNELS_HOLD = 64 * 1024 * 1024


async def page(_: web.Request) -> web.StreamResponse:
    return web.Response(text="here")


def listener_of(address: str, flag: str = "") -> Listener:
    return Listener(address, {"/readyz": page, "/metrics": page}, flag=flag)


@pytest.mark.parametrize("address", ["", "0"])
async def test_without_an_address_nobody_listens(address: str) -> None:
    listener = listener_of(address)
    with structlog.testing.capture_logs() as lines:
        await listener.start()
    assert (listener.address, listener.port, lines) == ("", 0, [])
    await listener.stop()


async def test_it_listens_at_its_address_alone_from_start_to_stop() -> None:
    listener = listener_of("127.0.0.1:0")
    assert listener.address == ""
    with structlog.testing.capture_logs() as lines:
        await listener.start()
    port = listener.port
    assert listener.address == f"127.0.0.1:{port}"
    assert [(line["event"], line["address"], line["paths"]) for line in lines] == [
        ("listening", f"127.0.0.1:{port}", ["/metrics", "/readyz"])
    ]
    async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{port}/readyz") as answer:
        assert await answer.text() == "here"
    with pytest.raises(OSError, match=r"127\.0\.0\.2"):
        await asyncio.open_connection("127.0.0.2", port)
    await listener.stop()
    assert listener.address == ""
    with pytest.raises(OSError, match=r"127\.0\.0\.1"):
        await asyncio.open_connection("127.0.0.1", port)


@pytest.mark.parametrize(
    ("flag", "named"), [("--metrics-bind-address", "--metrics-bind-address"), ("", "/readyz /metrics")]
)
async def test_an_address_that_is_taken_is_told_with_who_wants_it(flag: str, named: str) -> None:
    first = listener_of("127.0.0.1:0")
    await first.start()
    second = listener_of(first.address, flag)
    try:
        with pytest.raises(BindError) as refused:
            await second.start()
        assert str(refused.value) == f"cannot listen on {first.address} ({named}): address already in use"
        assert second.address == ""
    finally:
        await first.stop()


@pytest.mark.parametrize("asked", [b"", b"GET /rea", b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n"])
async def test_a_connection_on_which_nothing_is_asked_is_closed(asked: bytes) -> None:
    listener = Listener("127.0.0.1:0", {"/readyz": page}, idle_max_s=0.1)
    await listener.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(asked)
        answer = await asyncio.wait_for(reader.read(), 10)
        assert answer.endswith(b"here" if asked.endswith(b"\r\n") else b"")
        writer.close()
    finally:
        await listener.stop()


async def test_a_visitor_who_does_not_take_the_end_of_an_answer_is_cut_off() -> None:
    async def large(_: web.Request) -> web.StreamResponse:
        return web.Response(body=bytes(MORE_THAN_KERNELS_HOLD))

    assert await is_cut_off_unread(large, 0.1)


@pytest.mark.parametrize(
    ("problems", "query", "status", "lines"),
    [
        (FINE, "", 200, ["ok"]),
        (FINE, "?verbose", 200, ["[+]ping ok", "[+]caches ok", "for people", "readyz check passed", ""]),
        (
            BROKEN,
            "",
            500,
            ["[+]ping ok", "[-]caches failed: not listed yet: pods", "for people", "readyz check failed", ""],
        ),
        (
            BROKEN | {"ping": "late"},
            "?verbose",
            500,
            ["[-]ping failed: late", "[-]caches failed: not listed yet: pods", "for people", "readyz check failed", ""],
        ),
    ],
)
async def test_health_is_all_checks_together(
    problems: dict[str, str | None], query: str, status: int, lines: list[str]
) -> None:
    checks = {name: lambda problem=problem: problem for name, problem in problems.items()}
    listener = Listener("127.0.0.1:0", {"/readyz": health_route(checks, lambda: ["for people"])})
    await listener.start()
    try:
        async with aiohttp.ClientSession() as http, http.get(f"http://{listener.address}/readyz{query}") as answer:
            assert (answer.status, (await answer.text()).split("\n")) == (status, lines)
    finally:
        await listener.stop()
