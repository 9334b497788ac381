"""The comparison notices every controller that is broken on purpose."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.e2e.side_by_side.broken.builds import BUILDS
from tests.e2e.side_by_side.compare import compare
from tests.e2e.side_by_side.runner import record_broken
from tests.e2e.side_by_side.scenarios import SCENARIOS

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.compare import Recording


@pytest.mark.usefixtures("controllers_may_control")
async def test_every_broken_build_is_caught(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer, reference: Recording
) -> None:
    by_name = {scenario.name: scenario for scenario in SCENARIOS}
    parts = {build.name: [by_name[name] for name in build.scenarios] for build in BUILDS}
    program = (sys.executable, "-m", "tests.e2e.side_by_side.broken")
    recordings = await record_broken(control_plane, registered_metrics_server, parts, "broken-builds", program)
    for build in BUILDS:
        expected = {name: reference[name] for name in build.scenarios}
        found = compare(expected, recordings[build.name])
        where = {f"{difference.scenario} / {difference.step}": difference.field for difference in found}
        print(f"{build.name:24} {len(found):3} differences: {where}")  # noqa: T201  # what noticed it, with -s
    overlooked = [
        build.name
        for build in BUILDS
        if not compare({name: reference[name] for name in build.scenarios}, recordings[build.name])
    ]
    assert not overlooked
