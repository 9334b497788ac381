"""The workload player stands in for the workload controllers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.api_client import ApiError
from tests.e2e.pods import is_ready, running_status
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import (
    DEPLOYMENT,
    FLEET,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    SWARM,
    WorkloadKind,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.control_plane import ControlPlane


def pod_names(pods: list[dict[str, Any]]) -> set[str]:
    return {pod["metadata"]["name"] for pod in pods}


async def test_a_deployment_scaled_with_kubectl_is_followed(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    requests = {"cpu": "200m", "memory": "64Mi"}
    manifest = DEPLOYMENT.manifest("web", 2, requests=requests, containers=("app", "proxy"))
    await admin.create(DEPLOYMENT.path(namespace), manifest)
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        await control_plane.kubectl("scale", "deployment/web", "--replicas=5", "-n", namespace)
        await player.settled(5)
        scale = json.loads(await control_plane.kubectl("get", "--raw", DEPLOYMENT.path(namespace, "web", "scale")))
        assert scale["spec"] == {"replicas": 5}
        assert scale["status"] == {"replicas": 5, "selector": "app=web"}
        pods = await player.pods()
        assert all(is_ready(pod) for pod in pods)
        assert all(
            container["resources"]["requests"] == requests for pod in pods for container in pod["spec"]["containers"]
        )
        waited = await control_plane.kubectl(
            "wait", "--for=condition=Ready", "pods", "-l=app=web", "-n", namespace, "--timeout=5s"
        )
        assert waited.count("condition met") == 5
        await control_plane.kubectl("scale", "deployment/web", "--replicas=0", "-n", namespace)
        await player.settled(0)
        assert await player.pods() == []


@pytest.mark.parametrize(
    ("kind", "selector"),
    [
        (DEPLOYMENT, "app=web"),
        (REPLICA_SET, "app=web"),
        (STATEFUL_SET, "app=web"),
        (REPLICATION_CONTROLLER, "app=web"),
        (FLEET, "app=web"),
        (SWARM, None),
    ],
    ids=lambda value: value.kind if isinstance(value, WorkloadKind) else "",
)
async def test_every_kind_scales_through_its_subresource(
    control_plane: ControlPlane, namespace: str, kind: WorkloadKind, selector: str | None
) -> None:
    admin = control_plane.admin
    await admin.create(kind.path(namespace), kind.manifest("web", 1))
    async with WorkloadPlayer(admin, kind, namespace, "web") as player:
        await player.settled(1)
        path = kind.path(namespace, "web", "scale")
        scale = await admin.get(path)
        scale["spec"]["replicas"] = 3
        await admin.replace(path, scale)
        await player.settled(3)
        scale = await admin.get(path)
        assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
        assert scale["status"]["replicas"] == 3
        assert scale["status"].get("selector") == selector

        async def all_ready() -> bool:
            status = (await admin.get(kind.path(namespace, "web")))["status"]
            return bool(status.get("readyReplicas", 0) == 3)

        await wait_until(all_ready, "the status to count ready pods")
        assert len(await player.pods()) == 3


async def test_a_stateful_set_keeps_its_first_pods(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    await admin.create(STATEFUL_SET.path(namespace), STATEFUL_SET.manifest("db", 3))
    async with WorkloadPlayer(admin, STATEFUL_SET, namespace, "db") as player:
        await player.settled(3)
        await admin.delete(f"/api/v1/namespaces/{namespace}/pods/db-0", {"gracePeriodSeconds": "0"})
        await admin.patch(STATEFUL_SET.path(namespace, "db", "scale"), {"spec": {"replicas": 2}})
        await player.settled(2)
        assert pod_names(await player.pods()) == {"db-0", "db-1"}


async def test_unready_pods_go_first_and_lost_ones_are_replaced(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 4))
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(4)
        pods_path = f"/api/v1/namespaces/{namespace}/pods"
        # Taken from the end that would be kept: the oldest pods.
        pods = sorted(await player.pods(), key=lambda pod: pod["metadata"]["name"])
        pods.sort(key=lambda pod: pod["metadata"]["creationTimestamp"], reverse=True)
        *others, lost, unready = pods
        name = unready["metadata"]["name"]
        status = running_status(unready, ready=False)
        await admin.patch(f"{pods_path}/{name}/status", {"status": status})
        await admin.delete(f"{pods_path}/{lost['metadata']['name']}", {"gracePeriodSeconds": "0"})

        async def replaced() -> list[dict[str, Any]]:
            status = (await admin.get(DEPLOYMENT.path(namespace, "web")))["status"]
            now = await player.pods()
            counted = (status["replicas"], status["readyReplicas"]) == (4, 3) == (len(now), sum(map(is_ready, now)))
            return now if counted and pod_names([lost]).isdisjoint(pod_names(now)) else []

        before = pod_names(await wait_until(replaced, "a new pod, and one of four to count as unready"))
        await admin.patch(DEPLOYMENT.path(namespace, "web", "scale"), {"spec": {"replicas": 3}})
        await player.settled(3)
        assert pod_names(await player.pods()) == before - {name}
        assert pod_names(others) <= before


async def test_the_test_decides_which_pods_start(control_plane: ControlPlane, namespace: str) -> None:
    def pending(pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
        return running_status(pod, ready=False) if pod["metadata"]["name"].endswith("-0") else None

    admin = control_plane.admin
    await admin.create(STATEFUL_SET.path(namespace), STATEFUL_SET.manifest("db", 2))
    async with WorkloadPlayer(admin, STATEFUL_SET, namespace, "db", pod_status=pending) as player:
        await player.settled(2)
        phases = {pod["metadata"]["name"]: pod["status"]["phase"] for pod in await player.pods()}
        assert phases == {"db-0": "Running", "db-1": "Pending"}
        assert not any(is_ready(pod) for pod in await player.pods())


async def test_the_player_survives_a_restart_of_the_api_server(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    async with WorkloadPlayer(admin, FLEET, namespace, "late") as player:
        await control_plane.restart_api_server()
        await admin.create(FLEET.path(namespace), FLEET.manifest("late", 2))
        await player.settled(2)
        await admin.patch(FLEET.path(namespace, "late", "scale"), {"spec": {"replicas": 1}})
        await player.settled(1)


async def test_a_player_that_cannot_do_its_work_says_why(control_plane: ControlPlane, namespace: str) -> None:
    admin = control_plane.admin
    manifest = FLEET.manifest("broken", 1, labels={"app": "no spaces allowed"})
    await admin.create(FLEET.path(namespace), manifest)
    async with WorkloadPlayer(admin, FLEET, namespace, "broken") as player:

        async def failed() -> bool:
            return isinstance(player.last_failure, ApiError)

        await wait_until(failed, "the API server to refuse the pods")
        with pytest.raises(TimeoutError, match=r"422 Invalid.*no spaces allowed"):
            await player.settled(1, timeout_s=0.2)
