"""A Prometheus that says what a test sets, over real HTTP."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from tests.adapters.raw_server import RawServer, Received, answer, serving

AT_S = 1_767_225_600.25


class FakePrometheus:
    """`series` are what listings give, but for those that `listings` has something else for, by a part of the selector.

    `answers` are results by query, or what to say instead of any answer: bytes, or a function that says it in its own
    way. `otherwise` is what queries without an answer of their own give.
    """

    def __init__(self) -> None:
        self.series: list[dict[str, str]] = []
        self.answers: dict[str, Any] = {}
        self.otherwise: Any = []
        self.instead: bytes | None = None
        self.server: RawServer | None = None
        self.queries: list[str] = []
        self.listings: dict[str, Any] = {}
        self.listings_asked: list[str] = []

    def listed(self, part: str) -> int:
        """How often series were listed by a selector with this part."""
        return sum(part in selector for selector in self.listings_asked)

    @property
    def url(self) -> str:
        assert self.server is not None
        return self.server.url

    def requests(self) -> list[Received]:
        assert self.server is not None
        return self.server.requests

    async def say(self, received: Received, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(received.target)
        asked = parse_qs(parts.query or received.body.decode())
        if self.instead is not None:
            writer.write(self.instead)
            return
        if parts.path.endswith("/series"):
            [selector] = asked["match[]"]
            self.listings_asked.append(selector)
            instead = next((given for part, given in self.listings.items() if part in selector), None)
            if callable(instead):
                await instead(received, writer)
            else:
                writer.write(answer(_good(self.series)) if instead is None else instead)
            return
        query = asked["query"][0]
        self.queries.append(query)
        given = self.answers.get(query, self.otherwise)
        if callable(given):
            await given(received, writer)
            return
        if isinstance(given, list):
            given = {"resultType": "vector", "result": given}
        writer.write(given if isinstance(given, bytes) else answer(_good(given)))


def _good(data: Any) -> bytes:
    return msgspec.json.encode({"status": "success", "data": data})


def sample(value: str, **labels: str) -> dict[str, Any]:
    return {"metric": labels, "value": [AT_S, value]}


@asynccontextmanager
async def fake_prometheus(tls: ssl.SSLContext | None = None) -> AsyncIterator[FakePrometheus]:
    fake = FakePrometheus()
    async with serving(fake.say, tls) as server:
        fake.server = server
        yield fake
