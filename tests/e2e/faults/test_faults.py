"""Fifty moving HPAs and two controllers under faults: whatever fails, what must hold holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.faults.catalogue import BY_NAME, FAULTS
from tests.e2e.faults.kills import kill_again_and_again, moments
from tests.e2e.faults.scene import SHORT_LEASE, Scene

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")

SEED = 20_261
HPAS = 50
# One of each family; `make e2e-long` has all of them, more than once.
SELECTED = ("cut-connections", "server-errors", "watches-refused", "guard-lies", "leader-paused", "api-server-killed")


async def test_what_must_hold_holds_under_faults(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer
) -> None:
    assert set(SELECTED) <= {fault.name for fault in FAULTS}
    await control_plane.ensure_running()
    async with Scene.start(
        control_plane, registered_metrics_server, "faults", hpas=HPAS, replicas=2, seed=SEED
    ) as scene:
        for name in SELECTED:
            await BY_NAME[name].befall(scene)
        await scene.world.converges(timeout_s=60.0)
        assert await scene.violations() == []
        assert scene.scaled() > HPAS


async def test_what_must_hold_holds_for_a_controller_that_is_killed_again_and_again(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer
) -> None:
    await control_plane.ensure_running()
    start = Scene.start(
        control_plane, registered_metrics_server, "killed", hpas=HPAS, replicas=1, seed=SEED, flags=SHORT_LEASE
    )
    async with start as scene:
        tally = await kill_again_and_again(scene, "killed", len(moments("killed")), SEED)
        assert set(tally.kills) == {moment.name for moment in moments("killed")}, "each moment was met"
        await scene.world.converges(timeout_s=60.0)
        assert await scene.violations() == []


@pytest.mark.parametrize(
    ("broken", "fault", "rule"),
    [
        ("writes-without-lease", "leader-paused", "fenced"),
        ("decides-on-dead-caches", "watches-refused", "watched"),
        ("shrinks-on-failure", "guard-down", "held"),
        ("trusts-the-scale-cache", "conflicts", "fresh"),
    ],
)
async def test_the_checker_finds_what_a_broken_build_does(
    control_plane: ControlPlane, registered_metrics_server: MetricsServer, broken: str, fault: str, rule: str
) -> None:
    await control_plane.ensure_running()
    async with Scene.start(
        control_plane, registered_metrics_server, broken, hpas=20, replicas=2, seed=SEED, broken=broken
    ) as scene:
        await BY_NAME[fault].befall(scene)
        found = await scene.violations()
    assert rule in {violation.rule for violation in found}
