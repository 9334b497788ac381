"""§15.3: a condition's message changes exactly when the facts of its reason change, since a change is a status write.

Each line is a pair of syncs that end with the same status and reason; whether the message is the same is the fact.
"""

from collections.abc import Sequence

import pytest

from controller.decide.observed import Pod, ReadFailure, Reading, Scale, ScaleFailure
from controller.decide.result import WriteFailed
from controller.decide.spec import Autoscaler, MetricSpec
from tests.builders import (
    behavior,
    by_pods,
    condition,
    container,
    container_metric,
    cpu,
    external_metric,
    history,
    hpa,
    label_selector,
    object_metric,
    observation,
    pods,
    pods_metric,
    requests,
    resource_metric,
    rules,
    samples,
    scale,
    series,
    settings,
    status,
    unknown_metric,
    usage,
    value,
)
from tests.decide.syncs import Sync, sync

SAME, DIFFERENT = True, False
Pair = tuple[Sync, Sync, bool]


def seen(
    autoscaler: Autoscaler,
    at: Scale | ScaleFailure,
    *readings: Reading,
    past: Sequence[tuple[int, float]] = ((0, -600),),
    zeroed: bool = False,
    overlapping: tuple[str, ...] = ("default/web",),
    listed: tuple[Pod, ...] | None = None,
    error: str | None = None,
) -> Sync:
    stored = status(condition("ScaledToZero")) if zeroed else status()
    observed = observation(at, *readings, pods=listed, status=stored, overlapping=overlapping)
    return sync(autoscaler, observed, history(*past), write=None if error is None else WriteFailed(error))


def failing(metric: MetricSpec, reading: Reading, *, listed: tuple[Pod, ...] | None = None) -> Sync:
    return seen(hpa(metric), scale(3), reading, listed=listed)


CPU = hpa(cpu(50), replicas_max=20)
STEADY = usage(500, 500, 500)
UP, DOWN = usage(900, 900, 900), usage(100, 100, 100)
QUICK, SLOW = behavior(down=rules(by_pods(9), window_s=0)), behavior(down=rules(by_pods(1)), up=rules(by_pods(1)))
UP_WINDOW = behavior(up=rules(by_pods(99), window_s=300))
REFUSED, GONE = ReadFailure("refused"), ReadFailure("gone")

ABLE: dict[str, Pair] = {
    "FailedGetScale, error": (seen(CPU, ScaleFailure("a")), seen(CPU, ScaleFailure("b")), DIFFERENT),
    "FailedGetScale, cause": (seen(CPU, ScaleFailure("a")), seen(CPU, ScaleFailure("a", "spec")), SAME),
    "SucceededGetScale, replicas": (seen(CPU, scale(3)), seen(CPU, scale(5)), SAME),
    "SucceededRescale, size": (seen(CPU, scale(3), UP), seen(CPU, scale(3), usage(800, 800, 800)), DIFFERENT),
    "SucceededRescale, reason": (seen(CPU, scale(2), usage(900, 900)), seen(hpa(replicas_max=4), scale(9)), SAME),
    "FailedUpdateScale, error": (seen(CPU, scale(3), UP, error="a"), seen(CPU, scale(3), UP, error="b"), DIFFERENT),
    "FailedUpdateScale, size": (seen(CPU, scale(3), UP, error="a"), seen(CPU, scale(3), DOWN, error="a"), SAME),
    "ReadyForNewScale, replicas": (seen(CPU, scale(3), STEADY), seen(CPU, scale(1), usage(500)), SAME),
    "ReadyForNewScale, behavior": (
        seen(CPU, scale(3), STEADY),
        seen(hpa(cpu(50), behavior=QUICK), scale(3), STEADY),
        SAME,
    ),
    "ScaleDownStabilized, by how much": (
        seen(CPU, scale(3), DOWN, past=((3, -60),)),
        seen(hpa(cpu(50), behavior=behavior()), scale(3), DOWN, past=((9, -5),)),
        SAME,
    ),
    "ScaleUpStabilized, by how much": (
        seen(hpa(cpu(50), behavior=UP_WINDOW), scale(3), UP, past=((3, -60),)),
        seen(hpa(cpu(50), behavior=UP_WINDOW), scale(3), usage(800, 800, 800), past=((1, -5),)),
        SAME,
    ),
}

SELECTOR, OTHER_SELECTOR = label_selector({"queue": "mail"}), label_selector({"queue": "chat"})
ZONES, ZONES_IN_ANOTHER_ORDER = (label_selector(None, ("zone", "In", zones)) for zones in (["a", "b"], ["b", "a"]))


