"""§10.3, §11.4, §11.5 and the first half of §25.8: how far a count may go at once."""

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from controller.decide import limits
from controller.decide.history import ScaleEvent
from controller.decide.spec import DEFAULT_RULES_DOWN, DEFAULT_RULES_UP, Policy, Rules
from controller.decide.working import Limit
from tests.builders import behavior, by_percent, by_pods, event, history, hpa, monotonic_ns, rules


def limited(
    replicas: int,
    wanted: int,
    *,
    up: Rules = DEFAULT_RULES_UP,
    down: Rules = DEFAULT_RULES_DOWN,
    ups: Iterable[ScaleEvent] = (),
    downs: Iterable[ScaleEvent] = (),
    replicas_min: int | None = 1,
    replicas_max: int = 1000,
) -> Limit:
    asked, given = hpa(replicas_min=replicas_min, replicas_max=replicas_max), behavior(up=up, down=down)
    past = history(ups=ups, downs=downs)
    return limits.with_behavior(wanted, replicas, past, asked, given, monotonic_ns())


def events(*changes: int, within_s: float = 120) -> tuple[ScaleEvent, ...]:
    """Rescales spread evenly over a time that ended a moment ago."""
    return tuple(event(change, -within_s * (index + 0.5) / len(changes)) for index, change in enumerate(changes))


@dataclass(frozen=True)
class Case:
    """R, what is wanted, the policies of its direction and the events; then what it comes to, and why."""

    replicas: int
    wanted: int
    policies: tuple[Policy, ...]
    expected: int
    reason: str
    select: str = "Max"
    ups: tuple[ScaleEvent, ...] = ()
    downs: tuple[ScaleEvent, ...] = ()
    replicas_min: int = 1
    replicas_max: int = 1000


UP, DOWN, WITHIN = "ScaleUpLimit", "ScaleDownLimit", "DesiredWithinRange"
DEFAULT_UP, DEFAULT_DOWN = DEFAULT_RULES_UP.policies, DEFAULT_RULES_DOWN.policies
DISABLED = "Disabled"

