"""What could be different about a sync, each as a value that can be applied to it and decided on again."""

from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

import msgspec
from msgspec.structs import replace

from controller.decide.decision import decide, path_before_metrics, rescaled
from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.observed import (
    ContainerUsage,
    ExternalReading,
    ObjectReading,
    Observation,
    PodsReading,
    PodUsage,
    Reading,
    ResourceReading,
    Scale,
)
from controller.decide.result import Decision, Proposal
from controller.decide.spec import Autoscaler, Behavior, ContainerResourceMetric, MetricSpec, ResourceMetric
from controller.decide.working import PodsWorking


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
    """The target has so many replicas, by a rescale of ours."""

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
        unusable |= _names(reading) - grouping.verdicts.keys()
    metric = moment.autoscaler.metrics[index]
    return {pod: milli for pod, milli in _values(reading, metric).items() if pod not in unusable}


def with_total(moment: Moment, index: int, total_milli: int, shares: Mapping[str, int]) -> Moment:
    """The moment with that total of a metric, spread over pods in proportion to `shares`."""
    readings = moment.observation.readings
    if index >= len(readings):
        return moment
    reading = _with_total(readings[index], moment.autoscaler.metrics[index], total_milli, shares)
    seen = replace(moment.observation, readings=(*readings[:index], reading, *readings[index + 1 :]))
    return replace(moment, observation=seen)


def _with_total(reading: Reading, metric: MetricSpec, total_milli: int, shares: Mapping[str, int]) -> Reading:
    match reading:
        case ObjectReading():
            return replace(reading, value_milli=total_milli)
        case ExternalReading(values_milli=values) if values:
            return replace(reading, values_milli=(total_milli,))
        case PodsReading(samples=samples):
            spread = _spread(total_milli, shares)
            return PodsReading(
                {
                    pod: replace(sample, value_milli=spread.get(pod, sample.value_milli))
                    for pod, sample in samples.items()
                }
            )
        case ResourceReading(items=items) if isinstance(metric, ResourceMetric | ContainerResourceMetric):
            spread = _spread(total_milli, shares)
            container = metric.container if isinstance(metric, ContainerResourceMetric) else ""
            return ResourceReading(
                tuple(
                    _using(item, metric.name, container, spread[item.pod]) if item.pod in spread else item
                    for item in items
                )
            )
        case _:
            return reading


def _spread(total_milli: int, shares: Mapping[str, int]) -> dict[str, int]:
    """Whole numbers that add up to the total."""
    if not shares:
        return {}
    whole = sum(shares.values())
    if whole <= 0 or min(shares.values()) < 0:
        shares, whole = dict.fromkeys(shares, 1), len(shares)
    spread = {pod: total_milli * share // whole for pod, share in shares.items()}
    rest = total_milli - sum(spread.values())
    for pod in list(spread)[:rest]:
        spread[pod] += 1
    return spread


def _using(item: PodUsage, resource: str, container: str, milli: int) -> PodUsage:
    """The pod's item with that usage: all of it in the first container that counts; those that count all have one."""
    containers: list[ContainerUsage] = []
    placed = False
    for used in item.containers:
        if container and used.name != container:
            containers.append(used)
            continue
        containers.append(replace(used, usage_milli={**used.usage_milli, resource: 0 if placed else milli}))
        placed = True
    return replace(item, containers=tuple(containers))


def _names(reading: Reading) -> set[str]:
    match reading:
        case ResourceReading(items=items):
            return {item.pod for item in items}
        case PodsReading(samples=samples):
            return set(samples)
        case _:
            return set()


def _values(reading: Reading, metric: MetricSpec) -> dict[str, int]:
    """Milli-units by pod, of pods that have all that the metric adds up."""
    match reading:
        case PodsReading(samples=samples):
            return {pod: sample.value_milli for pod, sample in samples.items()}
        case ResourceReading(items=items) if isinstance(metric, ResourceMetric | ContainerResourceMetric):
            container = metric.container if isinstance(metric, ContainerResourceMetric) else ""
            values: dict[str, int] = {}
            for item in items:
                used = [one for one in item.containers if not container or one.name == container]
                if used and all(metric.name in one.usage_milli for one in used):
                    values[item.pod] = sum(one.usage_milli[metric.name] for one in used)
            return values
        case _:
            return {}


# --- spec and target -----------------------------------------------------------------------------


def _with_replicas(moment: Moment, replicas: int) -> Moment:
    scale = moment.observation.scale
    if not isinstance(scale, Scale) or scale.replicas == replicas:
        return moment
    left = moment.decided().history
    history = rescaled(moment.autoscaler, left, replicas - scale.replicas, moment.now.monotonic_ns)
    seen = replace(moment.observation, scale=replace(scale, replicas=replicas))
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
