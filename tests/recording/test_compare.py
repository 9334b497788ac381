"""When outcomes are equal (docs/recording-format.md), and how a difference reads."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from controller.recording.compare import OPEN_QUANTITY, differences, open_quantities
from controller.recording.format_v1 import Outcome, Recording, Tick
from tests.recording.recorded import check, paths

METRIC = {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "500m"}}}
CONDITION = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2026-01-31T12:00:00Z", "reason": "R"}
STATUS: dict[str, Any] = {
    "currentReplicas": 3,
    "desiredReplicas": 4,
    "currentMetrics": [METRIC, {"type": ""}],
    "conditions": [CONDITION],
}
OUTCOME = Outcome(4, STATUS, 1, [("Normal", "SuccessfulRescale")])


def with_status(**fields: object) -> Outcome:
    return replace(OUTCOME, status=STATUS | fields)


def without(field: str) -> Outcome:
    return replace(OUTCOME, status={name: value for name, value in STATUS.items() if name != field})


def reporting(average: str | None) -> Outcome:
    current = {} if average is None else {"averageValue": average}
    return with_status(currentMetrics=[{"type": "Pods", "pods": {"metric": {"name": "m"}, "current": current}}])


EQUAL: dict[str, tuple[Outcome, Outcome]] = {
    "itself": (OUTCOME, OUTCOME),
    "time in another zone": (
        OUTCOME,
        with_status(conditions=[CONDITION | {"lastTransitionTime": "2026-01-31T13:00:00+01:00"}]),
    ),
    "null and empty list": (with_status(currentMetrics=None), with_status(currentMetrics=[])),
    "absent and empty list": (with_status(currentMetrics=[]), without("currentMetrics")),
    "absent and null": (with_status(conditions=None), without("conditions")),
    "absent and zero": (with_status(currentReplicas=0), without("currentReplicas")),
    "absent and empty text": (OUTCOME, with_status(conditions=[CONDITION | {"message": ""}])),
    "open quantity, another one": (reporting(OPEN_QUANTITY), reporting("5")),
    "open quantity, none": (reporting(OPEN_QUANTITY), reporting(None)),
}


@pytest.mark.parametrize(("recorded", "decided"), EQUAL.values(), ids=EQUAL)
def test_equal(recorded: Outcome, decided: Outcome) -> None:
    assert differences(recorded, decided) == []


DIFFERENT: dict[str, tuple[Outcome, Outcome, list[str]]] = {
    "scaledTo": (OUTCOME, replace(OUTCOME, scaled_to=None), ["scaledTo: recorded 4, decided None"]),
    "scaledTo zero": (
        replace(OUTCOME, scaled_to=0),
        replace(OUTCOME, scaled_to=None),
        ["scaledTo: recorded 0, decided None"],
    ),
    "statusWrites": (OUTCOME, replace(OUTCOME, status_writes=0), ["statusWrites: recorded 1, decided 0"]),
    "events": (
        OUTCOME,
        replace(OUTCOME, events=[]),
        ["events: recorded ['Normal SuccessfulRescale'], decided []"],
    ),
    "count": (OUTCOME, with_status(desiredReplicas=5), ["status.desiredReplicas: recorded 4, decided 5"]),
    "count absent": (OUTCOME, without("desiredReplicas"), ["status.desiredReplicas: recorded 4, decided None"]),
    "field too many": (
        OUTCOME,
        with_status(observedGeneration=1),
        ["status.observedGeneration: recorded None, decided 1"],
    ),
    "quantity written otherwise": (
        reporting("500m"),
        reporting("0.5"),
        ["status.currentMetrics[0].pods.current.averageValue: recorded '500m', decided '0.5'"],
    ),
    "open quantity decided": (
        reporting("5"),
        reporting(OPEN_QUANTITY),
        [f"status.currentMetrics[0].pods.current.averageValue: recorded '5', decided '{OPEN_QUANTITY}'"],
    ),
    "empty metric entry": (
        OUTCOME,
        with_status(currentMetrics=[METRIC]),
        [f"status.currentMetrics: recorded {[METRIC, {'type': ''}]!r}, decided {[METRIC]!r}"],
    ),
    "order of metrics": (
        OUTCOME,
        with_status(currentMetrics=[{"type": ""}, METRIC]),
        [
            "status.currentMetrics[0].type: recorded 'Pods', decided ''",
            f"status.currentMetrics[0].pods: recorded {METRIC['pods']!r}, decided None",
            "status.currentMetrics[1].type: recorded '', decided 'Pods'",
            f"status.currentMetrics[1].pods: recorded None, decided {METRIC['pods']!r}",
        ],
    ),
    "no time": (
        OUTCOME,
        with_status(conditions=[CONDITION | {"lastTransitionTime": "2026-01-31Tnoon"}]),
        ["status.conditions[0].lastTransitionTime: recorded '2026-01-31T12:00:00Z', decided '2026-01-31Tnoon'"],
    ),
    "two that are no times": (
        with_status(conditions=[CONDITION | {"lastTransitionTime": "2026-01-31Tnight"}]),
        with_status(conditions=[CONDITION | {"lastTransitionTime": "2026-01-31Tnoon"}]),
        ["status.conditions[0].lastTransitionTime: recorded '2026-01-31Tnight', decided '2026-01-31Tnoon'"],
    ),
    "time": (
        OUTCOME,
        with_status(conditions=[CONDITION | {"lastTransitionTime": "2026-01-31T12:00:01Z"}]),
        [("status.conditions[0].lastTransitionTime: recorded '2026-01-31T12:00:00Z', decided '2026-01-31T12:00:01Z'")],
    ),
}


@pytest.mark.parametrize(("recorded", "decided", "lines"), DIFFERENT.values(), ids=DIFFERENT)
def test_different(recorded: Outcome, decided: Outcome, lines: list[str]) -> None:
    assert differences(recorded, decided) == lines


def test_writes_may_be_left_out() -> None:
    assert differences(OUTCOME, replace(OUTCOME, status_writes=0), compare_writes=False) == []


@pytest.mark.parametrize(("outcome", "count"), [(None, 0), (OUTCOME, 0), (reporting(OPEN_QUANTITY), 1)])
def test_open_quantities(outcome: Outcome | None, count: int) -> None:
    assert open_quantities(outcome) == count


# --- a recording that was tampered with --------------------------------------------------------------


class Tampered(Recording):
    """A recording with every outcome changed in one way; those that cannot be changed so stay."""

    def __init__(self, change: Callable[[Outcome], Outcome]) -> None:
        super().__init__(paths()[0])
        self._change = change

    def ticks(self) -> Iterator[tuple[int, Tick]]:
        for number, tick in super().ticks():
            assert tick.outcome is not None
            yield number, replace(tick, outcome=self._change(tick.outcome))


def in_status(outcome: Outcome, **fields: object) -> Outcome:
    return replace(outcome, status=outcome.status | fields)


def first_condition(outcome: Outcome, **fields: object) -> Outcome:
    first, *others = outcome.status["conditions"]
    return in_status(outcome, conditions=[first | fields, *others])


TAMPERINGS: dict[str, Callable[[Outcome], Outcome]] = {
    "scaledTo": lambda outcome: replace(outcome, scaled_to=(outcome.scaled_to or 0) + 1),
    "statusWrites": lambda outcome: replace(outcome, status_writes=1 - outcome.status_writes),
    "an event more": lambda outcome: replace(outcome, events=[*outcome.events, ("Normal", "Extra")]),
    "type of the events": lambda outcome: replace(
        outcome, events=[("Other", reason) for _, reason in outcome.events] or [("", "")]
    ),
    "desiredReplicas": lambda outcome: in_status(outcome, desiredReplicas=99),
    "currentReplicas": lambda outcome: in_status(outcome, currentReplicas=99),
    "a condition's reason": lambda outcome: first_condition(outcome, reason="Other"),
    "a condition's status": lambda outcome: first_condition(outcome, status="Unknown"),
    "a condition's time": lambda outcome: first_condition(outcome, lastTransitionTime="1999-01-01T00:00:00Z"),
    "a condition's type": lambda outcome: first_condition(outcome, type="Other"),
    "a metric more": lambda outcome: in_status(
        outcome, currentMetrics=[*(outcome.status.get("currentMetrics") or []), {"type": ""}]
    ),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_tampering_is_noticed(name: str) -> None:
    """Whatever part of an outcome is changed: its ticks differ, and it is told where."""
    result = check(Tampered(TAMPERINGS[name]))
    assert result.differing > 0
    assert any(line.startswith("  t=") for line in result.lines)
    assert any(": recorded " in line for line in result.lines)


def test_what_is_not_tampered_with_agrees() -> None:
    result = check(Tampered(lambda outcome: outcome))
    assert (result.differing, result.lines) == (0, [])


def test_only_the_first_ticks_are_shown() -> None:
    path = max(paths(), key=lambda path: path.stat().st_size)

    class Long(Tampered):
        def __init__(self) -> None:
            Recording.__init__(self, path)
            self._change = TAMPERINGS["desiredReplicas"]

    result = check(Long())
    assert result.compared == result.differing > 4
    assert sum(line.startswith("  t=") for line in result.lines) == 3
    assert result.lines[-1] == f"  and {result.differing - 3} more ticks"
