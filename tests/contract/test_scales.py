"""What a controller relies on when it reads and writes scales."""

import random
from typing import Any

import pytest

from tests.contract.api_server import JSON_PATCH, MERGE_PATCH, Api
from tests.contract.objects import deployment, deployments, template

KINDS = {
    "Deployment": ("/apis/apps/v1", "deployments"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "StatefulSet": ("/apis/apps/v1", "statefulsets"),
    "ReplicationController": ("/api/v1", "replicationcontrollers"),
}


def _path(kind: str, namespace: str) -> str:
    root, plural = KINDS[kind]
    return f"{root}/namespaces/{namespace}/{plural}"


def _workload(kind: str, name: str) -> dict[str, Any]:
    if kind == "ReplicationController":
        labels = {"tier": "web", "app": name}
        return {"metadata": {"name": name}, "spec": {"selector": labels, "template": template(**labels)}}
    return {**deployment(name), "kind": kind}


def _generated_selector(source: random.Random) -> tuple[dict[str, Any], dict[str, str]]:
    """A LabelSelector in no particular order, and labels that it selects."""
    keys = source.sample(["app", "tier", "example.com/role", "b", "a-b", "zone", "A", "app.kubernetes.io/name"], 4)
    labels = {key: source.choice(["web", "x-1", "v1.2", "", "Z_z"]) for key in keys}
    equal = keys[: source.randint(0, 2)]
    expressions = []
    for key in keys[len(equal) :] + source.sample(keys, 1):
        match source.choice(("In", "NotIn", "Exists", "DoesNotExist")):
            case "In":
                values = [labels[key], *source.sample(["q", "c", "7", "M"], source.randint(0, 3))]
                source.shuffle(values)
                expressions.append({"key": key, "operator": "In", "values": values})
            case "NotIn":
                values = source.sample(["q", "c", "7", "M"], source.randint(1, 3))
                expressions.append({"key": key, "operator": "NotIn", "values": values})
            case "Exists":
                expressions.append({"key": key, "operator": "Exists"})
            case _:
                expressions.append({"key": f"no-{len(expressions)}", "operator": "DoesNotExist"})
    selector: dict[str, Any] = {"matchExpressions": expressions}
    if equal:
        selector["matchLabels"] = {key: labels[key] for key in equal}
    return selector, labels


def _printed(selector: dict[str, Any]) -> str:
    """The text a Scale must show for a selector.

    Requirements ordered by key, values of a set ordered, too.
    """
    parts = [(key, f"{key}={value}") for key, value in selector.get("matchLabels", {}).items()]
    for expression in selector.get("matchExpressions", []):
        key, values = expression["key"], ",".join(sorted(expression.get("values", [])))
        texts = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }
        parts.append((key, texts[expression["operator"]]))
    return ",".join(text for _, text in sorted(parts, key=lambda part: part[0]))


@pytest.mark.parametrize("kind", KINDS)
async def test_a_scale_is_derived_from_its_object(api: Api, namespace: str, kind: str) -> None:
    path = _path(kind, namespace)
    created = await api.create(path, _workload(kind, "web"))
    scale = await api.get(f"{path}/web/scale")
    metadata = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    labels = "app=web,tier=web" if kind == "ReplicationController" else "app=web"
    assert scale == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {field: created["metadata"][field] for field in metadata},
        "spec": {"replicas": 1},
        "status": {"replicas": 0, "selector": labels},
    }


@pytest.mark.parametrize("seed", range(30))
async def test_a_scale_prints_the_selector_of_its_object(api: Api, namespace: str, seed: int) -> None:
    selector, labels = _generated_selector(random.Random(seed))  # noqa: S311 - repeatable on purpose
    workload = deployment("web", selector)
    workload["spec"]["template"] = template(**labels)
    await api.create(deployments(namespace), workload)
    scale = await api.get(deployments(namespace, "web") + "/scale")
    assert scale["status"]["selector"] == _printed(selector)


