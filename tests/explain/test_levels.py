"""Values of a metric that would make a difference: which samples they count, and how a total comes to them."""

import pytest
from msgspec.structs import replace

from controller.decide.observed import Observation, PodsReading, Reading, ResourceReading
from controller.decide.spec import ContainerResourceMetric, MetricSpec
from controller.explain.changes import MetricReads, Moment, changed
from controller.explain.levels import Level
from controller.explain.search import alternatives
from tests.builders import (
    container,
    container_metric,
    cpu,
    history,
    hpa,
    now,
    observation,
    pod,
    pods,
    pods_metric,
    requests,
    samples,
    scale,
    usage,
    usage_item,
)

REMEMBERED = history((3, -15))
WITH_PROXY = pods(3, requests=requests(container(), container("proxy")))
AMONG_OTHERS = usage_item("web-0", {"agent": {"cpu": 5000}, "app": {"cpu": 600}, "proxy": {"memory": 5000}})
WITH_OTHERS = pods(3, requests=requests(container("agent"), container(), container("proxy")))


@pytest.mark.parametrize(
    ("asked", "seen"),
    [
        (cpu(60), observation(scale(3), usage(600, 600, 600, others={"gone": 900}), pods=pods(3))),
        (cpu(60), observation(scale(3), usage(600, 600, 600, containers=("app", "proxy")), pods=WITH_PROXY)),
        (
            container_metric("app", 60),
            observation(
                scale(3),
                ResourceReading(tuple(replace(AMONG_OTHERS, pod=f"web-{number}") for number in range(3))),
                pods=WITH_OTHERS,
            ),
        ),
    ],
    ids=["of pods that are there", "over all containers", "of a container of its own"],
)
def test_edges_are_those_of_what_counts(asked: MetricSpec, seen: Observation) -> None:
    name = "average CPU of container app" if isinstance(asked, ContainerResourceMetric) else "average CPU"
    moment = Moment(hpa(asked), seen, REMEMBERED, now())
    assert [one.says for one in alternatives(moment, moment.decided()).found] == [
        f"1 more replica (3 → 4) once {name} passes 66 %",
        f"1 fewer replica (3 → 2) once {name} has been below 41 % for 5 min",
    ]


def test_a_pod_that_is_measured_in_part_is_missing() -> None:
    """§18.1: of each container its usage is needed. What is assumed for it stays, whatever the others use."""
    in_part = usage_item("web-3", {"app": {"cpu": 9000}, "proxy": {"memory": 1}})
    reading = ResourceReading((*usage(600, 600, 600, containers=("app", "proxy")).items, in_part))
    listed = pods(4, requests=requests(container(), container("proxy")))
    moment = Moment(hpa(cpu(60)), observation(scale(4), reading, pods=listed), history((4, -15)), now())
    assert [one.says for one in alternatives(moment, moment.decided()).found] == [
        "1 more replica (4 → 5) once average CPU passes 89 %",
        "1 fewer replica (4 → 3) once average CPU has been below 28 % for 5 min",
    ]


def test_an_average_counts_pods_that_are_not_there() -> None:
    """§8.3: they are in the average, and their part in it is one that can change."""
    seen = observation(scale(3), samples(700, 700, 700, others={"gone": 700}), pods=pods(3))
    other = changed(Moment(hpa(pods_metric(700)), seen, REMEMBERED, now()), (MetricReads(0, 4000),))
    assert values(other.observation.readings[0]) == {"web-0": 1000, "web-1": 1000, "web-2": 1000, "gone": 1000}


def test_a_percentage_begins_at_the_smallest_total_that_has_it() -> None:
    assert Level(0, "percent", 60, 60, {"web-0": 200}, 333).at(50) == MetricReads(0, 167)
    assert Level(0, "average", 60, 60, {"web-0": 1, "web-1": 2}).at(50) == MetricReads(0, 100)


def values(reading: Reading) -> dict[str, int]:
    """What each pod has, over all of its containers."""
    if isinstance(reading, PodsReading):
        return {name: sample.value_milli for name, sample in reading.samples.items()}
    assert isinstance(reading, ResourceReading)
    return {item.pod: sum(used.usage_milli["cpu"] for used in item.containers) for item in reading.items}


@pytest.mark.parametrize(
    ("asked", "reading", "spread"),
    [
        (pods_metric(700), samples(700, 700, 700, 500), (334, 333, 333)),
        (pods_metric(700), samples(300, 600, 900, 500), (167, 333, 500)),
        (pods_metric(700), samples(0, 0, 0, 500), (334, 333, 333)),
        (pods_metric(700), samples(-100, 500, 500, 500), (334, 333, 333)),
        (cpu(60), usage(100, 100, 200, 250, containers=("app", "proxy")), (250, 250, 500)),
    ],
    ids=["alike", "in proportion", "idle", "below zero", "over containers"],
)
def test_a_total_is_spread_to_the_last_milli_over_the_pods_that_count(
    asked: MetricSpec, reading: Reading, spread: tuple[int, ...]
) -> None:
    failed = pod("web-3", phase="Failed", requests=WITH_PROXY[0].requests)
    seen = observation(scale(4), reading, pods=(*WITH_PROXY, failed))
    other = changed(Moment(hpa(asked), seen, REMEMBERED, now()), (MetricReads(0, 1000),))
    names = ("web-0", "web-1", "web-2", "web-3")
    assert values(other.observation.readings[0]) == dict(zip(names, (*spread, 500), strict=True))
