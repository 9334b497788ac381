"""Requests to the API server: authenticated, limited, retried as the server asks, every failure an ApiError."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import aiohttp

from controller import precedence
from controller.backoff import Random
from controller.kube.attempts import Attempts
from controller.kube.connection import ANSWER_BYTES_MAX, Connection
from controller.kube.errors import untraced
from controller.kube.exchange import Exchange, Request, within
from controller.kube.framing import Lines, LineTooLong
from controller.kube.http_connection import Answer
from controller.kube.permissions import no_advice
from controller.kube.traffic import Traffic, lanes
from controller.ports import SCALE_FIRST, ApiError, Leadership, Rejected, Unreachable
from controller.precedence import PER_ITERATION, Pace

REQUEST_TIMEOUT_S: Final = 30.0
PART_BYTES_MAX: Final = 128 * 1024
"""How much of a long answer is given to whoever takes it part by part, in one iteration of the loop.

Less than a millisecond's work; with smaller parts a list of 100,000 pods arrives later than the last one serves.
"""

LINES_PER_ITERATION: Final = 100

NO_ANSWER: Final = "<error>"
"""What is measured instead of a status code."""

Ask = Callable[[Request], Awaitable[Answer]]
"""Sends a request and gives a successful answer."""

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
        advise: Callable[[str], str] = no_advice,
    ) -> None:
        """`qps` 0: no client-side limit; otherwise each kind of traffic that is limited has its own bucket.

        `advise` gives what to add when the server refuses something, from what it says.
        """
        self._exchange = Exchange(connection, advise)
        self._leadership = leadership
        self._random = random
        self._answered = answered
        self._part_by_part = Pace(1)
        self._answers = Pace(PER_ITERATION)
        self._lanes = lanes(qps, burst, asyncio.get_running_loop().time)

    @property
    def writes_scales(self) -> bool:
        """Whether a sync that has decided is writing a scale; reads of scales before decisions do not count."""
        return self._lanes[Traffic.SCALE].serves(SCALE_FIRST)

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
        return await self._request(Request("GET", path, query), traffic, timeout_s)

    async def get_in_parts(
        self, path: str, traffic: Traffic, take: Callable[[memoryview], None], *, query: Mapping[str, str] | None = None
    ) -> None:
        """Give the body of a successful answer to `take`, in small parts as it arrives; the loop runs in between.

        That goes for all such answers together: many short lists hold it for as long as a long one.
        What `take` raises ends it.

        Raises:
            ApiError: anything but a success; some parts may have been taken by then.
        """

        async def read(answer: aiohttp.ClientResponse) -> Answer:
            self._lanes[traffic].answered()  # it has spoken, even if the rest of what it says never comes
            size = 0
            while part := await answer.content.readany():
                size = within(size + len(part), ANSWER_BYTES_MAX)
                # After a wait for the loop all that has come meanwhile is one part.
                for start in range(0, len(part), PART_BYTES_MAX):
                    await self._part_by_part.step()
                    take(memoryview(part)[start : start + PART_BYTES_MAX])
            return Answer(answer.status, (), b"")

        async def ask(request: Request) -> Answer:
            return await self._exchange.send(request, read)

        await self._request(Request("GET", path, query), traffic, REQUEST_TIMEOUT_S, ask)

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
        return await self._request(request, traffic, timeout_s)

    async def contend(self, method: str, path: str, body: bytes, timeout_s: float) -> bytes:
        """The body of a successful answer to a Lease write, which is sent whether we lead or not.

        Raises:
            ApiError: anything else.
        """
        return await self._request(Request(method, path, body=body), Traffic.LEASE, timeout_s)

    async def review(self, path: str, body: bytes) -> bytes:
        """The body of a successful answer to a question that is put as a POST, and changes nothing.

        Raises:
            ApiError: anything else.
        """
        return await self._request(Request("POST", path, body=body), Traffic.REVIEW, REQUEST_TIMEOUT_S)

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
        loop = asyncio.get_running_loop()
        began_s, counted = loop.time(), False

        def count(code: str) -> None:
            nonlocal counted
            if not counted:
                self._answered(Traffic.LIST.value, "GET", code, loop.time() - began_s)
            counted = True

        async def read(answer: aiohttp.ClientResponse) -> None:
            count(str(answer.status))
            accepted()
            lines, taken = Lines(), 0
            try:
                while chunk := await answer.content.readany():
                    for line in lines.feed(chunk):
                        take(line)
                        taken += 1
                        if taken % LINES_PER_ITERATION == 0:
                            await asyncio.sleep(0)  # a long list must not hold the loop
            except LineTooLong as error:
                raise Rejected(str(error)) from error
            if lines.rest.strip():
                raise Unreachable("the watch was cut off in the middle of a line")

        code = NO_ANSWER
        try:
            await self._exchange.send(Request("GET", path, query), read, silence_max_s=silence_max_s)
        except ApiError as error:
            code = str(error.status or code)
            raise
        finally:
            count(code)

    async def _request(self, request: Request, traffic: Traffic, timeout_s: float, ask: Ask | None = None) -> bytes:
        """The body of a successful answer; by default asked for as a whole."""
        once = functools.partial(self._once, request, traffic, ask or self._exchange.ask)
        try:
            body = await Attempts(
                request, traffic, timeout_s, lane=self._lanes[traffic], once=once, random=self._random
            ).answer()
        except ApiError as error:
            untraced(error)
            await self._let_others_go_on()
            raise
        await self._let_others_go_on()
        return body

    async def _let_others_go_on(self) -> None:
        """Of syncs whose answers came at once, let a few go on in an iteration, in the order of the answers.

        A loop that was kept from a core finds dozens of them, and each is a sync that ends, and the next that begins.
        Whoever is no sync does not wait for them: it may be the Lease.
        """
        if precedence.in_sync():
            await self._answers.step(precedence.EQUAL)

    async def _once(self, request: Request, traffic: Traffic, ask: Ask) -> bytes:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        code = NO_ANSWER
        try:
            answer = await ask(request)
            code = str(answer.status)
        except ApiError as error:
            code = str(error.status or code)
            raise
        else:
            return answer.body
        finally:
            if code != NO_ANSWER:
                self._lanes[traffic].answered()
            self._answered(traffic.value, request.method, code, loop.time() - began_s)
