"""What is kept of an HPA's history, on the wall clock, and what a successor makes of it (§2.5, §4.5).

Windows and periods are measured on the monotonic clock of a process, which means nothing to the next one. So a record
has wall times; whoever takes it up turns them back.
"""

from typing import Final

import msgspec
from msgspec.structs import replace

from controller.decide.decision import rescaled
from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.spec import Autoscaler
from controller.decide.status import Status

WINDOW_LONGEST_NS: Final = 3_600 * NANOSECONDS
"""The longest stabilization window that the API server admits (§21.3); the downscale flag may be longer."""

PERIOD_LONGEST_NS: Final = 1_800 * NANOSECONDS
"""The longest period of a policy that it admits."""

CLOCKS_APART_MAX_NS: Final = 30 * NANOSECONDS
"""How far in our future a record may have been made; beyond that the clocks of the hosts cannot be trusted."""

GAP_PERIODS: Final = 4
GAP_LEAST_NS: Final = 60 * NANOSECONDS
"""A successor makes its first sync within two periods and the time that it takes to start; later, syncs are missing."""


class Record(msgspec.Struct, frozen=True):
    """One HPA's history, all `at_ns` of which are wall times.

    Attributes:
        synced_ns: when its last sync had ended (wall).
        replicas: what that sync left the target at.
        partial: later syncs may have been made that are not in it, by somebody who could not save them.
    """

    synced_ns: int
    replicas: int
    history: History
    partial: bool = False


def relevant(history: History, monotonic_ns: int, window_ns: int) -> History:
    """The entries that can still bear on a decision.

    A recommendation that is no longer the highest nor the lowest since it was made never binds again, whatever the
    window is: a later one binds instead. Older than `window_ns` none does, nor an event beyond the longest period.
    """
    recommendations = history.recommendations
    if recommendations is not None:
        recommendations = _undominated(recommendations, monotonic_ns - window_ns)
    kept = History(recommendations, history.scale_ups, history.scale_downs)
    return _since(kept, monotonic_ns - PERIOD_LONGEST_NS)


def recorded(history: History, replicas: int, synced_monotonic_ns: int, now: Now, window_ns: int) -> Record:
    """A history as it is kept."""
    ahead_ns = now.wall_ns - now.monotonic_ns
    kept = relevant(history, now.monotonic_ns, window_ns)
    return Record(synced_monotonic_ns + ahead_ns, replicas, _shifted(kept, ahead_ns))


def fresh(record: Record, now: Now, window_ns: int) -> bool:
    """Whether anything in it can still count, and its clock can be believed."""
    age_ns = now.wall_ns - record.synced_ns
    return -CLOCKS_APART_MAX_NS <= age_ns <= window_ns


def resumed(
    record: Record,
    *,
    autoscaler: Autoscaler,
    status: Status,
    replicas: int,
    begun: History,
    now: Now,
    period_ns: int,
) -> History:
    """The history to go on with, for a target that has so many replicas now.

    Where the record is partial, a rescale that it misses is taken from what the cluster shows, and the present count is
    recorded as after every start (§4.5), so that what was forgotten cannot be exceeded; the latter also after a gap of
    four periods. `begun` has what else is known. What is a minute older than the record is in that already; what is
    newer may be, and then counts twice rather than not at all.
    """
    begun = _since(begun, record.synced_ns - GAP_LEAST_NS - now.wall_ns + now.monotonic_ns)
    past = _in_the_past(_shifted(record.history, now.monotonic_ns - now.wall_ns), now.monotonic_ns)
    history = History(
        past.recommendations or (), past.scale_ups + begun.scale_ups, past.scale_downs + begun.scale_downs
    )
    if record.partial:
        missing = replicas - record.replicas - _net(begun)
        history = _caught_up(autoscaler, status, replicas, missing, record.synced_ns, history, now)
    gap = now.wall_ns - record.synced_ns > max(GAP_PERIODS * period_ns, GAP_LEAST_NS)
    if gap or record.partial or not history.recommendations:
        return history.recommended(Recommendation(replicas, now.monotonic_ns), None)
    return history


