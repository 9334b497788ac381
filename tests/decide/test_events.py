"""§16.1: every event's type, reason and text."""

import pytest

from controller.decide import conditions, events
from controller.decide.combine import selector_problem
from controller.decide.events import Event
from tests.builders import scale

EVENTS: dict[str, tuple[Event, Event]] = {
    "FailedGetScale": (events.scale_unreadable("gone"), Event("Warning", "FailedGetScale", "gone")),
    "SelectorRequired": (events.selector_required(), Event("Warning", "SelectorRequired", "selector is required")),
    "InvalidSelector": (events.selector_invalid("bad"), Event("Warning", "InvalidSelector", "bad")),
    "AmbiguousSelector": (events.selector_ambiguous("two"), Event("Warning", "AmbiguousSelector", "two")),
    "failed metric": (events.metric_failed("FailedGetX", "why"), Event("Warning", "FailedGetX", "why")),
    "FailedComputeMetricsReplicas": (
        events.replicas_not_computed("why"),
        Event("Warning", "FailedComputeMetricsReplicas", "why"),
    ),
    "SuccessfulRescale": (
        events.rescaled(4, "All metrics below target"),
        Event("Normal", "SuccessfulRescale", "New size: 4; reason: All metrics below target"),
    ),
    "SuccessfulRescale without a reason": (
        events.rescaled(4, ""),
        Event("Normal", "SuccessfulRescale", "New size: 4; reason: "),
    ),
    "FailedRescale": (
        events.rescale_failed(4, "x above target", "conflict"),
        Event("Warning", "FailedRescale", "New size: 4; reason: x above target; error: conflict"),
    ),
    "FailedUpdateStatus": (events.status_not_written("gone"), Event("Warning", "FailedUpdateStatus", "gone")),
}


@pytest.mark.parametrize(("made", "expected"), EVENTS.values(), ids=EVENTS)
def test_event(made: Event, expected: Event) -> None:
    assert made == expected


def test_selector_problems_carry_one_text() -> None:
    """§5.1, §5.2, §5.4: condition, event and error say the same, except where the selector is missing."""
    missing = selector_problem(scale(3, selector=""), ())
    assert missing is not None
    assert (missing.error, missing.event) == ("selector is required", events.selector_required())
    assert missing.change == conditions.selector_missing()
    unreadable = selector_problem(scale(3, selector="cheddar cheese"), ())
    assert unreadable is not None
    assert unreadable.change.message == unreadable.event.message == unreadable.error
    assert "cannot be used: found 'cheese', expected one of" in unreadable.error
    ambiguous = selector_problem(scale(3), ("default/a", "default/b"))
    assert ambiguous is not None
    assert ambiguous.change.message == ambiguous.event.message == ambiguous.error
    assert "app=web" in ambiguous.error
    assert ambiguous.error.endswith("[default/a default/b]")


@pytest.mark.parametrize("overlapping", [(), ("default/web",)])
def test_no_selector_problem(overlapping: tuple[str, ...]) -> None:
    """§5.4: one HPA, this one, is no overlap; nor is it while it is not yet known (§5.3)."""
    assert selector_problem(scale(3), overlapping) is None


def test_an_unreadable_selector_comes_before_an_overlap() -> None:
    problem = selector_problem(scale(3, selector="a b"), ("default/a", "default/b"))
    assert problem is not None
    assert problem.event.reason == "InvalidSelector"
