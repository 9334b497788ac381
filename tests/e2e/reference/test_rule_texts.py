"""We read what rules of prometheus-adapter are written in as Go does."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from controller.sources.prometheus.template_tokens import TemplateError
from tests.e2e.reference.program import read
from tests.e2e.reference.rule_texts import VALUES, filled, rule_text, unlike_rule

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.reference.draws import Json

TEXTS = 20_000
SEED = 1


def test_we_read_expressions_and_templates_as_go_does(tmp_path: Path) -> None:
    made = [rule_text(SEED, number) for number in range(TEXTS)]
    outcomes: Counter[str] = Counter()
    ours = 0
    for one, theirs in zip(made, read(made, tmp_path), strict=True):
        assert unlike_rule(one, theirs) is None, one
        outcomes.update(theirs.keys())
        if "filled" in theirs:
            with suppress(TemplateError):
                ours += filled(one) == theirs["filled"]
    assert min(outcomes[outcome] for outcome in ("refused", "named", "failed", "filled")) > TEXTS // 20, outcomes
    assert ours > 0.85 * outcomes["filled"]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({"template": "<<.Series>>"}, {"template": "<<.Series>> "}),
        ({"template": "<<.Series>>"}, {"template": "<<.Serie"}),
        ({"template": "<<index .GroupBySlice 1>>"}, {"template": "<<index .GroupBySlice 7>>"}),
        ({"expression": "(a)b", "as": "$1"}, {"expression": "(a)b", "as": "$0"}),
        ({"expression": "(a)b", "as": "$1"}, {"expression": "(a)c", "as": "$1"}),
        ({"expression": "(a)b", "as": "$1"}, {"expression": "(a", "as": "$1"}),
        ({"expression": "(a", "as": "$1"}, {"expression": "(a)", "as": "$1"}),
    ],
)
def test_another_reading_is_seen(right: Json, wrong: Json, tmp_path: Path) -> None:
    given: Json = {"values": VALUES} if "template" in right else {"names": ["abc", ""]}
    said, otherwise = read([right | given, wrong | given], tmp_path)
    assert unlike_rule(right | given, said) is None
    assert unlike_rule(right | given, otherwise)
