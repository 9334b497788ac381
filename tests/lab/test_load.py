"""Load: curves over time, services and queues that lose nothing, and metrics worth so many pods."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lab.load import equivalent
from controller.lab.load.curves import Curve, Point, Wave
from controller.lab.load.models import ExternalSeries, Outcome, Queue, Service, Work, drain, serve

RATE = Curve(points=(Point("0s", 1),))


@pytest.mark.parametrize(
    ("curve", "values"),
    [
        (Curve(wave=Wave(10, 30, "60s")), {0: 10, 15: 20, 30: 30, 45: 20, 60: 10}),
        (Curve(points=(Point("10s", 0), Point("20s", 100))), {0: 0, 10: 0, 15: 50, 20: 100, 1000: 100}),
        (Curve(points=(Point("0s", 0), Point("10s", 10)), repeat=True), {0: 0, 5: 5, 12: 2, 25: 5}),
        (Curve(points=(Point("0s", 1), Point("10s", 1), Point("10s", 9), Point("20s", 9))), {9: 1, 10: 9, 30: 9}),
        (Curve(wave=Wave(-10, 0, "60s")), {0: 0, 30: 0}),
    ],
)
def test_a_curve_has_these_values(curve: Curve, values: dict[float, float]) -> None:
    assert {at_s: pytest.approx(curve.value(at_s)) for at_s in values} == values


def test_noise_stays_within_its_share_and_repeats() -> None:
    curve = Curve(points=(Point("0s", 100),), noise=0.1)
    values = [curve.value(second, "web") for second in range(200)]
    assert values == [curve.value(second, "web") for second in range(200)]
    assert all(90 <= value <= 110 for value in values)
    assert len(set(values)) > 100
    assert values != [curve.value(second, "api") for second in range(200)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a wave or points"),
        ({"wave": Wave(0, 1, "60s"), "points": (Point("0s", 1),)}, "either a wave or points"),
        ({"wave": Wave(0, 1, "0s")}, "longer than 0s"),
        ({"wave": Wave(0, 1, "often")}, "a duration is"),
        ({"points": (Point("9s", 1), Point("3s", 1))}, "in the order"),
        ({"points": (Point("0s", 1),), "repeat": True}, "can be repeated"),
        ({"points": (Point("0s", 1),), "noise": 1.5}, "noise is a share"),
    ],
)
def test_a_curve_that_is_none_says_why(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Curve(**arguments)


def pod(limit: str | None = None, requests: dict[str, str] | None = None) -> dict[str, Any]:
    resources = {"requests": requests or {}, "limits": {"cpu": limit} if limit else {}}
    return {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "app", "resources": resources}]}}


def test_a_service_spreads_requests_over_ready_pods_and_pays_for_each() -> None:
    service = Service(RATE, cpu_per_request="10m", idle_cpu="50m", start_up_cpu="200m")
    works = [Work(), Work(), Work()]
    total = Outcome()
    serve(service, 40, 2.0, [(pod(), True, works[0]), (pod(), True, works[1]), (pod(), False, works[2])], total)
    assert [work.requests for work in works] == [40, 40, 0]
    assert [work.cpu_s for work in works] == pytest.approx([0.5, 0.5, 0.5])
    assert (total.offered, total.unserved) == (80, 0)


def test_what_is_beyond_the_limits_of_pods_is_not_served() -> None:
    service = Service(RATE, cpu_per_request="10m", idle_cpu="0")
    work, total = Work(), Outcome()
    serve(service, 100, 1.0, [(pod(limit="500m"), True, work)], total)
    assert (work.cpu_s, work.requests, total.unserved) == (0.5, 50, 50)
    serve(service, 100, 1.0, [], total)
    assert total.unserved == 150


@given(
    moments=st.lists(st.tuples(st.floats(0, 100), st.floats(0.01, 5), st.integers(0, 5)), max_size=30),
    per_pod=st.floats(0, 50),
)
def test_no_item_of_a_queue_is_lost_or_done_twice(moments: list[tuple[float, float, int]], per_pod: float) -> None:
    queue = Queue(RATE, per_pod, ExternalSeries("backlog"))
    works = [Work() for _ in range(5)]
    total = Outcome()
    for rate, step_s, ready in moments:
        before = [work.requests for work in works]
        drain(queue, rate, step_s, [(pod(), index < ready, work) for index, work in enumerate(works)], total)
        done = [work.requests - known for work, known in zip(works, before, strict=True)]
        assert all(0 <= amount <= per_pod * step_s + 1e-6 for amount in done)
        assert done[ready:] == [0] * (5 - ready)
    assert total.backlog >= 0
    assert sum(work.requests for work in works) + total.backlog == pytest.approx(total.offered, abs=1e-6)


def metric(**target: Any) -> dict[str, Any]:
    return {"metric": {"name": "m"}, "target": target}


def test_a_pod_at_its_target_is_worth_one_pod() -> None:
    spec = {"metrics": [{"resource": {"name": "cpu", "target": {"averageUtilization": 60}}}]}
    assert equivalent.usage(spec, pod(requests={"cpu": "500m"}), 3, 3)["app"]["cpu"] == pytest.approx(0.3)
    spec = {"metrics": [{"resource": {"name": "memory", "target": {"averageValue": "100Mi"}}}]}
    assert equivalent.usage(spec, pod(), 6, 3)["app"]["memory"] == pytest.approx(200 * 2**20)
    assert equivalent.per_pod(metric(averageValue="10"), 6, 3) == 20
    assert equivalent.total(metric(averageValue="10"), 6, 3) == 60
    assert equivalent.total(metric(value="10"), 6, 3) == 20
    assert equivalent.total(metric(value="10"), 6, 0) == 60, "from zero pods the ratio is the load"


def test_the_default_load_swings_around_what_an_hpa_can_carry() -> None:
    curve = equivalent.default_for({"minReplicas": 2, "maxReplicas": 10}).pods
    values = [curve.value(at_s) for at_s in range(0, 600, 10)]
    assert min(values) < 2
    assert 8 < max(values) < 10
    pinned = equivalent.default_for({"maxReplicas": 1}).pods
    assert max(pinned.value(at_s) for at_s in range(0, 600, 10)) > 1


def test_labels_that_a_selector_matches() -> None:
    expressions = [
        {"key": "a", "operator": "In", "values": ["x", "y"]},
        {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "DoesNotExist"},
    ]
    labels = equivalent.label_values({"matchLabels": {"d": "1"}, "matchExpressions": expressions})
    assert labels == {"a": "x", "b": "any", "d": "1"}
    assert equivalent.label_values(None) == {}
