"""Requests to the API server: authenticated, limited, retried as the server asks, every failure an ApiError."""

import asyncio
import enum
import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

import aiohttp
import msgspec
import tenacity
from multidict import CIMultiDict
from yarl import URL

from controller.backoff import AskedWait, Random, asked_s
from controller.kube.budget import Budget, Lane
from controller.kube.connection import CONNECT_TIMEOUT_S, Connection, guarding
from controller.kube.credentials import Credentials, CredentialsError
from controller.kube.errors import TRANSPORT_ERRORS, error_of, unreachable, untraced
from controller.kube.framing import Lines, LineTooLong
from controller.kube.sessions import CertificatesError
from controller.kube.urls import query_of
from controller.ports import ApiError, Leadership, Rejected, ServerFailure, Throttled, Unreachable
from controller.precedence import Pace
from controller.version import USER_AGENT

REQUEST_TIMEOUT_S: Final = 30.0
ANSWER_BYTES_MAX: Final = 128 * 1024 * 1024
"""The largest answer that is read: the metrics of 100,000 pods are about 50 MB."""

PART_BYTES_MAX: Final = 32 * 1024
"""How much of a long answer is given to whoever takes it part by part, in one iteration of the loop."""

ATTEMPTS_MAX: Final = 5
LINES_PER_ITERATION: Final = 100
_SUCCESS: Final = 200
_REDIRECTION: Final = 300
_UNAUTHORIZED: Final = 401
_ERROR_BODY_MAX: Final = 64 * 1024
_RETRY_JITTER: Final = 0.1
_PATIENT: Final = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S)


class Traffic(enum.Enum):
    """Kinds of requests, each with its own lane so that none waits for another."""

    LIST = "list"
    DISCOVERY = "discovery"
    SCALE = "scale"
    STATUS = "status"
    EVENT = "event"
    LEASE = "lease"
    RESOURCE_METRICS = "resource-metrics"
    CUSTOM_METRICS = "custom-metrics"
    EXTERNAL_METRICS = "external-metrics"
    REVIEW = "review"
    HISTORY = "history"


NO_ANSWER: Final = "<error>"
"""What is measured instead of a status code."""

_METRICS: Final = {Traffic.RESOURCE_METRICS, Traffic.CUSTOM_METRICS, Traffic.EXTERNAL_METRICS}
_CONCURRENT_MAX: Final = {
    Traffic.LIST: 16,
    Traffic.DISCOVERY: 8,
    Traffic.SCALE: 64,
    Traffic.STATUS: 64,
    Traffic.EVENT: 4,
    Traffic.LEASE: 4,
    Traffic.RESOURCE_METRICS: 64,
    Traffic.CUSTOM_METRICS: 32,
    Traffic.EXTERNAL_METRICS: 32,
    Traffic.REVIEW: 2,
    Traffic.HISTORY: 4,
}
_NEVER_LIMITED: Final = {Traffic.LEASE, Traffic.LIST, Traffic.DISCOVERY, Traffic.REVIEW, Traffic.HISTORY}
_PATIENT_READS: Final = _METRICS | {Traffic.SCALE}
"""What syncs ask before they decide. Under overload each waits as long as it takes for the older ones to be asked: one
that gave up would come back as the youngest, and never be served."""


class Request(msgspec.Struct, frozen=True):
    """A request as a value. `path` is percent-encoded, `query` is not. `may_send`: called whenever it goes out."""

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: bytes | None = None
    content_type: str = "application/json"
    may_send: Callable[[], None] | None = None


_R = TypeVar("_R")
_Read = Callable[[aiohttp.ClientResponse], Awaitable[_R]]
"""Reads the body of a successful answer."""


Answered = Callable[[str, str, str, float], None]
"""Hears of every answer: `(traffic, verb, code, duration_s)`; code NO_ANSWER where there was none."""


