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


# A name that no build has: there the same process decides as the product does.
_WHOLE = "whole"


@pytest.mark.usefixtures("controllers_may_control")
async def test_every_broken_build_is_caught(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer, reference: Recording
) -> None:
    by_name = {scenario.name: scenario for scenario in SCENARIOS}
    telling = dict.fromkeys(name for build in BUILDS for name in build.scenarios)
    parts = {_WHOLE: [by_name[name] for name in telling]}
    parts |= {build.name: [by_name[name] for name in build.scenarios] for build in BUILDS}
    program = (sys.executable, "-m", "tests.e2e.side_by_side.broken")
    recordings = await record_broken(control_plane, registered_metrics_server, parts, "broken-builds", program)

    # Without this a difference would prove nothing: it might come from how builds are run.
    assert not compare({name: reference[name] for name in telling}, recordings.pop(_WHOLE))

    caught = {
        build: compare({name: reference[name] for name in recording}, recording)
        for build, recording in recordings.items()
    }
    for build, differences in caught.items():
        where = sorted({f"{found.scenario} / {found.step}: {found.field}" for found in differences})
        print(f"{build}:", *where, sep="\n    ")  # noqa: T201  # what noticed it, with -s
    assert [build for build, differences in caught.items() if not differences] == []
    assert len(caught) == len(BUILDS)
