"""Time, leadership and instruments."""

from typing import Protocol

from controller.decide.instants import Now
from controller.decide.result import Action, Cause


class Clock(Protocol):
    """The time, read where it is needed and passed on as a value."""

    def now(self) -> Now:
        """Wall time and monotonic time."""
        ...


class Leadership(Protocol):
    """Whether this instance may write."""

    @property
    def term(self) -> int:
        """Counts up each time leadership is gained; 0 before the first time."""
        ...

    def check(self) -> None:
        """Return if a write may be sent now.

        Raises:
            NotLeading: it may not.
        """
        ...


class Tenured(Leadership, Protocol):
    """Leadership that is counted across all instances."""

    @property
    def tenure(self) -> int | None:
        """Which holder of the Lease we are, as one number: one more than that of the holder before us.

        A Lease that is made anew is counted from elsewhere. None while it is not ours, or without an election.
        """
        ...


class Instruments(Protocol):
    """The numbers we publish, as observations; none of these raises or blocks."""

    def reconciled(self, action: Action, cause: Cause, duration_s: float) -> None:
        """One sync that reached §4 has ended (§17.3)."""
        ...

    def metric_computed(self, action: Action, cause: Cause, metric_type: str, duration_s: float) -> None:
        """One metric was evaluated (§17.4)."""
        ...

    def replicas_desired(self, namespace: str, name: str, replicas: int) -> None:
        """§17.5."""
        ...

    def autoscalers_counted(self, change: int) -> None:
        """An HPA was added (1) or deleted (-1) (§3.6, §3.8)."""
        ...

    def sync_started(self, key: str, lag_s: float) -> None:
        """A due sync began; `lag_s` after it was due."""
        ...

    def sync_ended(self, key: str, duration_s: float) -> None:
        """The sync of a key has ended."""
        ...

    def sync_postponed(self, reason: str) -> None:
        """A due sync was not decided; the reason is one of a few words."""
        ...

    def watch_restarted(self, resource: str, reason: str) -> None:
        """A watch ended abnormally or its resource was listed anew."""
        ...
