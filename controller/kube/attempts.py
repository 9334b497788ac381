"""A request's way to the API server: a place, a share of the budget, and attempts as the server asks, by a deadline."""

import asyncio
import functools
from collections.abc import Awaitable, Callable
from typing import Final

import tenacity

from controller.backoff import AskedWait, Random, asked_s, retried
from controller.kube.budget import Lane
from controller.kube.exchange import Request
from controller.kube.traffic import METRICS, PATIENT_READS, Traffic
from controller.ports import ServerFailure, Throttled, Unreachable

ATTEMPTS_MAX: Final = 5
_RETRY_JITTER: Final = 0.1


class Attempts:
    """All that is tried for one request. A class: closures left the collector twenty objects for each that waits."""

    __slots__ = (
        "_began_s",
        "_deadline_s",
        "_lane",
        "_limit",
        "_may_send",
        "_once",
        "_patient",
        "_random",
        "_time_s",
        "_timeout_s",
        "_traffic",
        "_waiting",
    )

    def __init__(
        self,
        request: Request,
        traffic: Traffic,
        timeout_s: float,
        *,
        lane: Lane,
        once: Callable[[], Awaitable[bytes]],
        random: Random,
    ) -> None:
        """`once` sends the request and gives the body of a successful answer; `timeout_s` is for all attempts."""
        self._traffic = traffic
        self._may_send = request.may_send
        self._timeout_s = timeout_s
        self._lane = lane
        self._once = once
        self._random = random
        self._time_s = asyncio.get_running_loop().time
        self._patient = traffic in PATIENT_READS and request.may_send is None
        self._waiting = True
        self._began_s = self._time_s()
        self._deadline_s = self._began_s + timeout_s
        self._limit = asyncio.timeout_at(None if self._patient else self._deadline_s)

    async def answer(self) -> bytes:
        """The body of a successful answer.

        Raises:
            ApiError: there was none in time, or the last attempt's.
            NotSent: see Request.may_send.
        """
        try:
            async with self._limit, self._lane.place():
                return await retried(self._attempt, (Throttled, ServerFailure), self._retrying)
        except TimeoutError as error:
            if self._waiting:
                others = f"too many {self._traffic.value} requests wait for their turn"
                raise Unreachable(f"not sent within {self._timeout_s:g} s: {others}") from error
            raise Unreachable(f"no answer within {self._timeout_s:g} s") from error

    async def _attempt(self) -> bytes:
        if self._patient and not self._waiting:
            self._began_s = self._time_s()
            self._limit.reschedule(None)
        await self._lane.budget.spend()
        if self._patient:  # the time that it waits for others is not the server's
            self._deadline_s += self._time_s() - self._began_s
            self._limit.reschedule(self._deadline_s)
        if self._may_send is not None:
            self._may_send()
        self._waiting, answers = False, self._lane.answers
        try:
            return await self._once()
        finally:
            # Before the place is given back, or the next one would hang as well.
            if self._limit.expired() and self._traffic in METRICS:
                traffic, time_s = self._traffic.value, self._timeout_s
                silence = f"not asked: other {traffic} requests had no answer within {time_s:g} s"
                self._lane.unanswered(answers, functools.partial(Unreachable, silence))

    def _retrying(self) -> tenacity.AsyncRetrying:
        """Attempts for as long as the server asks for them before the deadline."""
        return tenacity.AsyncRetrying(
            stop=self._is_over,
            retry=tenacity.retry_if_exception(lambda error: asked_s(error) is not None),
            wait=AskedWait(self._random, _RETRY_JITTER),
            reraise=True,
        )

    def _is_over(self, state: tenacity.RetryCallState) -> bool:
        # A server that asks for more time than there is has given its answer: nobody need wait for the deadline.
        return state.attempt_number >= ATTEMPTS_MAX or self._time_s() + state.upcoming_sleep >= self._deadline_s
