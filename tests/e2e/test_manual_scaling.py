"""A person who scales by hand, in whatever moment, is seen before the controller writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.accounts import controller_account
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.holding_proxy import HoldingProxy
from tests.e2e.metrics_values import Series
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.audited import Audited
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

NAME = "held-controller"
SCALE_END = "/deployments/web/scale"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def proxy(control_plane: ControlPlane) -> AsyncIterator[HoldingProxy]:
    await control_plane.ensure_running()
    async with HoldingProxy.start(control_plane) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def held(
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # it defines the roles
    proxy: HoldingProxy,
) -> AsyncIterator[ControllerProcess]:
    """A controller whose requests go through the proxy."""
    account = await controller_account(control_plane, NAME, proxy.url)
    quick = "--horizontal-pod-autoscaler-sync-period=500ms"
    start = ControllerProcess.start(control_plane, NAME, quick, kubeconfig=account.kubeconfig, user=account.user)
    async with start as controller:
        yield controller


@pytest.mark.parametrize("by_hand", [0, 6])
async def test_a_manual_scale_is_never_undone_unseen(
    control_plane: ControlPlane,
    metrics_server: MetricsServer,
    namespace: str,
    proxy: HoldingProxy,
    held: ControllerProcess,
    by_hand: int,
) -> None:
    admin = control_plane.admin
    metrics_server.values.set_external(namespace, "queue", Series("20"))
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        metrics = [autoscalers.external("queue", averageValue="10")]
        manifest = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), metrics)
        await admin.create(autoscalers.path(namespace), manifest)
        # From the second sync on the scale comes from the cache, and a write is the first request about it.
        await held.synced(2)
        start = control_plane.audit_log.position()
        with proxy.holding("PUT", f"/namespaces/{namespace}{SCALE_END}") as hold:
            metrics_server.values.set_external(namespace, "queue", Series("40"))
            await hold.caught()
            await control_plane.kubectl("scale", "deployment/web", f"--replicas={by_hand}", "-n", namespace)
        # Whoever scales to zero pauses the HPA; anybody else is overruled, but by a decision that knows of it.
        replicas, desired = (0, 0) if by_hand == 0 else (4, 4)
        await player.settled(replicas)

        async def concluded() -> bool:
            status = (await admin.get(autoscalers.path(namespace, "web")))["status"]
            return (status.get("currentReplicas", 0), status["desiredReplicas"]) == (replicas, desired)

        await wait_until(concluded, "the HPA to have seen it")
        # Nothing more follows.
        await held.synced(2)
        await player.settled(replicas)
        found = await admin.get(autoscalers.path(namespace, "web"))
    expected = ("False", "ScalingDisabled") if by_hand == 0 else ("True", "ValidMetricFound")
    assert autoscalers.conditions(found)["ScalingActive"] == expected
    requests = [request for request in held.requests(start) if request.about("deployments/scale", name="web")]
    requests = [request for request in requests if request.namespace == namespace]
    accepted = [request for request in requests if request.writes and request.accepted]
    assert len(accepted) == (0 if by_hand == 0 else 1)
    assert all(saw(requests, write, by_hand) for write in accepted)
    assert next(request.code for request in requests) == 409, "the held write came too late"


def saw(requests: list[Audited], write: Audited, replicas: int) -> bool:
    """Whether what was written had been read before, and showed so many replicas."""
    version = write.sent["metadata"]["resourceVersion"]
    return any(
        read.verb == "get"
        and read.answered <= write.received
        and read.got["metadata"]["resourceVersion"] == version
        and read.got["spec"].get("replicas", 0) == replicas
        for read in requests
    )
