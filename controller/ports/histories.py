"""Histories that outlive a term of leadership."""

from typing import Protocol

import msgspec

from controller.decide.history import History
from controller.decide.observed import Scale
from controller.ports.objects import WatchedAutoscaler


class Past(Protocol):
    """What earlier terms of leadership, ours or others', have left (`--keep-history`)."""

    async def resumed(self, watched: WatchedAutoscaler, scale: Scale, begun: History) -> History:
        """The history to go on with at an HPA's first sync of a term; `begun` itself where nothing was left.

        `begun` has no recommendations yet, but maybe rescales by other controllers. Never raises ApiError.
        """
        ...


class StoredShard(msgspec.Struct, frozen=True):
    """An object of kept histories. `body` None: it has none; `version` empty: the object does not exist."""

    body: bytes | None
    version: str


class HistoryStore(Protocol):
    """Where kept histories are, in numbered objects."""

    async def load(self, number: int) -> StoredShard:
        """An object as it is now. Raises ApiError."""
        ...

    async def save(self, number: int, body: bytes, version: str) -> str:
        """Replace what was loaded or saved at that version, and give the new one; empty: there was no object.

        Raises:
            Conflict: it is not at that version.
            ApiError: anything else.
            NotLeading: nothing was sent.
        """
        ...
