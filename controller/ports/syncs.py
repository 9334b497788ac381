"""What a sync was, who may write after it, and in which order."""

from contextlib import AbstractAsyncContextManager
from typing import Final, Literal, Protocol

import msgspec

from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.observed import Observation
from controller.decide.result import Conclusion, Decision, Write
from controller.ports.objects import WatchedAutoscaler


class Withheld(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Why nothing may be written for an HPA: a label, and a sentence for people with what to do."""

    reason: Literal["shadow", "foreign-writer", "frozen"]
    message: str


class Rescale(msgspec.Struct, frozen=True, gc=False):
    """Another controller changed the target's replicas by `change`, seen at a monotonic time."""

    change: int
    at_ns: int


class Mandate(Protocol):
    """Whether an HPA is ours to write, and what others did to it while it was not."""

    def withheld(self, autoscaler: WatchedAutoscaler) -> Withheld | None:
        """None when it may be written at this moment. Asked before every write."""
        ...

    def sending(self, autoscaler: WatchedAutoscaler) -> None:
        """A status of ours is sent now, over this version of it."""
        ...

    def rescales(self, key: str) -> tuple[Rescale, ...]:
        """What other controllers did since `adopted` was last called, oldest first."""
        ...

    def adopted(self, key: str, rescales: tuple[Rescale, ...]) -> None:
        """These rescales are now part of the HPA's history."""
        ...


SCALE_FIRST: Final = 0
STATUS_SECOND: Final = 1


class Turn(Protocol):
    """What a sync holds while it decides and writes; it waits for reads without one."""

    def __call__(self, urgency: int = SCALE_FIRST, *, yields: bool = False) -> AbstractAsyncContextManager[None]:
        """Wait for a turn: lower urgency numbers first, then the key that has been due longest.

        `yields`: nothing hangs on it, so its key counts as due only a period from now.
        """
        ...


class Sync(msgspec.Struct, frozen=True):
    """One sync that decided: what went in, what was decided, and what came of it.

    `history` is the one it started from; `write` is None when the scale was left alone. `withheld` says why nothing was
    written although something was to be, None where writing was allowed. It was decided at `now` and concluded at
    `concluded`: between the two the scale was written. `taken_up`: the history is what an earlier term had left.
    """

    autoscaler: WatchedAutoscaler
    observation: Observation
    history: History
    now: Now
    decision: Decision
    write: Write | None
    conclusion: Conclusion
    concluded: Now
    withheld: Withheld | None = None
    taken_up: bool = False


class SyncObserver(Protocol):
    """Wants to know of every sync; must not block, and what it raises is logged."""

    def __call__(self, sync: Sync, /) -> None:
        """Called when a sync has been concluded, before its status is written."""
        ...
