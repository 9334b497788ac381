"""The bounded memory of changes of one resource, and positions in it from which watchers read."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING, Literal

import msgspec

from controller.lab.objects import errors

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from controller.lab.storage.stored import Stored

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


class Change(msgspec.Struct, frozen=True, eq=False):
    """One write.

    `current` is the object after it (its last state for DELETED), `previous` the one before, if any.
    """

    type: ChangeType
    revision: int
    current: Stored
    previous: Stored | None


class History:
    """The last changes of one resource in order of revision.

    Args:
        limit: How many changes are kept; older ones are forgotten, and reading from before them is refused.
        floor: The revision from which on every change is known.

    """

    def __init__(self, limit: int, floor: int) -> None:
        self._limit = limit
        self._floor = floor
        self._changes: list[Change] = []
        self._dropped = 0
        self._waiting: set[asyncio.Event] = set()
        self._listeners: list[Callable[[Change], None]] = []

    def append(self, change: Change) -> None:
        """Remember a change, wake those who wait, tell those who listen."""
        self._changes.append(change)
        # Trimming in steps keeps the cost of dropping from the front of a list negligible.
        if len(self._changes) > self._limit + self._limit // 4 + 16:
            self._drop(len(self._changes) - self._limit)
        for event in self._waiting:
            event.set()
        for listener in tuple(self._listeners):
            listener(change)

    def forget(self, revision: int) -> None:
        """Drop all changes; reading from before this revision, which is the present one, is refused."""
        self._drop(len(self._changes))
        self._floor = revision

    def position_after(self, revision: int) -> int:
        """The position of the first change after a revision.

        Raises an Expired `ApiError` when it was forgotten.
        """
        floor = self._floor_within_limit()
        if revision < floor:
            raise errors.expired(f"too old resource version: {revision} ({floor})")
        index = bisect.bisect_right(self._changes, revision, key=lambda change: change.revision)
        return self._dropped + index

    def read(self, position: int) -> list[Change]:
        """The changes from a position on; raises an Expired `ApiError` when some of them were forgotten."""
        if position < self._dropped:
            raise errors.expired("the watch fell behind: changes it had not read were dropped")
        return self._changes[position - self._dropped :]

    def after(self, revision: int) -> list[Change]:
        """The changes after a revision, oldest first.

        Raises an Expired `ApiError` when some were forgotten.
        """
        return self.read(self.position_after(revision))

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Have every change reported synchronously; calling the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def wake_on_change(self, event: asyncio.Event) -> Callable[[], None]:
        """Have an event set with every change; calling the result ends that."""
        self._waiting.add(event)
        return lambda: self._waiting.discard(event)

    def _floor_within_limit(self) -> int:
        excess = len(self._changes) - self._limit
        return self._changes[excess - 1].revision if excess > 0 else self._floor

    def _drop(self, count: int) -> None:
        if count:
            self._floor = self._changes[count - 1].revision
            self._dropped += count
            del self._changes[:count]
