"""The double arithmetic of the original, rounding for rounding (§7.5, §11.5, §28.1, §28.3)."""

import math

import pytest

from controller.decide import ratio
from controller.decide.ratio import REPLICAS_MAX
from controller.decide.spec import Tolerance

INFINITE, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("usage", "target", "expected"),
    [
        (1.0, 2.0, 0.5),
        (0.0, 5.0, 0.0),
        (5.0, 0.0, INFINITE),
        (-5.0, 0.0, -INFINITE),
        (float(2**63 - 1), 1.0, 2.0**63),
    ],
)
def test_ratio(usage: float, target: float, expected: float) -> None:
    assert ratio.ratio_of(usage, target) == expected


def test_nothing_over_nothing_is_no_number() -> None:
    assert math.isnan(ratio.ratio_of(0.0, 0.0))
    assert math.isnan(ratio.ratio_of(NAN, 0.0))


@pytest.mark.parametrize(
    ("count", "replicas"),
    [
        (0.0, 0),
        (2.0, 2),
        (2.0000000000000004, 3),
        (2.4, 3),
        (-0.5, 0),
        (-1.5, -1),
        (REPLICAS_MAX - 0.5, REPLICAS_MAX),
        (REPLICAS_MAX + 1.0, REPLICAS_MAX),
        (INFINITE, REPLICAS_MAX),
        (-INFINITE, -REPLICAS_MAX),
        (NAN, 0),
    ],
)
def test_replicas_are_rounded_up_and_capped(count: float, replicas: int) -> None:
    assert ratio.replicas_of(count) == replicas


@pytest.mark.parametrize(
    ("dividend", "divisor", "quotient"),
    [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (7, -1, -7), (-7, -2, 3), (0, 5, 0), (-1, 3, 0), (2**63 - 1, 1, 2**63 - 1)],
)
def test_integers_are_divided_towards_zero(dividend: int, divisor: int, quotient: int) -> None:
    assert ratio.truncated_quotient(dividend, divisor) == quotient


def test_utilization_counts_pods_with_a_request() -> None:
    usage = ratio.utilization({"a": 100, "b": 201, "ghost": 9000}, {"a": 300, "b": 300, "idle": 9000}, 50)
    assert usage is not None
    assert (usage.total_milli, usage.requested_milli, usage.counted) == (301, 600, 2)
    assert (usage.utilization, usage.average_milli, usage.ratio) == (50, 150, 1.0)


@pytest.mark.parametrize("requests", [{}, {"b": 5}, {"a": 0}], ids=["none", "of others", "of nothing"])
def test_no_utilization_without_requests(requests: dict[str, int]) -> None:
    assert ratio.utilization({"a": 5}, requests, 50) is None


@pytest.mark.parametrize(("used_milli", "percent"), [(2**63 - 1, REPLICAS_MAX), (-(2**63), -REPLICAS_MAX)])
def test_utilization_is_capped(used_milli: int, percent: int) -> None:
    usage = ratio.utilization({"a": used_milli}, {"a": 1}, 50)
    assert usage is not None
    assert usage.utilization == percent


@pytest.mark.parametrize(
    ("down", "up", "value", "within"),
    [
        # §1.3: both ends included; 1.1 is within 0.1 although 1.1 - 1 is not.
        (0.1, 0.1, 1.1, True),
        (0.1, 0.1, 1.1000000000000003, False),
        (0.1, 0.1, 0.9, True),
        (0.1, 0.1, 0.8999999999999999, False),
        (0.0, 0.0, 1.0, True),
        (0.0, 0.0, 1.0000000000000002, False),
        (2.0, 0.0, 0.0, True),
        (0.0, 2.0, 3.0, True),
        (0.1, 0.1, NAN, False),
        (INFINITE, INFINITE, NAN, False),
        (INFINITE, INFINITE, INFINITE, True),
        (NAN, NAN, 1.0, False),
    ],
)
def test_tolerance(down: float, up: float, value: float, within: bool) -> None:  # noqa: FBT001 - a table's column
    assert Tolerance(down, up).holds(value) is within
