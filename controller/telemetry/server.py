"""HTTP listeners, and the pages on health: `/healthz`, `/readyz`."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import structlog
from aiohttp import web

from controller.flag_values import host_and_port
from controller.os_errors import why

Check = Callable[[], str | None]
"""Gives None when all is well, else what is wrong in a few words."""

SHUTDOWN_S: Final = 1.0
IDLE_MAX_S: Final = 90.0
"""As long as the API server lets a connection idle; longer than Prometheus pauses by default."""

UNREAD_MAX_S: Final = 60.0

_LEFT: Final = 499
"""What nginx calls it; nobody is there to read it."""

_log = structlog.get_logger(__name__)


class BindError(Exception):
    """The address cannot be listened on; the message names it."""


class Listener:
    """An HTTP server on one address; `address` empty or `0` means none."""

    def __init__(
        self,
        address: str,
        routes: Mapping[str, Callable[[web.Request], Awaitable[web.StreamResponse]]],
        context: ssl.SSLContext | None = None,
        *,
        flag: str = "",
        idle_max_s: float = IDLE_MAX_S,
        unread_max_s: float = UNREAD_MAX_S,
    ) -> None:
        """`address` is `host:port`, `:port` for all interfaces; `context` None: without TLS.

        `flag` is where the address comes from, for whoever has to choose another one.

        `idle_max_s`: a connection on which nothing is asked for so long is closed.

        `unread_max_s`: a visitor who has not taken the end of an answer for so long is cut off.

        Raises:
            ValueError: it is no address.
        """
        self._address = address
        self._host, self._port = host_and_port(address)
        self._routes = routes
        self._flag = flag or " ".join(routes)
        self._context = context
        self._idle_max_s = idle_max_s
        self._unread_max_s = unread_max_s
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def address(self) -> str:
        """Where it listens, `host:port`; empty while it does not."""
        return f"{self._host}:{self.port}" if self.port else ""

    async def start(self) -> None:
        """Listen; `port` then says where (an address with port 0 takes a free one).

        Raises:
            BindError: the address is taken or not ours.
        """
        if not self._address or self._address == "0":
            return
        app = web.Application(middlewares=[self._until_they_leave])
        app.router.add_get("/", self._index)
        for path, handler in self._routes.items():
            app.router.add_get(path, handler)
        self._runner = web.AppRunner(
            app, access_log=None, shutdown_timeout=SHUTDOWN_S, keepalive_timeout=self._idle_max_s
        )
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host or None, self._port, reuse_address=True, ssl_context=self._context)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            raise BindError(f"cannot listen on {self._address} ({self._flag}): {why(error)}") from error
        self.port = self._runner.addresses[0][1]
        _log.info("listening", address=self.address, paths=sorted(self._routes))

    async def _index(self, _: web.Request) -> web.StreamResponse:
        """What there is, as the API server's root tells it."""
        return web.json_response({"paths": sorted(self._routes)})

    async def stop(self) -> None:
        """Stop listening; answers under way get a second."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner, self.port = None, 0

    @web.middleware
    async def _until_they_leave(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """A visitor who leaves before the answer has ended is nobody's error, and no line in the log."""
        if request.transport is not None:
            # Answers end when the kernel has all of them: what is left in the process would keep even a closed
            # connection open.
            request.transport.set_write_buffer_limits(0)
        try:
            answer = await handler(request)
            async with taking(request, self._unread_max_s):
                await answer.prepare(request)
                await answer.write_eof()
        except ConnectionError:
            return web.Response(status=_LEFT)
        return answer


@asynccontextmanager
async def taking(request: web.Request, unread_max_s: float) -> AsyncIterator[None]:
    """Cut the visitor off if what is written within is not taken for so long.

    Raises:
        ConnectionAbortedError: that was done.
    """
    try:
        async with asyncio.timeout(unread_max_s):
            yield
    except TimeoutError as error:
        if request.transport is not None:
            request.transport.abort()
        raise ConnectionAbortedError("what was sent is not taken") from error


def health_route(
    checks: Mapping[str, Check], details: Callable[[], Iterable[str]] = tuple
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A health page: 200 when all checks pass, else 500; `?verbose` lists them, as the Kubernetes components do.

    `details` are further lines for people, which decide nothing.
    """

    async def health(request: web.Request) -> web.StreamResponse:
        problems = {name: check() for name, check in checks.items()}
        healthy = not any(problems.values())
        if healthy and "verbose" not in request.query:
            return web.Response(text="ok")
        lines = [f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok" for name, problem in problems.items()]
        summary = f"{request.path.strip('/')} check {'passed' if healthy else 'failed'}"
        return web.Response(text="\n".join((*lines, *details(), summary, "")), status=200 if healthy else 500)

    return health
