"""Whether another controller decided as ours would have, judged from the status it wrote. Pure.

Its inputs are not known, only what its status tells of them: the replicas it found and the numbers it computed. Ours
are known from the syncs around its write. Where both agree on the inputs but not on the outcome, logic differs.
"""

from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from controller.decide import limits
from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import (
    ExternalReading,
    Observation,
    PodsReading,
    Reading,
    ResourceReading,
    Scale,
)
from controller.decide.result import Written
from controller.decide.spec import Autoscaler
from controller.decide.stabilize import windows_ns
from controller.decide.status import Status

Kind = Literal["agree", "input", "logic"]

WRITE_FAILED: Final = ("FailedUpdateScale",)
"""Reasons of conditions that depend on what the API server answered, which is not ours to decide."""


class Candidate(msgspec.Struct, frozen=True):
    """What ours saw and remembered at one moment around the other's write."""

    autoscaler: Autoscaler
    observation: Observation
    history: History
    now: Now


class Field(msgspec.Struct, frozen=True):
    """A field of the status that both would have written differently."""

    name: str
    theirs: str
    ours: str


class Verdict(msgspec.Struct, frozen=True):
    """`agree`, or why not: `input` (it saw or remembered something else) or `logic` (it decided otherwise on that)."""

    kind: Kind
    because: str = ""
    fields: tuple[Field, ...] = ()


def judge(
    before: Status, after: Status, candidates: Sequence[Candidate], *, slack_ns: int, remembered_ns: int
) -> Verdict:
    """What to say of a status that another controller wrote.

    Args:
        before: the status it replaced.
        after: the status it wrote.
        candidates: ours around that moment, oldest first, at least one.
        slack_ns: how far its clock ticks may be from ours: one sync period.
        remembered_ns: for how long ours has watched the HPA.
    """
    best: tuple[Field, ...] | None = None
    same_inputs = False
    for candidate in candidates:
        for shift_ns in (0, slack_ns, -slack_ns):
            ours = _status(before, after, _shifted(candidate, shift_ns))
            fields = _differing(after, ours)
            if not fields:
                return Verdict("agree")
            known = _same_numbers(after, ours)
            if best is None or (known, -len(fields)) > (same_inputs, -len(best)):
                best, same_inputs = fields, known
    fields = best or ()
    if any(condition.reason in WRITE_FAILED for condition in after.conditions):
        return Verdict("input", "its write of the scale failed", fields)
    if not same_inputs:
        return Verdict("input", "it computed from other numbers", fields)
    if not all(_alike(candidates[0], candidate) for candidate in candidates):
        return Verdict("input", "the pods, the spec or the metrics changed around its write", fields)
    if remembered_ns < memory_ns(candidates[-1].autoscaler):
        return Verdict("input", "it may remember recommendations or rescales from before we watched", fields)
    return Verdict("logic", "it saw what we saw", fields)


def memory_ns(autoscaler: Autoscaler) -> int:
    """How far back a decision about the HPA can look: its longest window or policy period."""
    behavior, settings = autoscaler.spec.behavior, autoscaler.settings
    if behavior is None:
        return settings.downscale_stabilization_ns
    periods_s = (limits.longest_period_s(rules) for rules in (behavior.scale_up, behavior.scale_down))
    return max(*windows_ns(behavior, settings), *(period_s * NANOSECONDS for period_s in periods_s))


def _shifted(candidate: Candidate, shift_ns: int) -> Candidate:
    now = Now(candidate.now.wall_ns + shift_ns, candidate.now.monotonic_ns + shift_ns)
    return replace(candidate, now=now)


def _status(before: Status, after: Status, candidate: Candidate) -> Status:
    """The status that ours would have written in the other's place: from the replicas that it found."""
    seen, now = candidate.observation, candidate.now
    scale = seen.scale
    if isinstance(scale, Scale):
        scale = replace(scale, replicas=after.replicas_current)
    decision = decide(candidate.autoscaler, replace(seen, scale=scale, status=before), candidate.history, now)
    return conclude(candidate.autoscaler, before, decision, Written() if decision.rescales else None, now).status


def _differing(theirs: Status, ours: Status) -> tuple[Field, ...]:
    """Messages and times are left out: those are each controller's own words and clock."""
    pairs = (
        ("currentReplicas", str(theirs.replicas_current), str(ours.replicas_current)),
        ("desiredReplicas", str(theirs.replicas_desired), str(ours.replicas_desired)),
        ("conditions", _conditions(theirs), _conditions(ours)),
    )
    fields = tuple(Field(*pair) for pair in pairs if pair[1] != pair[2])
    if not _same_numbers(theirs, ours):
        fields = (*fields, Field("currentMetrics", _metrics(theirs), _metrics(ours)))
    return fields


def _same_numbers(theirs: Status, ours: Status) -> bool:
    return theirs.replicas_current == ours.replicas_current and theirs.metrics == ours.metrics


def _conditions(status: Status) -> str:
    return ", ".join(f"{one.type}={one.status} {one.reason}" for one in status.conditions)


def _metrics(status: Status) -> str:
    return msgspec.json.encode([_numbers(metric) for metric in status.metrics]).decode()


def _numbers(metric: msgspec.Struct) -> dict[str, str | int]:
    """The fields of a metric's status that are set."""
    named = {name: getattr(metric, name) for name in metric.__struct_fields__}
    return {name: value if isinstance(value, int) else str(value) for name, value in named.items() if value}


def _alike(one: Candidate, other: Candidate) -> bool:
    """Whether nothing but the numbers of the metrics can have changed between the two."""
    left, right = one.observation, other.observation
    if isinstance(left.scale, Scale) != isinstance(right.scale, Scale):
        return False
    if isinstance(left.scale, Scale) and isinstance(right.scale, Scale):
        scales = [(scale.selector, scale.status_replicas, scale.uid) for scale in (left.scale, right.scale)]
        if scales[0] != scales[1]:
            return False
    return (
        one.autoscaler == other.autoscaler
        and left.pods == right.pods
        and left.overlapping == right.overlapping
        and [_shape(reading) for reading in left.readings] == [_shape(reading) for reading in right.readings]
    )


def _shape(reading: Reading) -> tuple[str, ...]:
    """Of whom there are numbers, without the numbers."""
    match reading:
        case ResourceReading(items):
            return ("resource", *sorted(item.pod for item in items))
        case PodsReading(samples):
            return ("pods", *sorted(samples))
        case ExternalReading(values):
            return ("external", str(len(values)))
        case _:
            return (type(reading).__name__,)
