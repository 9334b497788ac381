"""Values of a metric that would make a difference: which samples they count, and how a total comes to them."""

import pytest
from msgspec.structs import replace

from controller.decide.observed import Observation, PodsReading, ResourceReading
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


def test_a_percentage_begins_at_the_smallest_total_that_has_it() -> None:
    assert Level(0, "percent", 60, 60, {"web-0": 200}, 333).at(50) == MetricReads(0, 167)
    assert Level(0, "average", 60, 60, {"web-0": 1, "web-1": 2}).at(50) == MetricReads(0, 100)


def test_a_total_is_spread_to_the_last_milli_over_the_pods_that_count() -> None:
    listed = (*pods(3), pod("web-3", phase="Failed"))
    seen = observation(scale(4), samples(700, 700, 700, 500), pods=listed)
    other = changed(Moment(hpa(pods_metric(700)), seen, REMEMBERED, now()), (MetricReads(0, 1000),))
    [reading] = other.observation.readings
    assert isinstance(reading, PodsReading)
    assert {name: one.value_milli for name, one in reading.samples.items()} == {
        "web-0": 334,
        "web-1": 333,
        "web-2": 333,
        "web-3": 500,
    }
