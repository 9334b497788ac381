"""What a controller relies on when it writes the status of an HPA."""

import copy
from typing import Any

from tests.contract.api_server import MERGE_PATCH, Api
from tests.contract.objects import hpa, hpas

STATUS: dict[str, Any] = {
    "currentReplicas": 2,
    "desiredReplicas": 3,
    "lastScaleTime": "2026-01-02T03:04:05Z",
    "currentMetrics": [
        {"type": ""},
        {
            "type": "Resource",
            "resource": {"name": "cpu", "current": {"averageUtilization": 20, "averageValue": "100m"}},
        },
    ],
    "conditions": [
        {
            "type": "AbleToScale",
            "status": "True",
            "lastTransitionTime": "2026-01-02T03:04:05Z",
            "reason": "ReadyForNewScale",
            "message": "ready",
        }
    ],
}


async def test_a_new_hpa_has_an_empty_status_whatever_was_sent(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), {**hpa("web"), "status": STATUS})
    assert created["status"] == {"desiredReplicas": 0, "currentMetrics": None}


async def test_a_status_put_sets_the_status_and_not_the_spec(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    sent = copy.deepcopy(created)
    sent["status"] = STATUS
    sent["spec"]["maxReplicas"] = 99
    updated = await api.put(hpas(namespace, "web") + "/status", sent)
    assert updated["status"] == STATUS
    assert updated["spec"] == created["spec"]
    assert await api.get(hpas(namespace, "web")) == updated


async def test_a_status_put_replaces_the_metadata_it_is_sent(api: Api, namespace: str) -> None:
    owner = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": "11111111-2222-3333-4444-555555555555",
    }
    first = hpa("web")
    first["metadata"] |= {
        "labels": {"team": "a", "tier": "web"},
        "annotations": {"note": "kept"},
        "finalizers": ["example.com/first"],
        "ownerReferences": [owner],
    }
    created = await api.create(hpas(namespace), first)
    sent = copy.deepcopy(created)
    sent["status"] = STATUS
    sent["metadata"]["labels"] = {"team": "b"}
    sent["metadata"]["annotations"] = {"other": "note"}
    sent["metadata"]["finalizers"] = []
    sent["metadata"]["ownerReferences"] = [{**owner, "name": "heir"}]
    updated = await api.put(hpas(namespace, "web") + "/status", sent)
    assert updated["metadata"]["labels"] == {"team": "b"}
    assert updated["metadata"]["annotations"] == {"other": "note"}
    assert "finalizers" not in updated["metadata"]
    assert updated["metadata"]["ownerReferences"] == [{**owner, "name": "heir"}]
    bare = {**updated, "metadata": {"name": "web", "namespace": namespace}}
    stripped = await api.put(hpas(namespace, "web") + "/status", bare)
    assert not {"labels", "annotations", "ownerReferences"} & set(stripped["metadata"])
    assert stripped["metadata"]["uid"] == created["metadata"]["uid"]
    assert stripped["metadata"]["creationTimestamp"] == created["metadata"]["creationTimestamp"]


async def test_a_merge_patch_of_the_status_leaves_the_metadata_alone(api: Api, namespace: str) -> None:
    first = hpa("web")
    first["metadata"] |= {"labels": {"team": "a"}, "annotations": {"note": "kept"}}
    created = await api.create(hpas(namespace), first)
    version = created["metadata"]["resourceVersion"]
    patch = {"metadata": {"resourceVersion": version}, "status": STATUS}
    path = hpas(namespace, "web") + "/status"
    answer = await api.request("PATCH", path, patch, content_type=MERGE_PATCH)
    assert answer.status == 200
    assert answer.body["status"] == STATUS
    for field in ("labels", "annotations", "uid"):
        assert answer.body["metadata"][field] == created["metadata"][field]
    stale = await api.request("PATCH", path, patch | {"status": {"desiredReplicas": 9}}, content_type=MERGE_PATCH)
    assert (stale.status, stale.body["reason"]) == (409, "Conflict")


async def test_a_stale_status_put_conflicts_and_changes_nothing(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    first = await api.put(hpas(namespace, "web") + "/status", {**created, "status": STATUS})
    stale = {**created, "status": {**STATUS, "desiredReplicas": 4}}
    answer = await api.request("PUT", hpas(namespace, "web") + "/status", stale)
    assert answer.status == 409
    assert answer.body["kind"] == "Status"
    assert answer.body["reason"] == "Conflict"
    assert answer.body["details"] == {
        "name": "web",
        "group": "autoscaling",
        "kind": "horizontalpodautoscalers",
    }
    assert await api.get(hpas(namespace, "web")) == first


async def test_an_equal_status_is_no_new_version(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    first = await api.put(hpas(namespace, "web") + "/status", {**created, "status": STATUS})
    second = await api.put(hpas(namespace, "web") + "/status", {**first, "status": STATUS})
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]


async def test_a_spec_put_does_not_touch_the_status(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    with_status = await api.put(hpas(namespace, "web") + "/status", {**created, "status": STATUS})
    sent = copy.deepcopy(with_status)
    sent["spec"]["maxReplicas"] = 8
    sent["status"] = {"desiredReplicas": 77, "currentMetrics": []}
    updated = await api.put(hpas(namespace, "web"), sent)
    assert updated["spec"]["maxReplicas"] == 8
    assert updated["status"] == with_status["status"]


async def test_an_hpa_has_no_generation(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    changed = await api.put(hpas(namespace, "web"), {**created, "spec": {**created["spec"], "maxReplicas": 8}})
    assert "generation" not in created["metadata"]
    assert "generation" not in changed["metadata"]


async def test_times_of_a_status_lose_their_fractions(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    sent = {**created, "status": {**STATUS, "lastScaleTime": "2026-01-02T03:04:05.987654Z"}}
    updated = await api.put(hpas(namespace, "web") + "/status", sent)
    assert updated["status"]["lastScaleTime"] == "2026-01-02T03:04:05Z"


async def test_defaults_are_filled_in(api: Api, namespace: str) -> None:
    created = await api.create(hpas(namespace), hpa("web"))
    assert created["spec"]["minReplicas"] == 1
    assert created["spec"]["metrics"] == [
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
        }
    ]
    assert "behavior" not in created["spec"]


async def test_both_versions_show_the_same_object(api: Api, namespace: str) -> None:
    await api.create(hpas(namespace), hpa("web"))
    old = await api.get(hpas(namespace, "web").replace("/v2/", "/v1/"))
    assert old["apiVersion"] == "autoscaling/v1"
    assert old["spec"]["targetCPUUtilizationPercentage"] == 80
