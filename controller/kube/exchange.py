"""One request and its answer: authenticated, every failure an ApiError, the body read within bounds."""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import aiohttp
import msgspec
from multidict import CIMultiDict
from yarl import URL

from controller.kube.connection import ANSWER_BYTES_MAX, ERROR_BYTES_MAX, Connection, Http, guarding
from controller.kube.credentials import Credentials, CredentialsError
from controller.kube.errors import TRANSPORT_ERRORS, error_of, unreachable, untraced
from controller.kube.http_connection import Answer
from controller.kube.http_pool import CONNECT_TIMEOUT_S
from controller.kube.sessions import CertificatesError
from controller.kube.urls import query_of
from controller.ports import ApiError, Rejected, Unreachable
from controller.version import USER_AGENT

_BREAKS: Final = re.compile(r"[\r\n\0]")
_SUCCESS: Final = 200
_REDIRECTION: Final = 300
_UNAUTHORIZED: Final = 401
_RESENT: Final = frozenset(("GET", "PUT"))
"""What may arrive twice: a write names the version that it replaces."""


class Request(msgspec.Struct, frozen=True):
    """A request as a value. `path` is percent-encoded, `query` is not. `may_send`: called whenever it goes out."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = "application/json"
    may_send: Callable[[], None] | None = None

    @property
    def target(self) -> str:
        """Path and query, as a URL has them."""
        return f"{self.path}?{query_of(self.query)}" if self.query else self.path


_R = TypeVar("_R")
Read = Callable[[aiohttp.ClientResponse], Awaitable[_R]]
"""Reads the body of a successful answer."""


class Exchange:
    """Sends requests over a connection, with its credentials."""

    def __init__(self, connection: Connection, advise: Callable[[str], str]) -> None:
        """`advise` gives what to add to the server's refusals."""
        self._connection = connection
        self._advise = advise
        # On a cluster's network inflating costs more than it saves.
        own = (("User-Agent", USER_AGENT), ("Accept", "application/json"), ("Accept-Encoding", "identity"))
        self._headers = CIMultiDict((*own, *connection.access.headers))
        server = URL(connection.access.server)
        self._place = server.raw_path.rstrip("/")
        self._host = server.host_port_subcomponent or ""
        self._lines: tuple[str | None, str] | None = None

    async def ask(self, request: Request) -> Answer:
        """A successful answer, with its whole body; see `send`.

        Raises:
            ApiError: there was no answer, or another one.
        """
        if self._connection.access.proxy is not None:
            return await self.send(request, _whole)
        return await self._answered(request, self._asked)

    async def send(self, request: Request, read: Read[_R], *, silence_max_s: float | None = None) -> _R:
        """What `read` makes of a successful answer; a 401 is met once with fresh credentials.

        `silence_max_s`: how long the server may say nothing at all; None: whoever calls this limits the time.

        Raises:
            ApiError: there was no answer, or another one.
        """
        patience = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence_max_s)

        async def streamed(http: Http, request: Request, credentials: Credentials) -> _R | ApiError:
            async with self._sent(http.session, request, credentials, patience) as answer:
                if _SUCCESS <= answer.status < _REDIRECTION:
                    return await read(answer)
                return error_of(answer.status, answer.headers, await _body(answer, ERROR_BYTES_MAX), self._advise)

        return await self._answered(request, streamed)

    async def _answered(
        self, request: Request, attempt: Callable[[Http, Request, Credentials], Awaitable[_R | ApiError]]
    ) -> _R:
        fresh = False
        while True:
            try:
                credentials = await self._connection.credentials()
                async with await self._connection.session(credentials) as http:
                    result = await attempt(http, request, credentials)
            except (CredentialsError, CertificatesError) as cause:
                # Nothing was sent: what is cached stays good, and the next attempt may find credentials again.
                raise Unreachable(str(cause)) from cause
            except TRANSPORT_ERRORS as cause:
                raise unreachable(cause) from untraced(cause)
            if not isinstance(result, ApiError):
                return result
            if fresh or result.status != _UNAUTHORIZED or not self._connection.refused(credentials):
                try:
                    raise result
                finally:
                    del result  # its traceback keeps this frame
            fresh = True

    async def _asked(self, http: Http, request: Request, credentials: Credentials) -> Answer | ApiError:
        assert http.pool is not None  # noqa: S101 - there is no proxy
        answer = await http.pool.ask(
            self._message(request, credentials), resend=request.method in _RESENT, may_send=request.may_send
        )
        if _SUCCESS <= answer.status < _REDIRECTION:
            return answer
        return error_of(answer.status, answer.headers, answer.body, self._advise)

    def _message(self, request: Request, credentials: Credentials) -> bytes:
        """The request as it is sent."""
        head = f"{request.method} {self._place}{request.target} HTTP/1.1\r\n{self._fixed_lines(credentials)}"
        if request.body is not None:
            head += f"Content-Type: {request.content_type}\r\nContent-Length: {len(request.body)}\r\n"
        try:
            return f"{head}\r\n".encode() + (request.body or b"")
        except UnicodeEncodeError as error:
            raise Rejected(f"the request cannot be sent: {error.reason}") from error

    def _fixed_lines(self, credentials: Credentials) -> str:
        """The headers that are the same until other credentials are used."""
        authorization = credentials.authorization
        if self._lines is None or self._lines[0] != authorization:
            headers = [("Host", self._host), *self._headers.items()]
            if authorization is not None:
                headers.append(("Authorization", authorization))
            for name, value in headers:
                if _BREAKS.search(f"{name}{value}"):
                    raise CredentialsError(f"the value of the header {name!r} cannot be sent: it has a line break")
            self._lines = (authorization, "".join(f"{name}: {value}\r\n" for name, value in headers))
        return self._lines[1]

    def _sent(
        self,
        session: aiohttp.ClientSession,
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
        return session.request(
            request.method,
            URL(f"{access.server}{request.target}", encoded=True),
            data=request.body,
            headers=headers,
            proxy=access.proxy,
            server_hostname=access.server_name,
            allow_redirects=False,
            timeout=patience,
            middlewares=() if request.may_send is None else (guarding(request.may_send),),
        )


async def _whole(answer: aiohttp.ClientResponse) -> Answer:
    """The answer with its body. Raises Rejected if that is too large to be an honest one."""
    return Answer(answer.status, (), await _body(answer, ANSWER_BYTES_MAX))


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