def bare(first: int, name: str = "app", resource: str = "cpu") -> tuple[Pod, ...]:
    other = "memory" if resource == "cpu" else "cpu"
    return pods(3, first=first, requests=requests(container(name, {other: 5})))


ACTIVE: dict[str, Pair] = {
    "ValidMetricFound, value": (seen(CPU, scale(3), STEADY), seen(CPU, scale(3), UP), SAME),
    "ValidMetricFound, name": (
        seen(hpa(pods_metric(5, name="a")), scale(1), samples(5)),
        seen(hpa(pods_metric(5, name="b")), scale(1), samples(5)),
        DIFFERENT,
    ),
    "ValidMetricFound, selector": (
        seen(hpa(external_metric(value_milli=5, selector=SELECTOR)), scale(1), series(5)),
        seen(hpa(external_metric(value_milli=5, selector=OTHER_SELECTOR)), scale(1), series(5)),
        DIFFERENT,
    ),
    "ValidMetricFound, container": (
        seen(hpa(container_metric("app", average_milli=5)), scale(1), usage(5)),
        seen(hpa(cpu(average_milli=5)), scale(1), usage(5)),
        SAME,
    ),
    "ScalingDisabled, minimum": (seen(hpa(), scale(0)), seen(hpa(replicas_min=0), scale(0)), SAME),
    "InvalidSelector, replicas": (seen(CPU, scale(3, selector="")), seen(CPU, scale(4, selector="")), SAME),
    "InvalidSelector, empty or not": (seen(CPU, scale(3, selector="")), seen(CPU, scale(3, selector="a b")), DIFFERENT),
    "InvalidSelector, another selector with the same fault": (
        seen(CPU, scale(3, selector="cheddar cheese")),
        seen(CPU, scale(3, selector="gouda cheese")),
        SAME,
    ),
    "InvalidSelector, error": (seen(CPU, scale(3, selector="a b")), seen(CPU, scale(3, selector="a=!")), DIFFERENT),
    "AmbiguousSelector, keys": (
        seen(CPU, scale(3), overlapping=("default/a", "default/web")),
        seen(CPU, scale(3), overlapping=("default/b", "default/web")),
        DIFFERENT,
    ),
    "AmbiguousSelector, selector": (
        seen(CPU, scale(3, selector="a=1"), overlapping=("default/a", "default/web")),
        seen(CPU, scale(3, selector="a=2"), overlapping=("default/a", "default/web")),
        DIFFERENT,
    ),
    "AmbiguousSelector, pods": (
        seen(CPU, scale(3), overlapping=("default/a", "default/web")),
        seen(CPU, scale(3), overlapping=("default/a", "default/web"), listed=pods(1)),
        SAME,
    ),
}

