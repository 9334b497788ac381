"""Our controller does in every scenario what the built-in one does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.e2e.side_by_side.compare import compare, report
from tests.e2e.side_by_side.runner import ATTEMPTS, ZERO_GATES, chosen, record_ours, record_reference
from tests.e2e.side_by_side.scenarios import SCENARIOS, ZERO_SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.compare import Observed
    from tests.e2e.side_by_side.findings import Findings


async def test_every_step_of_every_scenario_is_the_same(
    ours: tuple[tuple[ControlPlane, MetricsServer], tuple[ControlPlane, MetricsServer]],
    reference: dict[str, Sequence[Observed]],
    findings: Findings,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    recorded: dict[str, Sequence[Observed]] = {}
    again = {scenario.name for scenario in (*SCENARIOS, *ZERO_SCENARIOS)}
    for attempt in range(ATTEMPTS):
        if attempt:
            reference |= await record_reference(tmp_path_factory, again)
        recorded |= await _record_ours(ours, again, f"side-by-side-{attempt}")
        again = {difference.scenario for difference in compare(reference, recorded)}
        if not again:
            break
        print(f"attempt {attempt + 1} differs in {', '.join(sorted(again))}")  # noqa: T201  # the same
    text = report(reference, recorded)
    (tmp_path / "report.txt").write_text(text)
    print(text)  # noqa: T201  # pytest shows it when the test fails, and with -s
    assert not compare(reference, recorded), text
    assert sum(map(len, recorded.values())) == sum(len(one.steps) for one in (*SCENARIOS, *ZERO_SCENARIOS))
    findings.reference, findings.ours = reference, recorded


async def _record_ours(
    planes: tuple[tuple[ControlPlane, MetricsServer], tuple[ControlPlane, MetricsServer]], names: set[str], name: str
) -> dict[str, Sequence[Observed]]:
    plain, zero = planes
    halves = await asyncio.gather(
        record_ours(*plain, chosen(SCENARIOS, names), name),
        record_ours(*zero, chosen(ZERO_SCENARIOS, names), name, ZERO_GATES),
    )
    return {scenario: steps for half in halves for scenario, steps in half.items()}
