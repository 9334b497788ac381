"""§25.2: every source but CPU utilization, one line per case."""

from dataclasses import dataclass

import pytest

from controller.decide.observed import Pod, Reading
from controller.decide.quantity import INT64_MAX
from controller.decide.spec import MetricSpec
from tests.builders import external_metric, object_metric, pods, pods_metric, samples, series, value
from tests.decide.syncs import DEFAULT_TOLERANCE, proposal

REPLICAS_MAX = 2147483647


@dataclass(frozen=True)
class Case:
    """R (and S), metric and answer; then the proposal and the number the status reports."""

    replicas: int
    metric: MetricSpec
    reading: Reading
    proposed: int
    reported: int
    listed: tuple[Pod, ...] | None = None
    tolerance: tuple[float, float] = DEFAULT_TOLERANCE


ONE_OF_THREE_READY = (*pods(1), *pods(2, first=1, ready="False"))
FINE = (0.1, 0.01)

CASES = {
    "25.2.1 Pods": Case(3, pods_metric(15000), samples(20000, 10000, 30000), 4, 20000),
    "25.2.2 Pods, readiness is ignored": Case(
        3,
        pods_metric(15000),
        samples(50000, 10000, 30000),
        6,
        30000,
        (*pods(2), *pods(1, first=2, ready="False", started_s=0)),
    ),
    "25.2.3 Pods, truncated average": Case(
        3, pods_metric(15000), samples(50000, 15000, 30000), 7, 31666, ONE_OF_THREE_READY
    ),
    "25.2.4 Pods, ratio of exactly 1": Case(5, pods_metric(20000), samples(20000, 19000, 21000), 5, 20000),
    "25.2.5 Pods, surge": Case(2, pods_metric(17000), samples(10000, 10000), 2, 10000, pods(3)),
    "25.2.6 Object Value, ready pods count": Case(
        3, object_metric(value_milli=10000), value(50000), 5, 50000, ONE_OF_THREE_READY
    ),
    "25.2.7 External Value, ready pods count": Case(
        3, external_metric(value_milli=4400), series(8600), 2, 8600, ONE_OF_THREE_READY
    ),
    "25.2.8 Object average, reported rounded up": Case(3, object_metric(average_milli=5000), value(20000), 4, 6667),
    "25.2.9 External average, reported rounded up": Case(3, external_metric(average_milli=2150), series(8600), 4, 2867),
    "25.2.10 Object Value, capped": Case(3, object_metric(value_milli=1), value(INT64_MAX), REPLICAS_MAX, INT64_MAX),
    "25.2.10 External average, capped": Case(
        1, external_metric(average_milli=1), series(INT64_MAX), REPLICAS_MAX, INT64_MAX
    ),
    "25.2.10 External average, the largest target": Case(
        1, external_metric(average_milli=INT64_MAX), series(INT64_MAX), 1, INT64_MAX
    ),
    "25.2.11 External Value, sum saturates": Case(
        3, external_metric(value_milli=INT64_MAX), series(2**62, 2**62), 3, INT64_MAX
    ),
    "25.2.12 up 0.01, Pods": Case(3, pods_metric(20000), samples(20000, 21000, 21000), 4, 20666, tolerance=FINE),
    "25.2.12 up 0.01, Object Value": Case(3, object_metric(value_milli=20000), value(20666), 4, 20666, tolerance=FINE),
    "25.2.12 up 0.01, Object average": Case(
        4, object_metric(average_milli=5000), value(20208), 5, 5052, tolerance=FINE
    ),
    "25.2.12 up 0.01, External Value": Case(
        3, external_metric(value_milli=8800), series(8900), 4, 8900, tolerance=FINE
    ),
    "25.2.12 up 0.01, External average": Case(
        3, external_metric(average_milli=2800), series(8600), 4, 2867, tolerance=FINE
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_other_sources(case: Case) -> None:
    result = proposal(case.metric, case.reading, replicas=case.replicas, listed=case.listed, tolerance=case.tolerance)
    assert result.replicas == case.proposed
    reported = result.status.average_value if result.status.value is None else result.status.value
    assert reported is not None
    assert reported.milli() == case.reported


def test_default_tolerance_would_not_have_scaled() -> None:
    """The cases of 25.2.12 show the tolerance only if the default one holds them back."""
    for name, case in CASES.items():
        if name.startswith("25.2.12"):
            assert proposal(case.metric, case.reading, replicas=case.replicas).replicas == case.replicas, name
