"""Windows, policies and bounds line by line, and what the sentence says of them."""

from typing import Final

import pytest

from controller.decide.history import History
from controller.decide.observed import Observation
from controller.decide.result import Written
from controller.decide.spec import Autoscaler
from controller.explain.changes import Moment
from controller.explain.report import explained
from tests.builders import (
    behavior,
    by_pods,
    condition,
    cpu,
    event,
    external_metric,
    history,
    hpa,
    now,
    observation,
    rules,
    scale,
    series,
    settings,
    status,
    usage,
)

STEADY: Final = observation(scale(3), usage(600, 600, 600))
BUSY: Final = observation(scale(3), usage(1600, 1600, 1600))
IDLE: Final = observation(scale(9), usage(*[300] * 9))
SLOW_UP: Final = hpa(cpu(60), behavior=behavior(up=rules(by_pods(9), window_s=60)))
DOWN: Final = rules(by_pods(2), by_pods(1, 30), select="Min")
CASES: Final[dict[str, tuple[Autoscaler, Observation, History, tuple[str, ...]]]] = {
    "without behavior there is no window for scaling up": (
        hpa(cpu(60)),
        STEADY,
        history((3, -15)),
        (
            "scale-down window 5 min: no recommendation above 3 in it",
            "without behavior at most twice the replicas or 4 at once: up to 6",
            "minReplicas 1, maxReplicas 10: 3 is within",
        ),
    ),
    "of what is left as it is no policy is asked (§11.4)": (
        SLOW_UP,
        STEADY,
        history((8, -40)),
        (
            "scale-down window 5 min: highest recommendation 8 at 11:59:20Z, counts until 12:04:20Z",
            "scale-up window 1 min: no recommendation below 3 in it",
            "minReplicas 1, maxReplicas 10: 3 is within",
        ),
    ),
    "of the lowest ones the last lets go": (
        SLOW_UP,
        BUSY,
        history((3, -40), (3, -20), (5, -10), (3, -30)),
        (
            "scale-down window 5 min: no recommendation above 8 in it",
            "scale-up window 1 min: lowest recommendation 3 at 11:59:40Z, counts until 12:00:40Z",
            "minReplicas 1, maxReplicas 10: 3 is within",
        ),
    ),
    "policies are those of the direction": (
        hpa(cpu(60), behavior=behavior(up=rules(by_pods(4), select="Disabled"), down=DOWN)),
        IDLE,
        history((5, -15), downs=(event(1, -45),)),
        (
            "scale-down window 0 s: no recommendation above 5 in it",
            "scale-up window: none",
            "policy 2 pods per 1 min: from 10 at the period's start to 8 (-1 at 11:59:15Z counts until 12:00:15Z)",
            "policy 1 pod per 30 s: from 9 at the period's start to 8",
            "selectPolicy Min: the rate limit is 8",
            "minReplicas 1, maxReplicas 10: 5 becomes 8 (ScaleDownLimit)",
        ),
    ),
}


@pytest.mark.parametrize(("autoscaler", "seen", "past", "said"), CASES.values(), ids=CASES)
def test_windows_policies_and_bounds(
    autoscaler: Autoscaler, seen: Observation, past: History, said: tuple[str, ...]
) -> None:
    assert explained(Moment(autoscaler, seen, past, now()), None, search=False).windows == said


@pytest.mark.parametrize(
    ("backlog_milli", "said"),
    [
        (0, ["0 is below minReplicas, which holds on the way down only", "lifted from zero to minReplicas 3"]),
        (1000, ["1 is below minReplicas, which holds on the way down only", "lifted from zero to minReplicas 3"]),
        (3000, ["3 is within"]),
        (9000, ["9 becomes 4 (ScaleUpLimit)"]),
    ],
)
def test_from_zero_a_minimum_is_no_bound(backlog_milli: int, said: list[str]) -> None:
    """§11.4, §12.6: with behavior; what is below it is lifted afterwards."""
    raised = hpa(
        external_metric(average_milli=1000),
        replicas_min=3,
        behavior=behavior(up=rules(by_pods(4))),
        settings=settings(scale_to_zero=True),
    )
    seen = observation(scale(0), series(backlog_milli), status=status(condition("ScaledToZero")))
    told = explained(Moment(raised, seen, history((0, -15)), now()), None, search=False).windows
    bounds = "minReplicas 3, maxReplicas 10: "
    assert [line.removeprefix(bounds) for line in told if line.startswith((bounds, "lifted"))] == said


@pytest.mark.parametrize(
    ("autoscaler", "seen", "said"),
    [
        (
            hpa(cpu(60), behavior=behavior(up=rules(by_pods(2)), down=rules(by_pods(2), select="Disabled"))),
            BUSY,
            "the scale-up rate limit allows 5 for now.",
        ),
        (
            hpa(cpu(60), behavior=behavior(up=rules(by_pods(2), select="Disabled"), down=rules(by_pods(2)))),
            IDLE,
            "the scale-down rate limit allows 7 for now.",
        ),
        (
            hpa(cpu(60), behavior=behavior(up=rules(by_pods(2), select="Disabled"))),
            BUSY,
            "selectPolicy Disabled of scaleUp keeps it at 3.",
        ),
        (
            hpa(cpu(60), replicas_max=4, behavior=behavior(up=rules(by_pods(2)))),
            BUSY,
            "maxReplicas stops it at 4.",
        ),
        (
            hpa(cpu(60), replicas_min=6, settings=settings(downscale_stabilization_s=0)),
            IDLE,
            "minReplicas keeps it at 6.",
        ),
    ],
)
def test_the_limit_that_binds_is_that_of_the_direction(autoscaler: Autoscaler, seen: Observation, said: str) -> None:
    """A direction that is switched off says nothing about the other one."""
    past = history((3 if seen is BUSY else 5, -15))
    assert explained(Moment(autoscaler, seen, past, now()), Written(), search=False).summary.endswith(f"; {said}")
