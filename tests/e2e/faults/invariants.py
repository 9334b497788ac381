"""What must hold whatever fails, judged from the audit log of the API server. Pure: requests in, violations out.

**Fenced.** A Lease keeps nobody from writing; only the writer's own care does. Who may write when can be read from the
audit log: an accepted write of the Lease tells who has taken it and from when on. A decision of one who has lost the
Lease rests on reads from before the loss, so each accepted write of it after the first write of its successor is a
violation. (A write between taking over and the successor's first write is harmless: the successor reads live before
its own.)

**Fresh.** That leaves who leads, loses the Lease and leads again, or is killed and follows itself: its user alone does
not tell one from the other. So what each scale write rests on is checked, too. The API server refuses what was decided
for another version of the target (that each write names one is a rule of every test); and the same process must have
read the target from the API server, not only from a cache, since it took the Lease. Each process contends under an
identity of its own, which tells its terms apart.

**Watched.** Nothing may be decided on a cache whose watch is dead. The API server tells when a watch was opened and
when it ended, so a write while no watch of HPAs, or of pods, was open is a violation; what was in hand when the watch
ended has a moment to arrive.

**Held.** With one metric failing, the others may not lead to fewer replicas (§6.1). Each HPA has metrics of its own,
so the reads before a write tell on which of them it rests.

**Resumed.** Somebody leads as soon as a Lease can be taken over, and two periods after that every HPA is synced again.

**Flat.** Faults leave nothing behind: after many of them a process holds no more than after the first ones.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tests.e2e.audited import Audited

SCALED = "statefulsets/scale"
STATUS = "horizontalpodautoscalers/status"
LEASES = "leases"
GRACE_S = 2.0
"""For how long what was in hand may still arrive."""


@dataclasses.dataclass(frozen=True)
class Seen:
    """A request, and whose it was."""

    user: str
    request: Audited


@dataclasses.dataclass(frozen=True)
class Opened:
    """A watch: whose, of what, from when to when; ``until`` None: it was still open at the end."""

    user: str
    resource: str
    since: dt.datetime
    until: dt.datetime | None


@dataclasses.dataclass(frozen=True)
class Costs:
    """What a controller takes at a moment."""

    memory_bytes: float
    descriptors: float
    tasks: float


@dataclasses.dataclass(frozen=True)
class Violation:
    """A rule that was broken, and by what."""

    rule: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.evidence}"


def decided_writes(seen: Iterable[Seen]) -> list[Seen]:
    """The accepted writes that rest on decisions, oldest first."""
    chosen = (one for one in seen if one.request.accepted and one.request.verb == "update")
    return sorted(
        (one for one in chosen if one.request.resource in (SCALED, STATUS)), key=lambda one: one.request.received
    )


def fenced(seen: Sequence[Seen]) -> list[Violation]:
    """Writes of those who have lost the Lease to somebody who has written since."""
    terms = _terms(seen)
    starts = [since for since, _ in terms]
    first_write: dict[int, dt.datetime] = {}
    found = []
    for one in decided_writes(seen):
        index = bisect_left(starts, one.request.received) - 1
        if index < 0:
            found.append(Violation("fenced", f"{_told(one)} before anybody held the Lease"))
            continue
        since, holder = terms[index]
        if holder == one.user:
            first_write.setdefault(index, one.request.answered)
        elif index in first_write and first_write[index] < one.request.received:
            found.append(
                Violation(
                    "fenced", f"{_told(one)}, but {holder} has led since {since:%X.%f} and has written since then"
                )
            )
    return found


def fresh(seen: Sequence[Seen]) -> list[Violation]:
    """Scale writes of targets that the same process has not read from the API server since it took the Lease."""
    read: set[tuple[str, str]] = set()
    identity, found = "", []
    for one in sorted(seen, key=lambda one: one.request.received):
        request = one.request
        if not request.accepted:
            continue
        if request.resource == LEASES and request.writes:
            new = str(request.sent.get("spec", {}).get("holderIdentity") or "")
            if new != identity:
                identity = new
                # Of whoever wrote before, `fenced` tells: up to its successor's first write it harms nobody.
                read = {(user, name) for user, name in read if user != one.user}
        elif request.resource == SCALED and request.verb == "get":
            read.add((one.user, request.name))
        elif request.resource == SCALED and request.verb == "update" and (one.user, request.name) not in read:
            found.append(Violation("fresh", f"{_told(one)}, which it has not read as leader"))
    return found


def watched(seen: Sequence[Seen], watches: Sequence[Opened]) -> list[Violation]:
    """Writes of those who watched no HPAs, or no pods."""
    found = []
    for one, resource in itertools.product(decided_writes(seen), ("horizontalpodautoscalers", "pods")):
        at = one.request.received
        own = [watch for watch in watches if (watch.user, watch.resource) == (one.user, resource)]
        if not any(_open_at(watch, at) for watch in own):
            found.append(Violation("watched", f"{_told(one)} without a watch of {resource}"))
    return found


def held(
    seen: Sequence[Seen], replicas: Mapping[str, int], lies: Sequence[tuple[dt.datetime, dt.datetime]]
) -> list[Violation]:
    """Scale-downs that rest on a failed metric.

    replicas are those of the targets at the beginning. lies are spans in which the guarding metric was answered with
    nonsense, which the audit log does not tell from an answer. The metrics of the target ``x`` are called ``load-x``
    and ``guard-x``.
    """
    known = dict(replicas)
    reads: dict[tuple[str, str], Audited] = {}
    found = []
    for one in sorted(seen, key=lambda one: one.request.received):
        request = one.request
        metric = _metric(request)
        if metric is not None:
            reads[one.user, metric] = request
        elif request.resource == SCALED and request.verb == "update" and request.accepted:
            wanted = int(request.sent.get("spec", {}).get("replicas", 0))
            read = reads.get((one.user, f"guard-{request.name}"))
            if wanted < known.get(request.name, wanted) and (read is None or _failed(read, lies)):
                why = "its guard was not read" if read is None else f"its guard answered {read.code} or nonsense"
                found.append(Violation("held", f"{_told(one)} from {known[request.name]} to {wanted}: {why}"))
            known[request.name] = wanted
    return found


def resumed(seen: Sequence[Seen], targets: Iterable[str], since: dt.datetime, within_s: float) -> list[Violation]:
    """HPAs whose metric was not read within a time after a fault has ended."""
    until = since + dt.timedelta(seconds=within_s)
    read = {_metric(one.request) for one in seen if since <= one.request.received <= until}
    late = [target for target in targets if f"load-{target}" not in read]
    if not late:
        return []
    return [Violation("resumed", f"{len(late)} HPAs were not synced within {within_s:.1f} s: {', '.join(late[:5])}")]


def flat(taken: Sequence[Mapping[str, Costs]]) -> list[Violation]:
    """What of any process has grown from its first measurements to its last; fewer than two of it tell nothing.

    taken has what processes took at some moments, oldest first. The least of the first third is held against the least
    of the last: what is in hand at one moment is no leak. Memory may grow by a quarter and 32 MB: histories fill, and
    the allocator gives back late.
    """
    processes = dict.fromkeys(process for moment in taken for process in moment)
    return [
        violation
        for process in processes
        for violation in _grown(process, [moment[process] for moment in taken if process in moment])
    ]


def least(costs: Sequence[Costs]) -> Costs:
    """Of each thing the least; at least one."""
    return Costs(
        min(one.memory_bytes for one in costs),
        min(one.descriptors for one in costs),
        min(one.tasks for one in costs),
    )


def _grown(process: str, costs: Sequence[Costs]) -> list[Violation]:
    third = -(-len(costs) // 3)
    first, last = least(costs[:third]), least(costs[-third:])
    bounds = (
        ("memory_bytes", first.memory_bytes, last.memory_bytes, 1.25 * first.memory_bytes + 32e6),
        ("descriptors", first.descriptors, last.descriptors, first.descriptors + 32),
        ("tasks", first.tasks, last.tasks, first.tasks + 32),
    )
    return [
        Violation("flat", f"{name} of {process} went from {before:.0f} to {after:.0f}, over {bound:.0f}")
        for name, before, after, bound in bounds
        if after > bound
    ]


def intervals_s(seen: Sequence[Seen]) -> list[float]:
    """The times between syncs of each HPA, all together, sorted."""
    moments: dict[str, list[dt.datetime]] = {}
    for one in seen:
        metric = _metric(one.request)
        if metric is not None and metric.startswith("load-"):
            moments.setdefault(metric, []).append(one.request.received)
    return sorted(
        (later - earlier).total_seconds()
        for times in moments.values()
        for earlier, later in itertools.pairwise(sorted(times))
    )


def _terms(seen: Sequence[Seen]) -> list[tuple[dt.datetime, str]]:
    """Who has held the Lease from when on; nobody (an empty name) after a release."""
    terms: list[tuple[dt.datetime, str]] = []
    writes = (one for one in seen if one.request.resource == LEASES and one.request.writes and one.request.accepted)
    for one in sorted(writes, key=lambda one: one.request.received):
        holder = one.user if one.request.sent.get("spec", {}).get("holderIdentity") else ""
        if not terms or terms[-1][1] != holder:
            terms.append((one.request.received, holder))
    return terms


def _open_at(watch: Opened, at: dt.datetime) -> bool:
    return watch.since <= at and (watch.until is None or at <= watch.until + dt.timedelta(seconds=GRACE_S))


def _metric(request: Audited) -> str | None:
    """The metric that was asked for."""
    if request.group not in ("external.metrics.k8s.io", "custom.metrics.k8s.io"):
        return None
    return request.resource.rpartition("/")[2]


def _failed(read: Audited, lies: Sequence[tuple[dt.datetime, dt.datetime]]) -> bool:
    # What was asked before the end of a lie and answered after it may well be true.
    return not read.accepted or any(since <= read.received and read.answered <= until for since, until in lies)


def _told(one: Seen) -> str:
    request = one.request
    return f"{one.user} wrote {request.resource} of {request.name} at {request.received:%X.%f}"
