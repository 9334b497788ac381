"""§18 and §25.5: what an answer of a metrics API is worth before any arithmetic, and what failing it says."""

import pytest

from controller.decide.instants import ZERO_TIME_NS
from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    PodsReading,
    PodUsage,
    ReadFailure,
    Reading,
    ResourceReading,
    Sample,
    dated,
    sample_times,
)
from controller.decide.quantity import INT64_MAX
from controller.decide.spec import ContainerResourceMetric, MetricSpec, ResourceMetric
from controller.decide.working import PodsWorking, Verdict
from tests.builders import (
    container_metric,
    cpu,
    external_metric,
    object_metric,
    pods_metric,
    samples,
    series,
    unknown_metric,
    usage,
    usage_item,
    value,
)
from tests.decide.syncs import failure, proposal

BY_POD, OF_APP = cpu(average_milli=100), container_metric("app", average_milli=100)
USED = {"app": {"cpu": 100}, "proxy": {"cpu": 50}}
LACKING = {"app": {"cpu": 100}, "proxy": {"memory": 50}}


def present(metric: MetricSpec, *items: PodUsage) -> dict[str, int]:
    """The pods of web-0 … web-2 that have a sample; each one's value is checked as the reported average of it alone."""
    working = proposal(metric, ResourceReading(items)).working
    assert isinstance(working, PodsWorking)
    found = [name for name, verdict in working.grouping.verdicts.items() if verdict is not Verdict.NO_SAMPLE]
    return {name: _reported(metric, tuple(item for item in items if item.pod == name)) for name in found}


def _reported(metric: MetricSpec, items: tuple[PodUsage, ...]) -> int:
    average = proposal(metric, ResourceReading(items)).status.average_value
    assert average is not None
    return average.milli()


PRESENT: dict[str, tuple[ResourceMetric | ContainerResourceMetric, tuple[PodUsage, ...], dict[str, int]]] = {
    "25.5.1 a pod without containers": (
        BY_POD,
        (usage_item("web-0", USED), usage_item("web-1", {}), usage_item("web-2", USED)),
        {"web-0": 150, "web-2": 150},
    ),
    "25.5.2 the container is in one of three": (
        container_metric("test-2", average_milli=100),
        (
            usage_item("web-0", {"test-1": {"cpu": 100}}),
            usage_item("web-1", {"test-1": {"cpu": 100}, "test-2": {"cpu": 50}}),
            usage_item("web-2", {"test-1": {"cpu": 100}}),
        ),
        {"web-1": 50},
    ),
    "one container lacks the resource": (
        BY_POD,
        (usage_item("web-0", USED), usage_item("web-1", LACKING)),
        {"web-0": 150},
    ),
    "its neighbour lacks the resource, container named": (OF_APP, (usage_item("web-1", LACKING),), {"web-1": 100}),
    "the named container lacks the resource": (
        container_metric("proxy", average_milli=100),
        (usage_item("web-0", USED), usage_item("web-1", LACKING)),
        {"web-0": 50},
    ),
    "the last item of a pod counts": (
        BY_POD,
        (usage_item("web-0", USED), usage_item("web-0", {"app": {"cpu": 7}})),
        {"web-0": 7},
    ),
    "an item without the resource does not replace one that has it": (
        BY_POD,
        (usage_item("web-0", USED), usage_item("web-0", LACKING)),
        {"web-0": 150},
    ),
    "containers' sum saturates": (
        BY_POD,
        (usage_item("web-0", {"app": {"cpu": INT64_MAX}, "proxy": {"cpu": 1}}),),
        {"web-0": INT64_MAX},
    ),
}


@pytest.mark.parametrize(("metric", "items", "expected"), PRESENT.values(), ids=PRESENT)
def test_pods_that_have_a_sample(
    metric: ResourceMetric | ContainerResourceMetric, items: tuple[PodUsage, ...], expected: dict[str, int]
) -> None:
    assert present(metric, *items) == expected


ZEROES: dict[str, tuple[MetricSpec, Reading]] = {
    "Resource": (BY_POD, usage(0, 0, 0)),
    "Resource utilization": (cpu(50), usage(0, 0, 0)),
    "Pods": (pods_metric(100), samples(0, 0, 0)),
    "Object": (object_metric(value_milli=100), value(0)),
    "Object average": (object_metric(average_milli=100), value(0)),
    "External": (external_metric(value_milli=100), series(0)),
    "External average": (external_metric(average_milli=100), series(0, 0)),
}


