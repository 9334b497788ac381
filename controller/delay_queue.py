"""Keys that become due: one entry per key, the earlier time wins, and no key is ever in two hands (§3)."""

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from controller.beats import BEAT_S, beat_after

DUE_PER_ITERATION: Final = 200
"""How many keys may become due in one iteration of the loop: less than a millisecond of work."""


class QueueClosed(Exception):
    """The queue was closed and what was due is drained."""


class Due(msgspec.Struct, frozen=True, gc=False):
    """A key that somebody now holds; `due_s` is when it became due, in loop time."""

    key: str
    due_s: float


class DelayQueue:
    """Keys wait until they are due, are then taken in that order, and are in the taker's hand until they are done.

    - Adding a waiting key again keeps the earlier of both times.
    - Adding a key that is due and not yet taken changes nothing.
    - Of the times that a key is given while it is in a hand the earliest counts when it is done.

    `added` counts every add. One timer serves all keys. It rings on beats, so keys become due up to 1.1 `beat_s` after
    their time, and those of one beat together.
    """

    def __init__(self, time_s: Callable[[], float], *, beat_s: float = BEAT_S) -> None:
        self._time_s = time_s
        self._beat_s = beat_s
        self._waiting: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        self._due: deque[Due] = deque()
        self._due_keys: set[str] = set()
        self._in_hand: set[str] = set()
        self._again: dict[str, float] = {}
        # Wakes all who wait to take; all but the first wait on. So no wake-up is lost with a taker that is cancelled.
        self._news = asyncio.Event()
        self._timer: asyncio.Handle | None = None
        self._rings_s = 0.0
        self._closed = False
        self.added = 0

    def __len__(self) -> int:
        """Keys waiting and due, without those in hands."""
        return len(self._waiting) + len(self._due)

    @property
    def depth(self) -> int:
        """Keys that are due and not yet taken."""
        return len(self._due)

    @property
    def in_hand(self) -> int:
        """Keys taken and not yet done."""
        return len(self._in_hand)

    def holds(self, key: str) -> bool:
        """Whether a key is in somebody's hand."""
        return key in self._in_hand

    def add(self, key: str, due_s: float) -> None:
        """Make a key due at a loop time; the past means now. Ignored once closed."""
        if self._closed:
            return
        self.added += 1
        if key in self._due_keys:
            return
        if key in self._in_hand:
            self._again[key] = min(due_s, self._again.get(key, due_s))
            return
        self._enter(key, due_s)

    async def take(self) -> Due:
        """The key that has been due longest, now in the caller's hand until `done`.

        Raises:
            QueueClosed: closed, and nothing is due any more.
        """
        while not self._due:
            if self._closed:
                raise QueueClosed
            self._news.clear()
            await self._news.wait()
        taken = self._due.popleft()
        self._due_keys.discard(taken.key)
        self._in_hand.add(taken.key)
        return taken

    def done(self, key: str) -> None:
        """Give a key back; if it became due meanwhile it is due at once."""
        self._in_hand.discard(key)
        due_s = self._again.pop(key, None)
        if due_s is not None and not self._closed:
            self._enter(key, due_s)

    def close(self) -> None:
        """Drop what waits; what is due can still be taken (§2.3)."""
        self._closed = True
        self._waiting.clear()
        self._heap.clear()
        self._again.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._news.set()

    def _enter(self, key: str, due_s: float) -> None:
        """Have a key that is neither due nor in a hand wait, or be due."""
        if due_s <= self._time_s():
            self._waiting.pop(key, None)
            self._becomes_due(key, due_s)
            return
        known_s = self._waiting.get(key)
        if known_s is not None and known_s <= due_s:
            return
        self._waiting[key] = due_s
        heapq.heappush(self._heap, (due_s, key))
        self._arm()

    def _becomes_due(self, key: str, due_s: float) -> None:
        self._due_keys.add(key)
        self._due.append(Due(key, due_s))
        self._news.set()

    def _arm(self) -> None:
        """Have the timer fire for the earliest time."""
        if not self._heap:
            return
        rings_s = beat_after(self._heap[0][0], self._beat_s)
        if self._timer is not None:
            if self._rings_s <= rings_s:
                return
            self._timer.cancel()
        self._rings_s = rings_s
        self._timer = asyncio.get_running_loop().call_at(rings_s, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now_s = self._time_s()
        for _ in range(DUE_PER_ITERATION):
            if not self._heap or self._heap[0][0] > now_s:
                self._arm()
                return
            due_s, key = heapq.heappop(self._heap)
            if self._waiting.get(key) == due_s:  # neither superseded by an earlier time nor due since
                del self._waiting[key]
                self._becomes_due(key, due_s)
        self._rings_s = now_s
        self._timer = asyncio.get_running_loop().call_soon(self._ring)
