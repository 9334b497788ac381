"""Stands before Prometheus and has every query evaluated at one moment, whoever asks and whenever."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import web

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_BODY_BYTES_MAX = 16 * 1024 * 1024


class PinningProxy:
    """`moment_s` is when queries are evaluated (Unix seconds); `url` is where it listens."""

    def __init__(self, upstream: str, moment_s: float) -> None:
        self.moment_s = moment_s
        self.url = ""
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[PinningProxy]:
        """The proxy on a port of loopback."""
        app = web.Application(client_max_size=_BODY_BYTES_MAX)
        app.router.add_route("*", "/{path:.*}", self._forward)
        runner = web.AppRunner(app)
        self._session = aiohttp.ClientSession()
        try:
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            self.url = f"http://{host}:{port}"
            yield self
        finally:
            await runner.cleanup()
            await self._session.close()

    async def _forward(self, request: web.Request) -> web.Response:
        asked = dict(request.query) | dict(await request.post())
        if request.path.endswith("/query"):
            asked["time"] = f"{self.moment_s:.3f}"
        session = self._session
        assert session is not None
        async with session.post(self._upstream + request.path, data=asked) as answer:
            body = await answer.read()
            return web.Response(status=answer.status, body=body, content_type=answer.content_type)
