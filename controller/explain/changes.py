"""What could be different about a sync, each as a value that can be applied to it and decided on again."""

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from controller.decide.decision import decide, path_before_metrics, rescaled
from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.observed import Observation, Scale
from controller.decide.result import Decision, Proposal
from controller.decide.spec import Autoscaler, Behavior
from controller.decide.working import PodsWorking
from controller.explain.readings import pods_of, values_milli, with_reading_total


class Moment(msgspec.Struct, frozen=True):
    """Everything that one sync decided on."""

    autoscaler: Autoscaler
    observation: Observation
    history: History
    now: Now

    def decided(self) -> Decision:
        """What is decided on it."""
        return decide(self.autoscaler, self.observation, self.history, self.now)

    def measures(self) -> bool:
        """Whether the metrics are looked at (§4.7)."""
        seen = self.observation
        return isinstance(seen.scale, Scale) and path_before_metrics(self.autoscaler, seen.scale, seen.status) is None


class MetricReads(msgspec.Struct, frozen=True, tag="metricReads", rename="camel"):
    """The samples that count of the metric with that index in the spec add up to `total_milli`.

    Those of pods keep their proportions; an External metric has one series.
    """

    metric: int
    total_milli: int


class TimePasses(msgspec.Struct, frozen=True, tag="timePasses", rename="camel"):
    """The sync leaves its recommendation behind, and so many nanoseconds later the same is seen."""

    by_ns: int


class TargetHas(msgspec.Struct, frozen=True, tag="targetHas", rename="camel"):
    """The target has so many replicas, by a rescale of ours: asked for, and there."""

    replicas: int


class MaxReplicasIs(msgspec.Struct, frozen=True, tag="maxReplicasIs", rename="camel"):
    """`spec.maxReplicas` is that."""

    replicas: int


class MinReplicasIs(msgspec.Struct, frozen=True, tag="minReplicasIs", rename="camel"):
    """`spec.minReplicas` is that."""

    replicas: int


class ToleranceIs(msgspec.Struct, frozen=True, tag="toleranceIs", rename="camel", omit_defaults=True):
    """The tolerance is that, in the behavior of that direction; where none is named, that of the flag is."""

    tolerance: float
    direction: Literal["", "scaleUp", "scaleDown"] = ""


class MetricsAre(msgspec.Struct, frozen=True, tag="metricsAre", rename="camel"):
    """Only the metrics with these indices are in the spec."""

    metrics: tuple[int, ...]


class PolicySelected(msgspec.Struct, frozen=True, tag="policySelected", rename="camel"):
    """`selectPolicy` of that direction is Max, not Disabled."""

    direction: Literal["scaleUp", "scaleDown"]


Change = (
    MetricReads | TimePasses | TargetHas | MaxReplicasIs | MinReplicasIs | ToleranceIs | MetricsAre | PolicySelected
)


def changed(moment: Moment, changes: Sequence[Change]) -> Moment:
    """The moment with the changes made, in their order. What a change does not fit is left as it is."""
    for change in changes:
        moment = _changed(moment, change)
    return moment


def _changed(moment: Moment, change: Change) -> Moment:
    match change:
        case MetricReads(metric=index, total_milli=total_milli):
            return with_total(moment, index, total_milli, counted(moment, moment.decided(), index))
        case TimePasses(by_ns=by_ns):
            return later(remembered(moment), by_ns)
        case TargetHas(replicas=replicas):
            return _with_replicas(moment, replicas)
        case MaxReplicasIs(replicas=replicas):
            return _with_spec(moment, replicas_max=replicas)
        case MinReplicasIs(replicas=replicas):
            return _with_spec(moment, replicas_min=replicas)
        case ToleranceIs(tolerance=tolerance, direction=direction):
            return _with_tolerance(moment, tolerance, direction)
        case MetricsAre(metrics=indices):
            kept = tuple(moment.observation.readings[index] for index in indices)
            moment = _with_spec(moment, metrics=tuple(moment.autoscaler.metrics[index] for index in indices))
            return replace(moment, observation=replace(moment.observation, readings=kept))
        case PolicySelected(direction=direction):
            return _with_policy(moment, direction)
        case _:
            assert_never(change)


