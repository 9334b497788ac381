"""What metrics say of a load, each in the units of its own target."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    PodsReading,
    ReadFailure,
    Reading,
    ResourceReading,
)
from controller.decide.spec import MetricSpec
from controller.simulation.curve import REST_NS, parse_curve
from controller.simulation.meter import Meter, Plan
from controller.simulation.workload import Workload
from tests.builders import (
    container_metric,
    cpu,
    external_metric,
    object_metric,
    pods_metric,
    resource_metric,
    unknown_metric,
)

SECOND_NS = 10**9
MINUTE_NS = 60 * SECOND_NS
GIBIBYTE_MILLI = 2**30 * 1_000

# At the target, one replica's worth of load is a thousand of each.
KINDS: dict[str, MetricSpec] = {
    "cpu": cpu(average_milli=1_000),
    "memory": resource_metric("memory", average_milli=1_000),
    "container": container_metric("app", average_milli=1_000),
    "pods": pods_metric(1_000),
    "object": object_metric(average_milli=1_000),
    "external": external_metric(average_milli=1_000),
}
each_kind = pytest.mark.parametrize("metric", KINDS.values(), ids=KINDS)


def always(_: str) -> float:
    """Noise in the middle of its range is none."""
    return 0.5


def counting() -> Callable[[str], float]:
    """Another number each time."""
    numbers: Iterator[int] = iter(range(100))
    return lambda _: next(numbers) / 100


def planned(load: str, **fields: Any) -> Plan:
    """A plan of one load for all metrics."""
    return Plan(loads={"": parse_curve(load)}, **fields)


def measured(
    *metrics: MetricSpec, plan: Plan, at_ns: int = 0, uniform: Callable[[str], float] = always
) -> tuple[Reading, ...]:
    """What they say of four pods."""
    meter = Meter(metrics, plan, 0, uniform)
    return meter.measure(Workload(meter.requests(), 4, plan.start_up_ns), at_ns)


def total_milli(reading: Reading) -> int:
    """All that is in it."""
    match reading:
        case ResourceReading(items=items):
            return sum(sum(container.usage_milli.values()) for item in items for container in item.containers)
        case PodsReading(samples=samples):
            return sum(sample.value_milli for sample in samples.values())
        case ObjectReading(value_milli=value_milli):
            return value_milli
        case ExternalReading(values_milli=values_milli):
            return sum(values_milli)
        case ReadFailure():
            raise AssertionError(f"there is no number: {reading}")


@pytest.mark.parametrize(
    ("metric", "expected_milli"),
    [
        (cpu(average_milli=1_000), 5_000),
        (container_metric("app", average_milli=1_000), 5_000),
        (resource_metric("memory", average_milli=1_000), 8_000),
        (container_metric("app", average_milli=1_000, name="memory"), 8_000),
        (pods_metric(1_000, name="cpu"), 8_000),
        (external_metric(average_milli=1_000, name="cpu"), 8_000),
    ],
)
def test_cpu_of_pods_is_the_mean_since_the_last_measurement_and_all_else_what_it_is(
    metric: MetricSpec, expected_milli: int
) -> None:
    plan = planned("4@0s,4@45s,8@45s", resolution_ns=MINUTE_NS)
    [reading] = measured(metric, plan=plan, at_ns=MINUTE_NS)
    assert total_milli(reading) == expected_milli


@pytest.mark.parametrize(
    ("kind", "name"), list(zip(KINDS, ("cpu", "memory", "cpu", "requests", "hits", "backlog"), strict=True))
)
def test_a_load_by_the_name_of_a_metric_is_that_metric_s(kind: str, name: str) -> None:
    metric = KINDS[kind]
    plan = Plan(loads={"": parse_curve("4"), name: parse_curve("8"), "other": parse_curve("12")})
    [reading] = measured(metric, plan=plan)
    assert total_milli(reading) == 8_000
    [reading] = measured(metric, plan=planned("4"))
    assert total_milli(reading) == 4_000


@each_kind
@pytest.mark.parametrize(("number", "expected_milli"), [(0.0, 3_000), (0.5, 4_000), (1.0, 5_000)])
def test_noise_is_the_most_by_which_a_measurement_differs_either_way(
    metric: MetricSpec, number: float, expected_milli: int
) -> None:
    [reading] = measured(metric, plan=planned("4", noise=0.25), uniform=lambda _: number)
    assert total_milli(reading) == expected_milli


def test_metrics_of_other_types_or_names_have_noise_of_their_own() -> None:
    asked: list[str] = []

    def uniform(metric: str) -> float:
        asked.append(metric)
        return 0.5

    metrics = (cpu(60), resource_metric("memory", 60), container_metric("app", 60), *KINDS.values(), pods_metric(1))
    measured(*metrics, plan=planned("4"), uniform=uniform)
    assert len(set(asked)) == 6


def test_a_measurement_that_nobody_reads_leaves_the_noise_of_later_ones_as_it_is() -> None:
    plan, metrics = planned("4", noise=0.5), tuple(KINDS.values())
    reading, passing_over = (Meter(metrics, plan, 0, counting()) for _ in range(2))
    workload = Workload(reading.requests(), 4, 0)
    first = reading.measure(workload, 0)
    passing_over.skip()
    assert reading.measure(workload, 0) == passing_over.measure(workload, 0) != first


@pytest.mark.parametrize(
    ("metric", "each_milli"),
    [
        (cpu(60), 600),
        (resource_metric("memory", 70), GIBIBYTE_MILLI * 7 // 10),
        (container_metric("app", 60), 600),
    ],
)
def test_at_a_target_in_percent_a_pod_uses_that_much_of_what_it_requests(metric: MetricSpec, each_milli: int) -> None:
    [reading] = measured(metric, plan=planned("4"))
    assert total_milli(reading) == 4 * each_milli


def test_containers_share_what_a_pod_uses() -> None:
    metrics = (cpu(60), container_metric("app", 60), container_metric("sidecar", 50), cpu(average_milli=900))
    meter = Meter(metrics, planned("4"), 0, always)
    containers = meter.requests().containers
    assert [(each.name, dict(each.requests_nano)) for each in containers] == [
        ("app", {"cpu": 10**9}),
        ("sidecar", {"cpu": 10**9}),
    ]
    in_percent, app, sidecar, by_value = measured(*metrics, plan=planned("4"))
    assert _used(in_percent) == {"app": 600, "sidecar": 600}
    assert (_used(app), _used(sidecar)) == ({"app": 600}, {"sidecar": 500})
    assert _used(by_value) == {"app": 450, "sidecar": 450}


def _used(reading: Reading) -> dict[str, int]:
    """What the first pod's containers use of CPU."""
    assert isinstance(reading, ResourceReading)
    return {container.name: container.usage_milli["cpu"] for container in reading.items[0].containers}


def test_what_starting_pods_use_is_no_more_than_a_pod_can() -> None:
    metric = resource_metric("memory", average_milli=1_000)
    meter = Meter((metric,), planned("2", start_up_usage=5.0, capacity=1.5), 0, always)
    workload = Workload(meter.requests(), 2, MINUTE_NS)
    workload.scale(3, 0)
    [reading] = meter.measure(workload, SECOND_NS)
    assert total_milli(reading) == 2 * 1_000 + 1_500


def test_of_an_unknown_type_there_is_no_number() -> None:
    [known, unknown] = measured(cpu(60), unknown_metric(), plan=planned("4"))
    assert isinstance(known, ResourceReading)
    assert isinstance(unknown, ReadFailure)


def test_a_plan_ends_when_each_of_its_loads_has_been_seen() -> None:
    plan = Plan(loads={"": parse_curve("4@0s,8@20m"), "cpu": parse_curve("4")})
    assert plan.end_ns == 20 * MINUTE_NS + REST_NS
