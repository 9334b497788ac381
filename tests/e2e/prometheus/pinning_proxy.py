"""Stands before Prometheus and has every query evaluated at one moment, whoever asks and whenever."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

import aiohttp
from aiohttp import web

from tests.e2e.forwarding import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_BODY_BYTES_MAX = 16 * 1024 * 1024


class PinningProxy:
    """`moment_s` is when queries are evaluated (Unix seconds); `url` is where it listens."""

    def __init__(self, upstream: str, moment_s: float) -> None:
        self.moment_s = moment_s
        self.url = ""
        self._upstream = upstream
        self._session = aiohttp.ClientSession()

    @classmethod
    @asynccontextmanager
    async def start(cls, upstream: str, moment_s: float) -> AsyncIterator[Self]:
        """The proxy on a port of loopback."""
        proxy = cls(upstream, moment_s)
        app = web.Application(client_max_size=_BODY_BYTES_MAX)
        app.router.add_route("*", "/{path:.*}", proxy._forward)
        async with proxy._session, serving(app) as proxy.url:
            yield proxy

    async def _forward(self, request: web.Request) -> web.Response:
        asked = dict(request.query) | dict(await request.post())
        if request.path.endswith("/query"):
            asked["time"] = f"{self.moment_s:.3f}"
        async with self._session.post(self._upstream + request.path, data=asked) as answer:
            body = await answer.read()
            return web.Response(status=answer.status, body=body, content_type=answer.content_type)
