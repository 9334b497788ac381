"""All scenarios at once under one controller: the built-in one, ours, or a build of ours that is broken."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.audited import RuleBrokenError, check_rules
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.kwok import Kwok
from tests.e2e.metrics_server import MetricsServer
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.roles import SHADOWS, define_controllers, define_shadows
from tests.e2e.side_by_side.scenarios import SCENARIOS, ZERO_SCENARIOS
from tests.e2e.side_by_side.stage import Stage
from tests.e2e.workload_kinds import FLEET, SWARM, create_custom_kind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    import pytest

    from tests.e2e.side_by_side.compare import Observed, Recording
    from tests.e2e.side_by_side.scenario import Scenario

# What makes a Deployment real; the nodes are KWOK's.
_WORKLOADS = ("deployment-controller", "replicaset-controller")

# The gate of ZERO_SCENARIOS.
ZERO_GATES = {"HPAScaleToZero": True}

# Our controller with all broken builds; it finds them, as the tests do, at the root of the project.
BROKEN = (sys.executable, "-m", "tests.e2e.side_by_side.broken")
_ENVIRONMENT = {"PYTHONPATH": str(Path(__file__).parents[3])}

# Long enough that every step held for three periods ends well within, short enough to be waited for.
DOWNSCALE_STABILIZATION_S = 12

# What differs for once is played again: how a busy machine shares out its time differs each time, logic does not.
ATTEMPTS = 3

# What decides, the same for both; all else is the default.
_FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    f"--horizontal-pod-autoscaler-downscale-stabilization={DOWNSCALE_STABILIZATION_S}s",
    # Ends within a scenario; the pods that a test plays itself are older.
    "--horizontal-pod-autoscaler-cpu-initialization-period=15s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=30s",
    "--concurrent-horizontal-pod-autoscaler-syncs=50",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
)


@asynccontextmanager
async def builtin_plane(
    folder: Path, gates: Mapping[str, bool] | None = None
) -> AsyncIterator[tuple[ControlPlane, MetricsServer]]:
    """A control plane of its own in which the built-in controller runs, and the stub of its metrics.

    Deployments are real, with KWOK as their node. gates are feature gates of both Kubernetes programs.
    """
    controllers = ["horizontal-pod-autoscaler-controller", *_WORKLOADS]
    async with _plane(folder, controllers, gates or {}) as made:
        yield made


@asynccontextmanager
async def our_plane(
    folder: Path, gates: Mapping[str, bool] | None = None
) -> AsyncIterator[tuple[ControlPlane, MetricsServer]]:
    """The same without a controller of HPAs, and with the roles for ours."""
    async with _plane(folder, _WORKLOADS, gates or {}) as (plane, server):
        await define_controllers(plane.admin)
        yield plane, server


@asynccontextmanager
async def _plane(
    folder: Path, controllers: Sequence[str], gates: Mapping[str, bool]
) -> AsyncIterator[tuple[ControlPlane, MetricsServer]]:
    started = ControlPlane.start(folder, controllers=controllers, controller_manager_flags=_FLAGS, feature_gates=gates)
    async with started as plane, MetricsServer.start(plane.files) as server, Kwok.start(plane):
        for kind in (FLEET, SWARM):
            await create_custom_kind(plane.admin, kind)
        await register_metrics_apis(plane.admin, server.port, plane.files.authority)
        yield plane, server


async def record_builtin(plane: ControlPlane, server: MetricsServer, scenarios: Sequence[Scenario]) -> Recording:
    """What the controller that runs in the control plane makes of the scenarios."""
    return await _play(plane, server, scenarios)


async def record_reference(
    folders: pytest.TempPathFactory, names: set[str] | None = None
) -> dict[str, Sequence[Observed]]:
    """What the built-in controller makes of all scenarios, or of those named, on control planes of their own."""

    async def record(scenarios: Sequence[Scenario], gates: Mapping[str, bool]) -> Recording:
        if not scenarios:
            return {}
        async with builtin_plane(folders.mktemp("builtin"), gates) as (plane, server):
            return await record_builtin(plane, server, scenarios)

    plain, zero = await asyncio.gather(
        record(chosen(SCENARIOS, names), {}), record(chosen(ZERO_SCENARIOS, names), ZERO_GATES)
    )
    return {**plain, **zero}


def chosen(scenarios: Sequence[Scenario], names: set[str] | None) -> list[Scenario]:
    """Those of the names; all if there are none."""
    return [scenario for scenario in scenarios if names is None or scenario.name in names]


@asynccontextmanager
async def shadowing(
    plane: ControlPlane, name: str, program: Sequence[str | Path] = ()
) -> AsyncIterator[ControllerProcess]:
    """A controller that may only read and compares itself with the one at work. program: another build of it."""
    await define_shadows(plane.admin)
    kubeconfig = plane.kubeconfig_for(name, [SHADOWS])
    async with ControllerProcess.start(
        plane, name, *_FLAGS, "--shadow", kubeconfig=kubeconfig, program=program, environment=_ENVIRONMENT
    ) as controller:
        yield controller


async def record_ours(
    plane: ControlPlane,
    server: MetricsServer,
    scenarios: Sequence[Scenario],
    name: str,
    gates: Mapping[str, bool] | None = None,
) -> Recording:
    """What our controller makes of the scenarios. It must be the only one in the control plane.

    name must be new there.
    """
    async with ControllerProcess.start(plane, name, *_FLAGS, *_gate_flags(gates or {})):
        return await _play(plane, server, scenarios)


def _gate_flags(gates: Mapping[str, bool]) -> list[str]:
    return [f"--feature-gates={name}={str(value).lower()}" for name, value in gates.items()]


async def record_broken(
    plane: ControlPlane,
    server: MetricsServer,
    parts: Mapping[str, Sequence[Scenario]],
    name: str,
    gates: Mapping[str, bool] | None = None,
) -> tuple[dict[str, Recording], dict[str, str]]:
    """By build what it makes of its scenarios, and by build the rule of audited.py that it broke, if any.

    One process plays all at once; it takes the build from the beginning of a namespace's name. Else as record_ours.
    """
    flags = (*_FLAGS, *_gate_flags(gates or {}))
    broken: dict[str, str] = {}
    # That rules are broken is no surprise here; which builds do is looked up request by request.
    with suppress(RuleBrokenError):
        async with ControllerProcess.start(plane, name, *flags, program=BROKEN, environment=_ENVIRONMENT) as controller:
            recordings = await play_parts(plane, server, parts)
            await controller.stop()
            for request in controller.requests():
                try:
                    check_rules([request])
                except RuleBrokenError as error:
                    build = next((part for part in parts if request.namespace.startswith(f"{part}-")), "")
                    broken.setdefault(build, str(error).partition(":")[0])
    return recordings, broken


async def play_parts(
    plane: ControlPlane, server: MetricsServer, parts: Mapping[str, Sequence[Scenario]]
) -> dict[str, Recording]:
    """By part what whoever is at work makes of its scenarios; their namespaces begin with the part's name."""
    async with asyncio.TaskGroup() as group:
        tasks = {part: group.create_task(_play(plane, server, scenarios, part)) for part, scenarios in parts.items()}
    return {part: task.result() for part, task in tasks.items()}


async def _play(
    plane: ControlPlane, server: MetricsServer, scenarios: Sequence[Scenario], prefix: str = "whole"
) -> Recording:
    """All scenarios at once, each in a new namespace that is gone afterwards."""
    names = [await create_namespace(plane.admin, f"{prefix}-{scenario.name}") for scenario in scenarios]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(Stage(plane.admin, server, name, scenario).run())
                for name, scenario in zip(names, scenarios, strict=True)
            ]
    finally:
        for name in names:
            server.forget(name)
            await delete_namespace(plane.admin, name)
    return {scenario.name: task.result() for scenario, task in zip(scenarios, tasks, strict=True)}
