"""Fifty moving HPAs and two or three controllers under faults: whatever fails, what must hold holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.e2e.faults.catalogue import BY_NAME, selection
from tests.e2e.faults.invariants import flat
from tests.e2e.faults.kills import AT_ANY_MOMENT, kill_again_and_again, moments
from tests.e2e.faults.pace import BRISK
from tests.e2e.faults.scene import Scene

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")

_SAID = os.environ.get("FAULTS_SEED") or "20261"
if not _SAID.isdecimal():
    raise pytest.UsageError(f"FAULTS_SEED is {_SAID!r}, and must be a whole number such as 7")
SEED = int(_SAID)
SELECTION = selection(SEED)
HPAS = 50


@pytest.mark.parametrize(
    "seed", [SEED], ids=[f"seed {SEED}, {SELECTION.replicas} × {', '.join(one.name for one in SELECTION.faults)}"]
)
async def test_what_must_hold_holds_under_faults(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer, seed: int
) -> None:
    await control_plane.ensure_running()
    async with Scene.start(
        control_plane, registered_metrics_server, "faults", hpas=HPAS, replicas=SELECTION.replicas, seed=seed
    ) as scene:
        costs = [await scene.costs()]
        for fault in SELECTION.faults:
            await fault.befall(scene)
            costs.append(await scene.costs())
        await scene.world.converges(timeout_s=60.0)
        costs.append(await scene.costs())
        assert [*await scene.violations(), *flat(costs)] == []
        assert scene.scaled() > HPAS


@pytest.mark.parametrize("seed", [SEED], ids=[f"seed {SEED}"])
async def test_what_must_hold_holds_for_a_controller_that_is_killed_again_and_again(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer, seed: int
) -> None:
    await control_plane.ensure_running()
    start = Scene.start(
        control_plane, registered_metrics_server, "killed", hpas=HPAS, replicas=1, seed=seed, pace=BRISK
    )
    async with start as scene:
        all_moments = moments("killed")
        tally = await kill_again_and_again(scene, all_moments, len(all_moments), seed)
        assert set(tally.kills) == {moment.name for moment in all_moments}, "each moment was met"
        assert tally.judged >= len(all_moments) // 2
        await scene.world.converges(timeout_s=60.0)
        assert await scene.violations() == []


@pytest.mark.parametrize(
    ("broken", "replicas", "fault", "rules"),
    [
        ("writes-without-lease", 2, "leader-paused", {"fenced"}),
        ("decides-on-dead-caches", 1, "watches-refused", {"watched"}),
        ("shrinks-on-failure", 1, "guard-down", {"held", "replayed"}),
        ("trusts-the-scale-cache", 1, "conflicts", {"fresh"}),
        ("waits-minutes-for-watches", 1, "watches-refused", {"resumed"}),
    ],
)
async def test_the_checker_finds_what_a_broken_build_does(
    control_plane: ControlPlane,
    registered_metrics_server: MetricsServer,
    broken: str,
    replicas: int,
    fault: str,
    rules: set[str],
) -> None:
    await control_plane.ensure_running()
    async with _broken(control_plane, registered_metrics_server, broken, replicas) as scene:
        await BY_NAME[fault].befall(scene)
        found = await scene.violations()
    assert rules <= {violation.rule for violation in found}


async def test_the_checker_finds_a_build_that_works_late_after_it_was_killed(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer
) -> None:
    await control_plane.ensure_running()
    async with _broken(control_plane, registered_metrics_server, "begins-late") as scene:
        await kill_again_and_again(scene, [AT_ANY_MOMENT], 1, SEED)
        found = await scene.violations()
    assert {violation.rule for violation in found} == {"resumed"}


async def test_the_checker_finds_all_that_a_build_leaks(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer
) -> None:
    await control_plane.ensure_running()
    async with _broken(control_plane, registered_metrics_server, "leaks-with-every-sync") as scene:
        costs = [await scene.costs()]
        await BY_NAME["too-many-requests"].befall(scene)
        costs.append(await scene.costs())
    grown = [violation.evidence.split()[0] for violation in flat(costs)]
    assert grown == ["memory_bytes", "descriptors", "tasks"]


def _broken(
    plane: ControlPlane, server: MetricsServer, build: str, replicas: int = 1
) -> AbstractAsyncContextManager[Scene]:
    return Scene.start(plane, server, build, hpas=20, replicas=replicas, seed=SEED, broken=build, pace=BRISK)
