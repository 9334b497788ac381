"""The control plane is the real one and does what the other tests rely on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.api_client import ApiError
from tests.e2e.control_plane import ControlPlane
from tests.e2e.kubectl import KubectlError
from tests.e2e.namespaces import create_namespace, create_service_account, delete_namespace
from tests.e2e.programs import DEBIAN_PACKAGES, cache_folder, pinned_tools, why_unusable
from tests.e2e.server_process import ServerError
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Mapping

HPAS = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"
PROJECT = Path(__file__).parents[2]


def hpa(name: str, *, minimum: int = 1, maximum: int = 5) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    spec = {"scaleTargetRef": target, "minReplicas": minimum, "maxReplicas": maximum}
    return {"apiVersion": "autoscaling/v2", "metadata": {"name": name}, "spec": spec}


async def test_programs_are_of_the_pinned_versions(control_plane: ControlPlane) -> None:
    tools = pinned_tools()
    assert {name: tool.version for name, tool in tools.items()} == {
        "etcd": "v3.6.8",
        "helm": "v3.22.0",
        "hpa-reference": "v1.36.3",
        "keda-metrics-apiserver": "v2.21.0",
        "keda-operator": "v2.21.0",
        "kube-apiserver": "v1.36.3",
        "kube-controller-manager": "v1.36.3",
        "kubectl": "v1.36.3",
        "kwok": "v0.8.0",
        "metrics-server": "v0.9.0",
        "prometheus-adapter": "v0.12.0",
    }
    used = {name: tool for name, tool in tools.items() if not tool.on_demand}
    assert {name: why_unusable(tool, cache_folder() / name) for name, tool in used.items()} == dict.fromkeys(used)
    fetched = {name: package.why_unusable(cache_folder()) for name, package in DEBIAN_PACKAGES.items()}
    assert fetched == dict.fromkeys(DEBIAN_PACKAGES)

    version = await control_plane.admin.get("/version")
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.36.3", "1", "36")
    assert version["gitTreeState"] == "clean"
    versions = json.loads(await control_plane.kubectl("version", "--output=json"))
    assert versions["clientVersion"]["gitVersion"] == "v1.36.3"
    assert versions["serverVersion"]["gitVersion"] == "v1.36.3"


async def test_priority_and_fairness_and_rbac_are_on(control_plane: ControlPlane) -> None:
    schemas = await control_plane.admin.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
    assert "kube-controller-manager" in {item["metadata"]["name"] for item in schemas["items"]}
    role = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:controller:horizontal-pod-autoscaler"
    assert (await control_plane.admin.get(role))["rules"]


async def test_a_user_without_a_role_is_refused(control_plane: ControlPlane, namespace: str) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"
    stranger = control_plane.client(control_plane.credential_for("stranger", ["guests"]))
    nobody = control_plane.client(None)
    with pytest.raises(ApiError, match='User "stranger" cannot list resource "pods"') as refused:
        await stranger.get(pods)
    assert refused.value.status == 403
    with pytest.raises(ApiError, match="system:anonymous") as refused:
        await nobody.get(pods)
    assert refused.value.status == 403

    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    answer = await stranger.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", review)
    assert answer["status"]["userInfo"]["groups"] == ["guests", "system:authenticated"]


async def test_kubectl_runs_as_whom_the_kubeconfig_names(control_plane: ControlPlane, namespace: str) -> None:
    stranger = control_plane.kubeconfig_for("stranger")
    assert "stranger" in await control_plane.kubectl("auth", "whoami", kubeconfig=stranger)
    assert "e2e-admin" in await control_plane.kubectl("auth", "whoami")
    with pytest.raises(KubectlError, match="Forbidden") as refused:
        await control_plane.kubectl("get", "pods", "-n", namespace, kubeconfig=stranger)
    assert refused.value.status == 1


async def test_kubectl_reads_standard_input(control_plane: ControlPlane, namespace: str) -> None:
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "colours"},
        "data": {"sky": "blue"},
    }
    said = await control_plane.kubectl("apply", "-n", namespace, "-f", "-", stdin=json.dumps(manifest))
    assert said == "configmap/colours created\n"
    found = await control_plane.admin.get(f"/api/v1/namespaces/{namespace}/configmaps/colours")
    assert found["data"] == {"sky": "blue"}


async def test_a_service_account_token_opens_what_its_role_allows(control_plane: ControlPlane, namespace: str) -> None:
    await create_service_account(control_plane.admin, namespace, "reader")
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    await control_plane.admin.create(f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
    }
    await control_plane.admin.create(f"{rbac}/rolebindings", binding)

    token = await control_plane.service_account_token(namespace, "reader")
    reader = control_plane.client(token)

    async def allowed() -> bool:
        listed = await reader.get(f"/api/v1/namespaces/{namespace}/pods")
        return bool(listed["kind"] == "PodList")

    await wait_until(allowed, "the role binding to count", ignoring=(ApiError,))
    with pytest.raises(ApiError, match=f"system:serviceaccount:{namespace}:reader") as refused:
        await reader.get(f"/api/v1/namespaces/{namespace}/secrets")
    assert refused.value.status == 403
    listed = await control_plane.kubectl("get", "pods", "-n", namespace, kubeconfig=control_plane.kubeconfig(token))
    assert listed == ""
    with pytest.raises(ApiError) as refused:
        await control_plane.client(token[:-3] + "AAA").get("/api")
    assert refused.value.status == 401


async def test_the_audit_log_shows_bodies_of_writes(control_plane: ControlPlane, namespace: str) -> None:
    path = HPAS.format(namespace)
    created = await control_plane.admin.create(path, hpa("web"))
    start = control_plane.audit_log.position()
    created["status"] = {"currentReplicas": 3, "desiredReplicas": 4, "conditions": []}
    await control_plane.admin.replace(f"{path}/web/status", created)

    async def entries() -> list[dict[str, Any]]:
        return [
            entry
            for entry in control_plane.audit_entries(start)
            if entry["verb"] == "update" and entry.get("objectRef", {}).get("namespace") == namespace
        ]

    (entry,) = await wait_until(entries, "the audit entry of the write")
    assert entry["user"]["username"] == "e2e-admin"
    assert entry["objectRef"]["subresource"] == "status"
    assert entry["responseStatus"]["code"] == 200
    assert entry["requestObject"]["status"]["desiredReplicas"] == 4
    assert entry["responseObject"]["metadata"]["uid"] == created["metadata"]["uid"]


async def test_the_audit_log_shows_no_tokens(control_plane: ControlPlane, namespace: str) -> None:
    start = control_plane.audit_log.position()
    token = await control_plane.service_account_token(namespace, "default")

    async def token_requests() -> list[dict[str, Any]]:
        entries = control_plane.audit_entries(start)
        return [entry for entry in entries if entry.get("objectRef", {}).get("subresource") == "token"]

    assert await wait_until(token_requests, "the audit entry of the token request")
    assert token.encode() not in control_plane.audit_log.path.read_bytes()


async def test_a_namespace_goes_with_all_it_holds(control_plane: ControlPlane) -> None:
    name = await create_namespace(control_plane.admin, "short")
    await control_plane.admin.create(HPAS.format(name), hpa("web"))
    await control_plane.admin.create(DEPLOYMENT.path(name), DEPLOYMENT.manifest("web", 1))
    await delete_namespace(control_plane.admin, name)
    for path in (f"/api/v1/namespaces/{name}", f"{HPAS.format(name)}/web", DEPLOYMENT.path(name, "web")):
        with pytest.raises(ApiError) as missing:
            await control_plane.admin.get(path)
        assert missing.value.status == 404


async def test_the_api_server_restarts_with_its_state(control_plane: ControlPlane, namespace: str) -> None:
    created = await control_plane.admin.create(HPAS.format(namespace), hpa("web"))
    entries = control_plane.audit_log.position()
    before = control_plane.api_server.pid
    await control_plane.restart_api_server()
    assert control_plane.api_server.pid != before
    assert await control_plane.admin.get(f"{HPAS.format(namespace)}/web") == created
    assert control_plane.audit_entries(entries), "the log goes on where it was"


async def test_etcd_restarts_with_its_state(control_plane: ControlPlane, namespace: str) -> None:
    created = await control_plane.admin.create(HPAS.format(namespace), hpa("web"))
    before = control_plane.etcd.pid
    await control_plane.restart_etcd()
    assert control_plane.etcd.pid != before
    assert await control_plane.admin.get(f"{HPAS.format(namespace)}/web") == created
    await control_plane.admin.delete(f"{HPAS.format(namespace)}/web")


async def test_a_killed_api_server_is_noticed(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.api_server.signal(signal.SIGKILL)
    with pytest.raises(ServerError, match="kube-apiserver ended with status -9; the last lines of"):
        await control_plane.wait_ready()
    await control_plane.start_api_server()
    assert (await control_plane.admin.get(f"/api/v1/namespaces/{namespace}"))["status"]["phase"] == "Active"


async def test_a_server_that_does_not_start_shows_its_log(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="kube-apiserver ended with status 1") as failure:
        async with ControlPlane.start(tmp_path, api_server_flags=["--no-such-flag=1"]):
            pytest.fail("it must not start")
    assert "unknown flag: --no-such-flag" in str(failure.value)


async def test_the_built_in_controller_runs_with_gates_and_flags(tmp_path: Path) -> None:
    start = ControlPlane.start(
        tmp_path,
        feature_gates={"HPAScaleToZero": True},
        controllers=["horizontal-pod-autoscaler-controller"],
        controller_manager_flags=["--horizontal-pod-autoscaler-sync-period=1s"],
    )
    async with start as plane:
        await plane.admin.create(DEPLOYMENT.path("default"), DEPLOYMENT.manifest("web", 1))
        path = HPAS.format("default")
        zero = hpa("web", minimum=0)
        metric = {"name": "queue"}
        zero["spec"]["metrics"] = [
            {"type": "External", "external": {"metric": metric, "target": {"type": "Value", "value": "1"}}}
        ]
        await plane.admin.create(path, zero)

        async def conditions() -> Mapping[str, str]:
            status = (await plane.admin.get(f"{path}/web")).get("status", {})
            return {item["type"]: item["status"] for item in status.get("conditions", [])}

        seen = await wait_until(conditions, "kube-controller-manager to write conditions")
        # There is no metrics API here, and it says so.
        assert seen == {"AbleToScale": "True", "ScalingActive": "False"}
        manager = plane.client(plane.files.admin, plane.controller_manager_url)
        metrics = await manager.get("/metrics")
        assert 'workqueue_adds_total{name="horizontalpodautoscaler"}' in metrics
        writers = {
            entry["user"]["username"]
            for entry in plane.audit_entries()
            if entry["verb"] == "update" and entry["objectRef"].get("resource") == "horizontalpodautoscalers"
        }
        assert writers == {"system:serviceaccount:kube-system:horizontal-pod-autoscaler"}
    for server in (plane.etcd, plane.api_server, plane.controller_manager):
        assert server is not None
        assert not server.running


async def test_servers_do_not_outlive_a_killed_test_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = (
        "import sys, time, pathlib\n"
        "from tests.e2e.server_process import ServerProcess\n"
        "sleep = 'import time; print(\"asleep\", flush=True); time.sleep(120)'\n"
        "server = ServerProcess('sleeper', [sys.executable, '-c', sleep], pathlib.Path(sys.argv[1]))\n"
        "server.start()\n"
        "print(server.pid, flush=True)\n"
        "time.sleep(120)\n"
    )
    parent = subprocess.Popen(  # noqa: ASYNC220, S603  # it only has to write one line
        [sys.executable, "-c", program, str(log)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())

        async def asleep() -> bool:
            return "asleep" in log.read_text()

        async def gone() -> bool:
            return has_ended(child)

        try:
            await wait_until(asleep, "the server to run")
            assert not has_ended(child)
            parent.kill()
            await wait_until(gone, f"process {child} to end with its parent")
        finally:
            parent.kill()
            if not has_ended(child):
                os.kill(child, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    # In a container there may be nobody who collects orphans.
    return state == "Z"
