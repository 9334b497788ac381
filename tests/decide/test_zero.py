"""§12 and §25.7: from zero and to zero, with the gate HPAScaleToZero on and off."""

from dataclasses import dataclass

import pytest

from controller.decide.decision import BELOW_MIN, path_before_metrics
from controller.decide.observed import Reading
from controller.decide.result import Path, WriteFailed
from controller.decide.spec import Autoscaler, Behavior, MetricSpec, Settings
from controller.decide.status import Status
from tests.builders import (
    behavior,
    by_percent,
    by_pods,
    condition,
    cpu,
    external_metric,
    history,
    hpa,
    object_metric,
    observation,
    pods_metric,
    rules,
    scale,
    series,
    settings,
    status,
    unknown_metric,
    usage,
    value,
)
from tests.decide.syncs import sync

OBJECT, EXTERNAL = object_metric(value_milli=1000), external_metric(value_milli=1000)
ZEROED = status(condition("ScaledToZero"))
NOT_ZEROED = status(condition("ScaledToZero", "False"))
UNKNOWN = status(condition("ScaledToZero", "Unknown"))
BLANK = status()
ON, OFF = settings(scale_to_zero=True), settings()


@dataclass(frozen=True)
class Case:
    """R, minimum, metric, answer and stored status; then the size and the ScaledToZero condition, gate on and off."""

    replicas: int
    replicas_min: int
    metric: MetricSpec
    reading: Reading
    stored: Status
    on: tuple[int, str | None]
    off: tuple[int, str | None]


T15000 = object_metric(value_milli=15000)

CASES = {
    "25.7.1 our zero": Case(0, 0, T15000, value(20000), ZEROED, (2, "False"), (0, None)),
    "25.7.2 tolerance is ignored": Case(0, 0, OBJECT, value(1000), ZEROED, (1, "False"), (0, None)),
    "25.7.3 not our zero": Case(0, 0, T15000, value(20000), BLANK, (0, None), (0, None)),
    "25.7.3 not our zero any more": Case(0, 0, T15000, value(20000), NOT_ZEROED, (0, "False"), (0, None)),
    "25.7.4 minimum raised at zero": Case(0, 2, OBJECT, value(1000), ZEROED, (2, "False"), (0, None)),
    "25.7.5 Object falls to zero": Case(5, 0, OBJECT, value(0), BLANK, (0, "True"), (0, None)),
    "25.7.5 External falls to zero": Case(5, 0, EXTERNAL, series(0), BLANK, (0, "True"), (0, None)),
    "25.7.6 stale condition": Case(3, 0, OBJECT, value(1500), ZEROED, (5, "False"), (5, None)),
    "25.7.7 CPU alone": Case(0, 0, cpu(50), usage(900), ZEROED, (0, "True"), (0, None)),
}


def autoscaler(case: Case, *, gate: bool) -> Autoscaler:
    return hpa(case.metric, replicas_min=case.replicas_min, settings=ON if gate else OFF)


