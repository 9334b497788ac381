"""Lists, selections and refusals beyond what the contract tests show."""

import pytest

from controller.lab.cluster import Cluster
from controller.lab.server import LabServer
from tests.lab.client import Client
from tests.lab.objects import (
    CONFIG_MAP_PATH,
    DEPLOYMENT_PATH,
    HPA_PATH,
    HPAS,
    POD_PATH,
    config_map,
    deployment,
    hpa,
    pod,
    rollout_definition,
)

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def _on_node(name: str, node: str, phase: str, **spec: object) -> dict[str, object]:
    placed = pod(name)
    placed["spec"] |= {"nodeName": node, **spec}
    return {**placed, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("spec.nodeName=n1", ["a", "b"]),
        ("spec.nodeName=n1,status.phase!=Pending", ["b"]),
        ("metadata.name=c", ["c"]),
        ("metadata.namespace=default", ["a", "b", "c"]),
        ("metadata.namespace!=default", []),
        ("spec.hostNetwork=", ["a", "c"]),
        ("spec.hostNetwork=true", ["b"]),
    ],
)
def test_pods_are_selected_by_fields(cluster: Cluster, selector: str, names: list[str]) -> None:
    for placed in (
        _on_node("a", "n1", "Pending"),
        _on_node("b", "n1", "Running", hostNetwork=True),
        _on_node("c", "n2", "Running"),
    ):
        cluster.create("pods", placed, with_status=True)
    assert [item["metadata"]["name"] for item in cluster.list("pods", field_selector=selector)] == names


@pytest.mark.parametrize(
    "parameters",
    [
        {"fieldSelector": "spec.color=red"},
        {"fieldSelector": "nonsense"},
        {"labelSelector": "a in"},
        {"limit": "many"},
        {"resourceVersion": "new"},
        {"resourceVersion": "-1"},
        {"continue": "e30", "resourceVersion": "5"},
    ],
)
async def test_unreadable_options_are_bad_requests(client: Client, parameters: dict[str, str]) -> None:
    answer = await client.request("GET", CONFIG_MAP_PATH, parameters=parameters)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    "parameters",
    [
        {"resourceVersionMatch": "Exact"},
        {"resourceVersionMatch": "Odd", "resourceVersion": "1"},
        {"resourceVersionMatch": "Exact", "resourceVersion": "0"},
        {"sendInitialEvents": "true"},
    ],
)
async def test_contradictory_options_are_invalid(client: Client, parameters: dict[str, str]) -> None:
    answer = await client.request("GET", CONFIG_MAP_PATH, parameters=parameters)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


async def test_a_version_with_a_limit_is_exact(lab: LabServer, client: Client) -> None:
    lab.cluster.create("configmaps", config_map("a"))
    past = lab.cluster.revision
    lab.cluster.create("configmaps", config_map("b"))
    for _ in range(2):
        page = await client.get(CONFIG_MAP_PATH, resourceVersion=past, limit=5)
        assert [item["metadata"]["name"] for item in page["items"]] == ["a"]


async def test_many_snapshots_do_not_add_up(lab: LabServer, client: Client) -> None:
    for index in range(40):
        lab.cluster.create("configmaps", config_map(f"item-{index:02}"))
        await client.get(CONFIG_MAP_PATH, limit=1)
        await client.get(CONFIG_MAP_PATH, resourceVersion=lab.cluster.revision, resourceVersionMatch="Exact")
    assert len(lab.cluster.world.store._snapshots) <= 16


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/apis/apps/v1/deployments/web", 404),
        ("DELETE", "/apis/apps/v1/deployments", 405),
        ("POST", "/apis/apps/v1/deployments", 405),
        ("PUT", DEPLOYMENT_PATH, 405),
        ("GET", DEPLOYMENT_PATH + "/web/odd", 404),
        ("GET", "/api/v1/namespaces/default/nodes", 404),
        ("GET", "/api/v2/pods", 404),
        ("GET", "/apis/apps/v2", 404),
        ("GET", "/apis/unknown.example.com", 404),
        ("POST", "/version", 404),
        ("GET", "/odd", 404),
    ],
)
async def test_paths_that_lead_nowhere(client: Client, method: str, path: str, status: int) -> None:
    body = deployment() if method in ("POST", "PUT") else None
    assert (await client.request(method, path, body)).status == status


async def test_subresources_are_read_alone(lab: LabServer, client: Client) -> None:
    lab.cluster.create(HPAS, hpa())
    assert (await client.get(HPA_PATH + "/web/status"))["kind"] == "HorizontalPodAutoscaler"
    assert (await client.request("GET", HPA_PATH + "/web/scale")).status == 404
    namespace = await client.get("/api/v1/namespaces/default/status")
    assert namespace["status"] == {"phase": "Active"}


async def test_events_of_the_newer_group_are_stored_in_the_older_form(client: Client) -> None:
    event = {
        "metadata": {"name": "told"},
        "eventTime": "2026-01-02T03:04:05.123456Z",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "a"},
        "reason": "Told",
        "action": "Telling",
        "note": "something happened",
        "type": "Normal",
        "reportingController": "teller",
        "reportingInstance": "teller-1",
    }
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert (await client.request("POST", path, event)).status == 201
    stored = await client.get("/api/v1/namespaces/default/events/told")
    assert (stored["message"], stored["reportingComponent"]) == ("something happened", "teller")
    assert stored["involvedObject"]["name"] == "a"
    found = await client.get(path, fieldSelector="regarding.name=a,reportingController=teller")
    assert [item["note"] for item in found["items"]] == ["something happened"]
    incomplete = {**event, "metadata": {"name": "incomplete"}, "action": ""}
    answer = await client.request("POST", path, incomplete)
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == ["action"]


async def test_a_scale_needs_replicas_to_write(lab: LabServer, client: Client) -> None:
    lab.cluster.create(DEFINITIONS, rollout_definition())
    lab.cluster.create("rollouts.example.com", {"metadata": {"name": "web"}, "spec": {}})
    path = "/apis/example.com/v1/namespaces/default/rollouts/web"
    answer = await client.patch(path + "/scale", {"status": {}}, "merge-patch+json")
    assert (answer.status, ".spec.replicas" in answer.body["message"]) == (400, True)
    # The replicas can be set all the same, as long as the selector has no path the text is empty.
    answer = await client.patch(path + "/scale", {"spec": {"replicas": 2}}, "merge-patch+json")
    assert (answer.status, answer.body["spec"], answer.body["status"]) == (
        200,
        {"replicas": 2},
        {"replicas": 0},
    )


async def test_an_old_selector_that_cannot_be_read_fails_its_scale(lab: LabServer, client: Client) -> None:
    created = lab.cluster.create("deployments.apps", deployment())
    broken = {"matchExpressions": [{"key": "a", "operator": "Odd"}]}
    spec = {**created["spec"], "selector": broken}
    resource = lab.cluster.world.registry.preferred("deployments.apps").resource
    lab.cluster.world.store.put(resource, {"metadata": created["metadata"], "spec": spec, "status": {}})
    answer = await client.request("GET", DEPLOYMENT_PATH + "/web/scale")
    assert (answer.status, "Odd" in answer.body["message"]) == (400, True)


async def test_an_object_lies_in_the_namespace_of_its_path(lab: LabServer, client: Client) -> None:
    answer = await client.request("POST", POD_PATH, pod("a", "kube-system"))
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    node = {"metadata": {"name": "n", "namespace": "default"}}
    assert "namespace" not in (await client.request("POST", "/api/v1/nodes", node)).body["metadata"]
    assert lab.cluster.find("pods", "a") is None
