"""What each metric asks for: one function per kind of source, giving a proposal or a failure (§6.3, §7)."""

from collections.abc import Mapping
from functools import partial
from typing import Final, assert_never

import msgspec

from controller.decide import arithmetic, quantity, ratio, selectors
from controller.decide.instants import Now
from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    Pod,
    PodsReading,
    PodUsage,
    ReadFailure,
    Reading,
    ResourceReading,
    Sample,
    Scale,
)
from controller.decide.pods import count_ready, group
from controller.decide.quantity import Format, of_milli
from controller.decide.requests import requests_milli
from controller.decide.result import Grouping, MetricFailure, PodsWorking, Proposal
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricIdentifier,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
    Settings,
    Target,
    Tolerance,
    UnknownMetric,
)
from controller.decide.status import MetricStatus

_NO_PODS: Final = "the selector of the target matches no pods"
_NO_READY_COUNT: Final = f"unable to count the ready pods: {_NO_PODS}"
_NO_USABLE_SAMPLES: Final = "did not receive metrics for targeted pods (pods might be unready)"
_NO_KNOWN_PODS: Final = "no metrics returned matched known pods"
_NO_ANSWER: Final = ReadFailure("the metric was not read")


class Situation(msgspec.Struct, frozen=True, gc=False):
    """What every metric of a sync is evaluated against: the target's scale and pods, settings, tolerance and time."""

    scale: Scale
    pods: tuple[Pod, ...]
    settings: Settings
    tolerance: Tolerance
    now: Now


