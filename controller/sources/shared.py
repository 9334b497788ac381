"""Reads that many syncs share: one request under way per question, its answer good for a few seconds."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar

import msgspec

from controller.precedence import PER_ITERATION, Pace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

FRESH_MAX_S: Final = 3.0
FRESH_SHARE: Final = 0.2
MEANWHILE_MAX_S: Final = 2.0
MEANWHILE_SHARE: Final = 0.13
PIECES_PER_ITERATION: Final = 500


def fresh_s(period_s: float) -> float:
    """How long an answer serves further syncs: a small part of the period, so that every sync sees a new one."""
    return min(FRESH_MAX_S, FRESH_SHARE * period_s)


def meanwhile_s(period_s: float) -> float:
    """How much longer an answer may serve while the next one is under way."""
    return min(MEANWHILE_MAX_S, MEANWHILE_SHARE * period_s)


class _Answer(msgspec.Struct, Generic[V]):
    value: V
    asked_s: float
    fresh_s: float


class SharedReads(Generic[K, V]):
    """Answers by question. A failure reaches everybody who waits for it, and nobody who asks later."""

    def __init__(
        self,
        read: Callable[[K], Awaitable[V]],
        time_s: Callable[[], float],
        fresh_s: float | Callable[[K], float],
        *,
        meanwhile_s: float = 0.0,
        pieces: Callable[[V], list[object]] | None = None,
    ) -> None:
        """`read` is called for one question at a time.

        `fresh_s`: how long an answer serves further questions, or what is asked for that when it has come; 0 shares
        only what is under way.

        `meanwhile_s`: how much longer an answer serves while the next one is under way, so that nobody waits for it.
        `pieces`: what a large answer consists of, the innermost first. To free 50,000 pods at once would hold the loop
        for tens of milliseconds.
        """
        self._read = read
        self._pieces = pieces
        self._time_s = time_s
        self._fresh_s: Callable[[K], float] = fresh_s if callable(fresh_s) else lambda _: fresh_s
        self._meanwhile_s = meanwhile_s
        self._answers: dict[K, _Answer[V]] = {}
        self._under_way: dict[K, asyncio.Task[V]] = {}
        self._swept_s = time_s()
        self._pace = Pace(PER_ITERATION)

    async def get(self, question: K) -> V:
        """The answer; raises what the read raises."""
        now_s = self._time_s()
        known = self._serving(question, now_s)
        if known is not None:
            if not self._is_fresh(known, now_s):
                self._read_again(question, now_s)
            return known.value
        flight = self._read_again(question, now_s)
        try:
            # A sync that is cancelled must not cancel the read for the others.
            return await asyncio.shield(flight)
        finally:
            landed = flight.done()
            del flight  # which keeps the error, whose traceback keeps this frame
            if landed:  # else this sync is cancelled, and a stop must not wait for thousands of them
                await self._pace.step()

    def known(self, question: K) -> V | None:
        """The last answer, as long as it is there: it need not serve any longer."""
        answer = self._answers.get(question)
        return None if answer is None else answer.value

    def shares(self, question: K) -> bool:
        """Whether whoever asks now shares an answer with others, fresh or under way."""
        answer = self._answers.get(question)
        return question in self._under_way or (answer is not None and self._is_fresh(answer, self._time_s()))

    def _serving(self, question: K, now_s: float) -> _Answer[V] | None:
        """The answer, if it still serves; else it is forgotten, not kept beside its successor: it may be large."""
        known = self._answers.get(question)
        if known is None or self._is_fresh(known, now_s - self._meanwhile_s):
            return known
        self._forget(question)
        return None

    def _is_fresh(self, answer: _Answer[V], at_s: float) -> bool:
        return at_s - answer.asked_s <= answer.fresh_s

    def _read_again(self, question: K, now_s: float) -> asyncio.Task[V]:
        flight = self._under_way.get(question)
        if flight is None:
            flight = asyncio.create_task(self._fly(question, now_s))
            self._under_way[question] = flight
            flight.add_done_callback(lambda done: self._landed(question, done))
        return flight

    async def _fly(self, question: K, asked_s: float) -> V:
        value = await self._read(question)
        fresh_s = self._fresh_s(question)
        self._sweep(fresh_s)
        self._forget(question)
        self._answers[question] = _Answer(value, asked_s, fresh_s)
        return value

    def _landed(self, question: K, flight: asyncio.Task[V]) -> None:
        self._under_way.pop(question, None)
        if not flight.cancelled() and flight.exception() is not None:
            # It has been raised to all who waited. Whoever asks now asks anew, as often as if nothing had been known.
            self._forget(question)

    def _sweep(self, every_s: float) -> None:
        """Forget what is no longer fresh and has no successor under way, now and then."""
        now_s = self._time_s()
        if now_s - self._swept_s > every_s:
            self._swept_s = now_s
            stale = {question for question, answer in self._answers.items() if not self._is_fresh(answer, now_s)}
            for question in stale - self._under_way.keys():
                self._forget(question)

    def _forget(self, question: K) -> None:
        answer = self._answers.pop(question, None)
        if answer is not None and self._pieces is not None:
            # In a later iteration: in this one there are others who know the answer, and nothing would be freed yet.
            asyncio.get_running_loop().call_soon(_free, self._pieces(answer.value))


def _free(pieces: list[object]) -> None:
    """Let go of some now, and of the others in later iterations of the loop."""
    del pieces[-PIECES_PER_ITERATION:]
    if pieces:
        asyncio.get_running_loop().call_soon(_free, pieces)
