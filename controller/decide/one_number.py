"""Object and External metrics: one number for all pods (§7.3, §7.4)."""

from functools import partial
from typing import Final

import msgspec

from controller.decide import arithmetic, selectors
from controller.decide.observed import ExternalReading, ObjectReading, Reading
from controller.decide.pods import count_ready
from controller.decide.quantity import of_milli
from controller.decide.result import MetricFailure, Proposal
from controller.decide.situation import NO_PODS, Situation, failure, read_error, selector_error
from controller.decide.spec import ExternalMetric, MetricIdentifier, ObjectMetric
from controller.decide.status import MetricStatus

_NO_READY_COUNT: Final = f"unable to count the ready pods: {NO_PODS}"


def from_object(metric: ObjectMetric, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    """What a custom metric of one object asks for."""
    fail = partial(failure, "FailedGetObjectMetric", "failed to get object metric value")
    identifier, described, target = metric.metric, metric.described, metric.target
    problem = selector_error(identifier)
    if problem is not None:
        return fail(problem)
    value_milli = target.value_milli if target.type == "Value" else None
    average_milli = target.average_value_milli if target.type == "AverageValue" else None
    if value_milli is None and average_milli is None:
        return fail("invalid target: neither a value target nor an average value target")
    if not isinstance(reading, ObjectReading):
        return fail(
            f"unable to get metric {identifier.name} of {described.kind} {described.name}: "
            f"custom metrics API: {read_error(reading)}"
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


def from_external(metric: ExternalMetric, reading: Reading | None, situation: Situation) -> Proposal | MetricFailure:
    """What the series of an external metric ask for, added up."""
    identifier, target = metric.metric, metric.target
    fail = partial(failure, "FailedGetExternalMetric", f"failed to get {identifier.name} external metric value")
    if target.average_value_milli is None and target.value_milli is None:
        return fail("invalid target: neither a value nor an average value is set")
    problem = selector_error(identifier)
    if problem is not None:
        return fail(problem)
    question = f"unable to get external metric {identifier.name} with selector {_selector_text(identifier)}"
    match reading:
        case ExternalReading(values_milli=values_milli) if values_milli:
            pass
        case ExternalReading():
            return fail(f"{question}: no metrics returned from external metrics API")
        case _:
            return fail(f"{question}: external metrics API: {read_error(reading)}")
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


def _external_name(identifier: MetricIdentifier) -> str:
    return f"external metric {identifier.name}({selectors.debug_text(identifier.selector)})"


def _selector_text(identifier: MetricIdentifier) -> str:
    return "nil" if identifier.selector is None else str(identifier.selector)
