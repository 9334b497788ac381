"""docs/side-by-side.md tells of the scenarios there are; only playing them anew can say what came of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.side_by_side.broken.builds import BUILDS, ZERO_BUILDS
from tests.e2e.side_by_side.findings import COMMAND, Findings, listed, mistakes, verdicts
from tests.e2e.side_by_side.scenarios import SCENARIOS, ZERO_SCENARIOS

DOCUMENT = Path(__file__).parents[2] / "docs" / "side-by-side.md"
STALE = f"docs/side-by-side.md does not tell of the scenarios there are; `{COMMAND}` plays them and writes it"


def test_the_document_has_every_step_of_every_scenario() -> None:
    steps = [(scenario.name, step.name) for scenario in (*SCENARIOS, *ZERO_SCENARIOS) for step in scenario.steps]
    assert listed(DOCUMENT.read_text()) == steps, STALE


def test_the_document_tells_of_no_difference() -> None:
    assert set(verdicts(DOCUMENT.read_text())) == {"same"}


def test_the_document_tells_where_each_broken_build_was_noticed() -> None:
    builds = [*BUILDS, *ZERO_BUILDS]
    noticed = mistakes(DOCUMENT.read_text())
    assert list(noticed) == [build.name for build in builds], STALE
    for build in builds:
        assert any(one in noticed[build.name] for one in (*build.scenarios, "its requests")), build.name


def test_every_step_is_held_for_three_periods_or_more() -> None:
    short = [
        f"{scenario.name} / {step.name}"
        for scenario in (*SCENARIOS, *ZERO_SCENARIOS)
        for step in scenario.steps
        if step.hold_periods < 3
    ]
    assert short == []


def test_half_a_run_makes_no_document() -> None:
    with pytest.raises(ValueError, match="needs all tests"):
        Findings(reference={}, ours={}).document()


def test_what_is_no_such_document_is_refused() -> None:
    with pytest.raises(ValueError, match="no table"):
        listed("# Something else\n")
