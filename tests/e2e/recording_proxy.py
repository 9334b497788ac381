"""A proxy that writes down every request and its answer, whichever server answers."""

from __future__ import annotations

import dataclasses
import gzip
import json
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from tests.e2e.forwarding import Forwarder, serving

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

    from aiohttp import web


@dataclasses.dataclass
class Exchange:
    """One request and what has come of its answer so far."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Of the request."""
    sent: bytes
    code: int = 0
    """The status of the answer; 0 as long as there is none."""
    answer_headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    got: bytearray = dataclasses.field(default_factory=bytearray)

    @property
    def watches(self) -> bool:
        """Whether the answer is a stream of events, one on each line."""
        return self.query.get("watch") == "true"

    def sent_object(self) -> Any:
        """What was sent, decoded; None if nothing was. Raises ValueError if it is not JSON."""
        return json.loads(self.sent) if self.sent else None

    def answered(self) -> list[Any]:
        """The events of a watch, or the one object of another answer, which is text where it is no JSON."""
        body = bytes(self.got)
        if self.answer_headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.watches and self.code == 200:
            *complete, _unfinished = body.split(b"\n")
            return [json.loads(line) for line in complete]
        kind = self.answer_headers.get("Content-Type", "")
        return [json.loads(body) if kind.startswith("application/json") else body.decode()]


class RecordingProxy:
    """Speaks plain HTTP; ``async with RecordingProxy.start(…) as proxy`` runs one on a loopback port at ``url``.

    ``exchanges`` are the requests in the order in which they came.
    """

    def __init__(self, server: str, context: ssl.SSLContext | None) -> None:
        self.url = ""
        self.exchanges: list[Exchange] = []
        self._forwarder = Forwarder(server, context)

    @classmethod
    @asynccontextmanager
    async def start(cls, server: str, context: ssl.SSLContext | None = None) -> AsyncIterator[Self]:
        """A proxy before a server; with a context that has a client certificate it asks as that client."""
        proxy = cls(server, context)
        async with aclosing(proxy._forwarder), serving(proxy._record) as proxy.url:
            yield proxy

    async def _record(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        exchange = Exchange(request.method, request.path, dict(request.query), dict(request.headers), body)
        self.exchanges.append(exchange)

        def begun(answer: web.StreamResponse) -> None:
            exchange.code = answer.status
            exchange.answer_headers = dict(answer.headers)

        return await self._forwarder.hand_on(request, body, begun, exchange.got.extend)
