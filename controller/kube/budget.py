"""What a kind of traffic may send: how many requests at once, and how many a second (`--kube-api-qps`)."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final

from controller.precedence import Turns, Waiters, current

SILENT_PLACES: Final = 4
"""How many requests at once find out whether a server that was silent answers again."""

GRAIN_S: Final = 0.001
"""How much too early a timer may ring: uvloop counts in milliseconds, and arming it again would only spin."""


class Budget:
    """A token bucket. Who holds a turn is served first, then whose HPA has been due longest; `qps` 0 means no limit.

    Who stops waiting has spent nothing: under more requests than the limit allows, those that time out must not use up
    the budget of those that could still be sent.
    """

    def __init__(self, qps: float, burst: int, time_s: Callable[[], float]) -> None:
        """`burst` is the number of requests that may go out at once, at least 1."""
        self._interval_s = 1.0 / qps if qps > 0 else 0.0
        self._ahead_s = (max(burst, 1) - 1) * self._interval_s
        self._time_s = time_s
        self._waiters = Waiters()
        self._timer: asyncio.TimerHandle | None = None
        # The moment at which the bucket would be full again; each request moves it by 1/qps.
        self._full_s = float("-inf")

    async def spend(self) -> None:
        """Wait until a request may go out; it counts from then on."""
        if not self._interval_s:
            return
        if self._timer is None and self._wait_s() <= 0:
            self._take()
            return
        self._arm()
        await self._waiters.wait(current(), self._give_back)

    def _wait_s(self) -> float:
        return self._full_s - self._ahead_s - self._time_s()

    def _take(self) -> None:
        self._full_s = max(self._full_s, self._time_s()) + self._interval_s

    def _give_back(self) -> None:
        self._full_s -= self._interval_s
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiters.waited_for():
            self._arm()

    def _arm(self) -> None:
        """Have the timer ring when the next request may go out; while it is set, somebody waits or has just left."""
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, self._wait_s()), self._ring)

    def _ring(self) -> None:
        self._timer = None
        while self._wait_s() <= GRAIN_S and self._waiters.serve():
            self._take()
        if self._waiters.waited_for():
            self._arm()


class Lane:
    """How many requests of one kind may be under way, and how many may start per second; both by precedence.

    While a server is silent its lane is narrow: the requests that hang count as ours at the API server in front of it,
    which would have everything else of ours wait for them.
    """

    def __init__(self, concurrent_max: int, budget: Budget) -> None:
        self._concurrent_max = concurrent_max
        self._places = Turns(concurrent_max)
        self._answers = 0
        self._narrow = False
        self.budget = budget

    def answered(self) -> None:
        """The server has said something, be it an error."""
        self._answers += 1
        if self._narrow:
            self._narrow = False
            self._places.resize(self._concurrent_max)

    @property
    def answers(self) -> int:
        """How many there were."""
        return self._answers

    def serves(self, urgency: int) -> bool:
        """Whether a request so urgent is under way."""
        return self._places.holds(urgency)

    def unanswered(self, answers: int, error: Callable[[], Exception]) -> None:
        """A request, at whose beginning there had been so many answers, was given up.

        If there has been none since, everybody who waits for a place gets the error: it would take them as long.
        """
        if answers == self._answers:
            self._narrow = True
            self._places.resize(min(SILENT_PLACES, self._concurrent_max))
            self._places.refuse(error)

    def place(self) -> AbstractAsyncContextManager[None]:
        """Hold one of the places."""
        precedence = current()
        return self._places.held(precedence.urgency, precedence.due_s)
