"""The controller with the identity that the chart made: what it can do, and what it says when a rule is taken away."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio
from yarl import URL

from tests.e2e import autoscalers, roles
from tests.e2e.api_client import ApiError
from tests.e2e.chart.identities import (
    RELEASE,
    Installed,
    complains_about,
    lease_path,
    may_get,
    release,
    said,
    uses,
    without,
)
from tests.e2e.chart.releases import HelmError, objects_of
from tests.e2e.metrics_values import PodUsage, Series, pod_object
from tests.e2e.namespaces import create_service_account
from tests.e2e.permissions import PERMISSIONS
from tests.e2e.server_process import run_to_end
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT, FLEET, REPLICATION_CONTROLLER
from tests.trust import trusting

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.e2e.chart.releases import Helm
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("operator_kinds")

# Rights that the controller of the default values has.
RULES = [
    (section, index)
    for section, rules in PERMISSIONS.items()
    for index, rule in enumerate(rules)
    if not {"metricsSecure", "modes", "keepsHistory"} & set(rule["when"])
]


def named_as(rule: Mapping[str, Any]) -> str:
    """The rule in a test's name."""
    resources = "+".join(rule["resources"])
    return f"{'+'.join(rule['verbs'])} {resources} of {'+'.join(rule['apiGroups']) or 'core'}"


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def installed(control_plane: ControlPlane, helm: Helm) -> AsyncIterator[Installed]:
    """A release with default values."""
    await control_plane.ensure_running()
    async with release(control_plane, helm, {}) as made:
        yield made


async def create(plane: ControlPlane, namespace: str, name: str, kind: Any, *metrics: Mapping[str, Any]) -> None:
    await plane.admin.create(kind.path(namespace), kind.manifest(name, 2, requests={"cpu": "100m"}))
    manifest = autoscalers.manifest(name, autoscalers.reference(kind, name), metrics)
    await plane.admin.create(autoscalers.path(namespace), manifest)


async def test_everything_works_with_the_rights_of_the_chart_and_all_of_them_are_used(
    control_plane: ControlPlane, metrics_server: MetricsServer, installed: Installed, namespace: str
) -> None:
    values = metrics_server.values

    def per_pod(pods: Any) -> None:
        for pod in pods:
            name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
            values.set_pod(namespace, name, PodUsage({"app": {"cpu": f"{400 // len(pods)}m"}}, labels))
            values.set_custom(pod_object(namespace, name, labels), "requests", Series(f"{40 // len(pods)}"))

    values.set_external(namespace, "queue", Series("40"))
    kinds = {
        "queue": (DEPLOYMENT, autoscalers.external("queue", averageValue="10")),
        "cpu": (DEPLOYMENT, autoscalers.resource("cpu", averageUtilization=100)),
        "requests": (REPLICATION_CONTROLLER, autoscalers.pods("requests", averageValue="10")),
        "fleet": (FLEET, autoscalers.external("queue", averageValue="10")),
    }
    async with installed.running(control_plane) as controller:
        for name, (kind, metric) in kinds.items():
            async with WorkloadPlayer(control_plane.admin, kind, namespace, name, pods_seen=per_pod) as player:
                await create(control_plane, namespace, name, kind, metric)
                await player.settled(4)

        async def told() -> bool:
            return bool(await autoscalers.events_of(control_plane.admin, namespace, "fleet"))

        await wait_until(told, "an event of the last rescale")
        assert (await controller.metrics()).total("hpa_controller_leading") == 1
        # A Lease or an API that is not there is no lack of rights.
        used = [each for each in controller.requests() if each.code != 403]
        unused = [
            (verb, rule["resources"])
            for rule in (PERMISSIONS[section][index] for section, index in RULES)
            for verb in rule["verbs"]
            if not any(uses(each, verb, rule) for each in used)
            # Lists come by watching where the server can do that; an event is patched when it comes again.
            and not (verb == "list" and "watch" in rule["verbs"])
            and not (verb == "patch" and rule["resources"] == ["events"])
        ]
        assert unused == [], "the chart gives no right that is not needed"
        assert {each.code for each in controller.requests() if each.code >= 400} <= {404, 409}, controller.requests()
        assert not [line for line in controller.logs() if line["level"] in ("warning", "error")]


