"""Policies and windows over restarts: with --keep-history they hold; the built-in controller forgets them."""

from __future__ import annotations

import asyncio
import datetime as dt
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from tests.e2e import autoscalers, roles
from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess, recordings_of
from tests.e2e.metrics_server import MetricsServer
from tests.e2e.metrics_values import Series
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.permissions import rules
from tests.e2e.roles import LEASE_NAMESPACE
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT
from tests.recording.replaying import check_unchanged

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.e2e.api_client import ApiClient

LEASE = "keeping"
FLAGS = (
    "--leader-elect-lease-duration=3s",
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-retry-period=500ms",
    f"--leader-elect-resource-name={LEASE}",
    "--keep-history",
    "--keep-history-interval=1s",
)
# Longer than the test: within it, two replicas may be added once.
TWO_IN_LONG = {
    "scaleUp": {
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Pods", "value": 2, "periodSeconds": 1800}],
    }
}
WINDOW_S = 25
LIVES_MAX = 20
HELD = {"scaleDown": {"stabilizationWindowSeconds": WINDOW_S}}
HISTORIES = f"/api/v1/namespaces/{LEASE_NAMESPACE}/configmaps"


async def allow_keeping(admin: ApiClient) -> None:
    """Controllers may do what the chart allows with keepHistory."""
    role = "e2e:histories"
    await roles.define_cluster_role(admin, role, rules("own", "keepsHistory"))
    subject = roles.group(roles.CONTROLLERS)
    await roles.bind_role(admin, LEASE_NAMESPACE, role, subject)
    for verb in ("create", "patch"):
        await roles.wait_allowed(admin, subject, verb, "configmaps", LEASE_NAMESPACE)


async def create(admin: ApiClient, server: MetricsServer, namespace: str) -> None:
    """One HPA that wants ten replicas and has two, and one that has six, needs them, and will soon need one."""
    server.values.set_external(namespace, "rising", Series("100"))
    server.values.set_external(namespace, "falling", Series("60"))
    for name, replicas, behavior in (("rising", 2, TWO_IN_LONG), ("falling", 6, HELD)):
        await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest(name, replicas))
        metric = autoscalers.external(name, averageValue="10")
        target = autoscalers.reference(DEPLOYMENT, name)
        await admin.create(
            autoscalers.path(namespace),
            autoscalers.manifest(name, target, [metric], maximum=100, behavior=behavior),
        )


async def replicas(admin: ApiClient, namespace: str, name: str) -> int:
    return int((await admin.get(DEPLOYMENT.path(namespace, name)))["spec"]["replicas"])


async def reached(admin: ApiClient, namespace: str, name: str, count: int, timeout_s: float = 20.0) -> None:
    async def there() -> bool:
        return await replicas(admin, namespace, name) == count

    await wait_until(there, f"{name} to have {count} replicas", timeout_s=timeout_s)


async def test_policies_and_windows_hold_over_kills_and_stops(
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # controllers need their rights
    metrics_server: MetricsServer,
    namespace: str,
) -> None:
    admin = control_plane.admin
    await allow_keeping(admin)
    await create(admin, metrics_server, namespace)
    # The load falls after the last kill, which begins a window of its own; then lives follow until the window is over.
    killed, fallen = (1, 2), 3
    start = control_plane.audit_log.position()
    lives: list[ControllerProcess] = []
    for number in range(LIVES_MAX):
        name = f"keeps-{number}"
        async with ControllerProcess.start(control_plane, name, *FLAGS) as controller:
            await controller.logged("leading", lease=f"{LEASE_NAMESPACE}/{LEASE}")
            if number == 0:
                await reached(admin, namespace, "rising", 4)
            if number == fallen:
                await controller.synced(4)
                metrics_server.values.set_external(namespace, "falling", Series("10"))
                fell = dt.datetime.now(dt.UTC)  # noqa: TID251  # as the API server dates requests
            await controller.synced(8)
            if number in killed:
                controller.process.kill()
            else:
                await controller.stop()
            lives.append(controller)
        check_unchanged(recordings_of(control_plane, name))
        assert await replicas(admin, namespace, "rising") == 4, f"a policy is exceeded after {number + 1} lives"
        if await replicas(admin, namespace, "falling") == 1:
            break
    [down] = [
        request
        for controller in lives
        for request in controller.requests(start)
        if request.resource == "deployments/scale" and request.writes and request.accepted and request.name == "falling"
    ]
    waited_s = (down.received - fell).total_seconds()
    assert waited_s >= WINDOW_S - 2, "the window is exceeded"
    assert len(lives) > fallen + 2, "and it ends, however often the controller is restarted"
    taken = [line["hpas"] for controller in lives for line in controller.logs("kept histories are read")]
    assert taken[0] == 0
    assert min(taken[1:]) >= 2
    kept = await admin.get(f"{HISTORIES}/{LEASE}-history-0")
    assert set(kept["binaryData"]) == {"history"}


@asynccontextmanager
async def builtin_plane(folder: Path) -> AsyncIterator[tuple[ControlPlane, MetricsServer]]:
    """A control plane in which the built-in controller scales."""
    flags = ("--horizontal-pod-autoscaler-sync-period=1s",)
    controllers = ["horizontal-pod-autoscaler-controller"]
    started = ControlPlane.start(folder, controllers=controllers, controller_manager_flags=flags)
    async with started as plane, MetricsServer.start(plane.files) as server:
        await register_metrics_apis(plane.admin, server.port, plane.files.authority)
        yield plane, server


async def test_the_built_in_controller_forgets(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with builtin_plane(tmp_path_factory.mktemp("forgetful")) as (plane, server):
        admin, builtin = plane.admin, plane.controller_manager
        assert builtin is not None
        namespace = await create_namespace(admin, "forgets")
        await create(admin, server, namespace)
        # Every start begins anew: two more each time, of two that are allowed in half an hour.
        for count, end in ((4, "stop"), (6, "kill"), (8, "stop")):
            await reached(admin, namespace, "rising", count)
            await asyncio.sleep(3)
            assert await replicas(admin, namespace, "rising") == count, "within a life the policy holds"
            if end == "kill":
                builtin.kill()
            else:
                await builtin.stop()
            await plane.start_controller_manager()
        await reached(admin, namespace, "rising", 10)
        await delete_namespace(admin, namespace)
