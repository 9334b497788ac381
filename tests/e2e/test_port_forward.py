"""A controller in a pod is asked through kube-apiserver and the kubelet's own port-forwarding, which KWOK serves."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from controller.cli.main import main
from controller.clock import SystemClock
from controller.explain.answer import PATH
from controller.kube.connection import Connection
from controller.kube.kubeconfig import load
from controller.kube.port_forward import Door, get
from controller.ports import ApiError
from controller.telemetry.server import Listener
from tests.cli.explain_cluster import page
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kwok import Kwok, on_node
from tests.e2e.namespaces import create_namespace
from tests.e2e.pods import is_ready
from tests.e2e.roles import bind_cluster_role, define_cluster_role, user
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

_CONTROLLERS = ["deployment-controller", "replicaset-controller", "namespace-controller", "serviceaccount-controller"]
_ROLE = "e2e:asks-controllers"
_RULES = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
]
_LEASES = "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def listener() -> AsyncIterator[Listener]:
    """What the pod's introspection port leads to."""
    listening = Listener("127.0.0.1:0", {PATH: page()})
    await listening.start()
    yield listening
    await listening.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def plane(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> AsyncIterator[ControlPlane]:
    """A control plane with a node that forwards port 8082 of every pod, and no other one."""
    target = {"address": "127.0.0.1", "port": listener.port}
    forward = {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "ClusterPortForward",
        "metadata": {"name": "introspection"},
        "spec": {"forwards": [{"ports": [8082], "target": target}]},
    }
    started = ControlPlane.start(tmp_path_factory.mktemp("port-forward"), controllers=_CONTROLLERS)
    async with started as plane, Kwok.start(plane, further=[forward]):
        await define_cluster_role(plane.admin, _ROLE, _RULES)
        await bind_cluster_role(plane.admin, _ROLE, user("asker"))
        yield plane


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def holder(plane: ControlPlane) -> str:
    """The pod that holds the Lease, as a controller in it would."""
    namespace = await create_namespace(plane.admin, "controlling")
    await plane.admin.create(DEPLOYMENT.path(namespace), on_node(DEPLOYMENT.manifest("hpa-controller", 1), {}))

    async def running() -> str | None:
        found = (await plane.admin.get(f"/api/v1/namespaces/{namespace}/pods"))["items"]
        return next((str(pod["metadata"]["name"]) for pod in found if is_ready(pod)), None)

    name = await wait_until(running, "the pod to be ready")
    assert name is not None
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "hpa-controller"},
        "spec": {"holderIdentity": f"{name}_6f1c", "leaseDurationSeconds": 15},
    }
    await plane.admin.create(_LEASES.format(namespace=namespace), lease)
    return f"{namespace}/{name}"


def _told(kubeconfig: Path, *arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["explain", "shop/web", "--kubeconfig", str(kubeconfig), *arguments])
    return code, out.getvalue(), err.getvalue()


async def test_the_rights_that_are_written_down_suffice(plane: ControlPlane, holder: str) -> None:
    assert holder
    code, out, err = await asyncio.to_thread(_told, plane.kubeconfig_for("asker"), "--output", "json")
    assert (code, err) == (0, "")
    assert json.loads(out)["syncs"][0]["explained"]["summary"].startswith("Scaled from 3 to 6 replicas")


async def test_without_them_it_is_one_line(plane: ControlPlane, holder: str) -> None:
    assert holder
    code, _, err = await asyncio.to_thread(_told, plane.kubeconfig_for("nobody"))
    assert (code, err.count("\n")) == (3, 1)
    assert 'cannot list resource "leases"' in err
    await define_cluster_role(plane.admin, "e2e:looks-only", _RULES[:2])
    await bind_cluster_role(plane.admin, "e2e:looks-only", user("looker"))
    code, _, err = await asyncio.to_thread(_told, plane.kubeconfig_for("looker"))
    assert (code, err.count("\n")) == (3, 1)
    assert "that takes the verbs get and create on pods/portforward" in err


async def test_a_port_that_is_not_forwarded_is_one_line(plane: ControlPlane, holder: str) -> None:
    namespace, _, name = holder.partition("/")
    door = Door(namespace, name, 8083)
    access = load(str(plane.kubeconfig_for("asker")), environment={})
    connection = Connection(access, SystemClock())
    try:
        with pytest.raises(ApiError) as refused:
            await get(connection, door, "/explain/shop/web", 30)
    finally:
        await connection.close()
    assert "8083" in str(refused.value)
