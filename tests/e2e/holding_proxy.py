"""A proxy before kube-apiserver that holds requests back until a test lets them go."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Self

from tests.e2e.forwarding import Forwarder, server_context, serving
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from aiohttp import web

    from tests.e2e.control_plane import ControlPlane

_HOLD_LIMIT_S = 60.0


class Hold:
    """Requests of one method whose path has one end; see HoldingProxy.holding."""

    def __init__(self, method: str, path_end: str) -> None:
        self.method = method
        self.path_end = path_end
        self.waiting = 0
        self._released = asyncio.Event()

    def matches(self, request: web.BaseRequest) -> bool:
        """Whether the request is to be held."""
        return request.method == self.method and request.path.endswith(self.path_end)

    async def pass_by(self) -> None:
        """Returns when the request may go on."""
        self.waiting += 1
        async with asyncio.timeout(_HOLD_LIMIT_S):
            await self._released.wait()

    def release(self) -> None:
        """Lets go of what waits, and of what will come."""
        self._released.set()

    async def caught(self) -> None:
        """Returns when a request waits. Raises TimeoutError."""

        async def waits() -> bool:
            return self.waiting > 0

        await wait_until(waits, f"{self.method} …{self.path_end} to be sent")


class HoldingProxy:
    """Speaks TLS with a certificate of the control plane's authority and hands on everything, tokens included.

    ``async with HoldingProxy.start(plane) as proxy`` runs one on a loopback port; its address is ``url``.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.url = ""
        self._holds: list[Hold] = []
        self._forwarder = Forwarder.before(plane)

    @classmethod
    @asynccontextmanager
    async def start(cls, plane: ControlPlane) -> AsyncIterator[Self]:
        """A proxy that holds nothing."""
        proxy = cls(plane)
        context = server_context(plane.files.authority, "holding-proxy")
        async with aclosing(proxy._forwarder), serving(proxy._hand_on, context) as proxy.url:
            yield proxy

    @contextmanager
    def holding(self, method: str, path_end: str) -> Iterator[Hold]:
        """Requests wait, before kube-apiserver knows of them, until they are released or the context ends."""
        hold = Hold(method, path_end)
        self._holds.append(hold)
        try:
            yield hold
        finally:
            self._holds.remove(hold)
            hold.release()

    async def _hand_on(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        for hold in self._holds:
            if hold.matches(request):
                await hold.pass_by()
        return await self._forwarder.hand_on(request, body)
