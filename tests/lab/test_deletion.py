from typing import Any

import pytest

from controller.lab.cluster import Cluster
from controller.lab.objects.errors import ApiError
from controller.lab.operations.deletion import DeleteOptions
from tests.lab.hands import Hands
from tests.lab.objects import config_map, owned, pod, rollout_definition

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"


def names(cluster: Cluster, resource: str = "configmaps", namespace: str | None = "default") -> list[str]:
    return [item["metadata"]["name"] for item in cluster.list(resource, namespace)]


def _heard(cluster: Cluster, resource: str) -> list[tuple[str, str]]:
    heard: list[tuple[str, str]] = []
    cluster.subscribe(resource, lambda kind, obj: heard.append((kind, obj["metadata"]["name"])))
    return heard


def test_finalizers_hold_a_deletion_up(cluster: Cluster, hands: Hands) -> None:
    cluster.create("configmaps", config_map("a", finalizers=["example.com/one", "example.com/two"]))
    hands.now_s = 5
    assert not cluster.delete("configmaps", "a")
    marked = cluster.get("configmaps", "a")
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"
    assert not cluster.delete("configmaps", "a")
    cluster.modify("configmaps", "a", lambda obj: obj["metadata"].update(finalizers=["example.com/two"]))
    with pytest.raises(ApiError, match="no new finalizers"):
        cluster.modify("configmaps", "a", lambda obj: obj["metadata"].update(finalizers=["example.com/three"]))
    heard = _heard(cluster, "configmaps")
    cluster.modify("configmaps", "a", lambda obj: obj["metadata"].update(finalizers=[]))
    assert cluster.find("configmaps", "a") is None
    assert heard == [("DELETED", "a")]


def test_what_only_the_owner_held_goes_with_it(cluster: Cluster) -> None:
    owner = cluster.create("configmaps", config_map("owner"))
    child = cluster.create("configmaps", owned("child", owner))
    cluster.create("configmaps", owned("grandchild", child))
    cluster.create("configmaps", config_map("stranger"))
    assert cluster.delete("configmaps", "owner")
    assert names(cluster) == ["stranger"]


