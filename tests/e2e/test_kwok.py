"""KWOK plays pods as their annotations tell, and only those of its nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest_asyncio

from tests.e2e.control_plane import ControlPlane
from tests.e2e.kwok import Kwok, on_node, roll_out
from tests.e2e.kwok_stages import READY, READY_AFTER, STARTS_AFTER
from tests.e2e.namespaces import create_namespace
from tests.e2e.pods import is_ready
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import pytest

_CONTROLLERS = ["deployment-controller", "replicaset-controller", "namespace-controller", "serviceaccount-controller"]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plane(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ControlPlane]:
    """A control plane with real Deployments on two nodes."""
    started = ControlPlane.start(tmp_path_factory.mktemp("kwok"), controllers=_CONTROLLERS)
    async with started as plane, Kwok.start(plane, nodes=2):
        yield plane


async def deploy(plane: ControlPlane, annotations: Mapping[str, str], node: str = "kwok-0") -> str:
    """The namespace of a new Deployment ``web`` of two pods."""
    namespace = await create_namespace(plane.admin, "played")
    target = DEPLOYMENT.manifest("web", 2, requests={"cpu": "200m"})
    await plane.admin.create(DEPLOYMENT.path(namespace), on_node(target, annotations, node))
    return namespace


async def pods(plane: ControlPlane, namespace: str) -> list[dict[str, Any]]:
    return list((await plane.admin.get(f"/api/v1/namespaces/{namespace}/pods"))["items"])


async def become(
    plane: ControlPlane, namespace: str, what: str, holds: Callable[[list[dict[str, Any]]], bool]
) -> list[dict[str, Any]]:
    """The pods once something holds of them."""

    async def check() -> list[dict[str, Any]] | None:
        found = await pods(plane, namespace)
        return found if holds(found) else None

    found = await wait_until(check, what)
    assert found is not None
    return found


def all_ready(found: list[dict[str, Any]]) -> bool:
    return len(found) == 2 and all(map(is_ready, found))


def named(found: list[dict[str, Any]]) -> set[str]:
    return {pod["metadata"]["name"] for pod in found}


def condition(pod: Mapping[str, Any], name: str) -> str:
    return str(next(one["lastTransitionTime"] for one in pod["status"]["conditions"] if one["type"] == name))


async def test_pods_start_and_get_ready_when_their_annotations_say(plane: ControlPlane) -> None:
    namespace = await deploy(plane, {STARTS_AFTER: "2s", READY_AFTER: "3s"}, "kwok-1")
    for pod in await become(plane, namespace, "both pods to be ready", all_ready):
        assert pod["spec"]["nodeName"] == "kwok-1"
        created, started = pod["metadata"]["creationTimestamp"], pod["status"]["startTime"]
        # Whole seconds, written as text that sorts: at least one of them passed where two or three were asked for.
        assert created < started == condition(pod, "Initialized") < condition(pod, "Ready")
        assert [container["ready"] for container in pod["status"]["containerStatuses"]] == [True]


async def test_a_revision_that_never_gets_ready_stops_its_rollout_until_a_better_one_comes(plane: ControlPlane) -> None:
    namespace = await deploy(plane, {})
    path = DEPLOYMENT.path(namespace, "web")
    first = named(await become(plane, namespace, "both pods to be ready", all_ready))

    await roll_out(plane.admin, path, {READY: "false"})
    stuck = await become(
        plane,
        namespace,
        "one pod more, running and unready",
        lambda found: [pod["status"]["phase"] for pod in found] == ["Running"] * 3,
    )
    assert named([pod for pod in stuck if is_ready(pod)]) == first

    await roll_out(plane.admin, path, {READY: None, READY_AFTER: "1s"})
    await become(
        plane, namespace, "two ready pods in their places", lambda found: all_ready(found) and not named(found) & first
    )
    target = await plane.admin.get(path)
    assert target["status"]["updatedReplicas"] == 2


async def test_a_running_pod_loses_and_regains_readiness(plane: ControlPlane) -> None:
    namespace = await deploy(plane, {})
    first, _ = await become(plane, namespace, "both pods to be ready", all_ready)
    path = f"/api/v1/namespaces/{namespace}/pods/{first['metadata']['name']}"
    await plane.admin.patch(path, {"metadata": {"annotations": {READY: "false"}}})
    await become(plane, namespace, "one of them to be unready", lambda found: sum(map(is_ready, found)) == 1)
    await plane.admin.patch(path, {"metadata": {"annotations": {READY: None}}})
    await become(plane, namespace, "both pods to be ready again", all_ready)


async def test_pods_of_other_nodes_are_left_alone(plane: ControlPlane) -> None:
    elsewhere = await deploy(plane, {}, "on-paper")
    here = await deploy(plane, {})
    await become(plane, here, "both pods to be ready", all_ready)
    found = await become(plane, elsewhere, "both pods to be there", lambda found: len(found) == 2)
    assert [pod["status"]["phase"] for pod in found] == ["Pending", "Pending"]


async def test_a_namespace_goes_with_its_pods(plane: ControlPlane) -> None:
    namespace = await deploy(plane, {})
    await become(plane, namespace, "both pods to be ready", all_ready)
    await plane.admin.delete(f"/api/v1/namespaces/{namespace}")

    async def gone() -> bool:
        listed = await plane.admin.get("/api/v1/namespaces")
        return namespace not in {one["metadata"]["name"] for one in listed["items"]}

    await wait_until(gone, f"namespace {namespace} to be gone", timeout_s=40.0)
