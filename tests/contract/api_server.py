"""The API server under contract: the lab, or the one that environment variables name.

CONTRACT_SERVER: base URL; without it the lab is tested. CONTRACT_CA: file with its authority. CONTRACT_CERT
    and
CONTRACT_KEY: files with a client certificate. CONTRACT_TOKEN: a bearer token.
"""

import asyncio
import json
import os
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from controller.lab.cluster import Cluster
from controller.lab.server import LabServer
from tests.trust import trusting

ANSWER_S = 20
"""Longer than any answer takes; every wait of these tests is bounded by it."""

LAB_HISTORY_LIMIT = 60
"""Few remembered changes: the lab forgets them within one test, an API server within minutes."""

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"


class Answer(msgspec.Struct, frozen=True):
    """What the server said; `body` is decoded when it is JSON, else the text."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Server(msgspec.Struct, frozen=True):
    """Where the server is and how to be let in."""

    url: str
    tls: ssl.SSLContext | bool = True
    token: str = ""


@asynccontextmanager
async def server_under_test() -> AsyncIterator[Server]:
    url = os.environ.get("CONTRACT_SERVER", "")
    if url:
        yield Server(url.rstrip("/"), _tls(), os.environ.get("CONTRACT_TOKEN", ""))
        return
    async with LabServer(Cluster(history_limit=LAB_HISTORY_LIMIT)) as lab:
        yield Server(lab.url)


def _tls() -> ssl.SSLContext | bool:
    authority = os.environ.get("CONTRACT_CA")
    certificate, key = os.environ.get("CONTRACT_CERT"), os.environ.get("CONTRACT_KEY")
    if not authority and not certificate:
        return True
    context = trusting(authority)
    if certificate:
        context.load_cert_chain(certificate, key)
    return context


class Api:
    """Requests to the server under test, nothing more than aiohttp."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self._server = server
        self._session = session

    async def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        parameters: Mapping[str, str | int] | None = None,
    ) -> Answer:
        headers = {"Accept": accept, **self._credentials()}
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body)
        async with (
            asyncio.timeout(ANSWER_S),
            self._session.request(
                method,
                self._server.url + path,
                data=data,
                headers=headers,
                params=parameters,
                ssl=self._server.tls,
            ) as response,
        ):
            text = await response.text()
            media_type = response.headers.get("Content-Type", "")
            decoded = json.loads(text) if media_type.startswith("application/json") else text
            return Answer(response.status, decoded, dict(response.headers))

    async def get(self, path: str, **parameters: str | int) -> Any:
        """The object or list at a path, which must be there."""
        answer = await self.request("GET", path, parameters=parameters)
        assert answer.status == 200, answer.body
        return answer.body

    async def create(self, path: str, body: object) -> Any:
        """The object that was created, which must have worked."""
        answer = await self.request("POST", path, body)
        assert answer.status == 201, answer.body
        return answer.body

    async def put(self, path: str, body: object) -> Any:
        """The object after it was replaced, which must have worked."""
        answer = await self.request("PUT", path, body)
        assert answer.status == 200, answer.body
        return answer.body

    @asynccontextmanager
    async def watch(self, path: str, **parameters: str | int) -> AsyncIterator["Events"]:
        """The events of a watch; a refusal is given as the one ERROR event that stands for it."""
        timeout = aiohttp.ClientTimeout(total=None, sock_read=ANSWER_S)
        async with self._session.get(
            self._server.url + path,
            params={"watch": "true", "timeoutSeconds": ANSWER_S, **parameters},
            headers={"Accept": "application/json", **self._credentials()},
            ssl=self._server.tls,
            timeout=timeout,
        ) as response:
            if response.status != 200:
                yield Events(None, [{"type": "ERROR", "object": await response.json()}])
            else:
                yield Events(response.content, [])

    def _credentials(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._server.token}"} if self._server.token else {}


class Events:
    """Events of a watch, one by one."""

    def __init__(self, stream: aiohttp.StreamReader | None, ready: list[Any]) -> None:
        self._stream = stream
        self._ready = ready

    async def next(self) -> Any:
        """The next event; None at the end of the watch."""
        if self._ready:
            return self._ready.pop(0)
        if self._stream is None:
            return None
        async with asyncio.timeout(ANSWER_S):
            line = await self._stream.readline()
        return json.loads(line) if line else None

    async def take(self, count: int) -> list[Any]:
        """The next events, as many as asked for; fewer when the watch ends before."""
        events = []
        for _ in range(count):
            event = await self.next()
            if event is None:
                break
            events.append(event)
        return events