def propose(metric: MetricSpec, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    """What one metric asks for. A reading that is absent or of another kind than the metric is a failure."""
    match metric:
        case ResourceMetric() | ContainerResourceMetric():
            return _from_resource(metric, reading, situation)
        case PodsMetric():
            return _from_pods(metric, reading, situation)
        case ObjectMetric():
            return _from_object(metric, reading, situation)
        case ExternalMetric():
            return _from_external(metric, reading, situation)
        case UnknownMetric():
            error = f"unknown metric source type {metric.type!r}"
            return MetricFailure("InvalidMetricSourceType", error, error, cause="spec")
        case _:
            assert_never(metric)


# --- Resource and ContainerResource --------------------------------------------------------------


def _from_resource(
    metric: ResourceMetric | ContainerResourceMetric, reading: Reading | None, situation: Situation
) -> Proposal | MetricFailure:
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
            error = _read_error(reading)
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


# --- the rule that Resource, ContainerResource and Pods share ---------------------------------------


def _per_pod(
    resource: str, container: str, samples: Mapping[str, Sample], target: Target, situation: Situation
) -> arithmetic.PodsProposal | MetricFailure:
    """§7.1 and §7.2; a failure carries only its error text and the grouping.

    `resource` is empty for Pods metrics. Without an average value the target must be a utilization.
    """
    pods = situation.pods
    if not pods:
        return MetricFailure("", _NO_PODS, "")
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


def _from_pods(metric: PodsMetric, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    fail = partial(_failure, "FailedGetPodsMetric", "failed to get pods metric value")
    selector_error = _selector_error(metric.metric)
    if selector_error is not None:
        return fail(selector_error)
    if metric.target.average_value_milli is None:
        return fail("invalid target: no average value is set")
    match reading:
        case PodsReading(samples=samples) if samples:
            outcome = _per_pod("", "", samples, metric.target, situation)
        case PodsReading():
            return fail(f"unable to get metric {metric.metric.name}: no metrics returned from custom metrics API")
        case _:
            return fail(f"unable to get metric {metric.metric.name}: custom metrics API: {_read_error(reading)}")
    if isinstance(outcome, MetricFailure):
        return fail(outcome.error, grouping=outcome.grouping)
    working: PodsWorking = outcome.working
    status = MetricStatus("Pods", metric=metric.metric, average_value=of_milli(working.usage.average_milli))
    return Proposal(outcome.replicas, f"pods metric {metric.metric.name}", status, working)


# --- Object and External -------------------------------------------------------------------------


def _from_object(metric: ObjectMetric, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    fail = partial(_failure, "FailedGetObjectMetric", "failed to get object metric value")
    identifier, described, target = metric.metric, metric.described, metric.target
    selector_error = _selector_error(identifier)
    if selector_error is not None:
        return fail(selector_error)
    value_milli = target.value_milli if target.type == "Value" else None
    average_milli = target.average_value_milli if target.type == "AverageValue" else None
    if value_milli is None and average_milli is None:
        return fail("invalid target: neither a value target nor an average value target")
    if not isinstance(reading, ObjectReading):
        return fail(
            f"unable to get metric {identifier.name} of {described.kind} {described.name}: "
            f"custom metrics API: {_read_error(reading)}"
        )
    if value_milli is not None:
        return _total(
            reading.value_milli,
            value_milli,
            situation,
            MetricStatus("Object", metric=identifier, described=described),
            f"{described.kind} metric {identifier.name}",
            fail,
        )
    assert average_milli is not None  # noqa: S101 - one of the two is set
    status = MetricStatus("Object", metric=identifier, described=described)
    return _average(reading.value_milli, average_milli, situation, status, _external_name(identifier))


def _from_external(metric: ExternalMetric, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    identifier, target = metric.metric, metric.target
    fail = partial(_failure, "FailedGetExternalMetric", f"failed to get {identifier.name} external metric value")
    if target.average_value_milli is None and target.value_milli is None:
        return fail("invalid target: neither a value nor an average value is set")
    selector_error = _selector_error(identifier)
    if selector_error is not None:
        return fail(selector_error)
    question = f"unable to get external metric {identifier.name} with selector {_selector_text(identifier)}"
    match reading:
        case ExternalReading(values_milli=values_milli) if values_milli:
            pass
        case ExternalReading():
            return fail(f"{question}: no metrics returned from external metrics API")
        case _:
            return fail(f"{question}: external metrics API: {_read_error(reading)}")
    status = MetricStatus("External", metric=identifier)
    name = _external_name(identifier)
    if target.average_value_milli is not None:
        usage_milli = arithmetic.sum_of_series_per_pod(values_milli)
        return _average(usage_milli, target.average_value_milli, situation, status, name, summed=True)
    assert target.value_milli is not None  # noqa: S101 - one of the two is set
    usage_milli = arithmetic.sum_of_series(values_milli)
    return _total(usage_milli, target.value_milli, situation, status, name, fail)


def _total(
    usage_milli: int,
    target_milli: int,
    situation: Situation,
    status: MetricStatus,
    name: str,
    fail: "partial[MetricFailure]",
) -> Proposal | MetricFailure:
    """§7.3."""
    pods_ready = count_ready(situation.pods) if situation.pods else None
    outcome = arithmetic.replicas_from_total(
        situation.scale.replicas, usage_milli, target_milli, situation.tolerance, pods_ready
    )
    if outcome is None:
        return fail(_NO_READY_COUNT)
    proposed, working = outcome
    return Proposal(proposed, name, msgspec.structs.replace(status, value=of_milli(usage_milli)), working)


def _average(
    usage_milli: int, target_milli: int, situation: Situation, status: MetricStatus, name: str, *, summed: bool = False
) -> Proposal:
    """§7.4."""
    proposed, average_milli, working = arithmetic.replicas_from_average(
        situation.scale.status_replicas, usage_milli, target_milli, situation.tolerance, summed=summed
    )
    reported = msgspec.structs.replace(status, average_value=of_milli(average_milli))
    return Proposal(proposed, name, reported, working)


# --- texts ---------------------------------------------------------------------------------------


def _external_name(identifier: MetricIdentifier) -> str:
    return f"external metric {identifier.name}({selectors.debug_text(identifier.selector)})"


def _selector_text(identifier: MetricIdentifier) -> str:
    return "nil" if identifier.selector is None else str(identifier.selector)


def _selector_error(identifier: MetricIdentifier) -> str | None:
    """Why the metric's own selector cannot be used, or None."""
    if identifier.selector is not None:
        try:
            selectors.from_object(identifier.selector)
        except selectors.SelectorError as error:
            return f"invalid metric selector: {error}"
    return None


def _read_error(reading: Reading | None) -> str:
    return reading.message if isinstance(reading, ReadFailure) else _NO_ANSWER.message


def _failure(reason: str, wrap: str, error: str, *, grouping: Grouping | None = None) -> MetricFailure:
    return MetricFailure(reason, error, f"{wrap}: {error}", grouping=grouping)
