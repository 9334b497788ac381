"""§6.1: many proposals to one, ties, and what failed metrics permit; §6.3: the names that are reported."""

import pytest

from controller.decide.observed import Reading
from controller.decide.spec import MetricSpec
from controller.decide.status import MetricStatus
from tests.builders import (
    container_metric,
    cpu,
    external_metric,
    history,
    hpa,
    label_selector,
    object_metric,
    observation,
    pods_metric,
    resource_metric,
    samples,
    scale,
    series,
    settings,
    status,
    unknown_metric,
    usage,
    value,
)
from tests.decide.syncs import Sync, proposal, sync


def combined(replicas: int, *wanted: int | None) -> Sync:
    """A sync of as many External metrics m0, m1, … as there are proposals; None is one that fails."""
    metrics = [external_metric(average_milli=1000, name=f"m{index}") for index, _ in enumerate(wanted)]
    readings: list[Reading] = [series() if count is None else series(count * 1000) for count in wanted]
    autoscaler = hpa(*metrics, replicas_min=0, replicas_max=100, settings=settings(tolerance=0))
    return sync(autoscaler, observation(scale(replicas), *readings), history((0, -600)))


COMBINED: dict[str, tuple[int, tuple[int | None, ...], int | None, str]] = {
    # R, proposals; the count (None: not decided), the reported metric
    "one": (3, (5,), 5, "m0"),
    "the largest": (3, (4, 6, 5), 6, "m1"),
    "all below": (3, (1, 2), 2, "m1"),
    "tie: the first": (3, (5, 6, 6), 6, "m1"),
    "all zero: the last": (3, (0, 0, 0), 0, "m2"),
    "zero, then more": (3, (0, 2, 0), 2, "m1"),
    "failure, but one above": (3, (None, 5), 5, "m1"),
    "failure, but one holds": (3, (3, None), 3, "m0"),
    "failure, and all below": (3, (2, None), None, "m0"),
    "failure, and zero": (3, (None, 0), None, "m1"),
    "failures, one above": (3, (None, None, 4), 4, "m2"),
    "all fail": (3, (None, None), None, ""),
}


@pytest.mark.parametrize("name", COMBINED)
def test_combined(name: str) -> None:
    replicas, wanted, expected, reported = COMBINED[name]
    outcome = combined(replicas, *wanted)
    evaluation = outcome.decision.evaluation
    assert evaluation is not None
    assert evaluation.replicas == expected
    assert evaluation.name == (f"external metric {reported}(nil)" if reported else "")
    failures = wanted.count(None)
    assert outcome.events().count("FailedGetExternalMetric") == failures
    assert (evaluation.error is None) == (failures == 0)
    # §6.5: failed metrics keep an empty place.
    assert [entry == MetricStatus() for entry in outcome.status.metrics] == [count is None for count in wanted]
    if expected is None:
        assert outcome.reasons()["ScalingActive"] == ("False", "FailedGetExternalMetric")
        assert outcome.events()[-1] == "FailedComputeMetricsReplicas"
    else:
        assert outcome.reasons()["ScalingActive"] == ("True", "ValidMetricFound")


def test_the_first_failure_speaks_for_all() -> None:
    """§6.1: condition and combined error; every failed metric has its own event, with its inner error (§6.2)."""
    autoscaler = hpa(cpu(50), pods_metric(5), unknown_metric("Moon"))
    outcome = sync(autoscaler, observation(scale(3), usage(), samples(), status=status()))
    inner = (
        "failed to get cpu utilization: unable to get metrics for resource cpu: "
        "no metrics returned from resource metrics API"
    )
    outer = f"failed to get cpu resource metric value: {inner}"
    assert outcome.conclusion.error == f"invalid metrics (3 invalid out of 3), first error is: {outer}"
    active = outcome.status.condition("ScalingActive")
    assert active is not None
    assert (active.reason, active.message) == (
        "FailedGetResourceMetric",
        f"the HPA was unable to compute the replica count: {inner}",
    )
    assert [(event.reason, event.message) for event in outcome.conclusion.events] == [
        ("FailedGetResourceMetric", inner),
        ("FailedGetPodsMetric", "unable to get metric requests: no metrics returned from custom metrics API"),
        ("InvalidMetricSourceType", "unknown metric source type 'Moon'"),
    ]
    (last,) = outcome.conclusion.events_after_status
    assert (last.reason, last.message) == ("FailedComputeMetricsReplicas", outcome.conclusion.error)


SELECTOR = label_selector({"queue": "mail", "env": "prod"})
PRINTED = (
    "&LabelSelector{MatchLabels:map[string]string{env: prod,queue: mail,},"
    "MatchExpressions:[]LabelSelectorRequirement{},}"
)

