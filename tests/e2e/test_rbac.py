"""With which rights the controller works, and what it says about those that it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e import autoscalers, roles
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_values import Series
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT, FLEET, REPLICATION_CONTROLLER, WorkloadKind

if TYPE_CHECKING:
    from tests.e2e.api_client import ApiClient
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")

READ_ONE_BY_ONE = "its scales are read one by one"


async def create_autoscaler(admin: ApiClient, namespace: str, kind: WorkloadKind) -> str:
    """An HPA for an object of the kind, both of one name, which wants four replicas of a queue of 40."""
    name = kind.plural
    await admin.create(kind.path(namespace), kind.manifest(name, 2))
    metrics = [autoscalers.external("queue", averageValue="10")]
    manifest = autoscalers.manifest(name, autoscalers.reference(kind, name), metrics)
    await admin.create(autoscalers.path(namespace), manifest)
    return name


async def test_the_role_of_the_built_in_controller_is_enough(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    user = "upstreams-rights"
    await roles.allow_control(admin, roles.user(user))
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    start = ControllerProcess.start(control_plane, user, kubeconfig=control_plane.kubeconfig_for(user))
    async with start as controller:
        for kind in (DEPLOYMENT, REPLICATION_CONTROLLER, FLEET):
            async with WorkloadPlayer(admin, kind, namespace, kind.plural) as player:
                await create_autoscaler(admin, namespace, kind)
                await player.settled(4)
        watched = {DEPLOYMENT.plural, REPLICATION_CONTROLLER.plural}

        async def tried_again() -> bool:
            tries = [each.resource for each in controller.requests() if each.verb == "list" and each.code == 403]
            return all(tries.count(resource) >= 2 for resource in watched)

        await wait_until(tried_again, "the controller to try again to watch scales")
        complaints = controller.logs("may not be watched")
        assert sorted(line["resource"] for line in complaints) == sorted(watched), "said once of each"
        assert {line["otherwise"] for line in complaints} == {READ_ONE_BY_ONE}
        assert f'User "{user}" cannot list resource "deployments" in API group "apps"' in complaints[0]["error"]
        assert [line for line in controller.logs() if "watch" in line["message"]] == complaints
        assert (await controller.health())[0] == 200
        refused = [each for each in controller.requests() if each.code == 403]
        assert {each.resource for each in refused} == watched, "nothing else was missing"


async def test_missing_rights_are_named_and_can_be_given_later(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    user, role = "no-rights-to-pods", "e2e:without-pods"
    upstream = await admin.get(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{roles.UPSTREAM_ROLE}")
    missing = (["pods"], [""]), (["*"], ["external.metrics.k8s.io"])
    rules = [rule for rule in upstream["rules"] if (rule["resources"], rule["apiGroups"]) not in missing]
    assert len(rules) == len(upstream["rules"]) - len(missing)
    await roles.define_cluster_role(admin, role, rules)
    await roles.bind_cluster_role(admin, role, roles.user(user))
    await roles.bind_role(admin, roles.LEASE_NAMESPACE, roles.LEASE_ROLE, roles.user(user))
    await roles.wait_allowed(admin, roles.user(user), "watch", "horizontalpodautoscalers.autoscaling")
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    name = await create_autoscaler(admin, namespace, DEPLOYMENT)
    start = ControllerProcess.start(control_plane, user, kubeconfig=control_plane.kubeconfig_for(user), ready=False)
    async with start as controller:
        line = await controller.logged("watch failed, will retry", resource="pods")
        assert f'User "{user}" cannot list resource "pods" in API group ""' in line["error"]
        # By then the HPAs have been listed.
        problem = "[-]caches failed: not listed yet: pods\nreadyz check failed\n"

        async def named() -> bool:
            return await controller.health("/readyz") == (500, problem)

        await wait_until(named, "the health page to name what is missing")
        assert await controller.health("/livez") == (200, "ok")
        assert (await controller.metrics()).syncs() == 0, "nothing is decided without pods"

        await roles.define_cluster_role(
            admin, role, [*rules, {"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
        )
        await controller.wait_ready()
        await controller.synced()
        path = autoscalers.path(namespace, name)

        async def told() -> str:
            return autoscalers.message(await admin.get(path), "ScalingActive")

        said = await wait_until(told, "the HPA to tell what is missing")
        assert f'User "{user}" cannot list resource "queue" in API group "external.metrics.k8s.io"' in said
