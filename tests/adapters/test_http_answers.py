"""Answers that are cut off, or come behind others; and which of several kept connections is asked."""

import asyncio
import socket
import struct

import pytest

from controller.ports import Unreachable
from tests.adapters.raw_server import Received, answer, serving
from tests.adapters.test_http_connections import GET, pool_to

RESETS = struct.pack("ii", 1, 0)
"""SO_LINGER: who closes such a socket has the other side told that the connection was reset."""


async def test_a_reset_makes_no_whole_answer_of_half_a_one() -> None:
    """A body without a length ends with the connection, but not with any end of it."""

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"items":[1,')
        await writer.drain()
        await asyncio.sleep(0.05)  # what was said has arrived, or it is the other case
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)
        writer.transport.abort()

    async with serving(say) as server, pool_to(server) as pool:
        with pytest.raises(Unreachable, match=r"cut off or damaged|closed before the answer was complete"):
            await pool.ask(GET, resend=True)


async def test_what_comes_before_the_final_answer_says_nothing_of_it() -> None:
    final = answer(b"busy", status="429 Too Many Requests")
    async with (
        serving(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 9\r\n\r\n" + final) as server,
        pool_to(server) as pool,
    ):
        found = await pool.ask(GET, resend=True)
        assert (found.status, found.body, found.headers.get("Retry-After")) == (429, b"busy", None)


async def test_where_an_answer_has_begun_on_a_kept_connection_nothing_is_sent_again() -> None:
    """The server has seen what was asked, and may have done it."""

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        if len(server.requests) == 2:
            writer.write(b"HTTP/1.1 20")
            writer.close()
        else:
            writer.write(answer(b"{}"))

    async with serving(say) as server, pool_to(server) as pool:
        await pool.ask(GET, resend=True)
        with pytest.raises(Unreachable, match="closed before the answer was complete"):
            await pool.ask(GET, resend=True)
        assert len(server.requests) == 2


async def test_of_kept_connections_the_one_that_was_used_last_is_asked() -> None:
    """The others become old enough to be closed."""
    both = asyncio.Barrier(2)
    asked: list[int] = []

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target == "/together":
            await both.wait()
        asked.append(id(writer))
        writer.write(answer(b"{}"))

    async with serving(say) as server, pool_to(server) as pool:
        together = GET.replace(b"/x", b"/together")
        await asyncio.gather(*(pool.ask(together, resend=True) for _ in range(2)))
        for _ in range(4):
            await pool.ask(GET, resend=True)
        assert (server.connections, len(set(asked[2:]))) == (2, 1)