def unrecorded(autoscaler: Autoscaler, status: Status, replicas: int, begun: History, now: Now) -> History:
    """The history to begin with where there is no record, as of an HPA whose controller died before it saved.

    Its status tells of the last sync: by how much that has rescaled, if it has.
    """
    since_ns = now.wall_ns - PERIOD_LONGEST_NS
    if status.last_scale_ns is None or status.last_scale_ns < since_ns:
        return begun
    missing = replicas - status.replicas_current - _net(begun)
    return _caught_up(autoscaler, status, replicas, missing, since_ns, begun, now)


def _caught_up(
    autoscaler: Autoscaler, status: Status, replicas: int, missing: int, since_ns: int, history: History, now: Now
) -> History:
    """With the replicas that have come or gone since then as one rescale, if it was a controller's.

    The status tells when that was, to the second. Where it does not know of the present count, a controller may have
    died between its two writes, a moment ago; where it does, but tells of no later rescale, somebody else has changed
    the scale (§11.6).
    """
    if missing == 0:
        return history
    last_ns = status.last_scale_ns
    if status.replicas_desired != replicas:
        at_ns = now.monotonic_ns
    elif last_ns is not None and last_ns + NANOSECONDS > since_ns:
        at_ns = now.monotonic_ns - max(0, now.wall_ns - last_ns - NANOSECONDS)
    else:
        return history
    return rescaled(autoscaler, history, missing, at_ns)


def _since(history: History, monotonic_ns: int) -> History:
    """With the rescales after that only."""
    ups = tuple(event for event in history.scale_ups if event.at_ns > monotonic_ns)
    downs = tuple(event for event in history.scale_downs if event.at_ns > monotonic_ns)
    return History(history.recommendations, ups, downs)


def _net(history: History) -> int:
    return sum(event.change for event in history.scale_ups) - sum(event.change for event in history.scale_downs)


def _undominated(recommendations: tuple[Recommendation, ...], cutoff_ns: int) -> tuple[Recommendation, ...]:
    """Those that are higher, or lower, than all later ones; in the order in which they were."""
    kept: set[int] = set()
    highest = lowest = 0
    for index in sorted(range(len(recommendations)), key=lambda index: -recommendations[index].at_ns):
        entry = recommendations[index]
        if entry.at_ns < cutoff_ns:
            break
        if not kept or entry.replicas > highest or entry.replicas < lowest:
            highest = max(highest, entry.replicas) if kept else entry.replicas
            lowest = min(lowest, entry.replicas) if kept else entry.replicas
            kept.add(index)
    return tuple(entry for index, entry in enumerate(recommendations) if index in kept)


def _shifted(history: History, by_ns: int) -> History:
    recommendations = history.recommendations
    if recommendations is not None:
        recommendations = tuple(Recommendation(entry.replicas, entry.at_ns + by_ns) for entry in recommendations)
    return History(recommendations, _moved(history.scale_ups, by_ns), _moved(history.scale_downs, by_ns))


def _moved(events: tuple[ScaleEvent, ...], by_ns: int) -> tuple[ScaleEvent, ...]:
    return tuple(ScaleEvent(event.change, event.at_ns + by_ns, event.outdated) for event in events)


def _in_the_past(history: History, monotonic_ns: int) -> History:
    """No entry later than now: clocks of hosts differ a little."""
    recommendations = tuple(
        replace(entry, at_ns=min(entry.at_ns, monotonic_ns)) for entry in history.recommendations or ()
    )
    ups, downs = (
        tuple(replace(event, at_ns=min(event.at_ns, monotonic_ns)) for event in events)
        for events in (history.scale_ups, history.scale_downs)
    )
    return History(recommendations, ups, downs)
