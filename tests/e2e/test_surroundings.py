"""A cluster in which HPAs cannot be scaled as their owners expect: what is wrong is named, and the rest goes on."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e import autoscalers, roles
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_values import Series
from tests.e2e.roles import define_controllers
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT, STATEFUL_SET, WorkloadKind

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.api_client import ApiClient
    from tests.e2e.metrics_server import MetricsServer

QUEUE = "queue"


async def found(controller: ControllerProcess, *words: str) -> bool:
    """Whether one finding has all these words."""
    return any(all(word in line for word in words) for line in await controller.findings())


async def create_autoscaler(admin: ApiClient, namespace: str, kind: WorkloadKind, minimum: int = 1) -> None:
    manifest = autoscalers.manifest(
        kind.plural,
        autoscalers.reference(kind, kind.plural),
        [autoscalers.external(QUEUE, averageValue="10")],
        minimum=minimum,
    )
    await admin.create(autoscalers.path(namespace), manifest)


async def test_a_server_without_autoscaling_v2_is_named(tmp_path: Path) -> None:
    async with ControlPlane.start(tmp_path, api_server_flags=["--runtime-config=autoscaling/v2=false"]) as plane:
        await define_controllers(plane.admin)
        async with ControllerProcess.start(plane, "without-v2", ready=False) as controller:
            words = ("[!]server: ", "does not serve autoscaling/v2", "--runtime-config")
            await wait_until(partial(found, controller, *words), "the finding")
            failed = await controller.logged("watch failed, will retry", resource="horizontalpodautoscalers")
            assert "404" in failed["error"] or "could not find" in failed["error"]
            assert (await controller.health("/livez"))[0] == 200
            [line] = controller.logs("starting")
            assert line["server_version"] == "v1.36.3"


async def test_missing_metrics_apis_and_paused_hpas_are_named(tmp_path: Path) -> None:
    async with ControlPlane.start(tmp_path, feature_gates={"HPAScaleToZero": True}) as plane:
        admin = plane.admin
        await define_controllers(admin)
        await create_autoscaler(admin, "default", DEPLOYMENT, minimum=0)
        status = {"conditions": [{"type": "AbleToScale", "status": "True"}], "currentReplicas": 0, "desiredReplicas": 0}
        await admin.patch(f"{autoscalers.path('default', DEPLOYMENT.plural)}/status", {"status": status})
        async with ControllerProcess.start(plane, "bare") as controller:
            hpa = f"default/{DEPLOYMENT.plural}"
            for words in (
                ("[i]server: ", "v1.36.3"),
                ("[!]external.metrics.k8s.io: ", hpa, "adapter"),
                ("[!]HPAScaleToZero: ", hpa, "--feature-gates=HPAScaleToZero=true"),
                ("[!]paused-at-zero: ", hpa, "kubectl scale --replicas=1"),
            ):
                await wait_until(partial(found, controller, *words), f"a finding with {words}")
            assert not await found(controller, "custom.metrics.k8s.io"), "nobody asks for it"
            told = [line["finding"] for line in controller.logs() if line.get("finding")]
            assert sorted(told) == sorted(set(told)), "each is told once"


@pytest.mark.usefixtures("controllers_may_control")
async def test_a_permission_withdrawn_at_run_time_is_named_and_the_rest_goes_on(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin, user, role = control_plane.admin, "loses-rights", "e2e:scales-of-deployments"
    upstream = await admin.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{roles.UPSTREAM_ROLE}")
    others = [rule for rule in upstream["rules"] if rule["resources"] != ["*/scale"]]
    scales = {
        "apiGroups": ["apps"],
        "resources": ["statefulsets/scale", "deployments/scale"],
        "verbs": ["get", "update"],
    }
    await roles.define_cluster_role(admin, role, [*others, scales])
    await roles.bind_cluster_role(admin, role, roles.user(user))
    await roles.bind_role(admin, roles.LEASE_NAMESPACE, roles.LEASE_ROLE, roles.user(user))
    await roles.wait_allowed(admin, roles.user(user), "watch", "horizontalpodautoscalers.autoscaling")
    metrics_server.values.set_external(namespace, QUEUE, Series("20"))
    for kind in (DEPLOYMENT, STATEFUL_SET):
        await admin.create(kind.path(namespace), kind.manifest(kind.plural, 2))
        await create_autoscaler(admin, namespace, kind)
    start = ControllerProcess.start(control_plane, user, kubeconfig=control_plane.kubeconfig_for(user))
    async with (
        WorkloadPlayer(admin, DEPLOYMENT, namespace, DEPLOYMENT.plural) as deployment,
        WorkloadPlayer(admin, STATEFUL_SET, namespace, STATEFUL_SET.plural) as stateful_set,
        start as controller,
    ):
        await controller.synced(2)
        await roles.define_cluster_role(
            admin, role, [*others, {**scales, "verbs": ["get"]}, {**scales, "resources": ["statefulsets/scale"]}]
        )
        metrics_server.values.set_external(namespace, QUEUE, Series("40"))
        await stateful_set.settled(4)
        line = await controller.logged("sync ended with an error", hpa=f"{namespace}/{DEPLOYMENT.plural}")
        assert f'User "{user}" cannot update resource "deployments/scale" in API group "apps"' in line["error"]
        assert (await controller.health())[0] == 200
        assert await _replicas(admin, namespace) == 2
        await roles.define_cluster_role(admin, role, [*others, scales])
        await deployment.settled(4)


async def _replicas(admin: ApiClient, namespace: str) -> int:
    return int((await admin.get(DEPLOYMENT.path(namespace, DEPLOYMENT.plural)))["spec"]["replicas"])
