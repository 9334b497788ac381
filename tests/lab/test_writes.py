from typing import Any

import pytest

from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from controller.lab.objects.errors import ApiError
from tests.lab.hands import Hands
from tests.lab.objects import DEPLOYMENTS, HPAS, config_map, deployment, hpa, pod, rollout_definition


def refused(code: int, reason: str) -> Any:
    """The context in which a write must be refused in this way."""
    return pytest.raises(ApiError, check=lambda error: (error.code, error.reason) == (code, reason))


def test_the_same_seed_gives_the_same_cluster() -> None:
    def build(seed: int) -> list[Any]:
        cluster = Cluster(LabClock(Hands()), seed=seed)
        made = [cluster.create("configmaps", {"metadata": {"generateName": "made-"}}) for _ in range(3)]
        return [*made, *cluster.list("namespaces")]

    assert build(1) == build(1)
    assert build(1) != build(2)


def test_the_server_sets_what_is_its_own(cluster: Cluster, hands: Hands) -> None:
    hands.now_s = 61.5
    sent = config_map("a", uid="mine", creationTimestamp="2020-01-01T00:00:00Z", selfLink="/x")
    created = cluster.create("configmaps", sent)
    assert created["metadata"]["uid"] != "mine"
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:01:01Z"
    assert "selfLink" not in created["metadata"]
    changed = {**created, "metadata": {**created["metadata"], "creationTimestamp": "2020-01-01T00:00:00Z"}}
    assert cluster.update("configmaps", changed)["metadata"]["creationTimestamp"] == "2026-01-01T00:01:01Z"


def test_generated_names_are_new(cluster: Cluster) -> None:
    names = {cluster.create("configmaps", {"metadata": {"generateName": "x-"}})["metadata"]["name"] for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


def test_a_taken_name_is_refused(cluster: Cluster) -> None:
    cluster.create("configmaps", config_map("a"))
    with refused(409, "AlreadyExists"):
        cluster.create("configmaps", config_map("a"))


def test_a_version_at_creation_is_refused(cluster: Cluster) -> None:
    with refused(500, ""):
        cluster.create("configmaps", config_map("a", resourceVersion="5"))


def test_a_namespace_must_exist_and_not_end(cluster: Cluster) -> None:
    with refused(404, "NotFound"):
        cluster.create("configmaps", config_map("a", namespace="nowhere"))
    cluster.create("namespaces", {"metadata": {"name": "ending"}})
    cluster.create("configmaps", config_map("held", namespace="ending", finalizers=["example.com/hold"]))
    cluster.delete("namespaces", "ending")
    with refused(403, "Forbidden"):
        cluster.create("configmaps", config_map("late", namespace="ending"))


def test_names_and_labels_are_checked(cluster: Cluster) -> None:
    for wrong in (
        config_map("Upper"),
        config_map("x" * 254),
        config_map(""),
        config_map("a", labels={"a b": "c"}),
        config_map("a", labels={"a": "c d"}),
        config_map("a", annotations={"a b": "c"}),
        config_map("a", annotations={"a": "x" * 300_000}),
        config_map("a", finalizers=["plain"]),
        config_map("a", ownerReferences=[{"kind": "Pod"}]),
    ):
        with refused(422, "Invalid"):
            cluster.create("configmaps", wrong)


def test_an_update_checks_version_and_uid(cluster: Cluster) -> None:
    created = cluster.create("configmaps", config_map("a"))
    cluster.modify("configmaps", "a", lambda obj: obj["data"].update(more="yes"))
    with refused(409, "Conflict"):
        cluster.update("configmaps", created)
    with refused(409, "Conflict"):
        cluster.update("configmaps", config_map("a", uid="another"))
    assert cluster.update("configmaps", config_map("a"))["data"] == {"key": "value"}


def test_an_update_that_changes_nothing_is_none(cluster: Cluster) -> None:
    created = cluster.create(DEPLOYMENTS, deployment())
    assert cluster.update(DEPLOYMENTS, deployment()) == created
    assert cluster.revision == int(created["metadata"]["resourceVersion"])


@pytest.mark.parametrize(
    ("resource", "obj", "annotated"),
    [
        (DEPLOYMENTS, deployment(), 2),
        ("replicasets.apps", deployment(), 1),
        ("statefulsets.apps", deployment(), 1),
    ],
)
def test_generations_count_changes_of_what_is_wanted(
    cluster: Cluster, resource: str, obj: dict[str, Any], annotated: int
) -> None:
    assert cluster.create(resource, obj)["metadata"]["generation"] == 1
    changed = cluster.modify(resource, "web", lambda new: new["metadata"].update(labels={"a": "b"}))
    assert changed["metadata"]["generation"] == 1
    changed = cluster.modify(resource, "web", lambda new: new["metadata"].update(annotations={"a": "b"}))
    assert changed["metadata"]["generation"] == annotated
    changed["status"] = {"replicas": 3}
    assert cluster.update_status(resource, changed)["metadata"]["generation"] == annotated
    cluster.set_replicas(resource, "web", 4)
    assert cluster.get(resource, "web")["metadata"]["generation"] == annotated + 1


def test_each_side_leaves_the_other_half_alone(cluster: Cluster) -> None:
    created = cluster.create(DEPLOYMENTS, {**deployment(), "status": {"replicas": 9}})
    assert created["status"] == {}
    both = {**created, "status": {"replicas": 2}, "spec": {**created["spec"], "replicas": 7}}
    assert cluster.update_status(DEPLOYMENTS, both)["spec"]["replicas"] == 1
    current = cluster.get(DEPLOYMENTS, "web")
    changed = cluster.update(DEPLOYMENTS, {**current, "status": {}, "spec": {**current["spec"], "replicas": 7}})
    assert (changed["spec"]["replicas"], changed["status"]) == (7, {"replicas": 2})


def test_what_a_status_write_keeps_depends_on_the_kind(cluster: Cluster) -> None:
    cluster.create("customresourcedefinitions.apiextensions.k8s.io", rollout_definition())
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}
    rollout = {"metadata": {"name": "web"}, "spec": {"replicas": 1}}
    written = {}
    for resource, obj in (
        (HPAS, hpa()),
        (DEPLOYMENTS, deployment()),
        ("pods", pod("web")),
        ("rollouts.example.com", rollout),
    ):
        created = cluster.create(resource, obj)
        created["metadata"] |= {"labels": {"l": "1"}, "annotations": {"a": "1"}, "ownerReferences": [owner]}
        metadata = cluster.update_status(resource, created)["metadata"]
        written[resource] = [name for name in ("labels", "annotations", "ownerReferences") if metadata.get(name)]
    assert written == {
        HPAS: ["labels", "annotations", "ownerReferences"],
        DEPLOYMENTS: ["annotations", "ownerReferences"],
        "pods": ["labels", "annotations"],
        "rollouts.example.com": [],
    }


