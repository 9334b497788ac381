"""The comparison itself, on observations on paper."""

from __future__ import annotations

import pytest

from tests.e2e.side_by_side.compare import Difference, Observed, compare, report

_REFERENCE = {"grow": [Observed("first", {"desired": 2, "conditions": []}), Observed("second", {"desired": 4})]}


def test_the_same_is_the_same() -> None:
    again = {"grow": [Observed("first", {"conditions": [], "desired": 2}), Observed("second", {"desired": 4})]}
    assert compare(_REFERENCE, again) == []
    assert "1 scenarios, 2 steps, 0 of them differ" in report(_REFERENCE, again)


def test_another_value_is_found_with_both_sides() -> None:
    other = {"grow": [_REFERENCE["grow"][0], Observed("second", {"desired": 5})]}
    assert compare(_REFERENCE, other) == [Difference("grow", "second", "desired", 4, 5)]
    lines = report(_REFERENCE, other).splitlines()
    assert lines[2].split() == ["grow", "second", "4", "5", "differs", "in", "desired"]
    assert lines[1].endswith("same")


@pytest.mark.parametrize("fields", [{}, {"desired": 4, "rival desired": None}])
def test_a_field_that_only_one_has_is_a_difference(fields: dict[str, object]) -> None:
    other = {"grow": [_REFERENCE["grow"][0], Observed("second", fields)]}
    (found,) = compare(_REFERENCE, other)
    assert found.field in ("desired", "rival desired")


def test_steps_and_scenarios_that_only_one_has_are_differences() -> None:
    assert [found.step for found in compare(_REFERENCE, {})] == ["first", "second"]
    assert [found.step for found in compare({}, _REFERENCE)] == ["first", "second"]
    shorter = {"grow": _REFERENCE["grow"][:1]}
    assert compare(_REFERENCE, shorter) == [Difference("grow", "second", "step", "second", None)]
