"""Our controller does in every scenario what the built-in one does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.side_by_side.compare import compare, report
from tests.e2e.side_by_side.runner import record_ours
from tests.e2e.side_by_side.scenarios import SCENARIOS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.compare import Recording


@pytest.mark.usefixtures("controllers_may_control")
async def test_every_step_of_every_scenario_is_the_same(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer, reference: Recording, tmp_path: Path
) -> None:
    ours = await record_ours(control_plane, registered_metrics_server, SCENARIOS, "side-by-side")
    text = report(reference, ours)
    (tmp_path / "report.txt").write_text(text)
    print(text)  # noqa: T201  # pytest shows it when the test fails, and with -s
    assert not compare(reference, ours), text
    assert sum(map(len, ours.values())) == sum(len(scenario.steps) for scenario in SCENARIOS)
