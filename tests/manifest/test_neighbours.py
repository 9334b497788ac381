"""Advice that takes several manifests: rivals, and workloads that do not fit (§9)."""

import json
from typing import Any

import pytest

from controller.manifest.admission import DefaultGates, Gates
from controller.manifest.lint import Finding, lint
from controller.manifest.load import documents
from tests.manifest.manifests import metric, v1, v2

CPU_80 = {"type": "Utilization", "averageUtilization": 80}
WITHOUT_POD_LEVEL = DefaultGates(pod_level_resources=False)


def _findings(*manifests: Any, gates: Gates | None = None) -> list[list[Finding]]:
    """The advice of each HPA; every manifest stands on a line of its own."""
    text = "\n---\n".join(json.dumps(manifest) for manifest in manifests)
    return [
        list(result.advice) for result in lint(documents("all.yaml", f"---\n{text}".encode()), gates or DefaultGates())
    ]


def _codes(*manifests: Any, gates: Gates | None = None) -> list[list[str]]:
    return [[finding.kind for finding in found] for found in _findings(*manifests, gates=gates)]


def _deployment(*containers: dict[str, Any], replicas: int | None = None, **pod: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": list(containers), **pod}}},
    }


def _container(name: str, requests: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    limits = fields.pop("limits", None)
    return {"name": name, "resources": {"requests": requests, "limits": limits}, **fields}


def _utilization(percent: int = 80, container: str = "", resource: str = "cpu", **spec: Any) -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": percent}
    entry = (
        metric("containerResource", target, name=resource, container=container)
        if container
        else metric("resource", target, name=resource)
    )
    return v2({"spec.metrics": [entry], **spec})


def test_two_autoscalers_of_one_target() -> None:
    other = v1({"metadata.name": "other", "spec.scaleTargetRef.apiVersion": "apps/v1beta2"})
    (first, second) = _findings(v2(), other)
    assert first == []
    assert [(finding.kind, finding.field) for finding in second] == [("same-target", "spec.scaleTargetRef")]
    assert "HorizontalPodAutoscaler web (all.yaml:2)" in second[0].message


@pytest.mark.parametrize(
    "change",
    [
        {"metadata.namespace": "b"},
        {"spec.scaleTargetRef.name": "b"},
        {"spec.scaleTargetRef.kind": "StatefulSet"},
        {"spec.scaleTargetRef.apiVersion": "example.com/v1"},
    ],
)
def test_autoscalers_of_different_targets(change: dict[str, Any]) -> None:
    assert _codes(v2({"metadata.namespace": "a"}), v2({"metadata.namespace": "a", "metadata.name": "b", **change})) == [
        [],
        [],
    ]


def test_a_kind_in_lower_case_is_the_same_kind() -> None:
    lower = v2({"spec.scaleTargetRef.kind": "deployment", "metadata.name": "lower"})
    other = v2({"spec.scaleTargetRef.kind": "dEployment", "metadata.name": "other"})
    assert _codes(v2(), lower) == _codes(lower, v2()) == [[], ["same-target"]]
    # In any other case it is no kind at all.
    assert _codes(v2(), other, lower) == [[], ["target-not-scalable"], ["same-target"]]
    workload = _deployment(_container("app", {"cpu": 1}), replicas=3)
    assert _codes(workload, lower) == [["replicas-set"]]
    assert _codes(workload, other) == [["target-not-scalable"]]


def test_targets_without_a_name_are_not_the_same() -> None:
    nameless = {"spec.scaleTargetRef.name": ""}
    assert _codes(v2(nameless), v2({"metadata.name": "other"} | nameless)) == [[], []]


def test_two_autoscalers_of_one_name() -> None:
    assert _codes(v2(), v2({"spec.scaleTargetRef.name": "b"})) == [[], ["same-name"]]
    assert _codes(v2(), v2({"metadata.namespace": "b"})) == [[], []]


def test_replicas_in_the_manifest_of_the_workload() -> None:
    ((finding,),) = _findings(
        v2({"spec.metrics": [metric("external", {"type": "Value", "value": 1}, metric={"name": "m"})]}),
        _deployment(_container("app"), replicas=3),
    )
    assert (finding.kind, finding.field, finding.line) == ("replicas-set", "spec.replicas", 4)
    assert "Deployment web to 3 replicas each time, whatever HorizontalPodAutoscaler web decided" in finding.message
    # It is said of a workload after and before its HPA, and not when there is none.
    assert _codes(_deployment(_container("app", {"cpu": 1}), replicas=0), v2()) == [["replicas-set"]]
    assert _codes(_deployment(_container("app", {"cpu": 1})), v2()) == [[]]
    # Without a name it is none that a target without a name could mean.
    nameless = _deployment(_container("app", {"cpu": 1}), replicas=3) | {"metadata": {}}
    assert _codes(nameless, v2({"spec.scaleTargetRef.name": ""})) == [[]]


def test_of_an_invalid_autoscaler_only_the_replicas_are_looked_at() -> None:
    invalid = v2({"spec.metrics": [{"type": "Resource"}]})
    assert _codes(_deployment(_container("app"), replicas=3), invalid) == [["replicas-set"]]


@pytest.mark.parametrize(
    ("of_workload", "of_autoscaler", "found"),
    [(None, None, True), ("a", "a", True), ("a", None, True), (None, "a", True), ("a", "b", False)],
)
def test_namespaces(of_workload: str | None, of_autoscaler: str | None, *, found: bool) -> None:
    workload = _deployment(_container("app"))
    workload["metadata"]["namespace"] = of_workload
    assert _codes(workload, v2({"metadata.namespace": of_autoscaler})) == [["request-missing"] * found]


def test_the_workload_of_the_same_namespace_counts() -> None:
    bare, good = _deployment(_container("app")), _deployment(_container("app", {"cpu": 1}))
    good["metadata"]["namespace"] = "a"
    assert _codes(bare, good, v2({"metadata.namespace": "a"})) == [[]]
    # Two that could be meant, and nothing says which.
    other = _deployment(_container("app"))
    other["metadata"]["namespace"] = "b"
    assert _codes(other, good, v2()) == [[]]


SIDECAR: dict[str, Any] = {"restartPolicy": "Always"}
CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[tuple[str, str]]]] = [
    ("requested", _deployment(_container("app", {"cpu": "100m"})), _utilization(), []),
    ("missing", _deployment(_container("app", {"memory": 1})), _utilization(), [("request-missing", "containers[0]")]),
    (
        "missing for one of two",
        _deployment(_container("app", {"cpu": 1}), {"name": "b"}),
        _utilization(),
        [("request-missing", "containers[1]")],
    ),
    ("limits become requests", _deployment(_container("app", limits={"cpu": 1})), _utilization(50), []),
    (
        "explicit zero beside another",
        _deployment(_container("a", {"cpu": 0}), _container("b", {"cpu": 1})),
        _utilization(),
        [],
    ),
    ("all zero", _deployment(_container("a", {"cpu": 0})), _utilization(), [("requests-zero", "averageUtilization")]),
    (
        "all zero, with a limit",
        _deployment(_container("a", {"cpu": 0}, limits={"cpu": 1})),
        _utilization(),
        [("requests-zero", "averageUtilization")],
    ),
    (
        "average values need no requests",
        _deployment(_container("a")),
        v2({"spec.metrics": [metric("resource", {"type": "AverageValue", "averageValue": 1}, name="cpu")]}),
        [],
    ),
    (
        "ordinary init containers do not count",
        _deployment(_container("a", {"cpu": 1}), initContainers=[_container("i")]),
        _utilization(),
        [],
    ),
    (
        "sidecars count",
        _deployment(_container("a", {"cpu": 1}), initContainers=[_container("s", **SIDECAR)]),
        _utilization(),
        [("request-missing", "initContainers[0]")],
    ),
    ("named container", _deployment(_container("a"), _container("b", {"cpu": 1})), _utilization(container="b"), []),
    (
        "named container without",
        _deployment(_container("a"), _container("b", {"cpu": 1})),
        _utilization(container="a"),
        [("request-missing", "containers[0]")],
    ),
    (
        "named sidecar",
        _deployment(_container("a"), initContainers=[_container("s", {"cpu": 1}, **SIDECAR)]),
        _utilization(container="s"),
        [],
    ),
    (
        "no such container",
        _deployment(_container("a")),
        _utilization(container="b"),
        [("container-missing", "container")],
    ),
    (
        "ordinary init containers cannot be named",
        _deployment(_container("a"), initContainers=[_container("i")]),
        _utilization(container="i"),
        [("container-missing", "container")],
    ),
    (
        "no such container for an amount",
        _deployment(_container("a")),
        v2(
            {
                "spec.metrics": [
                    metric("containerResource", {"type": "AverageValue", "averageValue": 1}, name="cpu", container="b")
                ]
            }
        ),
        [("container-missing", "container")],
    ),
    ("of the pod", _deployment(_container("a"), resources={"requests": {"cpu": 1}}), _utilization(), []),
    ("limit of the pod", _deployment(_container("a"), resources={"limits": {"cpu": 1}}), _utilization(), []),
    (
        "of the pod for another resource",
        _deployment(_container("a"), resources={"requests": {"memory": 1}}),
        _utilization(),
        [("request-missing", "containers[0]")],
    ),
    (
        "of the pod and one container",
        _deployment(_container("a"), _container("b", {"cpu": 1}), resources={"requests": {"memory": 1}}),
        _utilization(),
        [],
    ),
    (
        "of the pod and overhead",
        _deployment(_container("a"), resources={"requests": {"memory": 1}}, overhead={"cpu": 1}),
        _utilization(),
        [],
    ),
    (
        "of the pod, container named",
        _deployment(_container("a"), resources={"requests": {"cpu": 1}}),
        _utilization(container="a"),
        [("request-missing", "containers[0]")],
    ),
    (
        "limit as high as the request",
        _deployment(_container("a", {"cpu": 1}, limits={"cpu": 1})),
        _utilization(100),
        [("utilization-unreachable", "averageUtilization")],
    ),
    (
        "within the tolerance",
        _deployment(_container("a", {"cpu": 1}, limits={"cpu": 1})),
        _utilization(91),
        [("utilization-unreachable", "averageUtilization")],
    ),
    ("beyond the tolerance", _deployment(_container("a", {"cpu": 1}, limits={"cpu": 1})), _utilization(90), []),
    (
        "with a smaller tolerance",
        _deployment(_container("a", {"cpu": 1}, limits={"cpu": 1})),
        _utilization(91, **{"spec.behavior.scaleUp.tolerance": "0"}),
        [],
    ),
    (
        "as high as it can get, without a tolerance",
        _deployment(_container("a", {"cpu": 1}, limits={"cpu": 1})),
        _utilization(100, **{"spec.behavior.scaleUp.tolerance": "0"}),
        [("utilization-unreachable", "averageUtilization")],
    ),
    (
        "percentages are rounded down, as those of usage are",
        _deployment(_container("a", {"cpu": "1"}, limits={"cpu": "1009m"})),
        _utilization(91),
        [("utilization-unreachable", "averageUtilization")],
    ),
    (
        "one container without limit",
        _deployment(_container("a", {"cpu": 1}, limits={"cpu": 1}), _container("b", {"cpu": 1})),
        _utilization(200),
        [],
    ),
    (
        "malformed amounts",
        _deployment(_container("a", {"cpu": "x"}), {"resources": 5}),
        _utilization(),
        [("request-missing", "containers[0]"), ("request-missing", "containers[1]")],
    ),
    ("no template", {**_deployment(), "spec": {"template": {"spec": {"containers": {}}}}}, _utilization(), []),
    ("nothing in it", {**_deployment(), "spec": None}, _utilization(), []),
]


@pytest.mark.parametrize(
    ("workload", "autoscaler", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_requests(workload: dict[str, Any], autoscaler: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    (found,) = _findings(workload, autoscaler)
    assert [finding.kind for finding in found] == [kind for kind, _ in expected]
    for finding, (_, where) in zip(found, expected, strict=True):
        assert where in finding.field
        assert finding.line == (2 if finding.kind == "request-missing" else 4)


def test_pod_level_requests_count_only_with_their_gate() -> None:
    workload = _deployment(_container("a"), resources={"requests": {"cpu": 1}})
    assert _codes(workload, v2(), gates=WITHOUT_POD_LEVEL) == [["request-missing"]]
    assert _codes(workload, v2()) == [[]]


def test_other_kinds_with_a_template_are_read_as_well() -> None:
    rollout = _deployment(_container("a")) | {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}
    target = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web"}
    assert _codes(rollout, v2({"spec.scaleTargetRef": target})) == [["request-missing"]]