class Client:
    """One API server. Writes are sent only while `leadership` allows them, checked whenever one goes out."""

    def __init__(
        self,
        connection: Connection,
        *,
        leadership: Leadership,
        random: Random,
        answered: Answered,
        qps: float = 0.0,
        burst: int = 30,
    ) -> None:
        """`qps` 0: no client-side limit; otherwise each kind of traffic that is limited has its own bucket."""
        self._connection = connection
        self._leadership = leadership
        self._random = random
        self._answered = answered
        # On a cluster's network inflating costs more than it saves.
        own = (("User-Agent", USER_AGENT), ("Accept", "application/json"), ("Accept-Encoding", "identity"))
        self._headers = CIMultiDict((*own, *connection.access.headers))
        self._part_by_part = Pace(1)
        time_s = asyncio.get_running_loop().time
        self._lanes = {
            traffic: Lane(places, Budget(0.0 if traffic in _NEVER_LIMITED else qps, burst, time_s))
            for traffic, places in _CONCURRENT_MAX.items()
        }

    async def get(
        self,
        path: str,
        traffic: Traffic,
        *,
        query: Mapping[str, str] | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> bytes:
        """The body of a successful answer.

        Raises:
            ApiError: anything else.
        """
        return await self._request(Request("GET", path, query), traffic, timeout_s, _whole)

    async def get_in_parts(
        self, path: str, traffic: Traffic, take: Callable[[bytes], None], *, query: Mapping[str, str] | None = None
    ) -> None:
        """Give the body of a successful answer to `take`, in small parts as it arrives; the loop runs in between.

        That goes for all such answers together: many short lists hold it for as long as a long one.
        What `take` raises ends it.

        Raises:
            ApiError: anything but a success; some parts may have been taken by then.
        """

        async def read(answer: aiohttp.ClientResponse) -> bytes:
            size = 0
            while part := await answer.content.readany():
                size = _within(size + len(part), ANSWER_BYTES_MAX)
                # After a wait for the loop all that has come meanwhile is one part.
                for start in range(0, len(part), PART_BYTES_MAX):
                    await self._part_by_part.step()
                    take(part[start : start + PART_BYTES_MAX])
            return b""

        await self._request(Request("GET", path, query), traffic, REQUEST_TIMEOUT_S, read)

    async def write(
        self,
        method: str,
        path: str,
        traffic: Traffic,
        body: bytes,
        *,
        content_type: str = "application/json",
        query: Mapping[str, str] | None = None,
        timeout_s: float = REQUEST_TIMEOUT_S,
        may_send: Callable[[], None] | None = None,
    ) -> bytes:
        """The body of a successful answer to a request that changes something.

        Raises:
            ApiError: anything else.
            NotSent: it did not go out, or not again: we do not lead, or `may_send` says so.
        """

        def permitted() -> None:
            self._leadership.check()
            if may_send is not None:
                may_send()

        request = Request(method, path, query, body, content_type, permitted)
        return await self._request(request, traffic, timeout_s, _whole)

    async def contend(self, method: str, path: str, body: bytes, timeout_s: float) -> bytes:
        """The body of a successful answer to a Lease write, which is sent whether we lead or not.

        Raises:
            ApiError: anything else.
        """
        return await self._request(Request(method, path, body=body), Traffic.LEASE, timeout_s, _whole)

    async def review(self, path: str, body: bytes) -> bytes:
        """The body of a successful answer to a question that is put as a POST, and changes nothing.

        Raises:
            ApiError: anything else.
        """
        return await self._request(Request("POST", path, body=body), Traffic.REVIEW, REQUEST_TIMEOUT_S, _whole)

    async def stream(
        self,
        path: str,
        query: Mapping[str, str],
        silence_max_s: float,
        accepted: Callable[[], None],
        take: Callable[[bytes], None],
    ) -> None:
        """Give the lines of a watch to `take` until the server ends it; `accepted` is called before the first one.

        What `accepted` and `take` raise ends it.

        Raises:
            ApiError: the server refused it, the connection broke, or no byte came for `silence_max_s`.
        """

        async def read(answer: aiohttp.ClientResponse) -> None:
            accepted()
            lines, count = Lines(), 0
            try:
                while chunk := await answer.content.readany():
                    for line in lines.feed(chunk):
                        take(line)
                        count += 1
                        if count % LINES_PER_ITERATION == 0:
                            await asyncio.sleep(0)  # a long list must not hold the loop
            except LineTooLong as error:
                raise Rejected(str(error)) from error
            if lines.rest.strip():
                raise Unreachable("the watch was cut off in the middle of a line")

        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence_max_s)
        await self._exchange(Request("GET", path, query), timeout, read)

    async def _request(self, request: Request, traffic: Traffic, timeout_s: float, read: _Read[bytes]) -> bytes:
        lane = self._lanes[traffic]
        loop = asyncio.get_running_loop()
        patient = traffic in _PATIENT_READS and request.may_send is None
        waiting, began_s = True, loop.time()
        deadline_s = began_s + timeout_s

        async def attempt() -> bytes:
            nonlocal deadline_s, waiting, began_s
            if patient and not waiting:
                began_s = loop.time()
                limit.reschedule(None)
            await lane.budget.spend()
            if patient:  # the time that it waits for others is not the server's
                deadline_s += loop.time() - began_s
                limit.reschedule(deadline_s)
            if request.may_send is not None:
                request.may_send()
            waiting, answers = False, lane.answers
            try:
                return await self._once(request, traffic, read)
            finally:
                # Before the place is given back, or the next one would hang as well.
                if limit.expired() and traffic in _METRICS:
                    silence = f"not asked: other {traffic.value} requests had no answer within {timeout_s:g} s"
                    lane.unanswered(answers, functools.partial(Unreachable, silence))

        try:
            async with asyncio.timeout_at(None if patient else deadline_s) as limit, lane.place():
                try:
                    return await attempt()
                except (Throttled, ServerFailure) as error:
                    refusal: ApiError | None = error
                # Only now: getting ready for more costs about as much as an attempt.
                async for another in self._retrying(lambda: deadline_s):
                    with another:
                        if refusal is not None:
                            first, refusal = refusal, None
                            raise first
                        return await attempt()
        except TimeoutError as error:
            if waiting:
                raise Unreachable(
                    f"not sent within {timeout_s:g} s: too many {traffic.value} requests wait for their turn"
                ) from error
            raise Unreachable(f"no answer within {timeout_s:g} s") from error
        raise AssertionError("tenacity returns or raises")

    def _retrying(self, deadline_s: Callable[[], float]) -> tenacity.AsyncRetrying:
        """Attempts for as long as the server asks for them before the deadline, in loop time."""
        time_s = asyncio.get_running_loop().time
        return tenacity.AsyncRetrying(
            # A server that asks for more time than there is has given its answer: nobody need wait for the deadline.
            stop=lambda state: state.attempt_number >= ATTEMPTS_MAX or time_s() + state.upcoming_sleep >= deadline_s(),
            retry=tenacity.retry_if_exception(lambda error: asked_s(error) is not None),
            wait=AskedWait(self._random, _RETRY_JITTER),
            reraise=True,
        )

    async def _once(self, request: Request, traffic: Traffic, read: _Read[bytes]) -> bytes:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        code = NO_ANSWER

        async def told(answer: aiohttp.ClientResponse) -> bytes:
            nonlocal code
            code = str(answer.status)
            return await read(answer)

        try:
            return await self._exchange(request, _PATIENT, told)
        except ApiError as error:
            code = str(error.status or code)
            raise
        finally:
            if code != NO_ANSWER:
                self._lanes[traffic].answered()
            self._answered(traffic.value, request.method, code, loop.time() - began_s)

    async def _exchange(self, request: Request, patience: aiohttp.ClientTimeout, read: _Read[_R]) -> _R:
        """What `read` makes of a successful answer; a 401 is met once with fresh credentials."""
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
                    error = error_of(answer.status, answer.headers, await _read(answer, _ERROR_BODY_MAX))
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


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    return await _read(answer, ANSWER_BYTES_MAX)


async def _read(answer: aiohttp.ClientResponse, bytes_max: int) -> bytes:
    """The body, unless it is too large to be an honest answer."""
    parts, size = [], 0
    while part := await answer.content.readany():
        size += len(part)
        if size > bytes_max and answer.status >= _REDIRECTION:
            break  # the beginning of an error says enough
        _within(size, bytes_max)
        parts.append(part)
    return b"".join(parts)


def _within(size: int, bytes_max: int) -> int:
    """That size, unless an answer that large cannot be an honest one: then Rejected is raised."""
    if size > bytes_max:
        raise Rejected(f"the answer is larger than {bytes_max} bytes")
    return size
