"""How each metric comes to its count, with the real numbers, and what the sentence says of it."""

from typing import Final

import pytest
from msgspec.structs import replace

from controller.decide.observed import Pod, Reading
from controller.decide.spec import MetricSpec, ObjectMetric
from controller.explain.changes import Moment
from controller.explain.report import explained
from controller.explain.sections import MetricTold
from tests.builders import (
    behavior,
    condition,
    container,
    cpu,
    external_metric,
    history,
    hpa,
    now,
    object_metric,
    observation,
    pod,
    pods,
    pods_metric,
    requests,
    rules,
    samples,
    scale,
    series,
    settings,
    status,
    usage,
    value,
)

INT32_MAX: Final = 2**31 - 1
REMEMBERED: Final = history((3, -15))
CASES: Final[dict[str, tuple[MetricSpec, Reading, str, tuple[str, ...]]]] = {
    "a total within tolerance": (
        object_metric(value_milli=2000),
        value(2100),
        "hits of Service front is 2.1, target 2, which is within tolerance",
        ("2.1; target 2: ratio 1.05", "0.05 away from 1, within the tolerance of 0.1 → 3 as it is"),
    ),
    "a total that is too high": (
        external_metric(value_milli=2000),
        series(4000),
        "external backlog is 4, target 2, which asks for 6",
        ("4; target 2: ratio 2", "ratio 2 × 3 ready pods = 6, rounded up → 6"),
    ),
    "for each replica, a little too few": (
        object_metric(average_milli=2000),
        value(5700),
        "hits of Service front is 5.7, target 6, which is within tolerance",
        ("5.7; target 2 for each of 3: ratio 0.95", "0.05 away from 1, within the tolerance of 0.1 → 3 as it is"),
    ),
    "for each replica, too many": (
        external_metric(average_milli=2000),
        series(9001),
        "external backlog is 9.001, target 6, which asks for 5",
        ("9.001; target 2 for each of 3: ratio 1.5", "9.001 / 2, rounded up → 5"),
    ),
    "an average, with assumptions": (
        pods_metric(700),
        samples(1500, 1500),
        (
            "average requests per pod is 1.5 (1 with assumptions about the pods that do not count), target 0.7, which "
            "asks for 5"
        ),
        (
            "2 pods have 3, 1.5 on average; target 0.7: ratio 2.143",
            "with assumptions 3 pods have 3, 1 on average: ratio 1.429",
            "ratio 1.429 × 3 counted pods = 4.2857, rounded up → 5",
        ),
    ),
    "an average of a resource": (
        cpu(average_milli=500),
        usage(750, 750, 750),
        "average CPU is 750m, target 500m, which asks for 5",
        ("3 pods have 2.25, 750m on average; target 500m: ratio 1.5", "ratio 1.5 × 3 ready pods = 4.5, rounded up → 5"),
    ),
    "a utilization that assumptions bring within tolerance": (
        cpu(60),
        usage(900, 900),
        (
            "average CPU is 90 % (60 % with assumptions about the pods that do not count), target 60 %, which is "
            "within tolerance"
        ),
        (
            "2 pods use 1.8 of 2 requested = 90 %; target 60 %: ratio 1.5",
            "with assumptions 3 pods use 1.8 of 3 requested = 60 %: ratio 1",
            "0 away from 1, within the tolerance of 0.1 → 3 as it is",
        ),
    ),
    "a utilization that assumptions turn around": (
        cpu(60),
        usage(900),
        "average CPU is 90 % (30 % with assumptions about the pods that do not count), target 60 %, which asks for 3",
        (
            "1 pod uses 900m of 1000m requested = 90 %; target 60 %: ratio 1.5",
            "with assumptions 3 pods use 900m of 3000m requested = 30 %: ratio 0.5",
            "with missing and unready pods filled in, the ratio points the other way → 3 as it is",
        ),
    ),
}


def told(metric: MetricSpec, reading: Reading, listed: tuple[Pod, ...]) -> tuple[MetricTold, str]:
    moment = Moment(hpa(metric), observation(scale(3), reading, pods=listed), REMEMBERED, now())
    report = explained(moment, None, search=False)
    return report.metrics[0], report.summary