@pytest.mark.parametrize("gate", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_from_and_to_zero(case: Case, gate: bool) -> None:  # noqa: FBT001 - a table's column
    seen = observation(scale(case.replicas), case.reading, status=case.stored)
    outcome = sync(autoscaler(case, gate=gate), seen, history((0, -600)))
    expected, zeroed = case.on if gate else case.off
    assert outcome.status.replicas_desired == expected
    found = outcome.status.condition("ScaledToZero")
    assert (found and found.status) == zeroed
    if expected != case.replicas:
        assert found is None or found.reason == ("ScaledToZero" if zeroed == "True" else "NotScaledToZero")
    if case.replicas == expected == 0:
        assert outcome.reasons()["ScalingActive"] == ("False", "ScalingDisabled")
        assert outcome.decision.evaluation is None
        assert not outcome.decision.rescales


def test_25_7_4_the_raised_minimum_explains_itself() -> None:
    lifted = hpa(OBJECT, replicas_min=2, settings=ON)
    outcome = sync(lifted, observation(scale(0), value(1000), status=ZEROED), history((0, -600)))
    assert outcome.reasons()["ScalingLimited"] == ("True", "TooFewReplicas")
    assert outcome.conclusion.events[-1].message == "New size: 2; reason: Service metric hits above target"


@pytest.mark.parametrize("given", [ON, OFF], ids=["on", "off"])
def test_25_7_7_cpu_and_an_unknown_type(given: Settings) -> None:
    both = hpa(cpu(50), unknown_metric(), replicas_min=0, settings=given)
    outcome = sync(both, observation(scale(0), usage(900), usage(900), status=ZEROED), history((0, -600)))
    assert outcome.decision.path is Path.PAUSED
    assert outcome.decision.evaluation is None
    assert outcome.events() == []


# --- §12.3: whether metrics are computed at zero -------------------------------------------------------------

SEVERAL = (cpu(50), EXTERNAL)

COMPUTED = [
    # gate, minimum, metrics, stored, computed
    (True, 0, (OBJECT,), ZEROED, True),
    (True, 0, (EXTERNAL,), ZEROED, True),
    (True, 0, SEVERAL, ZEROED, True),
    (True, 0, (cpu(50), pods_metric(5)), ZEROED, False),
    (True, 1, (cpu(50),), ZEROED, True),
    (True, None, (cpu(50),), ZEROED, True),
    (True, 0, (OBJECT,), BLANK, False),
    (True, 0, (OBJECT,), NOT_ZEROED, False),
    (True, 0, (OBJECT,), UNKNOWN, False),
    (True, 1, (OBJECT,), BLANK, False),
    (False, 0, (OBJECT,), ZEROED, False),
    (False, 1, (OBJECT,), ZEROED, False),
]


@pytest.mark.parametrize(("gate", "replicas_min", "metrics", "stored", "computed"), COMPUTED)
def test_metrics_are_computed_at_zero(
    gate: bool,  # noqa: FBT001 - a table's column
    replicas_min: int | None,
    metrics: tuple[MetricSpec, ...],
    stored: Status,
    computed: bool,  # noqa: FBT001 - a table's column
) -> None:
    """§12.3; zero replicas are never below a minimum (§4.7)."""
    asked = hpa(*metrics, replicas_min=replicas_min, settings=ON if gate else OFF)
    assert path_before_metrics(asked, scale(0), stored) is (None if computed else Path.PAUSED)


# --- §12.4: the condition is touched by rescales alone --------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "reading", "replicas_min", "expected"),
    [
        (OBJECT, value(0), 0, ("True", "ScaledToZero")),
        (object_metric(average_milli=1000), value(0), 0, ("True", "ScaledToZero")),
        (cpu(50), usage(0, 0, 0), 0, ("False", "NotScaledToZero")),
        (OBJECT, value(0), 1, ("False", "NotScaledToZero")),
        (OBJECT, value(5000), 0, ("False", "NotScaledToZero")),
    ],
    ids=["to zero", "to zero by an average", "without Object or External", "to one", "up"],
)
def test_a_rescale_sets_the_condition(
    metric: MetricSpec, reading: Reading, replicas_min: int, expected: tuple[str, str]
) -> None:
    asked = hpa(metric, replicas_min=replicas_min, settings=ON)
    outcome = sync(asked, observation(scale(3), reading), history((0, -600)))
    assert outcome.decision.rescales
    assert outcome.reasons()["ScaledToZero"] == expected


@pytest.mark.parametrize("stored", [ZEROED, NOT_ZEROED, BLANK], ids=["True", "False", "none"])
def test_without_a_rescale_it_stays(stored: Status) -> None:
    asked = hpa(OBJECT, replicas_min=0, settings=ON)
    outcome = sync(asked, observation(scale(3), value(1000), status=stored), history((0, -600)))
    assert not outcome.decision.rescales
    assert outcome.status.condition("ScaledToZero") == stored.condition("ScaledToZero")


@pytest.mark.parametrize("replicas", [1, 2])
def test_from_any_size(replicas: int) -> None:
    asked = hpa(OBJECT, replicas_min=0, settings=ON)
    outcome = sync(asked, observation(scale(replicas), value(0)), history((0, -600)))
    assert outcome.reasons()["ScaledToZero"] == ("True", "ScaledToZero")


def test_a_failed_write_leaves_it() -> None:
    asked = hpa(OBJECT, replicas_min=0, settings=ON)
    seen = observation(scale(3), value(0), status=NOT_ZEROED)
    outcome = sync(asked, seen, history((0, -600)), write=WriteFailed("conflict"))
    assert outcome.status.condition("ScaledToZero") == NOT_ZEROED.condition("ScaledToZero")


