"""Discovery, OpenAPI and the other documents of the server."""

from typing import Any

from controller.lab.metrics_feed import CUSTOM_METRICS, EXTERNAL_METRICS, RESOURCE_METRICS, ObjectKey, Sample
from controller.lab.server import LabServer
from tests.lab.client import Client
from tests.lab.objects import rollout_definition

AGGREGATED = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"}
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def flattened(document: dict[str, Any]) -> dict[tuple[str, str, str], tuple[str, list[str]]]:
    """Kind and verbs by group, version and resource, of an aggregated document."""
    found = {}
    for item in document["items"]:
        group = item["metadata"].get("name", "")
        for version in item["versions"]:
            for entry in version.get("resources", []):
                key = (group, version["version"], entry["resource"])
                found[key] = (entry["responseKind"]["kind"], entry["verbs"])
                for below in entry.get("subresources", []):
                    name = f"{entry['resource']}/{below['subresource']}"
                    found[group, version["version"], name] = (below["responseKind"]["kind"], below["verbs"])
    return found


async def test_both_forms_of_discovery_agree(lab: LabServer, client: Client) -> None:
    lab.cluster.create(DEFINITIONS, rollout_definition())
    lab.cluster.metrics.set_custom("rps", ObjectKey("pods", "default", "a"), Sample("1"))
    lab.cluster.metrics.set_external("default", "queue", Sample("1"))
    aggregated = flattened(await client.get("/apis", AGGREGATED)) | flattened(await client.get("/api", AGGREGATED))
    plain: dict[tuple[str, str, str], tuple[str, list[str]]] = {}
    groups = (await client.get("/apis"))["groups"]
    places = [("", "v1", "/api/v1")]
    places += [
        (group["name"], version["version"], f"/apis/{version['groupVersion']}")
        for group in groups
        for version in group["versions"]
    ]
    for group, version, path in places:
        for entry in (await client.get(path))["resources"]:
            plain[group, version, entry["name"]] = (entry["kind"], entry["verbs"])
    assert aggregated == plain
    assert plain["example.com", "v1", "rollouts/scale"] == ("Scale", ["get", "patch", "update"])
    assert plain[CUSTOM_METRICS, "v1beta2", "pods/rps"] == ("MetricValueList", ["get"])


async def test_a_broken_metrics_group_does_not_break_discovery_of_the_others(lab: LabServer, client: Client) -> None:
    feed = lab.cluster.metrics
    feed.unavailable.add(RESOURCE_METRICS)
    feed.absent.add(EXTERNAL_METRICS)
    feed.custom_versions = ("v1beta1",)
    groups = {group["name"]: group for group in (await client.get("/apis"))["groups"]}
    assert RESOURCE_METRICS in groups
    assert EXTERNAL_METRICS not in groups
    assert groups[CUSTOM_METRICS]["preferredVersion"]["version"] == "v1beta1"
    assert (await client.request("GET", f"/apis/{RESOURCE_METRICS}/v1beta1")).status == 503
    assert (await client.request("GET", f"/apis/{EXTERNAL_METRICS}/v1beta1")).status == 404
    items = (await client.get("/apis", AGGREGATED))["items"]
    broken = next(item for item in items if item["metadata"]["name"] == RESOURCE_METRICS)
    assert broken["versions"] == [{"version": "v1beta1", "freshness": "Stale"}]
    assert any(item["metadata"]["name"] == "apps" for item in items)


async def test_kinds_come_and_go_with_their_definition(lab: LabServer, client: Client) -> None:
    path = "/apis/example.com/v1/namespaces/default/rollouts"
    assert (await client.request("GET", path)).status == 404
    lab.cluster.create(DEFINITIONS, rollout_definition(labelSelectorPath=".status.selector"))
    assert (await client.get(path))["items"] == []
    assert (await client.get("/apis/example.com"))["preferredVersion"]["version"] == "v1"
    lab.cluster.delete(DEFINITIONS, "rollouts.example.com")
    assert (await client.request("GET", path)).status == 404
    assert (await client.request("GET", "/apis/example.com")).status == 404


