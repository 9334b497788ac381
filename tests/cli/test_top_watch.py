"""`top --watch` asks again and again, keeps a terminal's screen up to date, and ends when it is told to."""

import asyncio
import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from controller.cli.top import _CLEARED
from controller.explain.rows import Rows
from controller.telemetry.server import Listener
from tests.cli.explain_cluster import WAIT_S
from tests.cli.going_on import going_on
from tests.cli.top_server import API, WEB, listening, synced, topped


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    async with listening(topped(), [WEB, API]) as listener:
        yield listener


async def test_a_later_sync_is_shown_by_a_later_table() -> None:
    top = topped()
    async with listening(top, [WEB, API]) as listener, going_on(listener.port, "top", "-A", "--watch") as command:
        assert "3 → 5" in await command.line(lambda line: line.startswith("shop/web"))
        top(synced(WEB, 5, 590))
        assert await command.line(lambda line: line.startswith("NAMESPACE/NAME")), "a table of its own"
        row = await command.line(lambda line: line.startswith("shop/web") and "3 → 5" not in line)
        assert row.split()[:3] == ["shop/web", "5", "59%/60%"]


async def test_json_comes_as_a_line_for_each_look(listener: Listener) -> None:
    async with going_on(listener.port, "top", "-n", "shop", "--watch", "--output", "json") as command:
        for _ in range(2):
            answer = msgspec.json.decode(await command.line(lambda _: True), type=Rows)
            assert sorted(row.name for row in answer.rows) == ["api", "web"]


async def test_a_controller_that_is_replaced_is_watched_again() -> None:
    top = topped()
    async with listening(top, [WEB]) as listener:
        port = listener.port
        async with going_on(port, "top", "-A", "--watch") as command:
            assert await command.line(lambda line: line.startswith("shop/web"))
            await listener.stop()
            assert f"no controller answers at 127.0.0.1:{port}: connection refused" in await command.complaint()
            async with listening(top, [API], port=port):
                assert await command.line(lambda line: line.startswith("shop/api"))


async def test_nobody_to_begin_with_ends_it(listener: Listener) -> None:
    port = listener.port
    await listener.stop()
    async with going_on(port, "top", "-A", "--watch") as command:
        status, errors = await command.ended()
    assert (status, errors.count("\n")) == (3, 1)
    assert f"no controller answers at 127.0.0.1:{port}" in errors


async def test_a_screen_keeps_what_was_and_says_that_nobody_answers() -> None:
    many = [msgspec.structs.replace(WEB, name=f"web-{number:03}") for number in range(50)]
    async with listening(topped(), many) as listener, _screen(listener.port, lines=10, columns=60) as screens:
        async with asyncio.timeout(3 * WAIT_S):
            await screens.__anext__()
            await listener.stop()
            while not (shown := (await screens.__anext__()).splitlines())[0].startswith("as it was"):
                pass
    assert [line.strip().split()[0] for line in shown[1:4]] == ["NAMESPACE/NAME", "shop/web-000", "shop/web-001"]
    assert len(shown[0]) <= 60, "a longer line would take two of the screen's"
    assert len(shown) <= 10


async def test_a_screen_is_cleared_and_never_filled_beyond_its_height() -> None:
    many = [msgspec.structs.replace(WEB, name=f"web-{number:03}") for number in range(50)]
    async with listening(topped(), many) as listener, _screen(listener.port, lines=10, columns=100) as screens:
        for _ in range(2):
            async with asyncio.timeout(3 * WAIT_S):
                shown = [line.strip() for line in (await screens.__anext__()).splitlines()]
            assert shown[0].split()[0] == "NAMESPACE/NAME"
            assert [line.split()[0] for line in shown[1:8]] == [f"shop/web-{number:03}" for number in range(7)]
            assert shown[8:] == ["… and 43 more"]


@asynccontextmanager
async def _screen(port: int, *, lines: int, columns: int) -> AsyncIterator[AsyncIterator[str]]:
    """What `top -A --watch` shows on a terminal of that size, each time that it has been cleared and filled anew."""
    terminal, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "FORCE_COLOR")}
    words = ("top", "-A", "--watch", "--introspection-address", f"127.0.0.1:{port}")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "controller", *words), stdout=inner, env={**kept, "TERM": "dumb"}
    )
    os.close(inner)
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(terminal, "rb", buffering=0)
    )
    try:
        yield _screens(reader)
    finally:
        process.kill()
        await process.wait()
        transport.close()


async def _screens(reader: asyncio.StreamReader) -> AsyncIterator[str]:
    cleared = _CLEARED.encode()
    await reader.readuntil(cleared)
    while True:
        yield (await reader.readuntil(cleared)).removesuffix(cleared).decode()
