"""Listening on a port of this machine that stays the same over restarts."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

from aiohttp import web

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable

_KEEP_ALIVE_S: Final = 3600.0
"""Long, because a loop that runs faster than real time would otherwise close idle connections at once."""

_SHUTDOWN_S: Final = 0.1
"""For connections that came while the others were being cut; aiohttp takes 0 for no limit at all."""


class Listener:
    """Hands requests on 127.0.0.1 to a handler, from `start` to `stop`.

    Args:
        handle: Answers a request.
        port: A free one is taken at the first start when it is 0.
        tls: Gives the context for HTTPS at each start; None from it means plain HTTP.

    """

    def __init__(
        self,
        handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        port: int = 0,
        tls: Callable[[], ssl.SSLContext | None] = lambda: None,
    ) -> None:
        self._handle = handle
        self._tls = tls
        self.port = port
        self._server: web.Server | None = None
        self._runner: web.ServerRunner | None = None

    async def start(self) -> None:
        """Listen; raises OSError when the port is taken and RuntimeError when it is running already."""
        if self._runner is not None:
            raise RuntimeError(f"the lab already runs at 127.0.0.1:{self.port}")
        listener = socket.create_server(("127.0.0.1", self.port))
        self.port = listener.getsockname()[1]
        self._server = web.Server(
            self._handle, handler_cancellation=True, keepalive_timeout=_KEEP_ALIVE_S, access_log=None
        )
        self._runner = web.ServerRunner(self._server, shutdown_timeout=_SHUTDOWN_S)
        await self._runner.setup()
        await web.SockSite(self._runner, listener, ssl_context=self._tls()).start()

    async def stop(self) -> None:
        """Stop listening and cut all connections; nothing happens when it does not run."""
        runner, server = self._runner, self._server
        self._runner = self._server = None
        if runner is None or server is None:
            return
        for site in list(runner.sites):
            await site.stop()
        for connection in list(server.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await runner.cleanup()