@pytest.mark.parametrize("kind", KINDS)
async def test_missing_replicas_are_one_and_zero_replicas_are_left_out(api: Api, namespace: str, kind: str) -> None:
    path = _path(kind, namespace)
    await api.create(path, _workload(kind, "web"))
    assert (await api.get(f"{path}/web/scale"))["spec"] == {"replicas": 1}
    zero = {"spec": {"replicas": 0}}
    answer = await api.request("PATCH", f"{path}/web/scale", zero, content_type=MERGE_PATCH)
    assert answer.body["spec"] == {}
    assert (await api.get(f"{path}/web"))["spec"]["replicas"] == 0
    assert (await api.get(f"{path}/web/scale"))["spec"] == {}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_scale_put_sets_replicas_and_nothing_else(api: Api, namespace: str, kind: str) -> None:
    path = _path(kind, namespace)
    created = await api.create(path, _workload(kind, "web"))
    scale = await api.get(f"{path}/web/scale")
    scale["spec"]["replicas"] = 4
    scale["status"] = {"replicas": 99, "selector": "other=selector"}
    written = await api.put(f"{path}/web/scale", scale)
    after = await api.get(f"{path}/web")
    assert after["spec"] == {**created["spec"], "replicas": 4}
    assert after["status"] == created["status"]
    assert after["metadata"]["generation"] == created["metadata"]["generation"] + 1
    assert written["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    assert written["spec"] == {"replicas": 4}
    assert written == await api.get(f"{path}/web/scale")


async def test_a_stale_scale_put_conflicts_and_changes_nothing(api: Api, namespace: str) -> None:
    await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web") + "/scale"
    first = await api.get(path)
    second = await api.put(path, {**first, "spec": {"replicas": 2}})
    answer = await api.request("PUT", path, {**first, "spec": {"replicas": 3}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert answer.body["details"] == {"name": "web", "group": "apps", "kind": "deployments"}
    assert await api.get(path) == second


async def test_a_status_write_of_the_object_makes_a_scale_stale(api: Api, namespace: str) -> None:
    created = await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web")
    scale = await api.get(path + "/scale")
    await api.put(path + "/status", {**created, "status": {"replicas": 1}})
    answer = await api.request("PUT", path + "/scale", {**scale, "spec": {"replicas": 2}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")


async def test_a_scale_of_another_incarnation_conflicts(api: Api, namespace: str) -> None:
    await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web")
    scale = await api.get(path + "/scale")
    await api.request("DELETE", path)
    await api.create(deployments(namespace), deployment("web"))
    del scale["metadata"]["resourceVersion"]
    answer = await api.request("PUT", path + "/scale", {**scale, "spec": {"replicas": 2}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert (await api.get(path))["spec"]["replicas"] == 1


async def test_a_scale_put_without_preconditions_always_wins(api: Api, namespace: str) -> None:
    await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web") + "/scale"
    bare = {"metadata": {"name": "web", "namespace": namespace}, "spec": {"replicas": 3}}
    assert (await api.put(path, bare))["spec"] == {"replicas": 3}


async def test_an_equal_scale_is_no_new_generation(api: Api, namespace: str) -> None:
    # Not relied on: that the version stays. The API server gives a new one while it rewrites managedFields.
    created = await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web")
    scale = await api.get(path + "/scale")
    await api.put(path + "/scale", scale)
    after = await api.get(path)
    assert after["spec"] == created["spec"]
    assert after["metadata"]["generation"] == created["metadata"]["generation"]


async def test_a_json_patch_can_test_before_it_scales(api: Api, namespace: str) -> None:
    await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web") + "/scale"
    replace = {"op": "replace", "path": "/spec/replicas", "value": 6}
    refused = [{"op": "test", "path": "/spec/replicas", "value": 9}, replace]
    answer = await api.request("PATCH", path, refused, content_type=JSON_PATCH)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    accepted = [{"op": "test", "path": "/spec/replicas", "value": 1}, replace]
    answer = await api.request("PATCH", path, accepted, content_type=JSON_PATCH)
    assert answer.body["spec"] == {"replicas": 6}


async def test_negative_replicas_are_invalid(api: Api, namespace: str) -> None:
    await api.create(deployments(namespace), deployment("web"))
    path = deployments(namespace, "web") + "/scale"
    scale = await api.get(path)
    answer = await api.request("PUT", path, {**scale, "spec": {"replicas": -1}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    causes = [(cause["reason"], cause["field"]) for cause in answer.body["details"]["causes"]]
    assert causes == [("FieldValueInvalid", "spec.replicas")]


async def test_the_scale_of_nothing_is_not_found(api: Api, namespace: str) -> None:
    answer = await api.request("GET", deployments(namespace, "gone") + "/scale")
    assert (answer.status, answer.body["reason"]) == (404, "NotFound")
    assert answer.body["details"] == {"name": "gone", "group": "apps", "kind": "deployments"}