FAILED: dict[str, Pair] = {
    "resource": (failing(cpu(50), REFUSED), failing(resource_metric("memory", 50), REFUSED), DIFFERENT),
    "usage or utilization": (failing(cpu(50), REFUSED), failing(cpu(average_milli=5), REFUSED), DIFFERENT),
    "utilization's target": (failing(cpu(50), REFUSED), failing(cpu(60), REFUSED), SAME),
    "container": (failing(container_metric("a", 50), REFUSED), failing(container_metric("b", 50), REFUSED), SAME),
    "resource API, error": (failing(cpu(50), REFUSED), failing(cpu(50), GONE), DIFFERENT),
    "resource API, empty list": (failing(cpu(50), REFUSED), failing(cpu(50), usage()), DIFFERENT),
    "first every pod is missing, then nothing is returned": (
        failing(cpu(50), usage(5, resource="memory")),
        failing(cpu(50), usage()),
        DIFFERENT,
    ),
    "Pods, error": (failing(pods_metric(5), REFUSED), failing(pods_metric(5), GONE), DIFFERENT),
    "Pods, metric": (failing(pods_metric(5, name="a"), REFUSED), failing(pods_metric(5, name="b"), REFUSED), DIFFERENT),
    "Pods, empty list, metric": (
        failing(pods_metric(5, name="a"), samples()),
        failing(pods_metric(5, name="b"), samples()),
        DIFFERENT,
    ),
    "Pods, no usable sample, metric": (
        failing(pods_metric(5, name="a"), samples(5), listed=pods(1, phase="Failed")),
        failing(pods_metric(5, name="b"), samples(7), listed=pods(2, phase="Pending")),
        SAME,
    ),
    "Pods, no pods, metric": (
        failing(pods_metric(5, name="a"), samples(5), listed=()),
        failing(pods_metric(5, name="b"), samples(5), listed=()),
        SAME,
    ),
    "Pods, no target, metric": (
        failing(pods_metric(None, name="a"), samples(5)),
        failing(pods_metric(None, name="b"), samples(5)),
        SAME,
    ),
    "Pods, no usable sample or no pods": (
        failing(pods_metric(5), samples(5), listed=pods(1, phase="Failed")),
        failing(pods_metric(5), samples(5), listed=()),
        DIFFERENT,
    ),
    "Object, error": (
        failing(object_metric(value_milli=5), REFUSED),
        failing(object_metric(value_milli=5), GONE),
        DIFFERENT,
    ),
    "Object, metric": (
        failing(object_metric(value_milli=5, name="a"), REFUSED),
        failing(object_metric(value_milli=5, name="b"), REFUSED),
        DIFFERENT,
    ),
    "Object, kind": (
        failing(object_metric(value_milli=5, described=("Service", "a")), REFUSED),
        failing(object_metric(value_milli=5, described=("Ingress", "a")), REFUSED),
        DIFFERENT,
    ),
    "Object, name": (
        failing(object_metric(value_milli=5, described=("Service", "a")), REFUSED),
        failing(object_metric(value_milli=5, described=("Service", "b")), REFUSED),
        DIFFERENT,
    ),
    "Object, target type": (
        failing(object_metric(value_milli=5), REFUSED),
        failing(object_metric(average_milli=5), REFUSED),
        SAME,
    ),
    "Object, ready pods cannot be counted, metric": (
        failing(object_metric(value_milli=5, name="a"), value(50), listed=()),
        failing(object_metric(value_milli=5, name="b"), value(70), listed=()),
        SAME,
    ),
    "Object, no target, metric": (
        failing(object_metric(name="a"), value(5)),
        failing(object_metric(name="b"), value(5)),
        SAME,
    ),
    "External, error": (
        failing(external_metric(value_milli=5), REFUSED),
        failing(external_metric(value_milli=5), GONE),
        DIFFERENT,
    ),
    "External, metric": (
        failing(external_metric(value_milli=5, name="a"), REFUSED),
        failing(external_metric(value_milli=5, name="b"), REFUSED),
        DIFFERENT,
    ),
    "External, selector": (
        failing(external_metric(value_milli=5, selector=SELECTOR), REFUSED),
        failing(external_metric(value_milli=5, selector=OTHER_SELECTOR), REFUSED),
        DIFFERENT,
    ),
    "External, selector in another order": (
        failing(external_metric(value_milli=5, selector=ZONES), REFUSED),
        failing(external_metric(value_milli=5, selector=ZONES_IN_ANOTHER_ORDER), REFUSED),
        DIFFERENT,
    ),
    "External, empty list, selector": (
        failing(external_metric(value_milli=5, selector=SELECTOR), series()),
        failing(external_metric(value_milli=5, selector=OTHER_SELECTOR), series()),
        DIFFERENT,
    ),
    "External, empty list or error": (
        failing(external_metric(value_milli=5), series()),
        failing(external_metric(value_milli=5), REFUSED),
        DIFFERENT,
    ),
    "External, ready pods cannot be counted, metric": (
        failing(external_metric(value_milli=5, name="a"), series(50), listed=()),
        failing(external_metric(value_milli=5, name="b"), series(50), listed=()),
        SAME,
    ),
    "External, no target, metric": (
        failing(external_metric(name="a"), series(5)),
        failing(external_metric(name="b"), series(5)),
        SAME,
    ),
    "Resource, no target, resource": (failing(cpu(), usage(5)), failing(resource_metric("memory"), usage(5)), SAME),
    "request, pod": (failing(cpu(50), STEADY, listed=bare(0)), failing(cpu(50), STEADY, listed=bare(1)), DIFFERENT),
    "request, container": (
        failing(cpu(50), STEADY, listed=bare(0, "a")),
        failing(cpu(50), STEADY, listed=bare(0, "b")),
        DIFFERENT,
    ),
    "request, named container": (
        failing(container_metric("app", 50), STEADY, listed=bare(0, "a")),
        failing(container_metric("app", 50), STEADY, listed=bare(1, "a")),
        DIFFERENT,
    ),
    "unknown type": (failing(unknown_metric("a"), STEADY), failing(unknown_metric("b"), STEADY), DIFFERENT),
    "the second failure": (
        seen(hpa(cpu(50), pods_metric(5, name="a")), scale(3), REFUSED, REFUSED),
        seen(hpa(cpu(50), pods_metric(5, name="b")), scale(3), REFUSED, GONE),
        SAME,
    ),
    "how many failed": (failing(cpu(50), REFUSED), seen(hpa(cpu(50), cpu(60)), scale(3), REFUSED, REFUSED), SAME),
}

