"""What a controller relies on in custom resources that can be scaled."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.contract.api_server import ANSWER_S, MERGE_PATCH, Api

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
async def rollouts(api: Api, namespace: str) -> AsyncIterator[str]:
    """The path of a new kind with status and scale subresources; its selector is at .status.selector."""
    group = f"contract-{secrets.token_hex(4)}.example.com"
    definition = {
        "metadata": {"name": f"rollouts.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": "rollouts", "kind": "Rollout"},
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": ANYTHING, "status": ANYTHING},
                        }
                    },
                    "subresources": {
                        "status": {},
                        "scale": {
                            "specReplicasPath": ".spec.replicas",
                            "statusReplicasPath": ".status.replicas",
                            "labelSelectorPath": ".status.selector",
                        },
                    },
                }
            ],
        },
    }
    await api.create(DEFINITIONS, definition)
    path = f"/apis/{group}/v1/namespaces/{namespace}/rollouts"
    async with asyncio.timeout(ANSWER_S):
        # A new kind is served a moment after it was defined, and its cache is filled a moment after that.
        while (await api.request("GET", path)).status != 200:  # noqa: ASYNC110 - the server sends no signal
            await asyncio.sleep(0.1)
    yield path
    await api.request("DELETE", f"{DEFINITIONS}/rollouts.{group}")


def _rollout(path: str, **spec: Any) -> dict[str, Any]:
    group = path.split("/")[2]
    return {"apiVersion": f"{group}/v1", "kind": "Rollout", "metadata": {"name": "web"}, "spec": spec}


async def test_a_scale_shows_what_the_paths_lead_to(api: Api, rollouts: str) -> None:
    await api.create(rollouts, _rollout(rollouts, replicas=2))
    assert (await api.get(f"{rollouts}/web/scale"))["status"] == {"replicas": 0}
    patch = {"status": {"replicas": 3, "selector": "app in (a,b), tier=web"}}
    await api.request("PATCH", f"{rollouts}/web/status", patch, content_type=MERGE_PATCH)
    scale = await api.get(f"{rollouts}/web/scale")
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 3, "selector": "app in (a,b), tier=web"}


async def test_a_scale_put_writes_through_the_path_and_checks_the_version(api: Api, rollouts: str) -> None:
    await api.create(rollouts, _rollout(rollouts, replicas=2, other="kept"))
    scale = await api.get(f"{rollouts}/web/scale")
    await api.put(f"{rollouts}/web/scale", {**scale, "spec": {"replicas": 5}})
    assert (await api.get(f"{rollouts}/web"))["spec"] == {"replicas": 5, "other": "kept"}
    answer = await api.request("PUT", f"{rollouts}/web/scale", {**scale, "spec": {"replicas": 6}})
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")


async def test_an_object_without_replicas_has_no_scale_to_read(api: Api, rollouts: str) -> None:
    await api.create(rollouts, _rollout(rollouts))
    answer = await api.request("GET", f"{rollouts}/web/scale")
    assert (answer.status, answer.body["reason"]) == (500, "InternalError")


async def test_a_status_write_keeps_metadata_and_spec(api: Api, rollouts: str) -> None:
    created = await api.create(rollouts, _rollout(rollouts, replicas=2))
    sent = {**created, "spec": {"replicas": 9}, "status": {"replicas": 1}}
    sent["metadata"] = {**created["metadata"], "labels": {"from": "status"}}
    updated = await api.put(f"{rollouts}/web/status", sent)
    assert "labels" not in updated["metadata"]
    assert updated["spec"] == {"replicas": 2}
    assert updated["status"] == {"replicas": 1}
    assert updated["metadata"]["generation"] == created["metadata"]["generation"]


async def test_items_of_a_list_of_custom_objects_carry_their_kind(api: Api, rollouts: str) -> None:
    created = await api.create(rollouts, _rollout(rollouts, replicas=2))
    assert (await api.get(rollouts))["items"] == [created]


async def test_strategic_patches_are_refused(api: Api, rollouts: str) -> None:
    await api.create(rollouts, _rollout(rollouts, replicas=2))
    strategic = "application/strategic-merge-patch+json"
    answer = await api.request("PATCH", f"{rollouts}/web", {"spec": {}}, content_type=strategic)
    assert (answer.status, answer.body["reason"]) == (415, "UnsupportedMediaType")
