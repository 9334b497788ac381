"""What a run of the comparison found, as the document that is checked in as docs/side-by-side.md."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tests.e2e.side_by_side.compare import compare

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.side_by_side.compare import Recording

COMMAND = "make side-by-side"
"""Writes the document anew."""

_HEAD = f"""# Side by side with the built-in controller

Every scenario is played under kube-controller-manager 1.36.3 and under hpa-controller, on etcd and kube-apiserver of
that release; Deployments are real, with KWOK as their node. Compared after every step are the target's replicas, and
the HPA's desired and current replicas, conditions, current metrics and events. *Desired* is the count that the built-in
controller came to; where anything differs, the last column says in what.

Written by `{COMMAND}` (tests/e2e/side_by_side).
"""

_CAUGHT = """
## Controllers broken on purpose

Each is our controller with one mistake, played through the scenarios that are named; all of them have to be noticed.
"""


@dataclasses.dataclass
class Findings:
    """Filled in by the tests; ``document`` needs both parts."""

    reference: Recording | None = None
    ours: Recording | None = None
    caught: Mapping[str, list[str]] | None = None
    """By build where it was noticed, such as ``tolerance / a little above``."""

    def document(self) -> str:
        """The Markdown. Raises ValueError when a part is missing, because its test did not run or failed."""
        if self.reference is None or self.ours is None or self.caught is None:
            raise ValueError("the report needs all tests of tests/e2e/side_by_side to pass in one run")
        rows = _rows(self.reference, self.ours)
        steps = ["| scenario | step | desired | |", "| --- | --- | --: | --- |", *rows]
        total = f"{len(self.reference)} scenarios, {len(rows)} steps."
        broken = ["| mistake | noticed at |", "| --- | --- |"]
        broken += [f"| {build} | {'; '.join(where)} |" for build, where in self.caught.items()]
        return "\n".join([_HEAD, *steps, "", total, _CAUGHT, *broken, ""])


def _rows(reference: Recording, ours: Recording) -> list[str]:
    differing: dict[tuple[str, str], list[str]] = {}
    for found in compare(reference, ours):
        differing.setdefault((found.scenario, found.step), []).append(found.field)
    rows = []
    for scenario, steps in reference.items():
        for observed in steps:
            fields = differing.get((scenario, observed.step))
            verdict = "same" if fields is None else f"differs in {', '.join(fields)}"
            rows.append(f"| {scenario} | {observed.step} | {observed.fields.get('desired', '–')} | {verdict} |")
    return rows


def listed(document: str) -> list[tuple[str, str]]:
    """The scenarios and steps of a document, in its order. Raises ValueError if it is no such document."""
    return [(scenario, step) for scenario, step, *_ in _table(document, "scenario")]


def verdicts(document: str) -> list[str]:
    """What the document says of each step: ``same``, or in what it differs. Raises ValueError as listed does."""
    return [verdict for *_, verdict in _table(document, "scenario")]


def mistakes(document: str) -> dict[str, str]:
    """By build of a document where it was noticed, in its order. Raises ValueError if it is no such document."""
    return {row[0]: row[1] for row in _table(document, "mistake")}


def _table(document: str, first_column: str) -> list[list[str]]:
    _, found, rest = document.partition(f"| {first_column} |")
    if not found:
        raise ValueError(f"there is no table that begins with the column {first_column}")
    lines = rest.splitlines()[2:]
    end = next((index for index, line in enumerate(lines) if not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]
