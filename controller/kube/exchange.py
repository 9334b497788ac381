"""One request and its answer: authenticated, every failure an ApiError, the body read within bounds."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from controller.kube.connection import Connection, guarding
from controller.kube.credentials import Credentials, CredentialsError
from controller.kube.errors import TRANSPORT_ERRORS, error_of, unreachable, untraced
from controller.kube.sessions import CertificatesError
from controller.kube.urls import query_of
from controller.ports import Rejected, Unreachable
from controller.version import USER_AGENT

ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
"""The largest answer that is read: the metrics of 100,000 pods are about 50 MB."""

_SUCCESS: Final = 200
_REDIRECTION: Final = 300
_UNAUTHORIZED: Final = 401
_ERROR_BODY_MAX: Final = 64 * 1024


class Request(msgspec.Struct, frozen=True):
    """A request as a value. `path` is percent-encoded, `query` is not. `may_send`: called whenever it goes out."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = "application/json"
    may_send: Callable[[], None] | None = None


_R = TypeVar("_R")
Read = Callable[[aiohttp.ClientResponse], Awaitable[_R]]
"""Reads the body of a successful answer."""


class Exchange:
    """Sends requests over a connection, with its credentials."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        # On a cluster's network inflating costs more than it saves.
        own = (("User-Agent", USER_AGENT), ("Accept", "application/json"), ("Accept-Encoding", "identity"))
        self._headers = CIMultiDict((*own, *connection.access.headers))

    async def send(self, request: Request, patience: aiohttp.ClientTimeout, read: Read[_R]) -> _R:
        """What `read` makes of a successful answer; a 401 is met once with fresh credentials.

        Raises:
            ApiError: there was no answer, or another one.
        """
        fresh = False
        while True:
            try:
                credentials = await self._connection.credentials()
                async with (
                    await self._connection.session(credentials) as http,
                    self._sent(http, request, credentials, patience) as answer,
                ):
                    if _SUCCESS <= answer.status < _REDIRECTION:
                        return await read(answer)
                    error = error_of(answer.status, answer.headers, await _body(answer, _ERROR_BODY_MAX))
            except (CredentialsError, CertificatesError) as cause:
                # Nothing was sent: what is cached stays good, and the next attempt may find credentials again.
                raise Unreachable(str(cause)) from cause
            except TRANSPORT_ERRORS as cause:
                raise unreachable(cause) from untraced(cause)
            if fresh or error.status != _UNAUTHORIZED or not self._connection.refused(credentials):
                raise error
            fresh = True

    def _sent(
        self,
        http: aiohttp.ClientSession,
        request: Request,
        credentials: Credentials,
        patience: aiohttp.ClientTimeout,
    ) -> "aiohttp.client._RequestContextManager":
        headers = self._headers.copy()
        if credentials.authorization is not None:
            headers["Authorization"] = credentials.authorization
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        access = self._connection.access
        query = f"?{query_of(request.query)}" if request.query else ""
        return http.request(
            request.method,
            URL(f"{access.server}{request.path}{query}", encoded=True),
            data=request.body,
            headers=headers,
            proxy=access.proxy,
            server_hostname=access.server_name,
            allow_redirects=False,
            timeout=patience,
            middlewares=() if request.may_send is None else (guarding(request.may_send),),
        )


async def whole(answer: aiohttp.ClientResponse) -> bytes:
    """The body. Raises Rejected if it is too large to be an honest one."""
    return await _body(answer, ANSWER_BYTES_MAX)


async def _body(answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    """The body, unless it is too large to be an honest answer."""
    parts, size = [], 0
    while part := await answer.content.readany():
        size += len(part)
        if size > bytes_max and answer.status >= _REDIRECTION:
            break  # the beginning of an error says enough
        within(size, bytes_max)
        parts.append(part)
    return b"".join(parts)


def within(size: int, bytes_max: int) -> int:
    """That size, unless an answer that large cannot be an honest one: then Rejected is raised."""
    if size > bytes_max:
        raise Rejected(f"the answer is larger than {bytes_max} bytes")
    return size
