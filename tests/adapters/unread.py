"""A visitor who asks for a page and reads nothing of it."""

import asyncio
from collections.abc import Awaitable, Callable

from aiohttp import web

from controller.telemetry.server import UNREAD_MAX_S, Listener


async def is_cut_off_unread(
    page: Callable[[web.Request], Awaitable[web.StreamResponse]], unread_max_s: float = UNREAD_MAX_S
) -> bool:
    """Whether the server ends the connection within half a minute."""
    transports: list[asyncio.Transport] = []

    async def visited(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        transports.append(request.transport)
        return await page(request)

    listener = Listener("127.0.0.1:0", {"/page": visited}, unread_max_s=unread_max_s)
    await listener.start()
    _, writer = await asyncio.open_connection("127.0.0.1", listener.port, limit=1024)
    try:
        writer.write(b"GET /page HTTP/1.1\r\nHost: x\r\n\r\n")
        for _ in range(3_000):
            if transports and transports[0].is_closing():
                return True
            await asyncio.sleep(0.01)
        return False
    finally:
        writer.transport.abort()
        await listener.stop()