def test_with_status_writes_it_in_one_go(cluster: Cluster) -> None:
    running = cluster.create("pods", {**pod("a"), "status": {"phase": "Running"}}, with_status=True)
    assert running["status"] == {"phase": "Running", "qosClass": "Burstable"}
    assert cluster.create("pods", {**pod("b"), "status": {"phase": "Running"}})["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("requests", "limits", "expected"),
    [
        ({}, {}, "BestEffort"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({"cpu": "1"}, {"cpu": "1"}, "Burstable"),
        ({}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, "Burstable"),
    ],
)
def test_quality_of_service(cluster: Cluster, requests: dict[str, str], limits: dict[str, str], expected: str) -> None:
    wanted = pod("a")
    wanted["spec"]["containers"][0]["resources"] = {"requests": requests, "limits": limits}
    assert cluster.create("pods", wanted)["status"]["qosClass"] == expected


def test_limits_become_requests_of_a_pod_but_not_of_a_template(cluster: Cluster) -> None:
    limits = {"resources": {"limits": {"cpu": "1"}}}
    wanted = pod("a")
    wanted["spec"]["containers"][0] |= limits
    assert cluster.create("pods", wanted)["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1"}
    owner = deployment()
    owner["spec"]["template"]["spec"]["containers"][0] |= limits
    container = cluster.create(DEPLOYMENTS, owner)["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"] == limits["resources"]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("app", "Always"),
        ("app:latest", "Always"),
        ("app:1", "IfNotPresent"),
        ("host:5000/app", "Always"),
        ("host:5000/app:2", "IfNotPresent"),
        ("app@sha256:abc", "IfNotPresent"),
    ],
)
def test_images_without_a_fixed_tag_are_always_pulled(cluster: Cluster, image: str, policy: str) -> None:
    wanted = pod("a")
    wanted["spec"]["containers"][0]["image"] = image
    assert cluster.create("pods", wanted)["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_a_selector_must_select_the_template_and_stay(cluster: Cluster) -> None:
    for selector in (None, {}, {"matchLabels": {"app": "other"}}, {"matchLabels": {"app": "a b"}}):
        with refused(422, "Invalid"):
            cluster.create(DEPLOYMENTS, deployment(selector=selector))
    cluster.create(DEPLOYMENTS, deployment())
    with refused(422, "Invalid"):
        changed = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        cluster.modify(DEPLOYMENTS, "web", lambda obj: obj["spec"].update(selector=changed))


def test_a_replication_controller_takes_its_selector_from_its_template(cluster: Cluster) -> None:
    wanted = deployment()
    del wanted["spec"]["selector"]
    created = cluster.create("replicationcontrollers", wanted)
    assert created["spec"]["selector"] == {"app": "web"}
    assert cluster.scale("replicationcontrollers", "web")["status"]["selector"] == "app=web"


def test_containers_of_a_pod_may_only_change_their_image(cluster: Cluster) -> None:
    cluster.create("pods", pod("a"))
    changed = cluster.modify("pods", "a", lambda obj: obj["spec"]["containers"][0].update(image="app:2"))
    assert changed["metadata"]["generation"] == 2
    with refused(422, "Invalid"):
        cluster.modify("pods", "a", lambda obj: obj["spec"]["containers"][0].update(name="other"))


def test_plain_texts_of_a_secret_become_data(cluster: Cluster) -> None:
    created = cluster.create("secrets", {"metadata": {"name": "s"}, "stringData": {"key": "value"}})
    assert (created["type"], created["data"]) == ("Opaque", {"key": "dmFsdWU="})
    assert "stringData" not in created


def test_an_unknown_resource_or_field_is_named(cluster: Cluster) -> None:
    with pytest.raises(KeyError, match=r"balloons.*deployments\.apps"):
        cluster.get("balloons", "x")
    with pytest.raises(ApiError, match=r"spec\.maxReplica\b"):
        cluster.create(HPAS, hpa(maxReplica=3))
    with pytest.raises(ApiError, match="kind"):
        cluster.create(HPAS, {**hpa(), "kind": "Deployment"})


def test_finding_nothing_is_none(cluster: Cluster) -> None:
    assert cluster.find("pods", "nothing") is None
    assert cluster.find("namespaces", "default") is not None


def _container(**content: Any) -> dict[str, Any]:
    return {"name": "app", "image": "app:1", **content}


def _pod(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {"containers": list(containers)}}


def _lease(**spec: int) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": spec}


def _controller(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}


LEASE = "leases.coordination.k8s.io"
EVENT = {"metadata": {"name": "a"}, "involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"}}


