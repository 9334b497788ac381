"""What two controllers made of the same scenarios, compared step by step. Pure: observations in, text out."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Recording: TypeAlias = Mapping[str, Sequence["Observed"]]
    """The observations of each scenario, in the order of its steps."""


@dataclasses.dataclass(frozen=True)
class Observed:
    """The world at the end of a step; fields by name, each a JSON value."""

    step: str
    fields: Mapping[str, object]


@dataclasses.dataclass(frozen=True)
class Difference:
    """A field that is not the same at the end of a step; None means that it is not there."""

    scenario: str
    step: str
    field: str
    reference: object
    other: object

    def __str__(self) -> str:
        return (
            f"{self.scenario} / {self.step}: {self.field}\n"
            f"    reference {_written(self.reference)}\n    other     {_written(self.other)}"
        )


def compare(reference: Recording, other: Recording) -> list[Difference]:
    """Every field that differs. A scenario or step that only one of the two has differs in the field ``step``."""
    found: list[Difference] = []
    for scenario in [*reference, *(name for name in other if name not in reference)]:
        before, after = reference.get(scenario, ()), other.get(scenario, ())
        for index in range(max(len(before), len(after))):
            left = before[index] if index < len(before) else None
            right = after[index] if index < len(after) else None
            found += _of_step(scenario, left, right)
    return found


def report(reference: Recording, other: Recording) -> str:
    """A table of every scenario × step with the desired count of both, then the differences in full."""
    differences = compare(reference, other)
    lines = [f"{'scenario':32} {'step':32} {'reference':>9} {'other':>9}  verdict"]
    for scenario, steps in reference.items():
        others = {observed.step: observed for observed in other.get(scenario, ())}
        for observed in steps:
            fields = [d.field for d in differences if (d.scenario, d.step) == (scenario, observed.step)]
            counterpart = others.get(observed.step)
            counts = [_count(observed), _count(counterpart)]
            verdict = f"differs in {', '.join(fields)}" if fields else "same"
            lines.append(f"{scenario:32} {observed.step:32} {counts[0]:>9} {counts[1]:>9}  {verdict}")
    steps_total = sum(map(len, reference.values()))
    steps_differing = len({(difference.scenario, difference.step) for difference in differences})
    lines += [
        "",
        f"{len(reference)} scenarios, {steps_total} steps, {steps_differing} of them differ",
        *map(str, differences),
    ]
    return "\n".join(lines)


def _of_step(scenario: str, left: Observed | None, right: Observed | None) -> list[Difference]:
    if left is None or right is None or left.step != right.step:
        names = [observed and observed.step for observed in (left, right)]
        return [Difference(scenario, names[0] or names[1] or "", "step", *names)]
    fields = [*left.fields, *(name for name in right.fields if name not in left.fields)]
    return [
        Difference(scenario, left.step, name, left.fields.get(name), right.fields.get(name))
        for name in fields
        if left.fields.get(name) != right.fields.get(name) or (name in left.fields) != (name in right.fields)
    ]


def _count(observed: Observed | None) -> str:
    return "-" if observed is None else str(observed.fields.get("desired", "-"))


def _written(value: object) -> str:
    return json.dumps(value, sort_keys=True)
