"""Resource, ContainerResource and Pods metrics: every pod has a sample of its own (§7.1, §7.2)."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from controller.decide import arithmetic, quantity, ratio
from controller.decide.observed import PodsReading, PodUsage, Reading, ResourceReading, Sample
from controller.decide.pods import group
from controller.decide.quantity import Format, of_milli
from controller.decide.requests import requests_milli
from controller.decide.result import MetricFailure, Proposal
from controller.decide.situation import NO_PODS, Situation, failure, read_error, selector_error
from controller.decide.spec import ContainerResourceMetric, PodsMetric, ResourceMetric, Target
from controller.decide.status import MetricStatus
from controller.decide.working import Grouping, PodsWorking

_NO_USABLE_SAMPLES: Final = "did not receive metrics for targeted pods (pods might be unready)"
_NO_KNOWN_PODS: Final = "no metrics returned matched known pods"


def from_resource(
    metric: ResourceMetric | ContainerResourceMetric, reading: Reading | None, situation: Situation
) -> Proposal | MetricFailure:
    """What usage of a resource asks for, of whole pods or of one container of each."""
    target = metric.target
    container = metric.container if isinstance(metric, ContainerResourceMetric) else ""
    by_value = target.average_value_milli is not None
    fail = partial(_resource_failure, metric, "usage" if by_value else "utilization")
    if not by_value and target.average_utilization is None:
        return fail("invalid target: neither an average utilization nor an average value is set", prefixed=False)
    items = _items(reading, metric.name)
    if isinstance(items, str):
        return fail(items)
    samples = _reduced(items, metric.name, container)
    outcome = _per_pod(metric.name, container, samples, target, situation)
    if isinstance(outcome, MetricFailure):
        return fail(outcome.error, grouping=outcome.grouping)
    usage = outcome.working.usage
    resource_format = Format.BINARY_SI if metric.name == "memory" else Format.DECIMAL_SI
    status = MetricStatus(
        type="ContainerResource" if isinstance(metric, ContainerResourceMetric) else "Resource",
        resource=metric.name,
        container=container,
        average_value=of_milli(usage.average_milli, resource_format),
        average_utilization=usage.utilization,
    )
    return Proposal(outcome.replicas, _resource_name(metric, by_value=by_value), status, outcome.working)


def _resource_name(metric: ResourceMetric | ContainerResourceMetric, *, by_value: bool) -> str:
    if by_value:
        return f"{metric.name} resource"
    kind = "container resource" if isinstance(metric, ContainerResourceMetric) else "resource"
    return f"{metric.name} {kind} utilization (percentage of request)"


def _resource_failure(
    metric: ResourceMetric | ContainerResourceMetric,
    wanted: str,
    error: str,
    *,
    grouping: Grouping | None = None,
    prefixed: bool = True,
) -> MetricFailure:
    inner = f"failed to get {metric.name} {wanted}: {error}" if prefixed else error
    if isinstance(metric, ContainerResourceMetric):
        wrapped = f"failed to get {metric.container} container metric value: {inner}"
        return MetricFailure("FailedGetContainerResourceMetric", inner, wrapped, grouping=grouping)
    wrapped = f"failed to get {metric.name} resource metric value: {inner}"
    return MetricFailure("FailedGetResourceMetric", inner, wrapped, grouping=grouping)


def _items(reading: Reading | None, resource: str) -> tuple[PodUsage, ...] | str:
    match reading:
        case ResourceReading(items=items) if items:
            return items
        case ResourceReading():
            return f"unable to get metrics for resource {resource}: no metrics returned from resource metrics API"
        case _:
            error = read_error(reading)
            return f"unable to get metrics for resource {resource}: resource metrics API: {error}"


def _reduced(items: tuple[PodUsage, ...], resource: str, container: str) -> dict[str, Sample]:
    """One sample per pod: of the named container or of all; a pod that lacks any of them has none (§18.1)."""
    samples: dict[str, Sample] = {}
    for item in items:
        total_milli = 0
        counted = False
        for used in item.containers:
            if container and used.name != container:
                continue
            value_milli = used.usage_milli.get(resource)
            if value_milli is None:
                counted = False
                break
            total_milli += value_milli
            counted = True
            if container:
                break
        if counted:
            samples[item.pod] = Sample(quantity.saturate(total_milli), item.timestamp_ns, item.window_ns)
    return samples


def from_pods(metric: PodsMetric, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    """What a custom metric asks for that every pod has."""
    fail = partial(failure, "FailedGetPodsMetric", "failed to get pods metric value")
    problem = selector_error(metric.metric)
    if problem is not None:
        return fail(problem)
    if metric.target.average_value_milli is None:
        return fail("invalid target: no average value is set")
    match reading:
        case PodsReading(samples=samples) if samples:
            outcome = _per_pod("", "", samples, metric.target, situation)
        case PodsReading():
            return fail(f"unable to get metric {metric.metric.name}: no metrics returned from custom metrics API")
        case _:
            return fail(f"unable to get metric {metric.metric.name}: custom metrics API: {read_error(reading)}")
    if isinstance(outcome, MetricFailure):
        return fail(outcome.error, grouping=outcome.grouping)
    working: PodsWorking = outcome.working
    status = MetricStatus("Pods", metric=metric.metric, average_value=of_milli(working.usage.average_milli))
    return Proposal(outcome.replicas, f"pods metric {metric.metric.name}", status, working)


def _per_pod(
    resource: str, container: str, samples: Mapping[str, Sample], target: Target, situation: Situation
) -> arithmetic.PodsProposal | MetricFailure:
    """§7.1 and §7.2; a failure carries only its error text and the grouping.

    `resource` is empty for Pods metrics. Without an average value the target must be a utilization.
    """
    pods = situation.pods
    if not pods:
        return MetricFailure("", NO_PODS, "")
    grouping = group(pods, samples, resource, situation.settings, situation.now)
    unusable = {*grouping.ignored, *grouping.unready}
    values_milli = {name: sample.value_milli for name, sample in samples.items() if name not in unusable}
    if not values_milli:
        return MetricFailure("", _NO_USABLE_SAMPLES, "", grouping=grouping)
    target_milli = target.average_value_milli
    if target_milli is not None:
        outcome = arithmetic.replicas_from_pods(
            situation.scale.replicas,
            values_milli,
            grouping,
            situation.tolerance,
            usage_of=lambda values: ratio.average(values.values(), target_milli),
            assumed_below_milli=lambda _: target_milli,
        )
    else:
        percent = target.average_utilization or 0
        gates = situation.settings.gates
        requested = requests_milli(pods, resource, container, pod_level=gates.pod_level_resources)
        if isinstance(requested, str):
            return MetricFailure("", requested, "", grouping=grouping)
        outcome = arithmetic.replicas_from_pods(
            situation.scale.replicas,
            values_milli,
            grouping,
            situation.tolerance,
            usage_of=lambda values: ratio.utilization(values, requested, percent),
            assumed_below_milli=lambda name: requested[name] * max(100, percent) // 100,
        )
    return outcome or MetricFailure("", _NO_KNOWN_PODS, "", grouping=grouping)
