"""Server-side apply and the tracking of who wrote what."""

from typing import Any

from tests.lab.client import Answer, Client
from tests.lab.objects import DEPLOYMENT_PATH, HPA_PATH, deployment, hpa

PATH = DEPLOYMENT_PATH + "/web"


async def apply(client: Client, manager: str, config: dict[str, Any], path: str = PATH, **options: str) -> Answer:
    full = {"apiVersion": "apps/v1", "kind": "Deployment", **config}
    return await client.patch(path, full, "apply-patch+yaml", fieldManager=manager, **options)


def owners(answer: Answer, *path: str) -> list[str]:
    """The managers that own a field."""
    found = []
    for entry in answer.body["metadata"]["managedFields"]:
        fields = entry["fieldsV1"]
        for name in path:
            fields = fields.get(name) if fields is not None else None
        if fields is not None:
            found.append(entry["manager"])
    return found


async def test_applying_what_does_not_exist_creates_it(client: Client) -> None:
    answer = await apply(client, "me", deployment(replicas=2))
    assert (answer.status, answer.body["spec"]["replicas"]) == (201, 2)
    assert owners(answer, "f:spec", "f:replicas") == ["me"]
    # Defaults belong to nobody.
    assert owners(answer, "f:spec", "f:revisionHistoryLimit") == []


async def test_applying_the_same_again_changes_nothing(client: Client) -> None:
    first = await apply(client, "me", deployment(replicas=2))
    second = await apply(client, "me", deployment(replicas=2))
    assert (second.status, second.body) == (200, first.body)


async def test_fields_that_are_no_longer_applied_go(client: Client) -> None:
    config = deployment(replicas=2, minReadySeconds=5)
    config["metadata"]["labels"] = {"a": "1", "b": "2"}
    await apply(client, "me", config)
    config = deployment(replicas=2)
    config["metadata"]["labels"] = {"a": "1"}
    answer = await apply(client, "me", config)
    assert answer.body["metadata"]["labels"] == {"a": "1"}
    assert "minReadySeconds" not in answer.body["spec"]


async def test_elements_of_a_list_are_owned_one_by_one(client: Client) -> None:
    def with_containers(*names: str) -> dict[str, Any]:
        config = deployment()
        containers = [{"name": name, "image": f"{name}:1"} for name in names]
        config["spec"]["template"]["spec"]["containers"] = containers
        return config

    await apply(client, "me", with_containers("app", "mine"))
    partial = {
        "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "theirs", "image": "t"}]}}},
    }
    await apply(client, "they", partial)
    answer = await apply(client, "me", with_containers("app"))
    names = [item["name"] for item in answer.body["spec"]["template"]["spec"]["containers"]]
    assert names == ["app", "theirs"]


async def test_a_port_without_its_protocol_is_the_one_of_the_default_protocol(client: Client) -> None:
    def with_ports(*ports: dict[str, Any]) -> dict[str, Any]:
        config = deployment()
        config["spec"]["template"]["spec"]["containers"][0]["ports"] = list(ports)
        return config

    for config in (with_ports({"containerPort": 80}), with_ports({"containerPort": 80, "protocol": "TCP"})):
        for _ in range(2):
            answer = await apply(client, "me", config)
            container = answer.body["spec"]["template"]["spec"]["containers"][0]
            assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    port = 'k:{"containerPort":80,"protocol":"TCP"}'
    path = ("f:spec", "f:template", "f:spec", "f:containers", 'k:{"name":"app"}', "f:ports", port, "f:containerPort")
    assert owners(answer, *path) == ["me"]
    answer = await apply(client, "me", with_ports({"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}))
    ports = answer.body["spec"]["template"]["spec"]["containers"][0]["ports"]
    assert [port["protocol"] for port in ports] == ["TCP", "UDP"]


async def test_a_service_that_is_applied_again_has_its_ports_once(client: Client) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]},
    }
    for _ in range(2):
        answer = await apply(client, "me", service, "/api/v1/namespaces/default/services/web")
        assert answer.body["spec"]["ports"] == [{"port": 80, "targetPort": 80, "protocol": "TCP"}]