LIMITED: dict[str, Pair] = {
    "DesiredWithinRange": (seen(CPU, scale(3), STEADY), seen(CPU, scale(3), usage(700, 700, 700)), SAME),
    "TooManyReplicas": (
        seen(hpa(cpu(50), replicas_max=4), scale(3), UP),
        seen(hpa(cpu(50), replicas_max=5, behavior=QUICK), scale(3), UP),
        SAME,
    ),
    "TooFewReplicas": (
        seen(hpa(cpu(50), replicas_min=2), scale(3), DOWN),
        seen(hpa(cpu(50), replicas_min=3, behavior=QUICK), scale(4), usage(1, 1, 1, 1)),
        SAME,
    ),
    "ScaleUpLimit": (
        seen(CPU, scale(3), usage(9000, 9000, 9000)),
        seen(hpa(cpu(50), behavior=SLOW), scale(3), UP),
        SAME,
    ),
    "ScaleDownLimit": (
        seen(hpa(cpu(50), behavior=SLOW), scale(3), DOWN),
        seen(hpa(cpu(50), behavior=SLOW), scale(4), usage(1, 1, 1, 1)),
        SAME,
    ),
}

ZERO = hpa(object_metric(value_milli=1000), replicas_min=0, settings=settings(scale_to_zero=True))
ZEROED: dict[str, Pair] = {
    "ScaledToZero": (seen(ZERO, scale(3), value(0)), seen(ZERO, scale(4), value(0), zeroed=True), SAME),
    "NotScaledToZero": (seen(ZERO, scale(3), value(5000)), seen(ZERO, scale(0), value(1), zeroed=True), SAME),
}

PAIRS = [
    pytest.param(kind, *pair, id=f"{kind} {name}")
    for kind, table in (
        ("AbleToScale", ABLE),
        ("ScalingActive", ACTIVE),
        ("ScalingActive", FAILED),
        ("ScalingLimited", LIMITED),
        ("ScaledToZero", ZEROED),
    )
    for name, pair in table.items()
]


@pytest.mark.parametrize(("kind", "one", "other", "same"), PAIRS)
def test_message(kind: str, one: Sync, other: Sync, same: bool) -> None:  # noqa: FBT001 - a table's column
    left, right = one.status.condition(kind), other.status.condition(kind)
    assert left is not None
    assert right is not None
    assert (left.status, left.reason) == (right.status, right.reason)
    assert left.message
    assert (left.message == right.message) is same


def test_every_reason_is_in_a_pair() -> None:
    """§15.1."""
    found = {
        (condition_of.type, condition_of.reason)
        for table in (ABLE, ACTIVE, FAILED, LIMITED, ZEROED)
        for one, other, _ in table.values()
        for outcome in (one, other)
        for condition_of in outcome.status.conditions
    }
    failed = ("Resource", "ContainerResource", "Pods", "Object", "External")
    assert found == {
        *(("AbleToScale", reason) for reason in ("SucceededGetScale", "FailedGetScale", "ReadyForNewScale")),
        *(("AbleToScale", reason) for reason in ("ScaleDownStabilized", "ScaleUpStabilized")),
        *(("AbleToScale", reason) for reason in ("SucceededRescale", "FailedUpdateScale")),
        *(("ScalingActive", reason) for reason in ("ValidMetricFound", "ScalingDisabled", "InvalidSelector")),
        *(("ScalingActive", reason) for reason in ("AmbiguousSelector", "InvalidMetricSourceType")),
        *(("ScalingActive", f"FailedGet{source}Metric") for source in failed),
        *(("ScalingLimited", reason) for reason in ("TooFewReplicas", "TooManyReplicas", "ScaleUpLimit")),
        *(("ScalingLimited", reason) for reason in ("ScaleDownLimit", "DesiredWithinRange")),
        *(("ScaledToZero", reason) for reason in ("ScaledToZero", "NotScaledToZero")),
    }
