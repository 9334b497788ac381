"""Requests that the API server refuses."""

from typing import Any

import pytest

from tests.lab.client import Answer, Client
from tests.lab.objects import CONFIG_MAP_PATH, DEPLOYMENT_PATH, HPA_PATH, config_map, deployment, hpa

APPLIED = "apply-patch+yaml"
MERGED = "merge-patch+json"


def fields(answer: Answer) -> list[tuple[str, str]]:
    """What a refusal says of which field."""
    assert (answer.status, answer.body["reason"]) == (422, "Invalid"), answer.body
    return [(cause["field"], cause["reason"]) for cause in answer.body["details"]["causes"]]


@pytest.mark.parametrize("method", ["DELETE", "POST"])
async def test_a_subresource_is_neither_deleted_nor_created(client: Client, method: str) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment())
    await client.request("POST", HPA_PATH, hpa())
    for path in (DEPLOYMENT_PATH + "/web/scale", DEPLOYMENT_PATH + "/web/status", HPA_PATH + "/web/status"):
        answer = await client.request(method, path, {})
        assert (answer.status, answer.body["reason"]) == (405, "MethodNotAllowed")
        await client.get(path)


async def test_nothing_is_served_below_a_subresource(client: Client) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment())
    assert (await client.request("GET", DEPLOYMENT_PATH + "/web/scale/more")).status == 404


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"fieldManager": "m" * 129}, [("fieldManager", "FieldValueTooLong")]),
        ({"fieldManager": "\u00e9" * 65}, [("fieldManager", "FieldValueTooLong")]),
        ({"fieldManager": "a\nb"}, [("fieldManager", "FieldValueInvalid")]),
        ({"fieldValidation": "Odd"}, [("fieldValidation", "FieldValueNotSupported")]),
        (
            {"dryRun": "Odd", "fieldValidation": "Odd"},
            [("dryRun", "FieldValueNotSupported"), ("fieldValidation", "FieldValueNotSupported")],
        ),
    ],
)
async def test_parameters_that_no_write_may_have(
    client: Client, parameters: dict[str, str], expected: list[tuple[str, str]]
) -> None:
    path, changed = CONFIG_MAP_PATH + "/a", config_map("a")
    assert fields(await client.request("POST", CONFIG_MAP_PATH, changed, parameters=parameters)) == expected
    await client.request("POST", CONFIG_MAP_PATH, changed)
    assert fields(await client.request("PUT", path, changed, parameters=parameters)) == expected
    assert fields(await client.patch(path, {}, MERGED, **parameters)) == expected
    whole = {"apiVersion": "v1", "kind": "ConfigMap", **changed}
    assert fields(await client.patch(path, whole, APPLIED, **{"fieldManager": "me", **parameters})) == expected


async def test_only_an_apply_can_be_forced(client: Client) -> None:
    await client.request("POST", CONFIG_MAP_PATH, config_map("a"))
    for force in ("true", "false"):
        refused = await client.patch(CONFIG_MAP_PATH + "/a", {}, MERGED, force=force)
        assert fields(refused) == [("force", "FieldValueForbidden")]


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"apiVersion": "v1"},
        {"kind": "ConfigMap"},
        {"apiVersion": "v2", "kind": "ConfigMap"},
        {"apiVersion": "v1", "kind": "Secret"},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": []}},
    ],
)
async def test_an_apply_says_of_which_kind_it_is_and_leaves_managed_fields_out(
    client: Client, content: dict[str, Any]
) -> None:
    answer = await client.patch(CONFIG_MAP_PATH + "/a", content, APPLIED, fieldManager="me")
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert (await client.request("GET", CONFIG_MAP_PATH + "/a")).status == 404


async def test_an_apply_without_metadata_means_the_object_of_its_path(client: Client) -> None:
    content = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}
    answer = await client.patch(CONFIG_MAP_PATH + "/a", content, APPLIED, fieldManager="me")
    assert (answer.status, answer.body["metadata"]["name"]) == (201, "a")


@pytest.mark.parametrize(
    ("metadata", "container", "named"),
    [
        ({}, {"env": [{"name": "A"}, {"name": "A", "value": "1"}]}, '.containers[name="app"].env has [name="A"] twice'),
        (
            {},
            {"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]},
            '.ports has [containerPort=80,protocol="TCP"] twice',
        ),
        ({"finalizers": ["a/b", "a/b"]}, {}, '.metadata.finalizers has [="a/b"] twice'),
    ],
)
async def test_an_apply_has_no_element_twice(
    client: Client, metadata: dict[str, Any], container: dict[str, Any], named: str
) -> None:
    config = {"apiVersion": "apps/v1", "kind": "Deployment", **deployment()}
    config["metadata"] |= metadata
    config["spec"]["template"]["spec"]["containers"][0] |= container
    answer = await client.patch(DEPLOYMENT_PATH + "/web", config, APPLIED, fieldManager="me")
    assert answer.status == 500
    assert named in answer.body["message"]
    assert (await client.request("GET", DEPLOYMENT_PATH + "/web")).status == 404


async def test_a_scale_of_another_namespace_is_refused(client: Client) -> None:
    await client.request("POST", DEPLOYMENT_PATH, deployment())
    path = DEPLOYMENT_PATH + "/web/scale"
    scale = {"metadata": {"name": "web", "namespace": "other"}, "spec": {"replicas": 4}}
    for answer in (await client.request("PUT", path, scale), await client.patch(path, scale, MERGED)):
        assert (answer.status, answer.body["reason"]) == (400, "BadRequest")
    assert (await client.get(path))["spec"]["replicas"] == 1


async def test_a_deletion_says_once_what_becomes_of_dependents(client: Client) -> None:
    await client.request("POST", CONFIG_MAP_PATH, config_map("a"))
    both = {"orphanDependents": True, "propagationPolicy": "Background"}
    expected = [("propagationPolicy", "FieldValueInvalid")]
    assert fields(await client.request("DELETE", CONFIG_MAP_PATH + "/a", both)) == expected
    query = {"orphanDependents": "true", "propagationPolicy": "Background"}
    assert fields(await client.request("DELETE", CONFIG_MAP_PATH + "/a", parameters=query)) == expected
    assert fields(await client.request("DELETE", CONFIG_MAP_PATH, both)) == expected
    await client.get(CONFIG_MAP_PATH + "/a")