NAMES: dict[str, tuple[MetricSpec, Reading, str]] = {
    "Object Value": (object_metric(value_milli=1000), value(9000), "Service metric hits"),
    "Object AverageValue": (object_metric(average_milli=1000), value(9000), "external metric hits(nil)"),
    "Object AverageValue, selector": (
        object_metric(average_milli=1000, selector=SELECTOR),
        value(9000),
        f"external metric hits({PRINTED})",
    ),
    "Pods": (pods_metric(1000), samples(9000), "pods metric requests"),
    "Resource, average": (resource_metric("memory", average_milli=5), usage(9, resource="memory"), "memory resource"),
    "Resource, utilization": (cpu(50), usage(900), "cpu resource utilization (percentage of request)"),
    "ContainerResource, average": (container_metric("app", average_milli=5), usage(9), "cpu resource"),
    "ContainerResource, utilization": (
        container_metric("app", 50),
        usage(900),
        "cpu container resource utilization (percentage of request)",
    ),
    "External Value": (external_metric(value_milli=1000), series(9000), "external metric backlog(nil)"),
    "External AverageValue": (
        external_metric(average_milli=1000, selector=SELECTOR),
        series(9000),
        f"external metric backlog({PRINTED})",
    ),
}


@pytest.mark.parametrize(("metric", "reading", "name"), NAMES.values(), ids=NAMES)
def test_reported_name(metric: MetricSpec, reading: Reading, name: str) -> None:
    """§6.3: also where the original's name is odd."""
    assert proposal(metric, reading, replicas=1).name == name


TARGETS: dict[str, tuple[MetricSpec, Reading, str | None]] = {
    # §6.3: Object goes by its target's type together with the field, the others by the field; average value wins.
    "Object, type Value": (object_metric(value_milli=1000, average_milli=100, target_type="Value"), value(1000), "R"),
    "Object, type AverageValue": (
        object_metric(value_milli=1000, average_milli=100, target_type="AverageValue"),
        value(1000),
        "average",
    ),
    "Object, type without its field": (object_metric(value_milli=1000, target_type="AverageValue"), value(1), None),
    "Object, the other type's field": (object_metric(average_milli=100, target_type="Value"), value(1000), None),
    "Object, another type": (object_metric(value_milli=1000, target_type="Utilization"), value(1), None),
    "Object, another type, average": (object_metric(average_milli=100, target_type="Utilization"), value(1000), None),
    "External, both": (
        external_metric(value_milli=1000, average_milli=100, target_type="Value"),
        series(1000),
        "average",
    ),
    "External, type does not matter": (external_metric(value_milli=1000, target_type=""), series(1000), "R"),
    "Resource, both": (cpu(50, average_milli=100), usage(333, 333, 334), "average"),
    "neither, Object": (object_metric(target_type="Value"), value(1), None),
    "neither, External": (external_metric(), series(1), None),
    "neither, Resource": (cpu(), usage(1), None),
    "neither, ContainerResource": (container_metric("app"), usage(1), None),
    "neither, Pods": (pods_metric(None), samples(1), None),
}


@pytest.mark.parametrize("name", TARGETS)
def test_which_target_counts(name: str) -> None:
    metric, reading, expected = TARGETS[name]
    outcome = sync(hpa(metric, replicas_max=100), observation(scale(3), reading))
    assert outcome.decision.evaluation is not None
    if expected is None:
        (failed,) = outcome.decision.evaluation.results
        assert "invalid target: " in str(getattr(failed, "error", ""))
        assert outcome.decision.desired is None
    else:
        assert outcome.decision.evaluation.replicas == (3 if expected == "R" else 10)


BAD_SELECTOR = label_selector(None, ("queue", "Near", ["mail"]))


@pytest.mark.parametrize(
    "metric",
    [
        object_metric(value_milli=1, selector=BAD_SELECTOR),
        pods_metric(1, selector=BAD_SELECTOR),
        external_metric(value_milli=1, selector=BAD_SELECTOR),
        external_metric(average_milli=1, selector=BAD_SELECTOR),
    ],
)
@pytest.mark.parametrize("reading", [value(1), samples(1), series(1)])
def test_a_metric_selector_that_is_none(metric: MetricSpec, reading: Reading) -> None:
    """§6.3: fails whatever was answered."""
    outcome = sync(hpa(metric), observation(scale(1), reading))
    assert outcome.decision.desired is None
    assert outcome.conclusion.events[0].message == (
        "invalid metric selector: 'Near' is not a valid label selector operator"
    )
