"""Plain HTTP for the tests of the lab's server."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

WAIT_S = 10
"""The bound of every wait."""


class Answer(msgspec.Struct, frozen=True):
    """`body` is decoded when it is JSON, else the text."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Client:
    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self._url = url
        self.session = session

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        parameters: Mapping[str, str | int] | None = None,
    ) -> Answer:
        sent = {"Content-Type": "application/json", **(headers or {})} if body is not None else headers
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        data = None if body is None else io.BytesIO(text)
        async with (
            asyncio.timeout(WAIT_S),
            self.session.request(method, self._url + path, data=data, headers=sent, params=parameters) as response,
        ):
            answer = await response.text()
            is_json = response.headers.get("Content-Type", "").startswith("application/json")
            return Answer(response.status, json.loads(answer) if is_json else answer, dict(response.headers))

    async def get(self, path: str, headers: Mapping[str, str] | None = None, **parameters: str | int) -> Any:
        """The document at a path, which must be there."""
        answer = await self.request("GET", path, headers=headers, parameters=parameters)
        assert answer.status == 200, answer.body
        return answer.body

    async def patch(self, path: str, body: object, kind: str, **parameters: str | int) -> Answer:
        """The answer to a patch; `kind` is json-patch+json, merge-patch+json and so on."""
        headers = {"Content-Type": f"application/{kind}"}
        return await self.request("PATCH", path, body, headers, parameters)

    @asynccontextmanager
    async def watch(
        self, path: str, headers: Mapping[str, str] | None = None, **parameters: str | int
    ) -> AsyncIterator["Events"]:
        async with self.session.get(self._url + path, params={"watch": 1, **parameters}, headers=headers) as response:
            assert response.status == 200, await response.text()
            yield Events(response.content)


class Events:
    """The events of a watch, one by one."""

    def __init__(self, stream: aiohttp.StreamReader) -> None:
        self._stream = stream

    async def raw(self) -> bytes:
        """The next line; empty at the end."""
        async with asyncio.timeout(WAIT_S):
            return await self._stream.readline()

    async def next(self) -> Any:
        """The next event; None at the end."""
        line = await self.raw()
        return json.loads(line) if line else None

    async def take(self, count: int) -> list[Any]:
        return [await self.next() for _ in range(count)]