@pytest.mark.parametrize(("section", "index"), RULES, ids=[named_as(PERMISSIONS[at][one]) for at, one in RULES])
async def test_a_rule_that_is_taken_away_is_named(
    control_plane: ControlPlane,
    metrics_server: MetricsServer,
    installed: Installed,
    namespace: str,
    section: str,
    index: int,
) -> None:
    rule = PERMISSIONS[section][index]
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    queue = autoscalers.external("queue", averageValue="10")
    await create(control_plane, namespace, "queue", DEPLOYMENT, queue)
    await create(control_plane, namespace, "old", REPLICATION_CONTROLLER, queue)
    await create(control_plane, namespace, "cpu", DEPLOYMENT, autoscalers.resource("cpu", averageUtilization=50))
    await create(control_plane, namespace, "requests", DEPLOYMENT, autoscalers.pods("requests", averageValue="10"))

    # The first start of a release: nobody has made the Lease yet.
    with suppress(ApiError):
        await control_plane.admin.delete(lease_path(installed))
    async with (
        without(control_plane, installed, section, rule),
        installed.running(control_plane, ready=False) as controller,
    ):

        async def named() -> str | None:
            return next((text for text in said(controller) if complains_about(text, rule)), None)

        text = await wait_until(named, f"the controller to say that it may not {rule['verbs']} {rule['resources']}")
        assert text is not None
        assert "the Helm chart grants it with rbac.create=true" in text
        assert rule["value"] in text


async def test_in_single_namespaces_no_right_reaches_beyond_them_and_orders_are_obeyed(
    control_plane: ControlPlane, metrics_server: MetricsServer, helm: Helm, namespace: str
) -> None:
    admin = control_plane.admin
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    values = {
        "namespaces": [namespace],
        "modesConfigmap": "modes",
        "keepHistory": True,
        "keepHistoryInterval": "1s",
    }
    async with release(control_plane, helm, values) as made:
        kinds = {name.partition("/")[0] for name in await objects_of(admin, RELEASE, made.namespace)}
        assert not {"ClusterRole", "ClusterRoleBinding"} & kinds
        modes = f"/api/v1/namespaces/{made.namespace}/configmaps"
        await admin.create(modes, {"metadata": {"name": "modes"}, "data": {"mode": "freeze"}})
        await create(control_plane, namespace, "queue", DEPLOYMENT, autoscalers.external("queue", averageValue="10"))

        async def replicas() -> int:
            found = await admin.get(DEPLOYMENT.path(namespace, "queue"))
            return int(found["spec"]["replicas"])

        (orders,) = (rule for rule in PERMISSIONS["own"] if "modes" in rule["when"])
        async with without(control_plane, made, "own", orders), made.running(control_plane, ready=False) as first:

            async def complained() -> bool:
                return any(complains_about(text, orders) and orders["value"] in text for text in said(first))

            await wait_until(complained, "the controller to say that it may not read its orders")
        async with made.running(control_plane) as controller:
            await controller.synced(2)
            assert await replicas() == 2, "frozen"
            await admin.patch(f"{modes}/modes", {"data": {"mode": "write"}})

            async def scaled() -> bool:
                return await replicas() == 4

            await wait_until(scaled, "the target to be scaled")

            async def kept() -> bool:
                # Of both: the first may have lived long enough to make it.
                saves = [each for each in first.requests() if each.about("configmaps", name=f"{RELEASE}-history-0")]
                return {each.verb for each in saves if each.code != 403} >= {"get", "create", "patch"}

            await wait_until(kept, "histories to be kept")
            assert not [each for each in controller.requests() if each.code == 403]


async def test_a_shadow_does_with_the_rights_to_read(
    control_plane: ControlPlane, metrics_server: MetricsServer, helm: Helm, namespace: str
) -> None:
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    await create(control_plane, namespace, "queue", DEPLOYMENT, autoscalers.external("queue", averageValue="10"))
    await create(control_plane, namespace, "cpu", DEPLOYMENT, autoscalers.resource("cpu", averageUtilization=50))
    async with release(control_plane, helm, {"shadow": True}) as made:
        async with made.running(control_plane) as controller:
            await controller.synced(4)
            requests = controller.requests()
        assert {each.verb for each in requests} <= {"get", "list", "watch"}
        assert not [each for each in requests if each.code == 403]
    target = await control_plane.admin.get(DEPLOYMENT.path(namespace, "queue"))
    assert target["spec"]["replicas"] == 2