@pytest.mark.parametrize(
    ("resource", "obj", "fields"),
    [
        ("pods", _pod(), ["spec.containers"]),
        ("pods", _pod(_container(name="")), ["spec.containers[0].name"]),
        ("pods", _pod(_container(name="App")), ["spec.containers[0].name"]),
        ("pods", _pod(_container(image="")), ["spec.containers[0].image"]),
        ("pods", _pod(_container(), _container()), ["spec.containers[1].name"]),
        (DEPLOYMENTS, deployment(replicas=-1), ["spec.replicas"]),
        ("replicationcontrollers", {"metadata": {"name": "a"}}, ["spec.selector", "spec.template"]),
        (
            "replicationcontrollers",
            {"metadata": {"name": "a"}, "spec": {**deployment()["spec"], "selector": {"app": "other"}}},
            ["spec.template.metadata.labels"],
        ),
        (LEASE, _lease(leaseDurationSeconds=0), ["spec.leaseDurationSeconds"]),
        (LEASE, _lease(leaseTransitions=-1), ["spec.leaseTransitions"]),
        ("events", {**EVENT, "involvedObject": {"kind": "Node", "name": "x"}, "metadata": {"name": "a"}}, []),
        (
            "events",
            {**EVENT, "involvedObject": {"kind": "Pod", "name": "x", "namespace": "other"}},
            ["involvedObject.namespace"],
        ),
        (
            "events",
            {**EVENT, "eventTime": "2026-01-02T03:04:05.000000Z"},
            ["reportingComponent", "reportingInstance", "action", "reason"],
        ),
        ("namespaces", {"metadata": {"name": "a.b"}}, ["metadata.name"]),
        ("configmaps", config_map("a", finalizers=["example.com/a", "plain"]), ["metadata.finalizers[1]"]),
        ("configmaps", config_map("a", finalizers=["a b/c"]), ["metadata.finalizers"]),
        (
            "configmaps",
            config_map("a", ownerReferences=[_controller("x"), _controller("y")]),
            ["metadata.ownerReferences"],
        ),
    ],
)  # fmt: skip
def test_the_fields_that_are_wrong_are_named(
    cluster: Cluster, resource: str, obj: dict[str, Any], fields: list[str]
) -> None:
    causes: list[dict[str, str]] = []
    try:
        cluster.create(resource, obj)
    except ApiError as error:
        causes = (error.details or {}).get("causes", [])
    assert [cause["field"] for cause in causes] == fields


def test_a_template_may_not_end_by_itself(cluster: Cluster) -> None:
    ending = deployment()
    ending["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    with pytest.raises(ApiError, match="restartPolicy"):
        cluster.create(DEPLOYMENTS, ending)


def test_defaults_of_ports_and_probes(cluster: Cluster) -> None:
    probe = {"httpGet": {"port": 80}}
    wanted = _pod(_container(ports=[{"containerPort": 80}], readinessProbe=probe))
    container = cluster.create("pods", wanted)["spec"]["containers"][0]
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert container["readinessProbe"]["httpGet"] == {"port": 80, "path": "/", "scheme": "HTTP"}
    assert container["readinessProbe"]["failureThreshold"] == 3
    service = cluster.create("services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}})
    assert service["spec"]["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
    assert service["spec"]["type"] == "ClusterIP"


def test_defaults_of_workloads(cluster: Cluster) -> None:
    rolling = cluster.create(DEPLOYMENTS, deployment())["spec"]["strategy"]
    assert rolling == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    recreate = cluster.create(DEPLOYMENTS, deployment("again", strategy={"type": "Recreate"}))["spec"]["strategy"]
    assert recreate == {"type": "Recreate"}
    stateful = cluster.create("statefulsets.apps", deployment())["spec"]
    assert stateful["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert stateful["podManagementPolicy"] == "OrderedReady"
    node = cluster.create("nodes", {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4000m"}}})
    assert node["status"]["allocatable"] == {"cpu": "4"}
