"""Our controller does in every scenario what the built-in one does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.e2e.side_by_side.compare import compare, report
from tests.e2e.side_by_side.runner import ZERO_GATES, record_ours
from tests.e2e.side_by_side.scenarios import SCENARIOS, ZERO_SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.compare import Recording
    from tests.e2e.side_by_side.findings import Findings


async def test_every_step_of_every_scenario_is_the_same(
    ours: tuple[tuple[ControlPlane, MetricsServer], tuple[ControlPlane, MetricsServer]],
    reference: Recording,
    findings: Findings,
    tmp_path: Path,
) -> None:
    plain, zero = ours
    halves = await asyncio.gather(
        record_ours(*plain, SCENARIOS, "side-by-side"),
        record_ours(*zero, ZERO_SCENARIOS, "side-by-side", ZERO_GATES),
    )
    recorded = {name: steps for half in halves for name, steps in half.items()}
    text = report(reference, recorded)
    (tmp_path / "report.txt").write_text(text)
    print(text)  # noqa: T201  # pytest shows it when the test fails, and with -s
    assert not compare(reference, recorded), text
    assert sum(map(len, recorded.values())) == sum(len(one.steps) for one in (*SCENARIOS, *ZERO_SCENARIOS))
    findings.reference, findings.ours = reference, recorded
