"""How regularly HPAs were synced, how soon they reacted, what that took in requests: computed from requests. Pure.

A sync shows itself by its status write, since the load moves so that each sync has another status to write.
"""

import itertools
import math
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

import msgspec

from tests.bench_cluster.requests import Request

_MOMENTS = 60
"""How many moments are compared, evenly over the time in which the worst is looked for."""

Syncs = Mapping[str, Sequence[float]]
"""The moments of each HPA's accepted status writes in wall time, in seconds, rising; by namespace/name."""


class Spread(msgspec.Struct, frozen=True):
    """How a quantity is distributed; in seconds."""

    p50_s: float
    p99_s: float
    max_s: float
    count: int


def spread(values: Iterable[float]) -> Spread | None:
    """Percentiles by nearest rank; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None

    def rank(share: float) -> float:
        return ordered[math.ceil(share * len(ordered)) - 1]

    return Spread(rank(0.5), rank(0.99), ordered[-1], len(ordered))


def syncs(requests: Iterable[Request], keys: Iterable[str]) -> dict[str, list[float]]:
    """The syncs of each key; those never synced have an empty list."""
    found: dict[str, list[float]] = {key: [] for key in keys}
    for request in requests:
        if request.is_status_write and request.accepted and request.key in found:
            found[request.key].append(request.received_s)
    for moments in found.values():
        moments.sort()
    return found


def intervals_s(found: Syncs, start_s: float, end_s: float) -> list[float]:
    """The times between two syncs of one HPA that ended between start_s and end_s.

    The last one, which nothing has ended, counts as far as it goes if it is longer than all before it: an HPA that is
    no longer synced must not vanish from the figures.
    """
    intervals = []
    for moments in found.values():
        until_end = [moment for moment in moments if moment <= end_s]
        closed = [later - earlier for earlier, later in itertools.pairwise(until_end) if later >= start_s]
        intervals += closed
        unfinished_s = end_s - (until_end[-1] if until_end else start_s)
        if unfinished_s > max(closed, default=0.0):
            intervals.append(unfinished_s)
    return intervals


def lateness_s(intervals: Iterable[float], period_s: float) -> list[float]:
    """By how much each sync came later than a period after the one before; 0 for those that came sooner."""
    return [max(0.0, interval_s - period_s) for interval_s in intervals]


def reactions_s(requests: Iterable[Request], keys: Container[str], changed_s: float) -> dict[str, float]:
    """From a change of the load to the first accepted scale write of each HPA; those without one are missing.

    Targets are known by the HPA's name.
    """
    found: dict[str, float] = {}
    for request in requests:
        if request.is_scale_write and request.accepted and request.received_s >= changed_s and request.key in keys:
            delay_s = request.received_s - changed_s
            found[request.key] = min(delay_s, found.get(request.key, delay_s))
    return found


def waits_s(found: Syncs, moment_s: float) -> list[float]:
    """How long from a moment on each HPA waits for its next sync, if it goes on at the interval that it had last.

    Those of which fewer than two syncs are known are left out; two within a second are one that was tried again.
    """
    rhythms = [moments[-2:] for moments in found.values() if len(moments) > 1]
    return [(last_s - moment_s) % (last_s - before_s) for before_s, last_s in rhythms if last_s - before_s > 1.0]


def worst_moment_s(found: Syncs, start_s: float, end_s: float) -> float:
    """The moment between the two from which the p99 of waits for the next sync is longest; start_s without syncs."""

    def wait_s(moment_s: float) -> float:
        waits = spread(waits_s(found, moment_s))
        return 0.0 if waits is None else waits.p99_s

    step_s = (end_s - start_s) / _MOMENTS
    return max((start_s + number * step_s for number in range(_MOMENTS)), key=wait_s)


def counted(requests: Iterable[Request]) -> Counter[str]:
    """How many requests there are by verb and resource, such as ``list pods.metrics.k8s.io``."""
    return Counter(f"{request.verb} {request.resource or 'other paths'}" for request in requests)


def growth(first: tuple[int, float], second: tuple[int, float]) -> float:
    """The exponent with which a cost grows from one number of HPAs to another: 1 when it is proportional.

    Both are (number, cost). Raises ValueError when the numbers are the same or a cost is not positive.
    """
    if first[0] == second[0] or min(first[1], second[1]) <= 0:
        raise ValueError(f"no growth between {first} and {second}")
    return math.log(second[1] / first[1]) / math.log(second[0] / first[0])
