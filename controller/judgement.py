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
    ObjectReading,
    Observation,
    PodsReading,
    Reading,
    ResourceReading,
    Scale,
    ScaleFailure,
)
from controller.decide.result import Written
from controller.decide.spec import Autoscaler
from controller.decide.stabilize import windows_ns
from controller.decide.status import MetricStatus, Status
from controller.wire.status import metric_status_to

Kind = Literal["agree", "input", "logic"]

STILL_LOOKS: Final = 3
WRITE_FAILED: Final = ("FailedUpdateScale",)
"""Reasons of conditions that depend on what the API server answered, which is not ours to decide."""

_SHARED: Final = ("Object", "External")
"""Types of metrics whose average is over the pods that there are."""


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


class Judgement(msgspec.Struct, frozen=True):
    """`agree`, or why not: `input` (it saw or remembered something else) or `logic` (it decided otherwise on that)."""

    kind: Kind
    because: str = ""
    fields: tuple[Field, ...] = ()


def judge(
    before: Status, after: Status, candidates: Sequence[Candidate], *, slack_ns: int, remembered: bool, bracketed: bool
) -> Judgement:
    """What to say of a status that another controller wrote.

    Args:
        before: the status it replaced.
        after: the status it wrote.
        candidates: ours around that moment, oldest first, at least one.
        slack_ns: how far its clock ticks may be from ours: one sync period.
        remembered: whether ours knows all that the other can remember of the HPA.
        bracketed: whether the first candidate is from before the write, and the second from right after it.
    """
    closest: tuple[Field, ...] | None = None
    for candidate in candidates:
        for shift_ns in (0, slack_ns, -slack_ns):
            fields = differing(after, _status(before, after, _shifted(candidate, shift_ns)))
            if not fields:
                return Judgement("agree")
            closest = fields if closest is None else min(closest, fields, key=len)
    fields = closest or ()
    if any(condition.reason in WRITE_FAILED for condition in after.conditions):
        return Judgement("input", "its write of the scale failed", fields)
    if not bracketed or not alike(*candidates[:2]):
        return Judgement("input", "the pods, the spec or the target changed around its write", fields)
    numbers_agree = any(_numbers_agree(before, after, candidate) for candidate in candidates[:2])
    # Without its numbers only a world that did not move tells what it saw: three looks, because ours may lag a little.
    if not numbers_agree and not (len(candidates) >= STILL_LOOKS and all(map(still, candidates, candidates[1:]))):
        return Judgement("input", "it computed from other numbers", fields)
    if not remembered:
        return Judgement("input", "it may remember recommendations or rescales from before we watched", fields)
    because = "it saw what we saw" if numbers_agree else "nothing has moved that we see, and its numbers are others"
    return Judgement("logic", because, fields)


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


def _numbers_agree(before: Status, after: Status, candidate: Candidate) -> bool:
    ours = _status(before, after, candidate)
    return _same_numbers(after, ours) and not _averages_of_nothing(after) and not _averages_of_nothing(ours)


def differing(theirs: Status, ours: Status) -> tuple[Field, ...]:
    """What two statuses do not share; messages and times are each controller's own words and clock."""
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
    return theirs.replicas_current == ours.replicas_current and _numbers(theirs) == _numbers(ours)


def _numbers(status: Status) -> tuple[MetricStatus, ...]:
    """What it computed, without averages over no pods, which are the same whatever was seen, or nonsense (§7)."""
    nothing = _averages_of_nothing(status)
    return tuple(replace(one, average_value=None) if one in nothing else one for one in status.metrics)


def _averages_of_nothing(status: Status) -> tuple[MetricStatus, ...]:
    """Metrics of which it only says an average, over no pods."""
    if status.replicas_current:
        return ()
    return tuple(one for one in status.metrics if one.type in _SHARED and one.average_value is not None)


def _conditions(status: Status) -> str:
    return ", ".join(f"{one.type}={one.status} {one.reason}" for one in status.conditions)


def _metrics(status: Status) -> str:
    return msgspec.json.encode([metric_status_to(metric) for metric in status.metrics]).decode()


def alike(one: Candidate, other: Candidate) -> bool:
    """Whether nothing but the numbers of the metrics can have changed between the two."""
    left, right = one.observation, other.observation
    return (
        one.autoscaler == other.autoscaler
        and _place(left.scale) == _place(right.scale)
        and left.pods == right.pods
        and left.overlapping == right.overlapping
        and [_shape(reading) for reading in left.readings] == [_shape(reading) for reading in right.readings]
    )


def still(one: Candidate, other: Candidate) -> bool:
    """Whether the numbers have not changed either; when they were taken does not matter."""
    readings = zip(one.observation.readings, other.observation.readings, strict=False)
    return alike(one, other) and all(_values(left) == _values(right) for left, right in readings)


def _place(scale: Scale | ScaleFailure) -> tuple[str, ...]:
    """The target without its count, which the other controller writes."""
    if isinstance(scale, Scale):
        return (scale.uid, scale.selector, str(scale.status_replicas))
    return (scale.cause,)


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


def _values(reading: Reading) -> object:
    match reading:
        case ResourceReading(items):
            return {item.pod: item.containers for item in items}
        case PodsReading(samples):
            return {pod: sample.value_milli for pod, sample in samples.items()}
        case ExternalReading(values):
            return sorted(values)
        case ObjectReading(value):
            return value
        case _:
            return None
