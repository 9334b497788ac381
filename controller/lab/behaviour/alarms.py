"""Keys that want attention at a time."""

from __future__ import annotations

import heapq
import itertools
from typing import Generic, TypeVar

Key = TypeVar("Key")


class Alarms(Generic[Key]):
    """At most one time per key; what is due comes out in the order of times, then of setting."""

    def __init__(self) -> None:
        self._due: dict[Key, tuple[float, int]] = {}
        self._heap: list[tuple[float, int, Key]] = []
        self._count = itertools.count()

    def set(self, key: Key, at_s: float) -> None:
        """Have a key come out at a time, in place of an earlier wish."""
        entry = (at_s, next(self._count))
        self._due[key] = entry
        heapq.heappush(self._heap, (*entry, key))

    def drop(self, key: Key) -> None:
        """Forget a key; it may be unknown."""
        self._due.pop(key, None)

    def due(self, now_s: float) -> list[Key]:
        """The keys whose time has come; they are forgotten here."""
        found = []
        while self._heap and self._heap[0][0] <= now_s:
            at_s, number, key = heapq.heappop(self._heap)
            # What was set again or dropped has left a stale entry in the heap.
            if self._due.get(key) == (at_s, number):
                del self._due[key]
                found.append(key)
        return found