def test_what_has_another_owner_only_loses_the_reference(cluster: Cluster) -> None:
    first = cluster.create("configmaps", config_map("first"))
    second = cluster.create("configmaps", config_map("second"))
    shared = owned("shared", first)
    shared["metadata"]["ownerReferences"] += owned("x", second)["metadata"]["ownerReferences"]
    cluster.create("configmaps", shared)
    cluster.delete("configmaps", "first")
    owners = cluster.get("configmaps", "shared")["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["second"]
    cluster.delete("configmaps", "second")
    assert names(cluster) == []


def test_orphans_stay(cluster: Cluster) -> None:
    owner = cluster.create("configmaps", config_map("owner"))
    cluster.create("configmaps", owned("child", owner))
    cluster.delete("configmaps", "owner", options=DeleteOptions(propagation="Orphan"))
    assert "ownerReferences" not in cluster.get("configmaps", "child")["metadata"]


def test_foreground_deletion_waits_for_what_blocks_it(cluster: Cluster) -> None:
    owner = cluster.create("configmaps", config_map("owner"))
    child = owned("child", owner, blockOwnerDeletion=True)
    child["metadata"]["finalizers"] = ["example.com/hold"]
    cluster.create("configmaps", child)
    cluster.create("configmaps", owned("other", owner))
    assert not cluster.delete("configmaps", "owner", options=DeleteOptions(propagation="Foreground"))
    assert names(cluster) == ["child", "owner"]
    assert cluster.get("configmaps", "owner")["metadata"]["finalizers"] == ["foregroundDeletion"]
    cluster.modify("configmaps", "child", lambda obj: obj["metadata"].update(finalizers=[]))
    assert names(cluster) == []


def test_foreground_deletion_of_something_alone_ends_at_once(cluster: Cluster) -> None:
    cluster.create("configmaps", config_map("alone"))
    assert cluster.delete("configmaps", "alone", options=DeleteOptions(propagation="Foreground"))
    assert names(cluster) == []


def test_a_reference_to_an_earlier_incarnation_holds_nothing(cluster: Cluster) -> None:
    owner = cluster.create("configmaps", config_map("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "an-earlier-one"}
    child = owned("child", owner)
    child["metadata"]["ownerReferences"].append(reference)
    cluster.create("configmaps", child)
    cluster.delete("configmaps", "owner")
    assert names(cluster) == []


def _scheduled(**options: Any) -> dict[str, Any]:
    wanted = pod("a")
    wanted["spec"] |= {"nodeName": "node-1", **options}
    return wanted


def test_a_pod_on_a_node_gets_time_to_end(cluster: Cluster, hands: Hands) -> None:
    cluster.create("pods", _scheduled(terminationGracePeriodSeconds=45))
    heard = _heard(cluster, "pods")
    hands.now_s = 10
    assert not cluster.delete("pods", "a")
    metadata = cluster.get("pods", "a")["metadata"]
    assert (metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"]) == (
        "2026-01-01T00:00:55Z",
        45,
    )
    # A longer period changes nothing, a shorter one does.
    revision = cluster.revision
    assert not cluster.delete("pods", "a", options=DeleteOptions(grace_period_s=60))
    assert cluster.revision == revision
    assert not cluster.delete("pods", "a", options=DeleteOptions(grace_period_s=5))
    assert cluster.get("pods", "a")["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:15Z"
    assert cluster.delete("pods", "a", options=DeleteOptions(grace_period_s=0))
    assert [kind for kind, _ in heard] == ["MODIFIED", "MODIFIED", "MODIFIED", "DELETED"]


@pytest.mark.parametrize("unbound", [pod("a"), {**_scheduled(), "status": {"phase": "Succeeded"}}])
def test_a_pod_that_runs_nowhere_goes_at_once(cluster: Cluster, unbound: dict[str, Any]) -> None:
    cluster.create("pods", unbound, with_status=True)
    assert cluster.delete("pods", "a")
    assert cluster.find("pods", "a") is None


def test_preconditions_of_a_deletion(cluster: Cluster) -> None:
    created = cluster.create("configmaps", config_map("a"))
    for options in (DeleteOptions(uid="another"), DeleteOptions(resource_version="1")):
        with pytest.raises(ApiError) as caught:
            cluster.delete("configmaps", "a", options=options)
        assert (caught.value.code, caught.value.reason) == (409, "Conflict")
    metadata = created["metadata"]
    options = DeleteOptions(uid=metadata["uid"], resource_version=metadata["resourceVersion"], dry_run=True)
    assert cluster.delete("configmaps", "a", options=options)
    assert names(cluster) == ["a"]


def test_a_namespace_takes_its_content_along(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "team"}})
    cluster.create("configmaps", config_map("a", namespace="team"))
    cluster.create("pods", pod("b", "team"))
    assert cluster.delete("namespaces", "team")
    assert (names(cluster, "configmaps", "team"), names(cluster, "pods", "team")) == ([], [])
    assert cluster.find("namespaces", "team") is None


def test_a_namespace_waits_for_its_content(cluster: Cluster) -> None:
    cluster.create("namespaces", {"metadata": {"name": "team"}})
    cluster.create("configmaps", config_map("a", namespace="team", finalizers=["example.com/hold"]))
    assert not cluster.delete("namespaces", "team")
    assert cluster.get("namespaces", "team")["status"]["phase"] == "Terminating"
    held = cluster.get("configmaps", "a", "team")
    held["metadata"]["finalizers"] = []
    cluster.update("configmaps", held)
    assert cluster.find("namespaces", "team") is None


def test_the_namespaces_of_the_system_stay(cluster: Cluster) -> None:
    with pytest.raises(ApiError, match="may not be deleted"):
        cluster.delete("namespaces", "default")


def test_a_kind_goes_with_its_definition(cluster: Cluster) -> None:
    cluster.create(DEFINITIONS, rollout_definition())
    cluster.create("rollouts.example.com", {"metadata": {"name": "web"}, "spec": {"replicas": 1}})
    heard = _heard(cluster, "rollouts.example.com")
    cluster.delete(DEFINITIONS, "rollouts.example.com")
    assert heard == [("DELETED", "web")]
    with pytest.raises(KeyError):
        cluster.list("rollouts.example.com")
    cluster.create(DEFINITIONS, rollout_definition())
    assert cluster.list("rollouts.example.com") == []