async def test_another_owner_is_a_conflict_unless_forced(client: Client) -> None:
    await apply(client, "me", deployment(replicas=2))
    partial = {"metadata": {"name": "web"}, "spec": {"replicas": 5}}
    refused = await apply(client, "they", partial)
    assert (refused.status, refused.body["reason"]) == (409, "Conflict")
    assert refused.body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "me" using apps/v1',
            "field": ".spec.replicas",
        }
    ]
    forced = await apply(client, "they", partial, force="true")
    assert forced.body["spec"]["replicas"] == 5
    assert owners(forced, "f:spec", "f:replicas") == ["they"]


async def test_an_equal_value_is_shared_and_outlives_one_owner(client: Client) -> None:
    await apply(client, "me", deployment(replicas=2))
    partial = {"metadata": {"name": "web"}, "spec": {"replicas": 2}}
    shared = await apply(client, "they", partial)
    assert owners(shared, "f:spec", "f:replicas") == ["me", "they"]
    answer = await apply(client, "me", deployment())
    assert answer.body["spec"]["replicas"] == 2
    assert owners(answer, "f:spec", "f:replicas") == ["they"]


async def test_scaling_takes_the_replicas_from_their_applier(client: Client) -> None:
    await apply(client, "gitops", deployment(replicas=2))
    scale = {"spec": {"replicas": 4}}
    await client.patch(PATH + "/scale", scale, "merge-patch+json", fieldManager="autoscaler")
    refused = await apply(client, "gitops", deployment(replicas=2))
    assert refused.status == 409
    assert 'conflict with "autoscaler" with subresource "scale"' in refused.body["message"]
    # Who leaves the replicas out is no rival of an autoscaler.
    answer = await apply(client, "gitops", deployment())
    assert (answer.status, answer.body["spec"]["replicas"]) == (200, 4)


async def test_updates_are_tracked_by_manager_and_subresource(client: Client) -> None:
    agent = {"User-Agent": "probe/1.0 (test)"}
    created = await client.request("POST", HPA_PATH, hpa(), agent)
    assert owners(created, "f:spec", "f:maxReplicas") == ["probe"]
    assert owners(created, "f:status") == []
    status = {**created.body, "status": {"currentReplicas": 2, "desiredReplicas": 3}}
    written = await client.request("PUT", HPA_PATH + "/web/status", status, {"User-Agent": "writer/2"})
    entry = next(item for item in written.body["metadata"]["managedFields"] if item["manager"] == "writer")
    assert (entry["operation"], entry["subresource"]) == ("Update", "status")
    assert entry["fieldsV1"]["f:status"]["f:desiredReplicas"] == {}
    again = await client.request("PUT", HPA_PATH + "/web/status", written.body, {"User-Agent": "third/3"})
    assert again.body == written.body


async def test_what_a_manager_removes_belongs_to_nobody(client: Client) -> None:
    config = hpa()
    config["metadata"]["labels"] = {"a": "1"}
    created = await client.request("POST", HPA_PATH, config, {"User-Agent": "one/1"})
    assert owners(created, "f:metadata", "f:labels", "f:a") == ["one"]
    answer = await client.patch(HPA_PATH + "/web", {"metadata": {"labels": None}}, "merge-patch+json")
    assert owners(answer, "f:metadata", "f:labels") == []


async def test_an_apply_needs_a_manager_and_a_sound_object(client: Client) -> None:
    answer = await client.patch(PATH, deployment(), "apply-patch+yaml")
    assert answer.status == 422
    assert answer.body["details"]["causes"][0]["field"] == "fieldManager"
    assert (await client.patch(PATH, b"[", "apply-patch+yaml", fieldManager="me")).status == 400
    assert (await client.patch(PATH, b"- 1", "apply-patch+yaml", fieldManager="me")).status == 400
    wrong = {"metadata": {"name": "web"}, "spec": {"replicas": "two"}}
    assert (await apply(client, "me", wrong)).status == 400
    assert (await apply(client, "me", {"metadata": {"name": "other"}})).status == 400


async def test_an_apply_may_be_written_as_yaml(client: Client) -> None:
    manifest = b"""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, annotations: {since: 2026-01-02}}
spec: {maxReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
"""
    answer = await client.patch(HPA_PATH + "/web", manifest, "apply-patch+yaml", fieldManager="me", dryRun="All")
    # The date would not be text if YAML were read as YAML alone reads it.
    assert answer.body["metadata"]["annotations"] == {"since": "2026-01-02"}
    assert (await client.request("GET", HPA_PATH + "/web")).status == 404
