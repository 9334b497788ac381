"""From kubelets to replicas with nothing of ours between: KWOK, metrics-server, aggregation, the controller, pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.api_client import CONNECTION_ERRORS, ApiError
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.kwok import Kwok, on_node
from tests.e2e.kwok_metrics_server import RESOLUTION_S, real_metrics_server
from tests.e2e.kwok_stages import READY_AFTER, USES_CPU
from tests.e2e.namespaces import create_namespace
from tests.e2e.roles import define_controllers
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

# A pod's usage is known after two readings; slow machines get a third, and the controller a few syncs.
_MEASURED_TIMEOUT_S = 3 * RESOLUTION_S + 20.0


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def measured(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[ControlPlane, Kwok]]:
    """A control plane with real Deployments, nodes and metrics, and our controller at work in it."""
    folder = tmp_path_factory.mktemp("measured")
    controllers = [
        "deployment-controller",
        "replicaset-controller",
        "serviceaccount-controller",
        "namespace-controller",
    ]
    async with (
        ControlPlane.start(folder, controllers=controllers) as plane,
        Kwok.start(plane, nodes=2) as kwok,
        real_metrics_server(plane),
    ):
        await define_controllers(plane.admin)
        async with ControllerProcess.start(plane, "measured"):
            yield plane, kwok


async def _workload(
    plane: ControlPlane, prefix: str, annotations: Mapping[str, str], metrics: Sequence[Mapping[str, Any]], node: str
) -> str:
    """The namespace of a Deployment ``web`` of two pods of 200m each and an HPA for it."""
    namespace = await create_namespace(plane.admin, prefix)
    target = DEPLOYMENT.manifest("web", 2, requests={"cpu": "200m", "memory": "128Mi"})
    await plane.admin.create(DEPLOYMENT.path(namespace), on_node(target, annotations, node))
    hpa = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), metrics, maximum=6)
    await plane.admin.create(autoscalers.path(namespace), hpa)
    return namespace


async def _share(plane: ControlPlane, kwok: Kwok, namespace: str, load_milli: int) -> tuple[int, int]:
    """Divides a load among the ready pods. Returns how many pods are wanted and how many are ready."""
    target = await plane.admin.get(DEPLOYMENT.path(namespace, "web"))
    ready = target["status"].get("readyReplicas", 0)
    await kwok.use_cpu(f"{load_milli // max(ready, 1)}m")
    return target["spec"]["replicas"], ready


async def _settled(plane: ControlPlane, kwok: Kwok, namespace: str, load_milli: int, replicas: int) -> dict[str, Any]:
    """The HPA once the load has led to so many ready pods and the status says that there is no more to do."""

    async def reached() -> dict[str, Any] | None:
        if await _share(plane, kwok, namespace, load_milli) != (replicas, replicas):
            return None
        hpa = await plane.admin.get(autoscalers.path(namespace, "web"))
        status = hpa.get("status", {})
        known = autoscalers.conditions(hpa).get("ScalingActive") == ("True", "ValidMetricFound")
        return hpa if known and status.get("currentReplicas") == status.get("desiredReplicas") == replicas else None

    found = await wait_until(
        reached,
        f"{load_milli}m to lead to {replicas} replicas",
        timeout_s=2 * _MEASURED_TIMEOUT_S,
        poll_s=0.5,
        ignoring=(ApiError, *CONNECTION_ERRORS),
    )
    assert found is not None
    return found


async def test_load_on_kubelets_scales_a_deployment_up_and_down(measured: tuple[ControlPlane, Kwok]) -> None:
    plane, kwok = measured
    half = autoscalers.resource("cpu", averageUtilization=50)
    namespace = await _workload(plane, "shared-load", {READY_AFTER: "1s"}, [half], "kwok-0")
    # 100m per pod is the target: 200m are for two pods, 400m for four, 100m for one.
    hpa = await _settled(plane, kwok, namespace, 200, 2)
    assert hpa["status"]["currentMetrics"][0]["resource"]["name"] == "cpu"
    await _settled(plane, kwok, namespace, 400, 4)
    hpa = await _settled(plane, kwok, namespace, 100, 1)
    told = [event["message"] for event in await autoscalers.events_of(plane.admin, namespace, "web")]
    assert any(text.startswith("New size: 4; reason: cpu resource utilization") for text in told)
    assert any(text.startswith("New size: 1; reason: All metrics below target") for text in told)


async def test_usage_of_a_container_and_memory_are_what_kubelets_measure(
    measured: tuple[ControlPlane, Kwok],
) -> None:
    plane, _ = measured
    metrics = [
        autoscalers.container_resource("app", "cpu", averageValue="100m"),
        autoscalers.resource("memory", averageUtilization=50),
    ]
    namespace = await _workload(plane, "fixed-usage", {USES_CPU: "100m"}, metrics, "kwok-1")

    async def measured_both() -> dict[str, Any] | None:
        hpa = await plane.admin.get(autoscalers.path(namespace, "web"))
        status = hpa.get("status", {})
        return (
            hpa if len([one for one in status.get("currentMetrics") or () if one.get("type")]) == len(metrics) else None
        )

    hpa = await wait_until(measured_both, "both metrics to be known", timeout_s=_MEASURED_TIMEOUT_S, poll_s=0.5)
    assert hpa is not None
    container, memory = hpa["status"]["currentMetrics"]
    milli = container["containerResource"]["current"]["averageValue"]
    assert abs(int(milli.removesuffix("m")) - 100) <= 5, milli
    assert memory["resource"]["current"] == {"averageUtilization": 50, "averageValue": "64Mi"}
    assert (await plane.admin.get(DEPLOYMENT.path(namespace, "web")))["spec"]["replicas"] == 2
    assert autoscalers.conditions(hpa)["ScalingActive"] == ("True", "ValidMetricFound")


async def test_the_metrics_are_of_metrics_server_and_reached_as_a_user(measured: tuple[ControlPlane, Kwok]) -> None:
    plane, _ = measured
    nodes = await plane.admin.get("/apis/metrics.k8s.io/v1beta1/nodes")
    assert {node["metadata"]["name"] for node in nodes["items"]} == {"kwok-0", "kwok-1"}
    stranger = plane.client(plane.credential_for("stranger", ["guests"]))
    with pytest.raises(ApiError, match='User "stranger" cannot list resource "pods"') as refused:
        await stranger.get("/apis/metrics.k8s.io/v1beta1/pods")
    assert refused.value.status == 403
