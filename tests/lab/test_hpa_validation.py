"""The rows of docs/behaviour.md §21.3; every expected answer is that of kube-apiserver 1.36.3."""

from typing import Any

import pytest

from controller.lab.clock import LabClock
from controller.lab.cluster import Cluster
from controller.lab.objects.errors import ApiError
from controller.lab.objects.resources import ValidationSettings
from tests.lab.hands import Hands
from tests.lab.objects import HPAS, hpa

UTILIZATION = {"type": "Utilization", "averageUtilization": 50}
AVERAGE = {"type": "AverageValue", "averageValue": "1"}
CPU = {"name": "cpu", "target": UTILIZATION}
RPS = {"metric": {"name": "rps"}, "target": AVERAGE}
T = "spec.metrics[0]"


def metric(kind: str, **sources: Any) -> dict[str, Any]:
    return hpa(metrics=[{"type": kind, **sources}])


def resource(**target: Any) -> dict[str, Any]:
    return metric("Resource", resource={"name": "cpu", "target": {"type": "Utilization", **target}})


def container(name: str, container_name: str = "app") -> dict[str, Any]:
    return metric(
        "ContainerResource",
        containerResource={"name": name, "container": container_name, "target": UTILIZATION},
    )


def described(reference: dict[str, str], **target: Any) -> dict[str, Any]:
    source = {"describedObject": reference, "metric": {"name": "x"}, "target": {"type": "Value", **target}}
    return metric("Object", object=source)


def rules(direction: str, **content: Any) -> dict[str, Any]:
    return hpa(behavior={direction: content})


REF = "spec.scaleTargetRef"
UP = "spec.behavior.scaleUp"
DOWN = "spec.behavior.scaleDown"
CASES: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    (hpa(), []),
    (hpa(maxReplicas=0), [("spec.maxReplicas", "Required"), ("spec.maxReplicas", "Invalid")]),
    (hpa(maxReplicas=-1), [("spec.maxReplicas", "Invalid")] * 2),
    (hpa(minReplicas=9), [("spec.maxReplicas", "Invalid")]),
    (hpa(minReplicas=0), [("spec.minReplicas", "Invalid"), ("spec.metrics", "Forbidden")]),
    (
        hpa(scaleTargetRef={}),
        [(f"{REF}.kind", "Required"), (f"{REF}.name", "Required"), (f"{REF}.apiVersion", "Invalid")],
    ),
    (
        hpa(scaleTargetRef={"kind": "a/b%", "name": "..", "apiVersion": "a/b/c"}),
        [(f"{REF}.kind", "Invalid")] * 2 + [(f"{REF}.name", "Invalid"), (f"{REF}.apiVersion", "Invalid")],
    ),
    (hpa(scaleTargetRef={"kind": "X", "name": "x", "apiVersion": "/v1"}), [(f"{REF}.apiVersion", "Invalid")]),
    (hpa(scaleTargetRef={"kind": "ReplicationController", "name": "x"}), []),
    (metric(""), [(f"{T}.type", "Required")] + [(f"{T}.type", "NotSupported")] * 2),
    (metric("Odd"), [(f"{T}.type", "NotSupported")] * 2),
    (metric("Resource"), [(f"{T}.resource", "Required")]),
    (
        metric("Resource", pods={"metric": {"name": ""}, "target": {}}),
        [
            (f"{T}.pods.metric.name", "Required"),
            (f"{T}.pods.target.type", "Required"),
            (f"{T}.pods.target.type", "Invalid"),
            (f"{T}.pods.target.averageValue", "Required"),
            (f"{T}.resource", "Required"),
        ],
    ),
    (metric("Resource", resource=CPU, pods=RPS), [(f"{T}.pods", "Forbidden")]),
    (
        metric("Odd", resource=CPU, pods=RPS),
        [(f"{T}.type", "NotSupported")] * 2 + [(f"{T}.pods", "Forbidden"), (f"{T}.resource", "Forbidden")],
    ),
    (resource(), [(f"{T}.resource.target.averageUtilization", "Required")]),
    (
        resource(averageUtilization=0, averageValue="0"),
        [
            (f"{T}.resource.target.averageValue", "Invalid"),
            (f"{T}.resource.target.averageUtilization", "Invalid"),
            (f"{T}.resource.target.averageValue", "Forbidden"),
        ],
    ),
    (metric("Resource", resource={"name": "", "target": UTILIZATION}), [(f"{T}.resource.name", "Required")]),
    (container("cpu"), []),
    (container("hugepages-2Mi"), []),
    (container("example.com/gpu"), []),
    (container("x.kubernetes.io/b"), []),
    (container("odd"), [(f"{T}.containerResource.name", "Invalid")] * 2),
    (container("pods"), [(f"{T}.containerResource.name", "Invalid")]),
    (container("requests.cpu"), [(f"{T}.containerResource.name", "Invalid")]),
    (container("requests.x/b"), [(f"{T}.containerResource.name", "Invalid")]),
    (container("a/b/c"), [(f"{T}.containerResource.name", "Invalid")] * 2),
    (container("cpu", ""), [(f"{T}.containerResource.container", "Required")]),
    (container("cpu", "App"), [(f"{T}.containerResource.container", "Invalid")]),
    (
        metric("External", external={"metric": {"name": "a/b"}, "target": {"type": "Value"}}),
        [(f"{T}.external.metric.name", "Invalid"), (f"{T}.external.target.averageValue", "Required")],
    ),
    (
        metric(
            "External",
            external={
                "metric": {"name": "q"},
                "target": {"type": "Value", "value": "1", "averageValue": "1"},
            },
        ),
        [(f"{T}.external.target.value", "Forbidden")],
    ),
    (described({"kind": "Service", "name": "s"}, value="1"), []),
    (
        described({"kind": "Service", "name": "s", "apiVersion": "a/b/c"}, value="1"),
        [(f"{T}.object.describedObject.apiVersion", "Invalid")],
    ),
    (described({"kind": "Service", "name": "s"}), [(f"{T}.object.target.averageValue", "Required")]),
    (described({"kind": "Service", "name": "s"}, value="0"), [(f"{T}.object.target.value", "Invalid")]),
    (hpa(behavior={}), []),
    (rules("scaleUp", stabilizationWindowSeconds=-1), [(f"{UP}.stabilizationWindowSeconds", "Invalid")]),
    (rules("scaleUp", stabilizationWindowSeconds=3601), [(f"{UP}.stabilizationWindowSeconds", "Invalid")]),
    (rules("scaleUp", selectPolicy=""), [(f"{UP}.selectPolicy", "NotSupported")]),
    (rules("scaleUp", policies=[]), [(f"{UP}.policies", "Required")]),
    (rules("scaleUp", tolerance="-0.1"), [(f"{UP}.tolerance", "Invalid")]),
    (
        rules("scaleDown", policies=[{"type": "Odd"}, {"type": "Pods", "value": 1, "periodSeconds": 1801}]),
        [
            (f"{DOWN}.policies[0].type", "NotSupported"),
            (f"{DOWN}.policies[0].value", "Invalid"),
            (f"{DOWN}.policies[0].periodSeconds", "Invalid"),
            (f"{DOWN}.policies[1].periodSeconds", "Invalid"),
        ],
    ),
]


