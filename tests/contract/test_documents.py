"""What a controller relies on in discovery, and in the form of refusals."""

from typing import Any

from tests.contract.api_server import Api
from tests.contract.objects import config_map, config_maps, deployments, hpa, hpas

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


def _named(resources: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in resources if entry["name"] == name)


async def test_discovery_lists_resources_with_their_scales(api: Api) -> None:
    for path, plurals in (
        ("/apis/apps/v1", ("deployments", "replicasets", "statefulsets")),
        ("/api/v1", ("replicationcontrollers",)),
    ):
        document = await api.get(path)
        assert document["kind"] == "APIResourceList"
        for plural in plurals:
            parent = _named(document["resources"], plural)
            assert parent["namespaced"] is True
            assert {"get", "list", "watch"} <= set(parent["verbs"])
            scale = _named(document["resources"], f"{plural}/scale")
            assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")
            assert {"get", "update", "patch"} <= set(scale["verbs"])


async def test_the_preferred_version_of_autoscaling_is_v2(api: Api) -> None:
    group = await api.get("/apis/autoscaling")
    assert group["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}
    assert [version["version"] for version in group["versions"]] == ["v2", "v1"]
    groups = (await api.get("/apis"))["groups"]
    assert _named(groups, "autoscaling")["preferredVersion"]["version"] == "v2"


async def test_aggregated_discovery_says_the_same(api: Api) -> None:
    answer = await api.request("GET", "/apis", accept=AGGREGATED)
    assert "as=APIGroupDiscoveryList" in answer.headers["Content-Type"]
    apps = next(item for item in answer.body["items"] if item["metadata"]["name"] == "apps")
    resources = {entry["resource"]: entry for entry in apps["versions"][0]["resources"]}
    kind = resources["deployments"]["responseKind"]
    # An empty group or version stands for that of the list.
    assert (kind["group"] or "apps", kind["version"] or "v1", kind["kind"]) == ("apps", "v1", "Deployment")
    scales = [entry for entry in resources["deployments"]["subresources"] if entry["subresource"] == "scale"]
    assert scales[0]["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    core = (await api.request("GET", "/api", accept=AGGREGATED)).body
    assert {entry["resource"] for entry in core["items"][0]["versions"][0]["resources"]} >= {"pods", "events"}


async def test_the_version_is_that_of_kubernetes(api: Api) -> None:
    version = await api.get("/version")
    assert version["gitVersion"].startswith("v1.")
    assert {"major", "minor"} <= set(version)


async def test_a_missing_object_is_named(api: Api, namespace: str) -> None:
    answer = await api.request("GET", hpas(namespace, "gone"))
    assert answer.status == 404
    assert answer.body == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'horizontalpodautoscalers.autoscaling "gone" not found',
        "reason": "NotFound",
        "details": {"name": "gone", "group": "autoscaling", "kind": "horizontalpodautoscalers"},
        "code": 404,
    }


async def test_an_unknown_resource_is_not_found_without_a_name(api: Api, namespace: str) -> None:
    answer = await api.request("GET", f"/apis/apps/v1/namespaces/{namespace}/balloons")
    assert answer.status == 404
    assert (answer.body["reason"], answer.body["details"]) == ("NotFound", {})


async def test_an_unknown_group_is_not_found_in_plain_text(api: Api) -> None:
    answer = await api.request("GET", "/apis/unknown.example.com/v1/balloons")
    assert answer.status == 404
    assert answer.body.strip() == "404 page not found"


async def test_a_missing_namespace_refuses_objects_and_lists_none(api: Api) -> None:
    answer = await api.request("POST", config_maps("no-such-namespace"), config_map("item"))
    assert (answer.status, answer.body["details"]["kind"]) == (404, "namespaces")
    assert (await api.get(config_maps("no-such-namespace")))["items"] == []


async def test_an_existing_name_already_exists(api: Api, namespace: str) -> None:
    await api.create(hpas(namespace), hpa("web"))
    answer = await api.request("POST", hpas(namespace), hpa("web"))
    assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")


async def test_a_stale_put_conflicts(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    spec = created["spec"]
    await api.put(hpas(namespace, "web"), {**created, "spec": {**spec, "maxReplicas": 6}})
    answer = await api.request("PUT", hpas(namespace, "web"), {**created, "spec": {**spec, "maxReplicas": 7}})
    assert answer.status == 409
    assert answer.body["reason"] == "Conflict"
    assert "the object has been modified" in answer.body["message"]


async def test_an_invalid_object_lists_every_cause(api: Api, namespace: str) -> None:
    wrong = hpa("web")
    wrong["spec"] |= {"maxReplicas": 0, "minReplicas": 2, "scaleTargetRef": {"kind": "", "name": "web"}}
    answer = await api.request("POST", hpas(namespace), wrong)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert [(cause["reason"], cause["field"]) for cause in answer.body["details"]["causes"]] == [
        ("FieldValueRequired", "spec.maxReplicas"),
        ("FieldValueInvalid", "spec.maxReplicas"),
        ("FieldValueRequired", "spec.scaleTargetRef.kind"),
        ("FieldValueInvalid", "spec.scaleTargetRef.apiVersion"),
    ]


async def test_what_cannot_be_decoded_is_a_bad_request(api: Api, namespace: str) -> None:
    wrong = hpa("web")
    wrong["spec"]["maxReplicas"] = "five"
    answer = await api.request("POST", hpas(namespace), wrong)
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


async def test_a_deletion_says_what_was_deleted(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    answer = await api.request("DELETE", hpas(namespace, "web"))
    assert answer.status == 200
    assert answer.body["status"] == "Success"
    assert answer.body["details"]["uid"] == created["metadata"]["uid"]


async def test_a_finalizer_holds_a_deletion_up(api: Api, namespace: str) -> None:
    held = hpa("web")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    await api.create(hpas(namespace), held)
    await api.request("DELETE", hpas(namespace, "web"))
    marked = await api.get(hpas(namespace, "web"))
    assert marked["metadata"]["deletionTimestamp"]
    released = {**marked, "metadata": {**marked["metadata"], "finalizers": []}}
    await api.put(hpas(namespace, "web"), released)
    assert (await api.request("GET", hpas(namespace, "web"))).status == 404


async def test_a_dry_run_changes_nothing(api: Api, namespace: str) -> None:
    answer = await api.request("POST", hpas(namespace), hpa("web"), parameters={"dryRun": "All"})
    assert answer.status == 201
    assert (await api.request("GET", hpas(namespace, "web"))).status == 404


async def test_an_unknown_method_is_not_allowed(api: Api, namespace: str) -> None:
    answer = await api.request("POST", deployments(namespace, "web"), {})
    assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
