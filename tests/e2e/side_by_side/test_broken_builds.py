"""The comparison notices every controller that is broken on purpose."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tests.e2e.side_by_side.broken.builds import BUILDS, ZERO_BUILDS
from tests.e2e.side_by_side.compare import compare
from tests.e2e.side_by_side.runner import ATTEMPTS, ZERO_GATES, record_broken, record_reference
from tests.e2e.side_by_side.scenarios import SCENARIOS, ZERO_SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pytest

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.side_by_side.broken.builds import Build
    from tests.e2e.side_by_side.compare import Observed, Recording
    from tests.e2e.side_by_side.findings import Findings
    from tests.e2e.side_by_side.scenario import Scenario


# A name that no build has: there the same process decides as the product does.
_WHOLE = "whole"


async def test_every_broken_build_is_caught(
    ours: tuple[tuple[ControlPlane, MetricsServer], tuple[ControlPlane, MetricsServer]],
    reference: dict[str, Sequence[Observed]],
    findings: Findings,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    everything = [(BUILDS, SCENARIOS, {}, ours[0]), (ZERO_BUILDS, ZERO_SCENARIOS, ZERO_GATES, ours[1])]
    caught: dict[str, list[str]] = {build.name: [] for build in (*BUILDS, *ZERO_BUILDS)}
    doubtful: set[str] | None = None
    unlike: set[str] = set()
    for attempt in range(ATTEMPTS):
        if unlike:
            # It may be the reference that had a slow moment.
            reference |= await record_reference(tmp_path_factory, unlike)
        halves = await asyncio.gather(
            *(
                record_broken(*plane, _parts(builds, scenarios, doubtful), f"broken-builds-{attempt}", gates)
                for builds, scenarios, gates, plane in everything
            )
        )
        doubtful, unlike = set(), set()
        for recordings, rules in halves:
            whole = recordings.pop(_WHOLE)
            assert _WHOLE not in rules
            # Without this a difference would prove nothing: it might come from how builds are run.
            strange = compare(_same(reference, whole), whole)
            print("whole, but unlike the reference:", *strange, sep="\n    ")  # noqa: T201
            unlike |= {found.scenario for found in strange}
            for build, recording in recordings.items():
                differences = compare(_same(reference, recording), recording)
                where = {f"{found.scenario} / {found.step}": None for found in differences}
                caught[build] = [*where, *([f"its requests: {rules[build]}"] if build in rules else [])]
                if not caught[build] or unlike & recording.keys():
                    doubtful.add(build)
        if not doubtful:
            break
    for build, noticed in caught.items():
        print(f"{build}:", *noticed, sep="\n    ")  # noqa: T201  # what noticed it, with -s
    assert doubtful == set(), "not caught, or what caught it cannot be trusted"
    findings.caught = caught


def _same(reference: Recording, other: Recording) -> Recording:
    """Of the reference the scenarios that the other has."""
    return {name: reference[name] for name in other}


def _parts(builds: Sequence[Build], scenarios: Iterable[Scenario], names: set[str] | None) -> dict[str, list[Scenario]]:
    """By build its scenarios, and all of them without a build; only of those builds, if some are named."""
    by_name = {scenario.name: scenario for scenario in scenarios}
    played = [build for build in builds if names is None or build.name in names]
    telling = dict.fromkeys(name for build in played for name in build.scenarios)
    parts = {_WHOLE: [by_name[name] for name in telling]}
    return parts | {build.name: [by_name[name] for name in build.scenarios] for build in played}
