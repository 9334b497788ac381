"""Attempts and the waits between them, for tenacity, with randomness as an argument."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from tenacity import AsyncRetrying, RetryCallState
from tenacity.wait import wait_base

from controller.ports import ServerFailure, Throttled

LEASE_JITTER: Final = 0.2
"""By how much of the retry period an attempt to renew a Lease may come later."""

R = TypeVar("R")

Random = Callable[[], float]
"""A number in [0, 1), as random.random gives it."""

WATCH_FIRST_S: Final = 0.8
WATCH_MAX_S: Final = 30.0
WATCH_RESET_S: Final = 120.0
WATCH_JITTER: Final = 1.0
ASKED_MAX_S: Final = 60.0
"""A page of maintenance that asks for a day must not keep a watch from what is back in a minute (§20.5)."""


def asked_s(error: BaseException | None) -> float | None:
    """How long the server asked to wait before coming back; None if it did not ask to come back."""
    return error.retry_after_s if isinstance(error, Throttled | ServerFailure) else None


def _asked_last_s(state: RetryCallState) -> float:
    return asked_s(state.outcome.exception() if state.outcome is not None else None) or 0.0


class AskedWait(wait_base):
    """As long as the server said, stretched by up to `jitter` of it so that not all come back at once."""

    def __init__(self, random: Random, jitter: float) -> None:
        self._random = random
        self._jitter = jitter

    def __call__(self, retry_state: RetryCallState) -> float:
        """The wait before the next attempt, in seconds."""
        return _asked_last_s(retry_state) * (1.0 + self._jitter * self._random())


class GrowingWait(wait_base):
    """Doubling waits with jitter that start again after a quiet time (§20.5).

    `jitter` 1.0 stretches each wait by a factor between 1 and 2. A server that says when to come back is obeyed if that
    is later.
    """

    def __init__(
        self,
        random: Random,
        time_s: Callable[[], float],
        *,
        first_s: float = WATCH_FIRST_S,
        max_s: float = WATCH_MAX_S,
        reset_s: float = WATCH_RESET_S,
        jitter: float = WATCH_JITTER,
    ) -> None:
        self._random = random
        self._time_s = time_s
        self._first_s = first_s
        self._max_s = max_s
        self._reset_s = reset_s
        self._jitter = jitter
        self._next_s = first_s
        self._last_use_s: float | None = None

    def __call__(self, retry_state: RetryCallState) -> float:
        """The wait before the next attempt, in seconds."""
        now_s = self._time_s()
        if self._last_use_s is not None and now_s - self._last_use_s > self._reset_s:
            self._next_s = self._first_s
        wait_s = self._next_s * (1.0 + self._jitter * self._random())
        self._next_s = min(self._next_s * 2, self._max_s)
        self._last_use_s = now_s
        return max(wait_s, min(_asked_last_s(retry_state), ASKED_MAX_S))


class EvenWait(wait_base):
    """The same wait each time, stretched by up to `jitter` of it (§13.1)."""

    def __init__(self, random: Random, wait_s: float, jitter: float) -> None:
        self._random = random
        self._wait_s = wait_s
        self._jitter = jitter

    def __call__(self, retry_state: RetryCallState) -> float:  # noqa: ARG002 - tenacity's signature
        """The wait before the next attempt, in seconds."""
        return self._wait_s * (1.0 + self._jitter * self._random())


async def retried(
    attempt: Callable[[], Awaitable[R]], passing: tuple[type[Exception], ...], retrying: Callable[[], AsyncRetrying]
) -> R:
    """What an attempt gives: the first one, or one of those that `retrying` makes after one that was `passing`.

    It is told of the first one as if it had made it, and made only then: getting ready for more attempts costs as much
    as one does, and leaves the garbage collector 23 objects.
    """
    try:
        return await attempt()
    except passing as error:
        failure: Exception | None = error
    further = retrying()
    try:
        async for another in further:
            with another:
                if failure is not None:
                    try:
                        raise failure
                    finally:
                        failure = None  # its traceback keeps this frame
                return await attempt()
    finally:
        vars(further).clear()  # it refers to itself, and to whom it has asked
    raise AssertionError("tenacity returns or raises")