@pytest.mark.parametrize(("metric", "reading", "said", "arithmetic"), CASES.values(), ids=CASES)
def test_a_count_comes_about(metric: MetricSpec, reading: Reading, said: str, arithmetic: tuple[str, ...]) -> None:
    found, summary = told(metric, reading, pods(3))
    assert found.arithmetic == arithmetic
    assert summary.endswith(f": {said}.")


@pytest.mark.parametrize(
    ("used_milli", "ratio", "said"),
    [
        (645, 64 / 60, "0.0667 away from 1, within the tolerance of 0.1 → 3 as it is"),
        (525, 52 / 60, "0.133 away from 1, within the tolerance of 0.2 → 3 as it is"),
    ],
)
def test_the_tolerance_is_that_of_the_side_on_which_the_ratio_is(used_milli: int, ratio: float, said: str) -> None:
    """§1.3"""
    asked = hpa(cpu(60), behavior=behavior(up=rules(tolerance=0.1), down=rules(tolerance=0.2)))
    moment = Moment(asked, observation(scale(3), usage(*[used_milli] * 3)), REMEMBERED, now())
    [found] = explained(moment, None, search=False).metrics
    assert (found.ratio, found.arithmetic[1]) == (ratio, said)


def test_one_pod_is_multiplied_in_the_singular() -> None:
    found, _ = told(external_metric(value_milli=2000), series(4000), pods(1))
    assert found.arithmetic[1] == "ratio 2 × 1 ready pod = 2, rounded up → 2"


def test_where_no_pod_is_ready_none_are_multiplied() -> None:
    """§7.3"""
    found, _ = told(external_metric(value_milli=2000), series(4000), pods(3, ready="False"))
    assert found.arithmetic[1] == "ratio 2 × 0 ready pods = 0, rounded up → 0"


@pytest.mark.parametrize(
    ("metric", "used_milli", "replicas", "said"),
    [
        (external_metric(average_milli=1000), INT32_MAX * 1000, 3, f"{INT32_MAX} / 1, rounded up → {INT32_MAX}"),
        (
            external_metric(average_milli=1000),
            5368709120000,
            3,
            "5368709120 / 1, rounded up → 2147483647, the most there can be",
        ),
        (
            object_metric(value_milli=1000),
            2**31 * 1000,
            3,
            "ratio 2.147e+09 × 3 ready pods = 6442450944, rounded up → 2147483647, the most there can be",
        ),
        (
            object_metric(value_milli=1000),
            -(2**31) * 1000,
            3,
            "ratio -2.147e+09 × 3 ready pods = -6442450944, rounded up → -2147483647, the least there can be",
        ),
        (
            object_metric(value_milli=1000),
            2**31 * 1000,
            0,
            "from zero replicas: the ratio, rounded up → 2147483647, the most there can be",
        ),
    ],
)
def test_where_an_int32_ends_is_said(metric: MetricSpec, used_milli: int, replicas: int, said: str) -> None:
    """§7"""
    reading = value(used_milli) if isinstance(metric, ObjectMetric) else series(used_milli)
    asked = hpa(metric, replicas_min=0, settings=settings(scale_to_zero=True))
    seen = observation(scale(replicas), reading, status=status(condition("ScaledToZero")))
    [found] = explained(Moment(asked, seen, REMEMBERED, now()), None, search=False).metrics
    assert found.arithmetic[1] == said


def test_of_metrics_with_the_same_name_the_one_that_asked_for_the_count_binds() -> None:
    """§6.1 goes on with a name in which no object is named."""
    asked = hpa(object_metric(value_milli=1000), object_metric(value_milli=1000, described=("Service", "back")))
    moment = Moment(asked, observation(scale(3), value(1000), value(2000)), REMEMBERED, now())
    report = explained(moment, None, search=False)
    assert [one.binds for one in report.metrics] == [False, True]
    assert "hits of Service back is 2, target 1, which asks for 6" in report.summary


def test_of_a_metric_that_failed_its_data_is_told_all_the_same() -> None:
    listed = (pod(requests=requests(container(requests_milli={}))), pod("web-1"), pod("web-2", phase="Failed"))
    found, _ = told(cpu(60), replace(usage(300, 300, 300, at_s=-20.25), origin="prometheus"), listed)
    assert found.origin == "prometheus"
    assert "missing request for cpu in container app of Pod web-0" in found.error
    assert (found.ages_s, found.pods_used, found.replicas) == ((20.2, 20.2), 2, None)
    assert [one.name for one in found.pods] == ["web-2"]
