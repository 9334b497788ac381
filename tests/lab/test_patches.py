from typing import Any

import pytest

from controller.lab.objects.errors import ApiError
from controller.lab.patching.json_patch import apply_json_patch, apply_merge_patch
from controller.lab.patching.strategic import apply_strategic_patch
from controller.lab.schema.autoscaling import HPA_V2
from controller.lab.schema.workloads import DEPLOYMENT
from tests.lab.client import Client
from tests.lab.objects import CONFIG_MAP_PATH, DEPLOYMENT_PATH, config_map, deployment

DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, 3], "c/d": "x", "~": 0}}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        ({"op": "add", "path": "/a/n", "value": 1}, {"a": {**DOCUMENT["a"], "n": 1}}),
        ({"op": "add", "path": "/a/b/1", "value": 9}, {"a": {**DOCUMENT["a"], "b": [1, 9, 2, 3]}}),
        ({"op": "add", "path": "/a/b/-", "value": 9}, {"a": {**DOCUMENT["a"], "b": [1, 2, 3, 9]}}),
        ({"op": "remove", "path": "/a/b/0"}, {"a": {**DOCUMENT["a"], "b": [2, 3]}}),
        ({"op": "replace", "path": "/a/c~1d", "value": "y"}, {"a": {**DOCUMENT["a"], "c/d": "y"}}),
        ({"op": "replace", "path": "/a/~0", "value": 5}, {"a": {**DOCUMENT["a"], "~": 5}}),
        ({"op": "replace", "path": "", "value": {"z": 1}}, {"z": 1}),
        ({"op": "copy", "from": "/a/b", "path": "/e"}, {**DOCUMENT, "e": [1, 2, 3]}),
        ({"op": "move", "from": "/a/b/0", "path": "/e"}, {"a": {**DOCUMENT["a"], "b": [2, 3]}, "e": 1}),
        ({"op": "test", "path": "/a/b", "value": [1, 2, 3]}, DOCUMENT),
    ],
)
def test_json_patch_operations(operation: dict[str, Any], expected: dict[str, Any]) -> None:
    assert apply_json_patch(DOCUMENT, [operation]) == expected


@pytest.mark.parametrize(
    ("operations", "code"),
    [
        ("no list", 400),
        ([{"op": "odd", "path": "/a"}], 400),
        ([{"op": "replace", "path": "", "value": []}], 400),
        ([{"op": "test", "path": "/a/b", "value": []}], 422),
        ([{"op": "remove", "path": "/nothing"}], 422),
        ([{"op": "replace", "path": "/nothing", "value": 1}], 422),
        ([{"op": "add", "path": "/a/b/9", "value": 1}], 422),
        ([{"op": "add", "path": "/a/b/x", "value": 1}], 422),
        ([{"op": "add", "path": "/a/c~1d/deep", "value": 1}], 422),
        ([{"op": "add", "path": "no pointer", "value": 1}], 422),
        ([{"op": "add", "path": "/a"}], 422),
        ([{"op": "test", "path": "", "value": {}}] * 10_001, 413),
    ],
)
def test_json_patches_that_cannot_be_applied(operations: object, code: int) -> None:
    with pytest.raises(ApiError) as caught:
        apply_json_patch(DOCUMENT, operations)
    assert caught.value.code == code


def test_a_patch_leaves_the_original_alone() -> None:
    before = str(DOCUMENT)
    apply_json_patch(DOCUMENT, [{"op": "remove", "path": "/a/b"}])
    apply_merge_patch(DOCUMENT, {"a": {"b": None}})
    apply_strategic_patch(DOCUMENT, {"a": {"b": None}}, None)
    assert str(DOCUMENT) == before


def test_a_merge_patch_merges_objects_and_replaces_lists() -> None:
    assert apply_merge_patch(DOCUMENT, {"a": {"b": [9], "~": None}, "n": {"x": {"y": None, "z": 1}}}) == {
        "a": {"b": [9], "c/d": "x"},
        "n": {"x": {"z": 1}},
    }


CONTAINERS = [
    {"name": "app", "image": "app:1", "env": [{"name": "A", "value": "1"}]},
    {"name": "side", "image": "s"},
]


def _containers(patch: list[dict[str, Any]], **directives: Any) -> list[dict[str, Any]]:
    original = {"spec": {"template": {"spec": {"containers": CONTAINERS}}}}
    wrapped = {"spec": {"template": {"spec": {"containers": patch, **directives}}}}
    result = apply_strategic_patch(original, wrapped, DEPLOYMENT)
    found: list[dict[str, Any]] = result["spec"]["template"]["spec"]["containers"]
    return found


def test_a_strategic_patch_merges_lists_by_key() -> None:
    merged = _containers([{"name": "app", "image": "app:2", "env": [{"name": "B", "value": "2"}]}])
    env = [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]
    assert merged == [{"name": "app", "image": "app:2", "env": env}, CONTAINERS[1]]


