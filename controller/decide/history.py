"""What the controller remembers of an HPA between syncs: an immutable value that every sync replaces (§2.5)."""

from typing import TypeVar

import msgspec

from controller.decide.instants import NANOSECONDS

_T = TypeVar("_T")


class Recommendation(msgspec.Struct, frozen=True, gc=False):
    """A replica count that metrics asked for, before any stabilization, and when (monotonic)."""

    replicas: int
    at_ns: int


class ScaleEvent(msgspec.Struct, frozen=True, gc=False):
    """A successful rescale by `change` replicas (always positive) at a monotonic time.

    `outdated` marks a slot that may be reused; the mark stays even if a longer period is configured later (§11.6).
    """

    change: int
    at_ns: int
    outdated: bool = False


class History(msgspec.Struct, frozen=True, gc=False):
    """Recommendations and scale events of one HPA. `recommendations` None: no sync has read the scale yet (§4.5).

    The lists keep their slots: an outdated entry is replaced in place, which decides what a window that was made longer
    sees (§10.1, §11.2).
    """

    recommendations: tuple[Recommendation, ...] | None = None
    scale_ups: tuple[ScaleEvent, ...] = ()
    scale_downs: tuple[ScaleEvent, ...] = ()

    def begun(self, replicas: int, monotonic_ns: int) -> "History":
        """With the current replicas as the first recommendation, if there is no list yet (§4.5)."""
        if self.recommendations is not None:
            return self
        first = (Recommendation(replicas, monotonic_ns),)
        return History(first, self.scale_ups, self.scale_downs)

    def recommended(self, recommendation: Recommendation, slot: int | None) -> "History":
        """With the recommendation in that outdated slot, or appended when there is none."""
        return History(_stored(self.recommendations or (), recommendation, slot), self.scale_ups, self.scale_downs)

    def scaled(self, change: int, monotonic_ns: int, longest_period_s: int) -> "History":
        """With a rescale remembered: `change` is new minus old replicas and not 0 (§11.6).

        `longest_period_s` is the longest policy period of the direction; older events of that direction are marked
        first.
        """
        event = ScaleEvent(abs(change), monotonic_ns)
        cutoff_ns = monotonic_ns - longest_period_s * NANOSECONDS
        if change > 0:
            return History(self.recommendations, _with_event(self.scale_ups, event, cutoff_ns), self.scale_downs)
        return History(self.recommendations, self.scale_ups, _with_event(self.scale_downs, event, cutoff_ns))


def changed(events: tuple[ScaleEvent, ...], period_s: int, monotonic_ns: int) -> int:
    """Replicas that the events of the last `period_s` seconds added or removed (§11.5)."""
    cutoff_ns = monotonic_ns - period_s * NANOSECONDS
    return sum(event.change for event in events if event.at_ns > cutoff_ns)


def _with_event(events: tuple[ScaleEvent, ...], event: ScaleEvent, cutoff_ns: int) -> tuple[ScaleEvent, ...]:
    marked = tuple(
        ScaleEvent(old.change, old.at_ns, outdated=True) if old.at_ns < cutoff_ns and not old.outdated else old
        for old in events
    )
    slot = max((index for index, old in enumerate(marked) if old.outdated), default=None)
    return _stored(marked, event, slot)


def _stored(entries: tuple[_T, ...], entry: _T, slot: int | None) -> tuple[_T, ...]:
    if slot is None:
        return (*entries, entry)
    return (*entries[:slot], entry, *entries[slot + 1 :])
