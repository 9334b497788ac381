"""§13, §11.6: what becomes of a decision once its write is known."""

import pytest
from msgspec.structs import replace

from controller.decide.decision import conclude, decide, rescaled
from controller.decide.events import Event
from controller.decide.history import History
from controller.decide.observed import Observation
from controller.decide.result import Action, WriteFailed, Written, direction
from controller.decide.spec import Autoscaler, Behavior
from tests.builders import (
    behavior,
    by_pods,
    condition,
    cpu,
    event,
    external_metric,
    history,
    hpa,
    monotonic_ns,
    now,
    observation,
    rules,
    scale,
    settings,
    status,
    usage,
    wall_ns,
)
from tests.decide.syncs import sync

UP, DOWN = usage(900, 900, 900), usage(100, 100, 100)
BEFORE = status(
    condition("AbleToScale", reason="ReadyForNewScale", since_s=-900),
    condition("ScalingLimited", "True", reason="TooManyReplicas", since_s=-900),
    current=2,
    desired=5,
    last_scale_s=-700,
)
OLD = history((1, -600))


def test_a_written_scale() -> None:
    """§13.3."""
    outcome = sync(hpa(cpu(50)), observation(scale(3), UP, status=BEFORE), OLD)
    conclusion = outcome.conclusion
    assert (conclusion.scaled_to, conclusion.replicas_desired, conclusion.action) == (6, 6, "scale_up")
    assert conclusion.events == (
        Event(
            "Normal",
            "SuccessfulRescale",
            "New size: 6; reason: cpu resource utilization (percentage of request) above target",
        ),
    )
    assert (conclusion.error, conclusion.cause) == (None, "none")
    assert (outcome.status.replicas_current, outcome.status.replicas_desired) == (3, 6)
    assert outcome.status.last_scale_ns == wall_ns()
    able = outcome.status.condition("AbleToScale")
    assert able is not None
    # §15.1: from ReadyForNewScale to SucceededRescale the status stays True, and so does its time.
    assert (able.reason, able.changed_ns) == ("SucceededRescale", wall_ns(-900))


def test_a_scale_that_could_not_be_written() -> None:
    """§13.2."""
    outcome = sync(hpa(cpu(50)), observation(scale(3), UP, status=BEFORE), OLD, write=WriteFailed("conflict"))
    conclusion = outcome.conclusion
    assert (conclusion.scaled_to, conclusion.replicas_desired, conclusion.action) == (None, None, "none")
    assert conclusion.events == (
        Event(
            "Warning",
            "FailedRescale",
            "New size: 6; reason: cpu resource utilization (percentage of request) above target; error: conflict",
        ),
    )
    assert (conclusion.error, conclusion.cause) == ("failed to rescale: conflict", "internal")
    assert conclusion.status_failure_counts is False
    assert (outcome.status.replicas_current, outcome.status.replicas_desired) == (3, 5)
    assert outcome.status.last_scale_ns == wall_ns(-700)
    assert len(outcome.status.metrics) == 1
    able, limited = outcome.status.condition("AbleToScale"), outcome.status.condition("ScalingLimited")
    assert able is not None
    assert limited is not None
    assert (able.status, able.reason, able.changed_ns) == ("False", "FailedUpdateScale", wall_ns())
    assert conclusion.status_changed
    # The others keep the values of this sync.
    assert (limited.status, limited.reason, limited.changed_ns) == ("False", "DesiredWithinRange", wall_ns())


def test_the_same_failure_again_changes_no_status() -> None:
    seen = observation(scale(3), UP, status=BEFORE)
    first = sync(hpa(cpu(50)), seen, OLD, write=WriteFailed("conflict"))
    again = replace(seen, status=first.status)
    second = sync(hpa(cpu(50)), again, first.conclusion.history, write=WriteFailed("conflict"))
    assert not second.conclusion.status_changed
    third = sync(hpa(cpu(50)), again, first.conclusion.history, write=WriteFailed("forbidden"))
    assert third.conclusion.status_changed


def test_a_failed_write_of_a_branch_without_metrics() -> None:
    seen = observation(scale(20), status=BEFORE)
    outcome = sync(hpa(cpu(50)), seen, OLD, write=WriteFailed("forbidden"))
    assert outcome.events() == ["FailedRescale"]
    assert outcome.conclusion.history == OLD
    assert (outcome.status.replicas_current, outcome.status.replicas_desired) == (20, 5)
    assert outcome.status.metrics == ()


def test_a_failed_write_remembers_the_recommendation_but_no_event() -> None:
    asked = hpa(cpu(50), behavior=behavior(down=rules(by_pods(10), window_s=300)))
    outcome = sync(asked, observation(scale(3), UP), history((1, -10)), write=WriteFailed("conflict"))
    assert outcome.conclusion.history == history((1, -10), (6, 0))


