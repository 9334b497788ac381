"""The comparison notices every controller that is broken on purpose."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.e2e.side_by_side.broken.builds import BUILDS, ZERO_BUILDS
from tests.e2e.side_by_side.compare import compare, report
from tests.e2e.side_by_side.runner import ZERO_GATES, record_broken
from tests.e2e.side_by_side.scenarios import SCENARIOS, ZERO_SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.broken.builds import Build
    from tests.e2e.side_by_side.compare import Recording
    from tests.e2e.side_by_side.findings import Findings
    from tests.e2e.side_by_side.scenario import Scenario


# A name that no build has: there the same process decides as the product does.
_WHOLE = "whole"


async def test_every_broken_build_is_caught(
    ours: tuple[tuple[ControlPlane, MetricsServer], tuple[ControlPlane, MetricsServer]],
    reference: Recording,
    findings: Findings,
) -> None:
    plain, zero = ours
    halves = await asyncio.gather(
        record_broken(*plain, _parts(BUILDS, SCENARIOS), "broken-builds"),
        record_broken(*zero, _parts(ZERO_BUILDS, ZERO_SCENARIOS), "broken-builds", ZERO_GATES),
    )
    caught: dict[str, list[str]] = {}
    for recordings, rules in halves:
        # Without this a difference would prove nothing: it might come from how builds are run.
        whole = recordings.pop(_WHOLE)
        assert not compare(_same(reference, whole), whole), report(_same(reference, whole), whole)
        assert _WHOLE not in rules
        for build, recording in recordings.items():
            differences = compare(_same(reference, recording), recording)
            where = {f"{found.scenario} / {found.step}": None for found in differences}
            caught[build] = [*where, *([f"its requests: {rules[build]}"] if build in rules else [])]
            # What noticed it, with -s.
            print(f"{build}:", *caught[build], sep="\n    ")  # noqa: T201
    assert [build for build, where in caught.items() if not where] == []
    assert list(caught) == [build.name for build in (*BUILDS, *ZERO_BUILDS)]
    findings.caught = caught


def _same(reference: Recording, other: Recording) -> Recording:
    """Of the reference the scenarios that the other has."""
    return {name: reference[name] for name in other}


def _parts(builds: Sequence[Build], scenarios: Iterable[Scenario]) -> dict[str, list[Scenario]]:
    """By build its scenarios, and all of them without a build."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    telling = dict.fromkeys(name for build in builds for name in build.scenarios)
    parts = {_WHOLE: [by_name[name] for name in telling]}
    return parts | {build.name: [by_name[name] for name in build.scenarios] for build in builds}
