"""Validation (§21.3): tables of what the recorded cases do not reach, checked against the API server's own code."""

from typing import Any

import pytest

from controller.manifest.admission import DefaultGates
from tests.manifest.manifests import GONE, SCALE_TO_ZERO, admitted, errors, metric, v2

METRICS = "spec.metrics"
UTILIZATION = {"type": "Utilization", "averageUtilization": 80}
AVERAGE = {"type": "AverageValue", "averageValue": "1"}
VALUE = {"type": "Value", "value": "1"}
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"}
NAMED = {"name": "requests"}
CPU = metric("resource", UTILIZATION, name="cpu")


def _object(target: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return metric("object", target, **({"describedObject": INGRESS, "metric": NAMED} | fields))


def _container(**fields: Any) -> dict[str, Any]:
    return metric("containerResource", UTILIZATION, **({"name": "cpu", "container": "app"} | fields))


def _rules(direction: str, **fields: Any) -> dict[str, Any]:
    return {f"spec.behavior.{direction}": fields}


def _policy(**fields: Any) -> dict[str, Any]:
    return _rules("scaleUp", policies=[{"type": "Pods", "value": 1, "periodSeconds": 60} | fields])


M0 = "spec.metrics[0]"
UP = "spec.behavior.scaleUp"
LONG_GROUP = ".".join(["a" * 61] * 4)
"""247 bytes: a domain that is too long once `requests.` stands before it."""

TABLE: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    # metadata
    ("no name", {"metadata": {}}, [("metadata.name", "Required")]),
    ("no metadata", {"metadata": GONE}, [("metadata.name", "Required")]),
    ("name not a subdomain", {"metadata.name": "a_b"}, [("metadata.name", "Invalid")]),
    ("name with a dash at its end", {"metadata.name": "web-"}, [("metadata.name", "Invalid")]),
    ("name of 253", {"metadata.name": "a" * 253}, []),
    ("name of 254", {"metadata.name": "a" * 254}, [("metadata.name", "Invalid")]),
    ("name wrong and long", {"metadata.name": "A" * 254}, [("metadata.name", "Invalid")] * 2),
    ("long in bytes", {"metadata.name": "é" * 127}, [("metadata.name", "Invalid")] * 2),
    ("generated name", {"metadata": {"generateName": "web-"}}, []),
    ("generated from a character and a dash", {"metadata": {"generateName": "a-"}}, []),
    (
        "generated from a dash",
        {"metadata": {"generateName": "-"}},
        [("metadata.generateName", "Invalid"), ("metadata.name", "Invalid")],
    ),
    (
        "generated and bad",
        {"metadata": {"generateName": "We-"}},
        [("metadata.generateName", "Invalid"), ("metadata.name", "Invalid")],
    ),
    ("generated and dash masked", {"metadata": {"generateName": "we_-"}}, [("metadata.name", "Invalid")]),
    ("generated from much", {"metadata": {"generateName": "a" * 254}}, [("metadata.generateName", "Invalid")]),
    ("name beside generateName", {"metadata.generateName": "A"}, [("metadata.generateName", "Invalid")]),
    ("namespace", {"metadata.namespace": "a.b"}, [("metadata.namespace", "Invalid")]),
    ("generation", {"metadata.generation": -1}, [("metadata.generation", "Invalid")]),
    ("label key", {"metadata.labels": {"a b": "", "": ""}}, [("metadata.labels", "Invalid")] * 3),
    (
        "label prefix",
        {"metadata.labels": {"A.b/c": "", "/c": "", "a/b/c": "", "d/": ""}},
        [("metadata.labels", "Invalid")] * 5,
    ),
    ("label value", {"metadata.labels": {"a": "b" * 64, "c": "-"}}, [("metadata.labels", "Invalid")] * 2),
    ("label empty", {"metadata.labels": {"a": None}}, []),
    (
        "annotation key",
        {"metadata.annotations": {"EXAMPLE.com/Key": "x y", "a b": ""}},
        [("metadata.annotations", "Invalid")],
    ),
    ("annotations of 256 KiB", {"metadata.annotations": {"a": "x" * (256 * 1024 - 1)}}, []),
    ("annotations of more", {"metadata.annotations": {"a": "x" * 256 * 1024}}, [("metadata.annotations", "TooLong")]),
    ("finalizer", {"metadata.finalizers": ["example.com/a", "kubernetes"]}, []),
    ("finalizer without domain", {"metadata.finalizers": ["a"]}, [("metadata.finalizers[0]", "Invalid")]),
    ("finalizer malformed", {"metadata.finalizers": ["orphan", "a b/c"]}, [("metadata.finalizers", "Invalid")]),
    (
        "finalizers that differ",
        {"metadata.finalizers": ["orphan", "foregroundDeletion"]},
        [("metadata.finalizers", "Invalid")],
    ),
    (
        "owner empty",
        {"metadata.ownerReferences": [{}]},
        [(f"metadata.ownerReferences.{field}", "Invalid") for field in ("apiVersion", "kind", "name", "uid")],
    ),
    (
        "owner of no version",
        {"metadata.ownerReferences": [{"apiVersion": "a/b/c", "kind": "A", "name": "a", "uid": "1"}]},
        [("metadata.ownerReferences.apiVersion", "Invalid")],
    ),
    (
        "owner an event",
        {"metadata.ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "a", "uid": "1"}]},
        [("metadata.ownerReferences", "Invalid")],
    ),
    (
        "three controllers",
        {
            "metadata.ownerReferences": [
                {"apiVersion": "v1", "kind": kind, "name": "a", "uid": "1", "controller": True}
                for kind in ("A", "B", "C")
            ]
        },
        [("metadata.ownerReferences", "Invalid")] * 2,
    ),
    # replicas
    ("min absent", {"spec.minReplicas": GONE}, []),
    ("min zero", {"spec.minReplicas": 0}, [("spec.metrics", "Forbidden"), ("spec.minReplicas", "Invalid")]),
    (
        "min zero, external",
        {"spec.minReplicas": 0, METRICS: [metric("external", VALUE, metric=NAMED)]},
        [("spec.minReplicas", "Invalid")],
    ),
    ("max absent", {"spec.maxReplicas": GONE}, [("spec.maxReplicas", "Invalid"), ("spec.maxReplicas", "Required")]),
    ("max negative", {"spec.maxReplicas": -1}, [("spec.maxReplicas", "Invalid")] * 2),
    ("max below min", {"spec.maxReplicas": 1}, [("spec.maxReplicas", "Invalid")]),
    (
        "max negative above min",
        {"spec.maxReplicas": -1, "spec.minReplicas": -2},
        [("spec.maxReplicas", "Invalid"), ("spec.minReplicas", "Invalid")],
    ),
    (
        "spec absent",
        {"spec": GONE},
        [
            ("spec.maxReplicas", "Invalid"),
            ("spec.maxReplicas", "Required"),
            ("spec.scaleTargetRef.apiVersion", "Invalid"),
            ("spec.scaleTargetRef.kind", "Required"),
            ("spec.scaleTargetRef.name", "Required"),
        ],
    ),
    # scale target
    ("target dot", {"spec.scaleTargetRef.name": ".."}, [("spec.scaleTargetRef.name", "Invalid")]),
    ("target slash and percent", {"spec.scaleTargetRef.kind": "a/%"}, [("spec.scaleTargetRef.kind", "Invalid")] * 2),
    ("target without group", {"spec.scaleTargetRef.apiVersion": "v1"}, [("spec.scaleTargetRef.apiVersion", "Invalid")]),
    ("target empty group", {"spec.scaleTargetRef.apiVersion": "/v1"}, [("spec.scaleTargetRef.apiVersion", "Invalid")]),
    ("target only group", {"spec.scaleTargetRef.apiVersion": "apps/"}, []),
    (
        "target two slashes",
        {"spec.scaleTargetRef.apiVersion": "a/b/c"},
        [("spec.scaleTargetRef.apiVersion", "Invalid")],
    ),
    ("controller without group", {"spec.scaleTargetRef": {"kind": "ReplicationController", "name": "a"}}, []),
    (
        "controller two slashes",
        {"spec.scaleTargetRef": {"kind": "ReplicationController", "name": "a", "apiVersion": "//"}},
        [("spec.scaleTargetRef.apiVersion", "Invalid")],
    ),
    # metrics
    ("metric null", {METRICS: [None]}, [(f"{M0}.type", "NotSupported")] * 2 + [(f"{M0}.type", "Required")]),
    ("metric unknown", {METRICS: [CPU | {"type": "resource"}]}, [(f"{M0}.type", "NotSupported")] * 2),
    ("metric nowhere", {METRICS: [{"type": "Pods"}]}, [(f"{M0}.pods", "Required")]),
    ("metric elsewhere", {METRICS: [CPU | {"type": "Pods"}]}, [(f"{M0}.pods", "Required")]),
    (
        "metric twice",
        {METRICS: [CPU | {"pods": {}}]},
        [
            (f"{M0}.pods", "Forbidden"),
            (f"{M0}.pods.metric.name", "Required"),
            (f"{M0}.pods.target.averageValue", "Required"),
            (f"{M0}.pods.target.type", "Invalid"),
            (f"{M0}.pods.target.type", "Required"),
        ],
    ),
    (
        "metric of three",
        {METRICS: [CPU | {"type": "Object", "external": metric("external", VALUE, metric=NAMED)["external"]}]},
        [
            (f"{M0}.external", "Forbidden"),
            (f"{M0}.object", "Required"),
            (f"{M0}.resource", "Forbidden"),
        ],
    ),
    (
        "metric unknown of two",
        {METRICS: [CPU | {"type": "X", "external": metric("external", VALUE, metric=NAMED)["external"]}]},
        [
            (f"{M0}.external", "Forbidden"),
            (f"{M0}.resource", "Forbidden"),
            *[(f"{M0}.type", "NotSupported")] * 2,
        ],
    ),
    (
        "metric name",
        {METRICS: [metric("pods", AVERAGE, metric={"name": "a/b%c"})]},
        [(f"{M0}.pods.metric.name", "Invalid")] * 2,
    ),
    ("object, core", {METRICS: [_object(VALUE, describedObject={"kind": "Service", "name": "a"})]}, []),
    (
        "object, slashes",
        {METRICS: [_object(VALUE, describedObject=INGRESS | {"apiVersion": "a/b/c"})]},
        [(f"{M0}.object.describedObject.apiVersion", "Invalid")],
    ),
    ("object of both", {METRICS: [_object(VALUE | AVERAGE)]}, []),
    ("object of none", {METRICS: [_object(UTILIZATION)]}, [(f"{M0}.object.target.averageValue", "Required")]),
    ("object of the other type", {METRICS: [_object({"type": "Utilization", "value": "1"})]}, []),
    (
        "external of both",
        {METRICS: [metric("external", VALUE | AVERAGE, metric=NAMED)]},
        [(f"{M0}.external.target.value", "Forbidden")],
    ),
    (
        "external of none",
        {METRICS: [metric("external", {"type": "Value"}, metric=NAMED)]},
        [(f"{M0}.external.target.averageValue", "Required")],
    ),
    (
        "pods of a value",
        {METRICS: [metric("pods", VALUE, metric=NAMED)]},
        [(f"{M0}.pods.target.averageValue", "Required")],
    ),
    ("pods of everything", {METRICS: [metric("pods", VALUE | AVERAGE | UTILIZATION, metric=NAMED)]}, []),
    (
        "resource of a value",
        {METRICS: [metric("resource", VALUE, name="cpu")]},
        [(f"{M0}.resource.target.averageUtilization", "Required")],
    ),
    (
        "resource of both",
        {METRICS: [metric("resource", AVERAGE | UTILIZATION, name="cpu")]},
        [(f"{M0}.resource.target.averageValue", "Forbidden")],
    ),
    ("resource of any name", {METRICS: [metric("resource", UTILIZATION, name="a b/c/d")]}, []),
    (
        "target type lower",
        {METRICS: [metric("resource", UTILIZATION | {"type": "utilization"}, name="cpu")]},
        [(f"{M0}.resource.target.type", "Invalid")],
    ),
    (
        "target type absent",
        {METRICS: [metric("resource", {"averageUtilization": 1}, name="cpu")]},
        [(f"{M0}.resource.target.type", "Invalid"), (f"{M0}.resource.target.type", "Required")],
    ),
    (
        "target zero",
        {METRICS: [metric("resource", UTILIZATION | {"value": "0"}, name="cpu")]},
        [(f"{M0}.resource.target.value", "Invalid")],
    ),
    (
        "target negative",
        {METRICS: [metric("pods", {"type": "AverageValue", "averageValue": "-1m"}, metric=NAMED)]},
        [(f"{M0}.pods.target.averageValue", "Invalid")],
    ),
    (
        "utilization zero",
        {METRICS: [metric("resource", UTILIZATION | {"averageUtilization": 0}, name="cpu")]},
        [(f"{M0}.resource.target.averageUtilization", "Invalid")],
    ),
    (
        "utilization beside pods",
        {METRICS: [metric("pods", AVERAGE | {"averageUtilization": 0}, metric=NAMED)]},
        [(f"{M0}.pods.target.averageUtilization", "Invalid")],
    ),
    # container resources
    *[
        (f"container of {name[:30]}", {METRICS: [_container(name=name)]}, [])
        for name in (
            "memory",
            "ephemeral-storage",
            "hugepages-2Mi",
            "example.com/gpu",
            "a.kubernetes.io/b",
            "kubernetes.io/batch",
            "requests.kubernetes.io/b",
            f"{LONG_GROUP[:244]}/gpu",
        )
    ],
    *[
        (
            f"container of {name[:30]}, once",
            {METRICS: [_container(name=name)]},
            [(f"{M0}.containerResource.name", "Invalid")],
        )
        for name in (
            "pods",
            "requests.cpu",
            "services",
            "requests.hugepages-2Mi",
            "requests.example.com/gpu",
            f"{LONG_GROUP}/gpu",
        )
    ],
    *[
        (
            f"container of {name[:30]}, twice",
            {METRICS: [_container(name=name)]},
            [(f"{M0}.containerResource.name", "Invalid")] * 2,
        )
        for name in (
            "gpu",
            "CPU",
            "a b",
            "a/b/c",
            "A.b/c",
            "/gpu",
        )
    ],
    (
        "container of a name too long",
        {METRICS: [_container(name=f"example.com/{'a' * 64}")]},
        [(f"{M0}.containerResource.name", "Invalid")] * 2,
    ),
    ("container of nothing", {METRICS: [_container(name="")]}, [(f"{M0}.containerResource.name", "Required")]),
    ("container label", {METRICS: [_container(container="a.b")]}, [(f"{M0}.containerResource.container", "Invalid")]),
    (
        "container of 64",
        {METRICS: [_container(container="A" * 64)]},
        [(f"{M0}.containerResource.container", "Invalid")] * 2,
    ),
    # behavior
    ("behavior empty", {"spec.behavior": {}}, []),
    ("direction empty", _rules("scaleUp"), []),
    ("window of an hour", _rules("scaleDown", stabilizationWindowSeconds=3600), []),
    (
        "window of more",
        _rules("scaleUp", stabilizationWindowSeconds=3601),
        [(f"{UP}.stabilizationWindowSeconds", "Invalid")],
    ),
    (
        "window negative",
        _rules("scaleUp", stabilizationWindowSeconds=-1),
        [(f"{UP}.stabilizationWindowSeconds", "Invalid")],
    ),
    ("select unknown", _rules("scaleUp", selectPolicy="max"), [(f"{UP}.selectPolicy", "NotSupported")]),
    ("select empty", _rules("scaleUp", selectPolicy=""), [(f"{UP}.selectPolicy", "NotSupported")]),
    ("select null", _rules("scaleUp", selectPolicy=None), []),
    ("policies empty", _rules("scaleUp", policies=[]), [(f"{UP}.policies", "Required")]),
    ("policies null", _rules("scaleUp", policies=None), []),
    (
        "policy null",
        _rules("scaleUp", policies=[None]),
        [
            (f"{UP}.policies[0].periodSeconds", "Invalid"),
            (f"{UP}.policies[0].type", "NotSupported"),
            (f"{UP}.policies[0].value", "Invalid"),
        ],
    ),
    ("policy unknown", _policy(type="percent"), [(f"{UP}.policies[0].type", "NotSupported")]),
    ("policy of nothing", _policy(value=0), [(f"{UP}.policies[0].value", "Invalid")]),
    ("period of a second", _policy(periodSeconds=1), []),
    ("period of half an hour", _policy(periodSeconds=1800), []),
    ("period of more", _policy(periodSeconds=1801), [(f"{UP}.policies[0].periodSeconds", "Invalid")]),
    ("tolerance of zero", _rules("scaleUp", tolerance=0), []),
    ("tolerance negative", _rules("scaleUp", tolerance=-0.1), [(f"{UP}.tolerance", "Invalid")]),
]


@pytest.mark.parametrize(("changes", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_validation(changes: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert errors(v2(changes)) == sorted(expected)


@pytest.mark.parametrize(
    ("least", "metrics", "expected"),
    [
        (0, [CPU], [("spec.metrics", "Forbidden")]),
        (0, [CPU, metric("external", VALUE, metric=NAMED)], []),
        (0, [_object(VALUE)], []),
        # The type counts, even if the source is another one.
        (0, [CPU | {"type": "Object"}], [("spec.metrics[0].object", "Required")]),
        (-1, [CPU], [("spec.minReplicas", "Invalid")]),
    ],
)
def test_scale_to_zero(least: int, metrics: list[Any], expected: list[tuple[str, str]]) -> None:
    assert errors(v2({"spec.minReplicas": least, METRICS: metrics}), SCALE_TO_ZERO) == expected


def test_a_maximum_that_is_proposed_is_one_at_least() -> None:
    problems = admitted(v2({"spec.minReplicas": -2, "spec.maxReplicas": -3}), SCALE_TO_ZERO).problems
    assert "-3 is smaller than minReplicas; write 1 or more" in [problem.message for problem in problems]


@pytest.mark.parametrize(
    ("changes", "gates", "words"),
    [
        ({"spec.minReplicas": -1}, DefaultGates(), "-1 is too small; write 1 or more"),
        ({"spec.minReplicas": 0}, DefaultGates(), "0 is too small; write 1 or more; 0 is allowed only where"),
        ({"spec.minReplicas": -1}, SCALE_TO_ZERO, "-1 is too small; write 0 or more"),
        ({METRICS: [{"type": "Pods"}]}, DefaultGates(), "is described under 'pods'"),
        ({METRICS: [CPU | {"type": "Pods"}]}, DefaultGates(), "is described under 'pods', not under 'resource'"),
        ({METRICS: [CPU | {"pods": {}}]}, DefaultGates(), "an entry holds one metric; keep only 'resource' and"),
        ({METRICS: [CPU | {"type": "Object", "pods": {}}]}, DefaultGates(), "keep only one and make others"),
    ],
)
def test_what_to_write_instead(changes: dict[str, Any], gates: DefaultGates, words: str) -> None:
    messages = [problem.message for problem in admitted(v2(changes), gates).problems]
    assert any(words in message for message in messages), messages


def test_tolerance_is_not_validated_where_its_gate_drops_it() -> None:
    manifest = v2({"spec.behavior.scaleUp.tolerance": "-1"})
    assert errors(manifest, DefaultGates(configurable_tolerance=False)) == []