CASES = {
    "25.8.1 defaults": Case(10, 50, DEFAULT_UP, 20, UP),
    "defaults, small": Case(2, 50, DEFAULT_UP, 6, UP),
    "25.8.1 Pods 100 and Percent 100": Case(10, 500, (by_pods(100), by_percent(100)), 110, UP),
    "Pods 2 and Percent 100": Case(10, 500, (by_pods(2), by_percent(100)), 20, UP),
    "25.8.1 Pods 30": Case(10, 50, (by_pods(30),), 40, UP),
    "25.8.1 Percent 200": Case(10, 50, (by_percent(200),), 30, UP),
    "25.8.1 Percent 1": Case(3, 1000, (by_percent(1),), 4, UP),
    "25.8.2 Min, up": Case(1, 100, (by_pods(2), by_percent(50)), 2, UP, select="Min"),
    "25.8.2 Min, down": Case(5, 1, (by_pods(2), by_percent(50)), 3, DOWN, select="Min"),
    "25.8.3 Pods 20 and Percent 1": Case(100, 2, (by_pods(20), by_percent(1)), 80, DOWN),
    "25.8.3 Pods 2 and Percent 1": Case(100, 2, (by_pods(2), by_percent(1)), 98, DOWN),
    "25.8.4 Pods 5": Case(10, 2, (by_pods(5),), 5, DOWN),
    "25.8.4 Percent 50": Case(10, 5, (by_percent(50),), 5, WITHIN),
    "25.8.4 Percent 1000 after removals": Case(10, 5, (by_percent(1000, 120),), 5, WITHIN, downs=events(10, 10, 10)),
    "25.8.5 Pods 5": Case(100, 500, (by_pods(5, 120),), 100, UP, ups=events(1, 5, 9)),
    "25.8.5 Pods 150": Case(100, 500, (by_pods(150, 120),), 235, UP, ups=events(1, 5, 9)),
    "25.8.5 Percent 200": Case(100, 500, (by_percent(200, 120),), 255, UP, ups=events(1, 5, 9)),
    "25.8.6 up after both": Case(6, 24, (by_percent(300, 300),), 16, UP, ups=events(4), downs=events(2)),
    "25.8.6 down after both": Case(10, 1, (by_percent(50, 180),), 6, DOWN, ups=events(2), downs=events(4)),
    "25.8.7 Percent 10 after removals": Case(100, 0, (by_percent(10, 120),), 100, DOWN, downs=events(10, 10, 10)),
    "25.8.7 Percent 50 after removals": Case(100, 0, (by_percent(50, 120),), 56, DOWN, downs=events(2, 4, 6)),
    "25.8.8 limit equals the maximum": Case(10, 50, (by_pods(10),), 20, "TooManyReplicas", replicas_max=20),
    "25.8.8 limit equals the minimum": Case(10, 1, (by_pods(5),), 5, "TooFewReplicas", replicas_min=5),
    # §11.4.
    "limit is above the maximum": Case(10, 50, (by_pods(30),), 20, "TooManyReplicas", replicas_max=20),
    "limit is below the minimum": Case(10, 1, (by_pods(9),), 5, "TooFewReplicas", replicas_min=5),
    "up to the limit": Case(10, 15, (by_pods(5),), 15, WITHIN),
    "down to the limit": Case(10, 5, (by_pods(5),), 5, WITHIN),
    "unchanged is never limited": Case(10, 10, (), 10, WITHIN, replicas_max=5),
    "the minimum is not enforced upwards": Case(1, 3, DEFAULT_UP, 3, WITHIN, replicas_min=5),
    # §11.5.
    "Disabled, up": Case(10, 50, (by_pods(30),), 10, UP, select=DISABLED),
    "Disabled, down": Case(10, 1, (by_pods(5),), 10, DOWN, select=DISABLED),
    "Disabled, up at the maximum": Case(
        10, 50, (by_pods(30),), 10, "TooManyReplicas", select=DISABLED, replicas_max=10
    ),
    "Disabled, down at the minimum": Case(10, 1, (by_pods(5),), 10, "TooFewReplicas", select=DISABLED, replicas_min=10),
    "no policies, up": Case(10, 50, (), 10, UP),
    "no policies, down": Case(10, 1, (), 10, DOWN),
    "binary rounding, up": Case(100, 500, (by_percent(10),), 111, UP),
    "binary rounding, down": Case(10, 0, (by_percent(80),), 1, "TooFewReplicas"),
    "binary rounding, down to zero": Case(10, 0, (by_percent(80),), 1, DOWN, replicas_min=0),
    "Percent from zero": Case(0, 50, (by_percent(900),), 0, UP, replicas_min=0),
    "Pods beyond int32": Case(10, 2**31 - 1, (by_pods(2**31 - 1),), 2**31 - 1, WITHIN, replicas_max=2**31 - 1),
    "Percent beyond int32": Case(10**9, 2**31 - 1, (by_percent(900),), 2**31 - 1, WITHIN, replicas_max=2**31 - 1),
    "an event at the edge of the period is over": Case(100, 500, (by_pods(5, 60),), 105, UP, ups=(event(50, -60),)),
    "an event within the period": Case(100, 500, (by_pods(5, 60),), 100, UP, ups=(event(50, -59.999),)),
    "a mark does not matter": Case(100, 500, (by_pods(60, 60),), 110, UP, ups=(event(50, -30, outdated=True),)),
    "each policy has its own period": Case(
        100, 500, (by_pods(60, 30), by_pods(60, 90)), 160, UP, ups=(event(50, -60),)
    ),
    "each policy has its own period, Min": Case(
        100, 500, (by_pods(60, 30), by_pods(60, 90)), 110, UP, select="Min", ups=(event(50, -60),)
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_with_behavior(case: Case) -> None:
    given = rules(*case.policies, select=case.select)
    result = limited(
        case.replicas,
        case.wanted,
        up=given,
        down=given,
        ups=case.ups,
        downs=case.downs,
        replicas_min=case.replicas_min,
        replicas_max=case.replicas_max,
    )
    assert (result.limited, result.reason) == (case.expected, case.reason)
    assert result.stabilized == case.wanted


def test_every_policy_shows_its_working() -> None:
    """§11.5: also the ones that were not picked, and where selectPolicy is Disabled."""
    for select in ("Max", "Min", DISABLED):
        given = rules(by_pods(5, 60), by_percent(50, 30), select=select)
        result = limited(100, 500, up=given, ups=[event(20, -45)], downs=[event(3, -15)])
        assert [(working.period_start_replicas, working.bound) for working in result.policies] == [
            (83, 88),
            (103, 155),
        ]
    assert limited(100, 100, up=given).policies == ()
    assert limited(100, 100, up=given).rate_limit is None


@pytest.mark.parametrize("policy", [by_pods(2**31 - 1), by_percent(2**31 - 1)], ids=["Pods", "Percent"])
def test_bounds_are_int32_upwards(policy: Policy) -> None:
    """§7, §11.5."""
    result = limited(200, 500, up=rules(policy))
    assert [working.bound for working in result.policies] == [2**31 - 1]
    assert (result.rate_limit, result.limited, result.reason) == (2**31 - 1, 500, WITHIN)


@pytest.mark.parametrize(
    ("policy", "ups", "bound"),
    [
        (by_pods(2**31 - 1, 120), events(250), -(2**31 - 1)),
        (by_percent(2**31 - 1), (), -(2**31 - 1)),
        # More was added than there is: somebody else has removed it, and the start of the period is negative.
        (by_percent(2**31 - 1, 120), events(900), 2**31 - 1),
    ],
    ids=["Pods", "Percent", "Percent of a negative start"],
)
def test_bounds_are_int32_downwards(policy: Policy, ups: tuple[ScaleEvent, ...], bound: int) -> None:
    """§7, §11.5: such limits are harmless, but every policy shows its own."""
    result = limited(200, 0, down=rules(policy), ups=ups)
    assert [working.bound for working in result.policies] == [bound]
    assert result.rate_limit == min(bound, 200)
    expected = (1, "TooFewReplicas") if bound < 0 else (200, DOWN)
    assert (result.limited, result.reason) == expected


@pytest.mark.parametrize(
    ("replicas", "wanted", "replicas_min", "replicas_max", "expected", "reason"),
    [
        # §10.3: twice as many, or 4.
        (5, 7, 3, 8, 7, WITHIN),
        (3, 1, 2, 8, 2, "TooFewReplicas"),
        (1, 0, 0, 10, 0, WITHIN),
        (20, 1000, 1, 10, 10, "TooManyReplicas"),
        (3, 1000, 1, 2000, 6, UP),
        (1, 1000, 1, 2000, 4, UP),
        (0, 1000, 0, 2000, 4, UP),
        (2, 1000, 1, 4, 4, "TooManyReplicas"),
        (2, 4, 1, 2000, 4, WITHIN),
        (9, 0, None, 10, 1, "TooFewReplicas"),
        (1000, 1, 1, 2000, 1, WITHIN),
        (2, 8, 8, 8, 4, UP),
        (2, 7, 8, 8, 8, "TooFewReplicas"),
        (2**31 - 1, 2**31 - 1, 1, 2**31 - 1, 2**31 - 1, WITHIN),
    ],
)
def test_without_behavior(
    replicas: int, wanted: int, replicas_min: int | None, replicas_max: int, expected: int, reason: str
) -> None:
    result = limits.without_behavior(wanted, replicas, hpa(replicas_min=replicas_min, replicas_max=replicas_max))
    assert (result.limited, result.reason) == (expected, reason)


@pytest.mark.parametrize(
    ("policies", "longest_s"),
    [((), 0), ((by_pods(1, 15),), 15), ((by_pods(1, 15), by_percent(5, 1800), by_pods(9, 60)), 1800)],
)
def test_longest_period(policies: tuple[Policy, ...], longest_s: int) -> None:
    assert limits.longest_period_s(rules(*policies)) == longest_s
