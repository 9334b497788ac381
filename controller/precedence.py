"""Who goes first where many wait: by urgency, then by how long their HPA has been due, then in order of arrival.

A sync that waits for a turn, a place or a budget does so far below the code that knows for which HPA it waits, and
whether it holds a turn by then. That much is carried along in a context variable, as the task carries its own name.
"""

import asyncio
import heapq
import itertools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Final

import msgspec

from controller.ports import SCALE_FIRST, STATUS_SECOND

PER_ITERATION: Final = 4
"""How many syncs may go a step further in one iteration of the loop: about three milliseconds of work."""

READ_THIRD: Final = 2
"""The urgency of reads that precede a decision; see ports.SCALE_FIRST and ports.STATUS_SECOND for what follows it."""


class Precedence(msgspec.Struct, frozen=True, order=True, gc=False):
    """Lower numbers go first; `due_s` is loop time."""

    urgency: int
    due_s: float


EQUAL: Final = Precedence(SCALE_FIRST, float("-inf"))
"""For those who are served in order of arrival."""

_OF_NO_SYNC: Final = Precedence(READ_THIRD, float("-inf"))
_current: Final[ContextVar[Precedence]] = ContextVar("precedence", default=_OF_NO_SYNC)


def current() -> Precedence:
    """That of the sync this is called in; outside of syncs before all other reads, since these are few."""
    return _current.get()


def in_sync() -> bool:
    """Whether this is called in a sync, or in a task that one has begun."""
    return _current.get() is not _OF_NO_SYNC


def begin(due_s: float) -> None:
    """Say in a sync's own task when its HPA became due."""
    _current.set(Precedence(READ_THIRD, due_s))


class Waiters:
    """Tasks that wait, served by precedence."""

    def __init__(self) -> None:
        self._heap: list[tuple[Precedence, int, asyncio.Future[None]]] = []
        self._arrival = itertools.count()

    async def wait(self, precedence: Precedence, lost: Callable[[], None]) -> None:
        """Return once served. `lost` is called when it was cancelled in the moment it was served: pass that on."""
        served: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._heap, (precedence, next(self._arrival), served))
        try:
            await served
        except asyncio.CancelledError:
            if served.done() and not served.cancelled() and served.exception() is None:
                lost()
            raise

    def serve(self) -> bool:
        """Wake whoever is first; False if nobody waits."""
        while self._heap:
            *_, served = heapq.heappop(self._heap)
            if not served.done():
                served.set_result(None)
                return True
        return False

    def refuse(self, error: Callable[[], Exception]) -> None:
        """Have everybody who waits now raise an error of their own instead of being served, a few per iteration."""
        waiting, self._heap = [served for *_, served in sorted(self._heap, reverse=True)], []
        _refuse(waiting, error)

    def first(self) -> Precedence | None:
        """That of whoever is served next; None if nobody waits."""
        while self._heap and self._heap[0][-1].done():
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def waited_for(self) -> bool:
        """Whether anybody waits."""
        return self.first() is not None


def _refuse(waiting: list[asyncio.Future[None]], error: Callable[[], Exception]) -> None:
    """A few now, the last ones first, and the others in later iterations of the loop."""
    for served in reversed(waiting[-PER_ITERATION:]):
        if not served.done():
            served.set_exception(error())
    del waiting[-PER_ITERATION:]
    if waiting:
        asyncio.get_running_loop().call_soon(_refuse, waiting, error)