def causes(cluster: Cluster, obj: dict[str, Any]) -> list[tuple[str, str]]:
    """The causes for which creation is refused; none when it works."""
    try:
        cluster.create(HPAS, obj)
    except ApiError as error:
        refusal = error
    else:
        return []
    assert refusal.code == 422
    listed = (refusal.details or {})["causes"]
    return [(cause["field"], cause["reason"].removeprefix("FieldValue")) for cause in listed]


@pytest.mark.parametrize(("obj", "expected"), CASES)
def test_every_cause_is_listed(cluster: Cluster, obj: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert causes(cluster, obj) == expected


def test_a_gate_allows_zero_with_a_metric_that_can_wake() -> None:
    cluster = Cluster(LabClock(Hands()), settings=ValidationSettings(scale_to_zero=True))
    assert causes(cluster, hpa("cpu", minReplicas=0)) == [("spec.metrics", "Forbidden")]
    external = {"metric": {"name": "q"}, "target": AVERAGE}
    allowed = hpa("queue", minReplicas=0, metrics=[{"type": "External", "external": external}])
    assert causes(cluster, allowed) == []


def test_an_unchanged_reference_may_stay_as_bad_as_it_was(cluster: Cluster) -> None:
    created = cluster.create(HPAS, hpa())
    stored = cluster.world.registry.preferred(HPAS).resource
    # As an object that was stored before the check existed.
    reference = {"kind": "Deployment", "name": "web", "apiVersion": "v1"}
    old = {**created, "spec": {**created["spec"], "scaleTargetRef": reference}}
    cluster.world.store.put(stored, {name: old[name] for name in ("metadata", "spec", "status")})
    changed = cluster.modify(HPAS, "web", lambda obj: obj["spec"].update(maxReplicas=7))
    assert changed["spec"]["maxReplicas"] == 7
    with pytest.raises(ApiError):
        cluster.modify(HPAS, "web", lambda obj: obj["spec"]["scaleTargetRef"].update(kind="ReplicaSet"))


def test_a_status_is_checked_for_negative_counts_only(cluster: Cluster) -> None:
    created = cluster.create(HPAS, hpa())
    with pytest.raises(ApiError) as caught:
        cluster.update_status(HPAS, {**created, "status": {"currentReplicas": -1, "desiredReplicas": -1}})
    assert caught.value.details is not None
    assert [cause["field"] for cause in caught.value.details["causes"]] == [
        "status.currentReplicas",
        "status.desiredReplicas",
    ]