def test_a_strategic_patch_adds_deletes_and_replaces_elements() -> None:
    assert _containers([{"name": "new", "image": "n", "tty": None}]) == [
        {"name": "new", "image": "n"},
        *CONTAINERS,
    ]
    assert _containers([{"name": "app", "$patch": "delete"}]) == [CONTAINERS[1]]
    assert _containers([{"$patch": "replace"}, {"name": "only"}]) == [{"name": "only"}]


@pytest.mark.parametrize(
    ("patched", "order", "expected"),
    [
        (["new"], [], ["new", "app", "side"]),
        (["d", "c"], [], ["d", "c", "app", "side"]),
        (["d", "side", "c"], [], ["d", "app", "side", "c"]),
        (["side"], [], ["app", "side"]),
        (["app"], ["side", "app"], ["side", "app"]),
        (["new"], ["side", "new", "app"], ["side", "new", "app"]),
        (["new"], ["side", "new"], ["app", "side", "new"]),
        ([], ["side", "app"], ["side", "app"]),
    ],
)
def test_a_strategic_patch_orders_elements(patched: list[str], order: list[str], expected: list[str]) -> None:
    directive = {"$setElementOrder/containers": [{"name": name} for name in order]} if order else {}
    merged = _containers([{"name": name, "image": "x"} for name in patched], **directive)
    assert [item["name"] for item in merged] == expected


def test_directives_on_objects() -> None:
    original = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    keep = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply_strategic_patch(original, keep, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}
    replace = {"spec": {"strategy": {"$patch": "replace", "type": "Recreate"}}}
    assert apply_strategic_patch(original, replace, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}
    delete = {"spec": {"strategy": {"$patch": "delete"}}}
    assert apply_strategic_patch(original, delete, DEPLOYMENT) == {"spec": {}}
    with pytest.raises(ApiError, match="unrecognized"):
        apply_strategic_patch(original, {"spec": {"$patch": "odd"}}, DEPLOYMENT)


def test_sets_of_scalars_are_merged_and_deleted_from() -> None:
    original = {"metadata": {"finalizers": ["a/1", "b/2"]}}
    added = apply_strategic_patch(original, {"metadata": {"finalizers": ["c/3", "a/1"]}}, HPA_V2)
    assert added == {"metadata": {"finalizers": ["c/3", "a/1", "b/2"]}}
    removed = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/1"]}}
    assert apply_strategic_patch(original, removed, HPA_V2) == {"metadata": {"finalizers": ["b/2"]}}


def test_lists_without_a_key_are_replaced() -> None:
    original = {"spec": {"metrics": [{"type": "Resource"}]}}
    patch = {"spec": {"metrics": [{"type": "Pods", "pods": {"x": None}}]}}
    assert apply_strategic_patch(original, patch, HPA_V2) == {"spec": {"metrics": [{"type": "Pods", "pods": {}}]}}


def test_an_element_without_its_key_is_refused() -> None:
    with pytest.raises(ApiError, match="merge key 'type'"):
        apply_strategic_patch({}, {"status": {"conditions": [{"status": "True"}]}}, HPA_V2)


async def test_patches_over_http(client: Client) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment())
    path = DEPLOYMENT_PATH + "/web"
    answer = await client.patch(path, {"metadata": {"labels": {"a": "b"}}}, "merge-patch+json")
    assert answer.body["metadata"]["labels"] == {"a": "b"}
    version = answer.body["metadata"]["resourceVersion"]
    container = {"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:2"}]}}}}
    answer = await client.patch(path, container, "strategic-merge-patch+json")
    assert answer.body["spec"]["template"]["spec"]["containers"][0]["image"] == "app:2"
    stale = {"metadata": {"resourceVersion": version}, "spec": {"replicas": 9}}
    assert (await client.patch(path, stale, "merge-patch+json")).status == 409
    operations = [{"op": "replace", "path": "/spec/replicas", "value": 3}]
    assert (await client.patch(path, operations, "json-patch+json")).body["spec"]["replicas"] == 3
    assert (await client.patch(path, {}, "odd-patch+json")).status == 415
    assert (await client.patch(path, [], "merge-patch+json")).status == 400
    assert (await client.patch(path, b"{", "merge-patch+json")).status == 400
    assert (await client.patch(DEPLOYMENT_PATH + "/gone", {}, "merge-patch+json")).status == 404
    assert (await client.patch(path, {"metadata": {"name": "x"}}, "merge-patch+json")).status == 422


async def test_a_patch_can_take_the_last_finalizer_away(client: Client) -> None:
    await client.request("POST", CONFIG_MAP_PATH, config_map("a", finalizers=["example.com/hold"]))
    await client.request("DELETE", CONFIG_MAP_PATH + "/a")
    answer = await client.patch(CONFIG_MAP_PATH + "/a", {"metadata": {"finalizers": None}}, "merge-patch+json")
    assert answer.status == 200
    assert (await client.request("GET", CONFIG_MAP_PATH + "/a")).status == 404
