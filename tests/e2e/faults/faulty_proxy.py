"""A proxy between one controller and kube-apiserver that does what networks and overloaded servers do."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import random
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Self

import aiohttp
from aiohttp import web

from tests.e2e.forwarding import Forwarder, server_context, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from tests.e2e.control_plane import ControlPlane


@dataclasses.dataclass
class Trouble:
    """What happens to requests; shares are of all requests, from 0 to 1."""

    delay_s: float = 0.0
    """Requests wait up to so long. Shorter than the time between a leader's last write and the end of its Lease."""
    cut: float = 0.0
    """The connection is closed before an answer, half of the time after the request has been carried out."""
    doubled: float = 0.0
    """The request is sent twice; the second answer counts, as it does for a client that repeats itself."""
    refused: float = 0.0
    """429 with Retry-After."""
    failed: float = 0.0
    """500 or 503."""
    no_watches: bool = False
    """Watches are cut and refused; everything else works."""
    expired: bool = False
    """Watches that resume are told that their version is too old."""
    partitioned: bool = False
    """Nothing comes through at all."""


class Trap:
    """Springs once, at the first request with a method and a path's end: before it is sent on, or before its answer."""

    def __init__(self, method: str, path_end: str, moment: str, spring: Callable[[], None]) -> None:
        self.method = method
        self.path_end = path_end
        self.moment = moment
        self.sprung = asyncio.Event()
        self._spring = spring

    def meets(self, request: web.BaseRequest, moment: str) -> bool:
        """Whether it springs now; it has then sprung."""
        fits = request.method == self.method and request.path.endswith(self.path_end) and moment == self.moment
        if not fits or self.sprung.is_set():
            return False
        self._spring()
        self.sprung.set()
        return True


class FaultyProxy:
    """``async with FaultyProxy.start(plane, seed) as proxy``; its address is ``url``, its troubles are set by tests."""

    def __init__(self, plane: ControlPlane, seed: int) -> None:
        self.url = ""
        self.trouble = Trouble()
        self.trap: Trap | None = None
        self._dice = random.Random(seed)  # noqa: S311  # which requests fail is no secret
        self._watches: dict[asyncio.Task[web.StreamResponse], asyncio.Event] = {}
        self._forwarder = Forwarder.before(plane)

    @classmethod
    @asynccontextmanager
    async def start(cls, plane: ControlPlane, name: str, seed: int) -> AsyncIterator[Self]:
        """A proxy without trouble; name is that of its certificate, new in the control plane."""
        proxy = cls(plane, seed)
        context = server_context(plane.files.authority, name)
        async with aclosing(proxy._forwarder), serving(proxy._answer, context) as proxy.url:
            yield proxy

    @contextmanager
    def troubled(self, trouble: Trouble) -> Iterator[None]:
        """Trouble for a while; watches that are open when it begins get it, too."""
        self.trouble = trouble
        if trouble.no_watches or trouble.partitioned or trouble.expired:
            self.cut_watches()
        try:
            yield
        finally:
            self.trouble = Trouble()

    def silence_watches(self) -> None:
        """Lets nothing through the watches that are open now any more, for as long as they stay open."""
        for silenced in self._watches.values():
            silenced.set()

    def cut_watches(self) -> None:
        """Closes all watches that are open."""
        for task in self._watches:
            task.cancel()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._troubled(request, await request.read())
        except (CutError, aiohttp.ClientError, ConnectionError):
            # Nobody gets this: it is what is left of a connection, to us or to the API server, that is no more.
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)

    async def _troubled(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        trouble = self.trouble
        if trouble.partitioned:
            raise CutError
        if request.query.get("watch") == "true":
            return await self._watch(request, body)
        if trouble.delay_s:
            await asyncio.sleep(self._dice.uniform(0.0, trouble.delay_s))
        if self._happens(trouble.refused):
            return _refusal(429, "TooManyRequests", {"Retry-After": "1"})
        if self._happens(trouble.failed):
            return _refusal(self._dice.choice((500, 503)), "InternalError")
        if self._happens(trouble.cut):
            if self._dice.random() < 0.5:  # one half
                await self._quietly(request, body)
            raise CutError
        if self._happens(trouble.doubled):
            await self._quietly(request, body)
        return await self._trapped(request, body)

    async def _trapped(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        trap = self.trap
        if trap is None:
            return await self._forwarder.hand_on(request, body)
        if trap.meets(request, "before"):
            raise CutError
        if trap.moment == "after" and trap.method == request.method and request.path.endswith(trap.path_end):
            await self._quietly(request, body)
            trap.meets(request, "after")
            raise CutError
        return await self._forwarder.hand_on(request, body)

    async def _watch(self, request: web.BaseRequest, body: bytes) -> web.StreamResponse:
        trouble = self.trouble
        if trouble.no_watches:
            return _refusal(503, "ServiceUnavailable")
        if trouble.expired and "sendInitialEvents" not in request.query:
            return _refusal(410, "Expired")
        silenced = asyncio.Event()
        task = asyncio.create_task(self._forwarder.hand_on(request, body, muted=silenced.is_set))
        self._watches[task] = silenced
        task.add_done_callback(self._watches.pop)
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if current is not None and current.cancelling():
                raise
            raise CutError from None
        finally:
            task.cancel()

    async def _quietly(self, request: web.BaseRequest, body: bytes) -> None:
        """Has the request carried out, whatever comes of it."""
        await self._forwarder.carry_out(request, body)

    def _happens(self, share: float) -> bool:
        return share > 0 and self._dice.random() < share


class CutError(Exception):
    """The connection is to be closed, on purpose."""


def _refusal(code: int, reason: str, headers: dict[str, str] | None = None) -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    status["message"] = "trouble on purpose"
    return web.Response(status=code, text=json.dumps(status), content_type="application/json", headers=headers)