@pytest.mark.parametrize(("metric", "reading"), ZEROES.values(), ids=[f"25.5.3 {name}" for name in ZEROES])
def test_zero_is_a_value(metric: MetricSpec, reading: Reading) -> None:
    assert proposal(metric, reading).replicas == 0


NOTHING = "no metrics returned from {} metrics API"
EMPTY: dict[str, tuple[MetricSpec, Reading, str]] = {
    "Resource": (BY_POD, usage(), NOTHING.format("resource")),
    "ContainerResource": (OF_APP, usage(), NOTHING.format("resource")),
    "Pods": (pods_metric(100), samples(), NOTHING.format("custom")),
    "External": (external_metric(value_milli=100), series(), NOTHING.format("external")),
    "External average": (external_metric(average_milli=100), series(), NOTHING.format("external")),
}


@pytest.mark.parametrize(("metric", "reading", "text"), EMPTY.values(), ids=[f"25.5.3 {name}" for name in EMPTY])
def test_an_empty_list_is_a_failure(metric: MetricSpec, reading: Reading, text: str) -> None:
    assert text in failure(metric, reading).error


FAILURES: dict[str, tuple[MetricSpec, str, str]] = {
    "Resource": (cpu(50), "FailedGetResourceMetric", "failed to get cpu resource metric value: "),
    "ContainerResource": (OF_APP, "FailedGetContainerResourceMetric", "failed to get app container metric value: "),
    "Pods": (pods_metric(1), "FailedGetPodsMetric", "failed to get pods metric value: "),
    "Object": (object_metric(value_milli=1), "FailedGetObjectMetric", "failed to get object metric value: "),
    "External": (
        external_metric(value_milli=1),
        "FailedGetExternalMetric",
        "failed to get backlog external metric value: ",
    ),
}
READINGS: dict[str, Reading | None] = {
    "refused": ReadFailure("the server could not find the requested resource"),
    "not asked": None,
    "of no pods": PodsReading({}),
    "of resources": ResourceReading(()),
    "of an object": value(5),
    "of series": series(5),
}
ANSWERED_BY = {
    ("Object", "of an object"),
    ("External", "of series"),
}


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize("answer", READINGS)
def test_an_answer_that_is_none_is_a_failure(kind: str, answer: str) -> None:
    """§6.2: reason, and the outer text of the source around the inner one; whatever else arrived in its place."""
    metric, reason, wrap = FAILURES[kind]
    if (kind, answer) in ANSWERED_BY:
        assert proposal(metric, READINGS[answer]).replicas > 0
        return
    result = failure(metric, READINGS[answer])
    assert (result.reason, result.cause) == (reason, "internal")
    assert result.wrapped == wrap + result.error
    if answer == "refused":
        assert "the server could not find the requested resource" in result.error


def test_unknown_type() -> None:
    """§6.3: labelled as a fault of the spec."""
    result = failure(unknown_metric("Sunspots"), None)
    assert (result.reason, result.cause) == ("InvalidMetricSourceType", "spec")
    assert "Sunspots" in result.error


SAMPLED = (PodUsage("a", 7, 30, ()), PodUsage("b", ZERO_TIME_NS, 30, ()), PodUsage("c", 5, 30, ()))


@pytest.mark.parametrize(
    ("reading", "known", "unknown"),
    [
        (ResourceReading(SAMPLED), [7, 5], 1),
        (ResourceReading(SAMPLED, undated=("c",)), [7], 2),
        (ResourceReading(()), [], 0),
        (PodsReading({"a": Sample(1, 7, 30), "b": Sample(1, ZERO_TIME_NS, 30)}), [7], 1),
        (PodsReading({"a": Sample(1, 7, 30), "b": Sample(1, 5, 30)}, undated=("a",)), [5], 1),
        (ObjectReading(1, 7), [7], 0),
        (ObjectReading(1), [], 1),
        (ExternalReading((1, 2), 7), [7], 0),
        (ExternalReading((), 7), [], 0),
        (ReadFailure("no"), [], 0),
    ],
)
def test_times_are_those_of_the_samples_by_pod(reading: Reading, known: list[int], unknown: int) -> None:
    assert dated(reading) == (known, unknown)
    times = [at_ns for _, at_ns in sample_times(reading)]
    assert (times.count(None), [at_ns for at_ns in times if at_ns is not None]) == (unknown, known)