def test_nothing_to_write() -> None:
    outcome = sync(hpa(cpu(50)), observation(scale(3), usage(500, 500, 500), status=BEFORE), OLD)
    conclusion = outcome.conclusion
    assert (conclusion.scaled_to, conclusion.replicas_desired, conclusion.action) == (None, 3, "none")
    assert conclusion.events == ()
    assert outcome.status.last_scale_ns == wall_ns(-700)
    assert conclusion.history == history((3, 0))


def test_partial_failure_and_failed_write() -> None:
    """The write's error replaces the metric's, whose event stays."""
    both = hpa(cpu(50), external_metric(value_milli=5))
    outcome = sync(both, observation(scale(3), UP), OLD, write=WriteFailed("conflict"))
    assert outcome.events() == ["FailedGetExternalMetric", "FailedRescale"]
    assert outcome.conclusion.error == "failed to rescale: conflict"


def test_the_write_takes_time() -> None:
    """The times of the status are those after the write; recommendations those of the decision."""
    asked, seen = hpa(cpu(50), behavior=behavior()), observation(scale(3), UP)
    decision = decide(asked, seen, OLD, now())
    conclusion = conclude(asked, seen.status, decision, Written(), now(0.5))
    assert conclusion.status.last_scale_ns == wall_ns(0.5)
    assert conclusion.history == history((6, 0), ups=[event(3, 0.5)])


POLICIES = behavior(up=rules(by_pods(100, 60)), down=rules(by_pods(100, 600), by_pods(1, 15)))

STORED: dict[str, tuple[Autoscaler, Observation, History, History]] = {
    "25.8.9 no behavior": (
        hpa(cpu(50)),
        observation(scale(3), UP),
        history((1, -600), ups=[event(1, -600)]),
        history((6, 0), ups=[event(1, -600)]),
    ),
    "25.8.9 two are outdated": (
        hpa(cpu(50), behavior=POLICIES),
        observation(scale(3), UP),
        history((1, -600), ups=[event(1, -600), event(2, -500), event(4, -30)], downs=[event(7, -600)]),
        history((6, 0), ups=[event(1, -600, outdated=True), event(3, 0), event(4, -30)], downs=[event(7, -600)]),
    ),
    "down": (
        hpa(cpu(50), behavior=POLICIES),
        observation(scale(3), DOWN),
        history((1, -600), ups=[event(1, -600)], downs=[event(5, -300)]),
        history((1, 0), ups=[event(1, -600)], downs=[event(5, -300), event(2, 0)]),
    ),
    "above the maximum (§4.7c)": (
        hpa(behavior=POLICIES),
        observation(scale(15)),
        history((1, -600)),
        history((1, -600), downs=[event(5, 0)]),
    ),
    "below the minimum (§4.7d)": (
        hpa(behavior=POLICIES, replicas_min=4),
        observation(scale(1)),
        history((1, -600)),
        history((1, -600), ups=[event(3, 0)]),
    ),
    "up by one": (
        hpa(behavior=POLICIES, replicas_min=4),
        observation(scale(3)),
        history((1, -600), ups=[event(9, -300)]),
        history((1, -600), ups=[event(1, 0)]),
    ),
    "down by one": (
        hpa(behavior=POLICIES, replicas_max=4),
        observation(scale(5)),
        history((1, -600), downs=[event(9, -300)]),
        history((1, -600), downs=[event(9, -300), event(1, 0)]),
    ),
    "unchanged": (
        hpa(cpu(50), behavior=POLICIES),
        observation(scale(3), usage(500, 500, 500)),
        history((1, -600)),
        history((3, 0)),
    ),
}


@pytest.mark.parametrize("name", STORED)
def test_scale_events(name: str) -> None:
    """§11.6."""
    asked, seen, before, after = STORED[name]
    outcome = sync(asked, seen, before)
    assert outcome.conclusion.history == after


@pytest.mark.parametrize(
    ("replicas", "compared_with", "expected"),
    [(4, 3, "scale_up"), (2, 3, "scale_down"), (3, 3, "none"), (1, 0, "scale_up"), (0, 1, "scale_down")],
)
def test_direction(replicas: int, compared_with: int, expected: Action) -> None:
    """§17.2."""
    assert direction(replicas, compared_with) == expected


def test_a_change_by_nothing_is_no_scale_event() -> None:
    """§11.6: what is caught up after a restart may come to nothing; no slot is marked or taken for it."""
    past = history((1, -600), ups=[event(1, -600)], downs=[event(1, -700)])
    assert rescaled(hpa(behavior=POLICIES), past, 0, monotonic_ns()) == past


@pytest.mark.parametrize("given", [None, behavior()], ids=["without behavior", "with behavior"])
@pytest.mark.parametrize("gate", [False, True], ids=["gate off", "gate on"])
def test_order_of_the_conditions(gate: bool, given: Behavior | None) -> None:  # noqa: FBT001 - a table's column
    """§15.1, §12.4."""
    asked = hpa(cpu(50), behavior=given, settings=settings(scale_to_zero=gate))
    outcome = sync(asked, observation(scale(3), UP))
    expected = ["AbleToScale", "ScalingActive", "ScalingLimited"]
    assert list(outcome.reasons()) == ([*expected, "ScaledToZero"] if gate else expected)