def test_with_the_gate_off_a_steady_target_keeps_a_leftover() -> None:
    """§12.3, §12.4: only a disabled sync and a rescale remove it."""
    asked = hpa(OBJECT, replicas_min=0)
    outcome = sync(asked, observation(scale(3), value(1000), status=ZEROED), history((0, -600)))
    assert outcome.status.condition("ScaledToZero") == ZEROED.condition("ScaledToZero")


# --- §12.5 to §12.7: how far from zero ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replicas_min", "given", "expected", "limited"),
    [
        (0, None, 4, ("True", "ScaleUpLimit")),
        (7, None, 7, ("True", "ScaleUpLimit")),
        (0, behavior(), 4, ("True", "ScaleUpLimit")),
        (0, behavior(up=rules(by_percent(100))), 0, ("True", "ScaleUpLimit")),
        (2, behavior(up=rules(by_percent(100))), 2, ("True", "ScaleUpLimit")),
        (0, behavior(up=rules(by_pods(6))), 6, ("True", "ScaleUpLimit")),
        (0, behavior(up=rules(select="Disabled")), 0, ("True", "ScaleUpLimit")),
    ],
    ids=["factor", "factor, minimum", "defaults", "percent", "percent, minimum", "pods", "disabled"],
)
def test_how_far_from_zero(replicas_min: int, given: Behavior | None, expected: int, limited: tuple[str, str]) -> None:
    asked = hpa(OBJECT, replicas_min=replicas_min, replicas_max=100, behavior=given, settings=ON)
    outcome = sync(asked, observation(scale(0), value(50_000), status=ZEROED), history((0, -600)))
    assert outcome.status.replicas_desired == expected
    assert outcome.reasons()["ScalingLimited"] == limited


@pytest.mark.parametrize(
    ("given", "wanted", "reason"),
    [
        (None, 0, ""),
        (behavior(), 0, BELOW_MIN),
        (behavior(up=rules(by_percent(100))), 5, "Service metric hits above target"),
    ],
    ids=["lifted by the limit", "lifted afterwards", "lifted afterwards, with a reason"],
)
def test_the_reason_of_a_lift(given: Behavior | None, wanted: int, reason: str) -> None:
    """§4.8 step 7: filled in where it is empty; without behavior the limit has lifted already (§10.3)."""
    asked = hpa(OBJECT, replicas_min=2, behavior=given, settings=ON)
    outcome = sync(asked, observation(scale(0), value(wanted * 1000), status=ZEROED), history((0, -600)))
    assert outcome.conclusion.scaled_to == 2
    assert outcome.conclusion.events[-1].message == f"New size: 2; reason: {reason}"
    assert outcome.decision.lifted_to_min is (given is not None)


@pytest.mark.parametrize("replicas_min", [None, 1, 2])
def test_a_lift_goes_to_any_minimum(replicas_min: int | None) -> None:
    asked = hpa(OBJECT, replicas_min=replicas_min, behavior=behavior(), settings=ON)
    outcome = sync(asked, observation(scale(0), value(0), status=ZEROED), history((0, -600)))
    assert outcome.conclusion.scaled_to == (replicas_min or 1)


def test_pods_metrics_fail_at_zero_but_do_not_block() -> None:
    """§12.5: no pods, so only a partial failure; the best proposal is at least R = 0."""
    asked = hpa(cpu(50), OBJECT, replicas_min=0, settings=ON)
    seen = observation(scale(0), usage(900), value(3000), status=ZEROED)
    outcome = sync(asked, seen, history((0, -600)))
    assert outcome.conclusion.scaled_to == 3
    assert outcome.events() == ["FailedGetResourceMetric", "SuccessfulRescale"]


def test_all_metrics_failing_leave_it_at_zero_although_the_minimum_was_raised() -> None:
    """§12.6."""
    asked = hpa(OBJECT, replicas_min=2, settings=ON)
    outcome = sync(asked, observation(scale(0), status=ZEROED), history((0, -600)))
    assert outcome.decision.desired is None
    assert outcome.conclusion.scaled_to is None


def test_an_average_from_zero_counts_against_the_status() -> None:
    """§12.5, §7.4: pods that are still there enter as S."""
    asked = hpa(external_metric(average_milli=1000), replicas_min=0, settings=ON)
    at_target = sync(asked, observation(scale(0, status=3), series(3000), status=ZEROED), history((0, -600)))
    assert at_target.conclusion.scaled_to == 3
    gone = sync(asked, observation(scale(0, status=0), series(1500), status=ZEROED), history((0, -600)))
    assert gone.conclusion.scaled_to == 2
