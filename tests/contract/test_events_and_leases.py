"""What a controller relies on when it reports events and holds a lease."""

from typing import Any

from tests.contract.api_server import MERGE_PATCH, STRATEGIC_PATCH, Api


def _event(namespace: str, name: str = "web.1") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "namespace": namespace,
            "name": "web",
            "uid": "11111111-2222-3333-4444-555555555555",
        },
        "reason": "SuccessfulRescale",
        "message": "New size: 2; reason: All metrics below target",
        "source": {"component": "horizontal-pod-autoscaler"},
        "firstTimestamp": "2026-01-02T03:04:05Z",
        "lastTimestamp": "2026-01-02T03:04:05Z",
        "count": 1,
        "type": "Normal",
        "reportingComponent": "horizontal-pod-autoscaler",
        "reportingInstance": "",
    }


def _events(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/events"


async def test_an_event_is_created_and_counted_up_by_a_patch(api: Api, namespace: str) -> None:
    created = await api.create(_events(namespace), _event(namespace))
    patch = {"count": 2, "lastTimestamp": "2026-01-02T03:05:05Z"}
    answer = await api.request("PATCH", _events(namespace) + "/web.1", patch, content_type=STRATEGIC_PATCH)
    assert answer.status == 200
    assert answer.body["count"] == 2
    assert answer.body["lastTimestamp"] == "2026-01-02T03:05:05Z"
    for field in ("reason", "message", "firstTimestamp", "involvedObject", "source", "type"):
        assert answer.body[field] == created[field]


async def test_patching_an_event_that_is_gone_is_not_found(api: Api, namespace: str) -> None:
    answer = await api.request("PATCH", _events(namespace) + "/gone", {"count": 2}, content_type=STRATEGIC_PATCH)
    assert (answer.status, answer.body["reason"]) == (404, "NotFound")


async def test_the_same_event_twice_already_exists(api: Api, namespace: str) -> None:
    await api.create(_events(namespace), _event(namespace))
    answer = await api.request("POST", _events(namespace), _event(namespace))
    assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")


async def test_events_are_found_by_what_they_are_about(api: Api, namespace: str) -> None:
    await api.create(_events(namespace), _event(namespace))
    other = _event(namespace, "db.1")
    other["involvedObject"]["name"] = "db"
    await api.create(_events(namespace), other)
    selector = "involvedObject.name=web,involvedObject.kind=HorizontalPodAutoscaler"
    found = await api.get(_events(namespace), fieldSelector=selector)
    assert [item["metadata"]["name"] for item in found["items"]] == ["web.1"]


async def test_an_event_lies_in_the_namespace_it_is_about(api: Api, namespace: str) -> None:
    event = _event(namespace)
    event["involvedObject"]["namespace"] = "elsewhere"
    answer = await api.request("POST", _events(namespace), event)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


async def test_both_groups_serve_the_same_events(api: Api, namespace: str) -> None:
    created = await api.create(_events(namespace), _event(namespace))
    found = await api.get(f"/apis/events.k8s.io/v1/namespaces/{namespace}/events/web.1")
    assert found["note"] == created["message"]
    assert found["regarding"] == created["involvedObject"]
    assert found["deprecatedCount"] == 1
    assert found["metadata"]["uid"] == created["metadata"]["uid"]


def _leases(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def _lease(holder: str, renewed: str = "2026-01-02T03:04:05.000000Z") -> dict[str, Any]:
    return {
        "metadata": {"name": "leader"},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-02T03:04:05.000000Z",
            "renewTime": renewed,
            "leaseTransitions": 0,
        },
    }


async def test_only_one_of_two_writers_gets_a_lease(api: Api, namespace: str) -> None:
    created = await api.create(_leases(namespace), _lease("a"))
    second = await api.request("POST", _leases(namespace), _lease("b"))
    assert (second.status, second.body["reason"]) == (409, "AlreadyExists")
    version = created["metadata"]["resourceVersion"]
    taken = _lease("b")
    taken["metadata"]["resourceVersion"] = version
    renewed = _lease("a", "2026-01-02T03:04:15.123456Z")
    renewed["metadata"]["resourceVersion"] = version
    first = await api.put(_leases(namespace) + "/leader", renewed)
    assert first["spec"]["renewTime"] == "2026-01-02T03:04:15.123456Z"
    answer = await api.request("PUT", _leases(namespace) + "/leader", taken)
    assert (answer.status, answer.body["reason"]) == (409, "Conflict")
    assert (await api.get(_leases(namespace) + "/leader"))["spec"]["holderIdentity"] == "a"


async def test_a_lease_cannot_be_updated_without_a_version(api: Api, namespace: str) -> None:
    await api.create(_leases(namespace), _lease("a"))
    answer = await api.request("PUT", _leases(namespace) + "/leader", _lease("b"))
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


async def test_a_lease_can_be_given_up(api: Api, namespace: str) -> None:
    await api.create(_leases(namespace), _lease("a"))
    patch = {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}
    answer = await api.request("PATCH", _leases(namespace) + "/leader", patch, content_type=MERGE_PATCH)
    assert answer.body["spec"]["holderIdentity"] == ""


async def test_a_lease_time_has_six_digits_after_the_point(api: Api, namespace: str) -> None:
    answer = await api.request("POST", _leases(namespace), _lease("a", "2026-01-02T03:04:05Z"))
    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


async def test_a_lease_keeps_its_uid_until_it_is_deleted_and_made_anew(api: Api, namespace: str) -> None:
    path = _leases(namespace) + "/leader"
    created = await api.create(_leases(namespace), _lease("a"))
    renewed = _lease("a")
    renewed["metadata"]["resourceVersion"] = created["metadata"]["resourceVersion"]
    kept = await api.put(path, renewed)
    await api.request("DELETE", path)
    anew = await api.create(_leases(namespace), _lease("a"))
    uids = [lease["metadata"]["uid"] for lease in (created, kept, anew)]
    assert uids[0] == uids[1] != uids[2]