# --- time ----------------------------------------------------------------------------------------


def remembered(moment: Moment) -> Moment:
    """The moment with the history that its sync leaves behind: what it recommends binds the ones that follow."""
    return replace(moment, history=moment.decided().history)


def later(moment: Moment, by_ns: int) -> Moment:
    """The moment so many nanoseconds later, with nothing more to remember."""
    return replace(moment, now=Now(moment.now.wall_ns + by_ns, moment.now.monotonic_ns + by_ns))


# --- metrics -------------------------------------------------------------------------------------


def counted(moment: Moment, decision: Decision, index: int) -> dict[str, int]:
    """The samples of a per-pod metric that entered the usage, in milli-units by pod; empty for other metrics."""
    if decision.evaluation is None or index >= len(moment.observation.readings):
        return {}
    result, reading = decision.evaluation.results[index], moment.observation.readings[index]
    if not isinstance(result, Proposal) or not isinstance(result.working, PodsWorking):
        return {}
    grouping = result.working.grouping
    unusable = {*grouping.unready, *grouping.ignored}
    if result.working.usage.requested_milli is not None:
        # A utilization is that of known pods only; averages take what is read of others, too.
        unusable |= pods_of(reading) - grouping.verdicts.keys()
    metric = moment.autoscaler.metrics[index]
    return {pod: milli for pod, milli in values_milli(reading, metric).items() if pod not in unusable}


def with_total(moment: Moment, index: int, total_milli: int, shares: Mapping[str, int]) -> Moment:
    """The moment with that total of a metric, spread over pods in proportion to `shares`."""
    readings = moment.observation.readings
    if index >= len(readings):
        return moment
    reading = with_reading_total(readings[index], moment.autoscaler.metrics[index], total_milli, shares)
    seen = replace(moment.observation, readings=(*readings[:index], reading, *readings[index + 1 :]))
    return replace(moment, observation=seen)


# --- spec and target -----------------------------------------------------------------------------


def _with_replicas(moment: Moment, replicas: int) -> Moment:
    scale = moment.observation.scale
    if not isinstance(scale, Scale) or scale.replicas == replicas:
        return moment
    left = moment.decided().history
    history = rescaled(moment.autoscaler, left, replicas - scale.replicas, moment.now.monotonic_ns)
    # By the next sync the target has followed: totals of External and Object metrics are shared by all (§7.4).
    seen = replace(moment.observation, scale=replace(scale, replicas=replicas, status_replicas=replicas))
    return replace(moment, observation=seen, history=history)


def _with_spec(moment: Moment, **fields: object) -> Moment:
    autoscaler = moment.autoscaler
    return replace(moment, autoscaler=replace(autoscaler, spec=replace(autoscaler.spec, **fields)))


def _with_tolerance(moment: Moment, tolerance: float, direction: Literal["", "scaleUp", "scaleDown"]) -> Moment:
    autoscaler, behavior = moment.autoscaler, moment.autoscaler.spec.behavior
    if not direction:
        return replace(
            moment, autoscaler=replace(autoscaler, settings=replace(autoscaler.settings, tolerance=tolerance))
        )
    if behavior is None:
        return moment
    up, down = behavior.scale_up, behavior.scale_down
    if direction == "scaleUp":
        up = replace(up, tolerance=tolerance)
    else:
        down = replace(down, tolerance=tolerance)
    return _with_spec(moment, behavior=Behavior(up, down))


def _with_policy(moment: Moment, direction: Literal["scaleUp", "scaleDown"]) -> Moment:
    behavior = moment.autoscaler.spec.behavior
    if behavior is None:
        return moment
    up, down = behavior.scale_up, behavior.scale_down
    if direction == "scaleUp":
        up = replace(up, select="Max")
    else:
        down = replace(down, select="Max")
    return _with_spec(moment, behavior=Behavior(up, down))
