"""A proxy between the controller and the lab that answers some requests itself, and speaks up in watches."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

import aiohttp
from aiohttp import web

Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]
"""Takes a request in the place of the lab."""

_HOP_BY_HOP: Final = {"transfer-encoding", "connection", "content-length", "content-encoding", "date", "server"}
_QUEUED_LINES_MAX: Final = 1_000


class Proxy:
    """Within `async with`: everything goes to the server behind it unless `answers` has the path.

    Attributes:
        answers: answers by the beginning of a path (without the query); the longest one that fits is taken.
        asked: how often each of them was.

    """

    def __init__(self, behind: str) -> None:
        self.answers: dict[str, Answer] = {}
        self.asked: dict[str, int] = {}
        self._behind = behind
        self._watches: dict[str, list[asyncio.Queue[bytes]]] = {}
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.ServerRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Where it is found."""
        return f"http://127.0.0.1:{self._port}"

    def say(self, path: str, line: bytes) -> int:
        """Put a line into every open watch of a path; how many there were."""
        watches = self._watches.get(path, [])
        for lines in watches:
            lines.put_nowait(line)
        return len(watches)

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            auto_decompress=False, timeout=aiohttp.ClientTimeout(total=None), connector=aiohttp.TCPConnector(limit=0)
        )
        server = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self._port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        fitting = [beginning for beginning in self.answers if path.startswith(beginning)]
        if fitting and "watch" not in request.query:
            chosen = max(fitting, key=len)
            self.asked[chosen] = self.asked.get(chosen, 0) + 1
            return await self.answers[chosen](request)
        return await self._forward(request)

    async def _forward(self, request: web.BaseRequest) -> web.StreamResponse:
        assert self._session is not None
        body = await request.read()
        headers = {
            name: value for name, value in request.headers.items() if name.lower() not in ("host", "content-length")
        }
        url = f"{self._behind}{request.path_qs}"
        async with self._session.request(request.method, url, data=body or None, headers=headers) as answer:
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP_BY_HOP}
            if "watch" not in request.query or answer.status != 200:
                return web.Response(status=answer.status, headers=kept, body=await answer.read())
            response = web.StreamResponse(status=200, headers=kept)
            await response.prepare(request)
            await self._watch(request.path, answer, response)
            return response

    async def _watch(self, path: str, answer: aiohttp.ClientResponse, response: web.StreamResponse) -> None:
        """Lines of the lab and our own, until one side has enough."""
        lines: asyncio.Queue[bytes] = asyncio.Queue(_QUEUED_LINES_MAX)
        self._watches.setdefault(path, []).append(lines)
        own = asyncio.create_task(_write(lines, response))
        try:
            # Line by line, so that ours do not fall into the middle of another.
            with suppress(ConnectionError, aiohttp.ClientError):
                async for line in answer.content:
                    await response.write(line)
        finally:
            self._watches[path].remove(lines)
            own.cancel()


async def _write(lines: asyncio.Queue[bytes], response: web.StreamResponse) -> None:
    with suppress(ConnectionError):
        while True:
            await response.write(await lines.get() + b"\n")