class Turns:
    """A semaphore whose waiters are served by precedence instead of arrival.

    Statuses may share a turn. While whoever goes first waits for a whole one, no status is given a part of it.
    """

    def __init__(self, count: int, *, statuses_per_turn: int = 1) -> None:
        """`count`: how many may hold a turn at once, at least 1; `statuses_per_turn`: or so many statuses each.

        Raises:
            ValueError: less than 1 (§1.1).
        """
        if count < 1:
            raise ValueError(f"{count} concurrent syncs: at least 1 is needed")
        self._count = count
        self._whole = statuses_per_turn
        # By urgency: what a holder takes of what is free, both counted in statuses.
        self._share = [statuses_per_turn] * (READ_THIRD + 1)
        self._share[STATUS_SECOND] = 1
        self._free = count * statuses_per_turn
        self._waiters = Waiters()
        # By urgency: how many hold a turn, and how many of those that count wait for one.
        self._holding = [0] * (READ_THIRD + 1)
        self._waiting = [0] * (READ_THIRD + 1)
        self._room: asyncio.Future[None] | None = None

    def holds(self, urgency: int) -> bool:
        """Whether anybody so urgent holds a turn."""
        return self._holding[urgency] > 0

    def held(self, urgency: int, due_s: float, *, counts: bool = True) -> "_Held":
        """Hold a turn for the block, and have its requests take precedence accordingly.

        `counts`: whether `room` takes notice of it while it waits.
        """
        return _Held(self, Precedence(urgency, due_s), counts=counts)

    async def room(self, waiting_max: int) -> None:
        """Return once fewer than so many wait, for one caller at a time.

        Those do not count who are less urgent than somebody who holds a turn: who comes now may go before them.
        """
        while self._waiting_in_front() >= waiting_max:
            self._room = asyncio.get_running_loop().create_future()
            await self._room

    def resize(self, count: int) -> None:
        """From now on so many may hold a turn; those who do keep theirs."""
        self._free += (count - self._count) * self._whole
        self._count = count
        self._serve()

    def refuse(self, error: Callable[[], Exception]) -> None:
        """Have everybody who waits now raise an error instead."""
        self._waiters.refuse(error)

    async def take(self, precedence: Precedence, *, counts: bool) -> None:
        """Return with a turn; see `held`. Whoever calls this has to give it back."""
        urgency = precedence.urgency
        share = self._share[urgency]
        if share <= self._free and not self._waiters.waited_for():
            self._free -= share
        else:
            self._waiting[urgency] += counts
            try:
                await self._waiters.wait(precedence, lambda: self._pass_on(urgency))
            finally:
                self._waiting[urgency] -= counts
                self._serve()  # who gave up waiting for a whole turn may have kept statuses from a part of it
                self._tell()
        self._holding[urgency] += 1
        self._tell()

    def give_back(self, precedence: Precedence) -> None:
        """Whoever is first has the turn now."""
        self._holding[precedence.urgency] -= 1
        self._pass_on(precedence.urgency)

    def _pass_on(self, urgency: int) -> None:
        self._free += self._share[urgency]
        self._serve()
        self._tell()

    def _serve(self) -> None:
        while (first := self._waiters.first()) is not None and (share := self._share[first.urgency]) <= self._free:
            self._free -= share
            self._waiters.serve()

    def _waiting_in_front(self) -> int:
        count = 0
        for holding, waiting in zip(self._holding, self._waiting, strict=True):
            count += waiting
            if holding:
                break
        return count

    def _tell(self) -> None:
        """Have `room` look again."""
        if self._room is not None and not self._room.done():
            self._room.set_result(None)


class _Held:
    """A turn while its block lasts. A class, since a sync enters four of these, and generators cost twice as much."""

    __slots__ = ("_counts", "_outside", "_precedence", "_turns")

    def __init__(self, turns: Turns, precedence: Precedence, *, counts: bool) -> None:
        self._turns = turns
        self._precedence = precedence
        self._counts = counts
        self._outside = precedence

    async def __aenter__(self) -> None:
        await self._turns.take(self._precedence, counts=self._counts)
        self._outside = _current.get()
        _current.set(self._precedence)

    async def __aexit__(self, *_: object) -> None:
        # Not by a token: a block that is abandoned is closed by the loop, in another context.
        _current.set(self._outside)
        self._turns.give_back(self._precedence)


class Pace:
    """Lets so many pass per iteration of the loop; the others wait for the next ones, by precedence.

    Thousands of syncs become due, or get the answer that they share, in one moment. Without a pace the loop would run
    all of them before it looks at anything else.
    """

    def __init__(self, per_iteration: int) -> None:
        self._per_iteration = self._left = per_iteration
        self._waiters = Waiters()
        self._armed = False

    async def step(self, precedence: Precedence | None = None) -> None:
        """Pass, now or in a later iteration of the loop; None: with the precedence of the sync this is called in."""
        self._arm()
        if self._left > 0 and not self._waiters.waited_for():
            self._left -= 1
            return
        await self._waiters.wait(precedence or current(), self._arm)

    def _arm(self) -> None:
        if not self._armed:
            self._armed = True
            asyncio.get_running_loop().call_soon(self._renew)

    def _renew(self) -> None:
        self._armed = False
        self._left = self._per_iteration
        while self._left > 0 and self._waiters.serve():
            self._left -= 1
            self._arm()