async def test_secured_metrics_are_for_those_who_may_read_them(
    control_plane: ControlPlane, helm: Helm, tmp_path: Path
) -> None:
    admin, files = control_plane.admin, control_plane.files
    values = {"metrics": {"secure": True, "tlsSecretName": "metrics"}}
    async with release(control_plane, helm, values) as made:
        name = f"{RELEASE}.{made.namespace}.svc"
        serving = files.authority.issue_server(f"metrics-{made.namespace}", [name])
        # As the Secret is mounted.
        (tmp_path / "tls.crt").write_bytes(serving.certificate.read_bytes())
        (tmp_path / "tls.key").write_bytes(serving.key.read_bytes())
        await create_service_account(admin, made.namespace, "prometheus")
        prometheus = roles.service_account(made.namespace, "prometheus")
        rule = {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}
        await roles.define_cluster_role(admin, "e2e:scraper", [rule])
        await roles.bind_cluster_role(admin, "e2e:scraper", prometheus)
        await may_get(control_plane, f"system:serviceaccount:{made.namespace}:prometheus", "/metrics")
        await create_service_account(admin, made.namespace, "stranger")
        tokens = {
            who: await control_plane.service_account_token(made.namespace, who) for who in ("prometheus", "stranger")
        }
        context = trusting(files.authority.certificate)
        async with made.running(control_plane, f"--metrics-cert-dir={tmp_path}") as controller:
            address = next(line["address"] for line in controller.logs("listening") if "/metrics" in line["paths"])
            url = URL(f"https://{address}/metrics")

            async def status(token: str) -> int:
                headers = {"Authorization": f"Bearer {token}"} if token else {}
                asked = session.get(url, headers=headers, ssl=context, server_hostname=name)
                async with asked as answer:
                    return answer.status

            async with aiohttp.ClientSession() as session:
                assert await status("") == 401
                assert await status("made-up") == 401
                assert await status(tokens["stranger"]) == 403

                for rule in PERMISSIONS["reviews"]:
                    async with without(control_plane, made, "reviews", rule):
                        assert await status(tokens["prometheus"]) == 503
                        (text,) = (text for text in said(controller) if complains_about(text, rule))
                        assert "rbac.create=true and the right value of metrics.secure" in text
                assert await status(tokens["prometheus"]) == 200


async def test_requests_have_the_priority_of_the_built_in_controllers(
    control_plane: ControlPlane, installed: Installed
) -> None:
    admin = control_plane.admin
    schemas = await admin.get("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas")
    names = {item["metadata"]["uid"]: item for item in schemas["items"]}
    expected = {
        "/api/v1/pods?limit=1": "workload-high",
        "/apis/autoscaling/v2/horizontalpodautoscalers?limit=1": "workload-high",
        "/apis": "workload-high",
        lease_path(installed): "leader-election",
    }

    context = trusting(control_plane.files.authority.certificate)

    async def level(path: str) -> str:
        headers = {"Authorization": f"Bearer {installed.token}"}
        url = f"{control_plane.url}{path}"
        async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=context) as answer:
            schema = names[answer.headers["X-Kubernetes-PF-FlowSchema-UID"]]
        assert schema["metadata"]["labels"]["app.kubernetes.io/instance"] == RELEASE
        return str(schema["spec"]["priorityLevelConfiguration"]["name"])

    async def all_as_expected() -> bool:
        return {path: await level(path) for path in expected} == expected

    # The API server takes in new schemas with a delay.
    await wait_until(all_as_expected, "the FlowSchemas of the chart to count", ignoring=(KeyError, AssertionError))
    built_in = {item["metadata"]["name"]: item["spec"] for item in schemas["items"]}
    assert built_in["kube-controller-manager"]["priorityLevelConfiguration"]["name"] == "workload-high"
    assert built_in["system-leader-election"]["priorityLevelConfiguration"]["name"] == "leader-election"


@pytest.mark.parametrize("healthy", [True, False])
async def test_helm_test_asks_the_health_page(
    control_plane: ControlPlane,
    metrics_server: MetricsServer,  # noqa: ARG001  # for the controller to be ready
    helm: Helm,
    installed: Installed,
    healthy: bool,  # noqa: FBT001
) -> None:
    path = f"/api/v1/namespaces/{installed.namespace}/pods/{RELEASE}-test"

    async def play_kubelet(address: str) -> None:
        """Runs what the test's pod would, with the Service's name resolved to the controller."""

        async def made() -> Any:
            return await control_plane.admin.get(path)

        pod = await wait_until(made, "the pod of the test", ignoring=(ApiError,))
        (container,) = pod["spec"]["containers"]
        (variable,) = container["env"]
        url = URL(variable["value"])
        assert url.host == f"{RELEASE}.{installed.namespace}.svc"
        script = container["args"][0].replace("range(30)", "range(1)")
        reached = url.with_host("127.0.0.1").with_port(int(address.rpartition(":")[2]) if healthy else 1)
        ended = await run_to_end(sys.executable, "-c", script, environment={variable["name"]: str(reached)})
        phase = {"status": {"phase": "Failed" if ended.status else "Succeeded"}}
        await control_plane.admin.patch(f"{path}/status", phase)

    async with installed.running(control_plane) as controller:
        address = next(line["address"] for line in controller.logs("listening") if "/readyz" in line["paths"])
        async with asyncio.TaskGroup() as group:
            group.create_task(play_kubelet(address))
            outcome = await asyncio.gather(
                helm.run("test", RELEASE, "--namespace", installed.namespace, "--timeout", "30s"),
                return_exceptions=True,
            )
    if healthy:
        assert "Succeeded" in str(outcome[0])
    else:
        assert isinstance(outcome[0], HelmError)
        await control_plane.admin.delete(path, {"gracePeriodSeconds": "0"})