async def test_versions_of_a_definition_are_ordered_by_maturity(lab: LabServer, client: Client) -> None:
    definition = rollout_definition()
    version = definition["spec"]["versions"][0]
    names = ["v1alpha1", "v2beta1", "v1", "odd", "v10", "v2"]
    definition["spec"]["versions"] = [{**version, "name": name, "storage": name == "v1"} for name in names]
    definition["spec"]["versions"].append({**version, "name": "v9", "storage": False, "served": False})
    lab.cluster.create(DEFINITIONS, definition)
    group = await client.get("/apis/example.com")
    assert [item["version"] for item in group["versions"]] == [
        "v10",
        "v2",
        "v1",
        "v2beta1",
        "v1alpha1",
        "odd",
    ]
    created = await client.request(
        "POST", "/apis/example.com/v1/namespaces/default/rollouts", {"metadata": {"name": "web"}, "spec": {}}
    )
    seen = await client.get("/apis/example.com/v10/namespaces/default/rollouts/web")
    assert (seen["apiVersion"], seen["metadata"]) == ("example.com/v10", created.body["metadata"])


async def test_wrong_definitions_are_refused(client: Client) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    wrong = rollout_definition(specReplicasPath="replicas", labelSelectorPath="x")
    wrong["metadata"]["name"] = "other"
    wrong["spec"]["scope"] = "Everywhere"
    answer = await client.request("POST", path, wrong)
    assert answer.status == 422
    fields = [cause["field"].rpartition(".")[2] for cause in answer.body["details"]["causes"]]
    assert fields == ["name", "scope", "specReplicasPath", "labelSelectorPath"]


def references(value: Any) -> set[str]:
    match value:
        case dict():
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*(references(item) for item in value.values()))
        case list():
            return set().union(*(references(item) for item in value))
        case _:
            return set()


async def test_openapi_v3_is_complete(lab: LabServer, client: Client) -> None:
    lab.cluster.create(DEFINITIONS, rollout_definition())
    index = (await client.get("/openapi/v3"))["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/autoscaling/v2", "apis/example.com/v1"} <= set(index)
    kinds = set()
    for entry in index.values():
        document = await client.get(entry["serverRelativeURL"])
        schemas = document["components"]["schemas"]
        assert references(document) <= {f"#/components/schemas/{name}" for name in schemas}
        for schema in schemas.values():
            kinds |= {item["kind"] for item in schema.get("x-kubernetes-group-version-kind", [])}
    assert kinds == {endpoint.kind for endpoint in lab.cluster.world.registry}


async def test_openapi_v3_tells_kubectl_what_the_server_can_do(client: Client) -> None:
    document = await client.get("/openapi/v3/apis/apps/v1")
    item = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]
    assert {"fieldValidation", "dryRun"} <= {parameter["name"] for parameter in item["patch"]["parameters"]}
    assert "application/strategic-merge-patch+json" in item["patch"]["requestBody"]["content"]
    containers = document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


async def test_openapi_v2_is_complete_and_json_only(client: Client) -> None:
    document = await client.get("/openapi/v2")
    assert references(document) <= {f"#/definitions/{name}" for name in document["definitions"]}
    protobuf = {"Accept": "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}
    assert (await client.request("GET", "/openapi/v2", headers=protobuf)).status == 406


async def test_health_and_version(client: Client) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert (await client.request("GET", path)).body == "ok"
    assert (await client.get("/version"))["gitVersion"] == "v1.36.3"


async def test_anybody_may_do_anything(client: Client) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "delete", "resource": "nodes"}}}
    answer = await client.request("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    assert (answer.status, answer.body["status"]) == (201, {"allowed": True})
    assert (await client.request("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")).status == 405
