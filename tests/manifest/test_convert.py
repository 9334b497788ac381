"""autoscaling/v1 and its annotations (§22), defaulting (§21) and what is stored."""

from typing import Any

import pytest

from controller.manifest.admission import Admission, DefaultGates, Refused, admit
from controller.manifest.convert import ANNOTATIONS
from controller.manifest.load import Document, documents
from controller.manifest.tree import show
from tests.manifest.manifests import admitted, as_stored, errors, metric, outcome, v1, v2

CPU_80 = metric("resource", {"type": "Utilization", "averageUtilization": 80}, name="cpu")
DOUBLE = {"type": "Percent", "value": 100, "periodSeconds": 15}
FOUR = {"type": "Pods", "value": 4, "periodSeconds": 15}
UP = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [FOUR, DOUBLE]}
DOWN = {"selectPolicy": "Max", "policies": [DOUBLE]}
REFERENCE = {"kind": "Ingress", "name": "front", "apiVersion": "networking.k8s.io/v1"}


def _metrics(*annotated: Any, **spec: Any) -> list[dict[str, Any]]:
    changes = {f"spec.{name}": value for name, value in spec.items()}
    found = as_stored(v1(changes, metrics=list(annotated)))["spec"]["metrics"]
    assert isinstance(found, list)
    return found


def test_no_metrics_are_cpu_at_80_percent() -> None:
    for manifest in (v1(), v2(), v2({"spec.metrics": []}), v2({"spec.metrics": None}), v1(metrics="[]")):
        assert as_stored(manifest)["spec"]["metrics"] == [CPU_80]


def test_replicas_are_at_least_one_unless_given() -> None:
    for manifest in (v1({"spec.minReplicas": None}), v2({"spec.minReplicas": None})):
        assert as_stored(manifest)["spec"]["minReplicas"] == 1
    assert as_stored(v1({"spec.minReplicas": 3}))["spec"]["minReplicas"] == 3


def test_cpu_of_v1_comes_after_the_annotation() -> None:
    annotated = {"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "2"}}
    first, second = _metrics(annotated, targetCPUUtilizationPercentage=50)
    assert first == metric("pods", {"type": "AverageValue", "averageValue": "2"}, metric={"name": "m"})
    assert second == metric("resource", {"type": "Utilization", "averageUtilization": 50}, name="cpu")


@pytest.mark.parametrize(
    ("annotated", "expected"),
    [
        (
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 5}},
            metric("resource", {"type": "Utilization", "averageUtilization": 5}, name="cpu"),
        ),
        (
            {"type": "Resource", "resource": {"name": "cpu", "targetAverageValue": "1000m"}},
            metric("resource", {"type": "AverageValue", "averageValue": "1"}, name="cpu"),
        ),
        (
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": "a", "targetAverageValue": 1},
            },
            metric("containerResource", {"type": "AverageValue", "averageValue": "1"}, container="a", name="cpu"),
        ),
        (
            {"type": "External", "external": {"metricName": "m", "targetValue": "5", "metricSelector": {}}},
            metric("external", {"type": "Value", "value": "5"}, metric={"name": "m", "selector": {}}),
        ),
        (
            {"type": "External", "external": {"metricName": "m", "targetAverageValue": "5"}},
            metric("external", {"type": "AverageValue", "averageValue": "5"}, metric={"name": "m"}),
        ),
        (
            {"type": "Object", "object": {"target": REFERENCE, "metricName": "m", "targetValue": "5"}},
            metric("object", {"type": "Value", "value": "5"}, describedObject=REFERENCE, metric={"name": "m"}),
        ),
        (
            # The 0 that autoscaling/v1 cannot leave out.
            {
                "type": "Object",
                "object": {"target": REFERENCE, "metricName": "m", "targetValue": "0", "averageValue": "5"},
            },
            metric(
                "object", {"type": "AverageValue", "averageValue": "5"}, describedObject=REFERENCE, metric={"name": "m"}
            ),
        ),
        (
            {
                "type": "Object",
                "object": {"target": REFERENCE, "metricName": "m", "targetValue": "1", "averageValue": "5"},
            },
            metric(
                "object",
                {"type": "AverageValue", "averageValue": "5", "value": "1"},
                describedObject=REFERENCE,
                metric={"name": "m"},
            ),
        ),
        (
            # Go reads annotations without regard to case, even where Unicode is creative about it.
            {
                "TYPE": "Re\u017fource".replace("\u017f", "s"),
                "re\u017fOURCE": {"NAME": "cpu", "targetaverageutilization": 5},
            },
            metric("resource", {"type": "Utilization", "averageUtilization": 5}, name="cpu"),
        ),
    ],
)
def test_metrics_annotation(annotated: dict[str, Any], expected: dict[str, Any]) -> None:
    assert _metrics(annotated) == [expected]


@pytest.mark.parametrize(
    ("annotated", "expected"),
    [
        ({"type": "Object", "object": {"target": REFERENCE, "metricName": "m"}}, "object.target.value"),
        ({"type": "Pods", "pods": {"metricName": "m"}}, "pods.target.averageValue"),
    ],
)
def test_an_absent_target_of_v1_is_zero(annotated: dict[str, Any], expected: str) -> None:
    assert errors(v1(metrics=[annotated])) == [(f"spec.metrics[0].{expected}", "Invalid")]


def test_errors_of_v1_have_paths_of_v2_and_lines_of_v1() -> None:
    admission = admitted(v1({"spec.targetCPUUtilizationPercentage": 0}))
    (problem,) = admission.problems
    assert show(problem.path) == "spec.metrics[0].resource.target.averageUtilization"
    (document,) = documents(
        "web.yaml",
        b"""apiVersion: autoscaling/v1
kind: HorizontalPodAutoscaler
metadata:
  name: web
  annotations:
    autoscaling.alpha.kubernetes.io/behavior: '{"ScaleUp": {"Policies": []}}'
    autoscaling.alpha.kubernetes.io/metrics: '[{"type": "Pods"}, {"type": "Resource", "resource": {"name": "cpu"}}]'
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  targetCPUUtilizationPercentage: 0
  maxReplicas: 0
""",
    )
    assert isinstance(document, Document)
    of_everything = admit(document, DefaultGates())
    assert isinstance(of_everything, Admission)
    assert {(show(problem.path), of_everything.line(problem.path)) for problem in of_everything.problems} == {
        ("spec.maxReplicas", 11),
        ("spec.metrics[0].pods", 7),
        ("spec.metrics[1].resource.target.averageUtilization", 7),
        ("spec.metrics[2].resource.target.averageUtilization", 10),
        ("spec.behavior.scaleUp.policies", 6),
    }


def test_an_owner_is_stored_once() -> None:
    """Only what is the same in every field is the same owner."""
    owner = {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1"}
    leading, other = owner | {"controller": True}, owner | {"controller": False}
    written = [leading, owner, other, leading, owner | {"controller": None}]
    assert as_stored(v2({"metadata.ownerReferences": written}))["metadata"]["ownerReferences"] == [
        leading,
        owner,
        other,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{}",
        '[{"type": 5}]',
        "[1]",
        "[] x",
        "[{}",
        '[{"type": NaN}]',
        "[" * 500,
        '[{"resource": {"targetAverageValue": "x"}}]',
        # Numbers are read as they are written, for they stand in a text.
        '[{"type": "Resource", "resource": {"name": "cpu", "targetAverageUtilization": 50.0}}]',
    ],
)
def test_unreadable_metrics_are_ignored(text: str) -> None:
    manifest = v1({"spec.targetCPUUtilizationPercentage": 80}, metrics=text)
    assert as_stored(manifest)["spec"]["metrics"] == [CPU_80]
    conversion = admitted(manifest).conversion
    assert conversion is not None
    assert list(conversion.ignored) == ["autoscaling.alpha.kubernetes.io/metrics"]


def test_behavior_annotation_is_stored_as_it_is() -> None:
    policies = [{"Type": "Pods", "Value": 1, "PeriodSeconds": 60}]
    stored = as_stored(v1(behavior={"ScaleUp": {"Policies": policies, "Tolerance": "50m"}, "ScaleDown": None}))
    up = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}], "tolerance": "50m"}
    assert stored["spec"]["behavior"] == {"scaleUp": up}
    # Whoever reads the object sees it completed.
    assert as_stored(stored)["spec"]["behavior"] == {"scaleUp": UP | up, "scaleDown": DOWN}


def test_behavior_annotation_needs_policies() -> None:
    assert errors(v1(behavior={"scaleUp": {}})) == [("spec.behavior.scaleUp.policies", "Required")]


@pytest.mark.parametrize("text", ["null", "{}", '{"ScaleUp": null}', "x", '{"ScaleUp": {"Policies": 5}}'])
def test_a_behavior_annotation_of_nothing_is_none(text: str) -> None:
    assert "behavior" not in as_stored(v1(behavior=text))["spec"]


def test_behavior_is_completed_field_by_field() -> None:
    assert "behavior" not in as_stored(v2({"spec.behavior": None}))["spec"]
    assert as_stored(v2({"spec.behavior": {}}))["spec"]["behavior"] == {"scaleUp": UP, "scaleDown": DOWN}
    own = {"stabilizationWindowSeconds": 60, "policies": [FOUR], "tolerance": 0.05}
    stored = as_stored(v2({"spec.behavior": {"scaleUp": None, "scaleDown": own}}))["spec"]["behavior"]
    assert stored == {"scaleUp": UP, "scaleDown": own | {"selectPolicy": "Max", "tolerance": "50m"}}


def test_tolerance_goes_with_its_gate() -> None:
    off = DefaultGates(configurable_tolerance=False)
    behavior = {"ScaleUp": {"Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 60}], "Tolerance": "1"}}
    for manifest in (v2({"spec.behavior.scaleUp.tolerance": "1"}), v1(behavior=behavior)):
        assert "tolerance" in as_stored(manifest)["spec"]["behavior"]["scaleUp"]
        assert "tolerance" not in as_stored(manifest, off)["spec"]["behavior"]["scaleUp"]


@pytest.mark.parametrize("version", ["autoscaling/v1", "autoscaling/v2"])
def test_round_trip_annotations_are_dropped(version: str) -> None:
    kept = {"example.com/a": "b"}
    annotations = kept | dict.fromkeys(ANNOTATIONS, "[]")
    stored = as_stored(v2({"apiVersion": version, "metadata.annotations": annotations}))
    assert stored["metadata"]["annotations"] == kept
    assert len(ANNOTATIONS) == 6
    stored = as_stored(v2({"apiVersion": version, "metadata.annotations": dict.fromkeys(ANNOTATIONS, "[]")}))
    assert "annotations" not in stored["metadata"]


def test_the_servers_metadata_and_the_status_are_not_stored() -> None:
    given = {
        "metadata.resourceVersion": "5",
        "metadata.uid": "u",
        "metadata.generation": 3,
        "metadata.creationTimestamp": "2024-02-29T00:00:00Z",
        "metadata.managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {}}}],
        "metadata.labels": {"app": "web"},
        "metadata.finalizers": ["example.com/a"],
        "status": {"currentReplicas": 3, "conditions": [{"type": "AbleToScale", "status": "True"}]},
    }
    stored = as_stored(v2(given))
    assert stored == as_stored(v2({"metadata.labels": {"app": "web"}, "metadata.finalizers": ["example.com/a"]}))
    assert list(stored) == ["apiVersion", "kind", "metadata", "spec"]


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        ("0.05", "50m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1023", "1023"),
        ("12e2", "1200"),
        ("1e4", "10e3"),
        (" 5 ", "5"),
        (5, "5"),
        ("+5", "+5"),
        ("0.1n", "1n"),
        ("1.0000000001", "1000000001n"),
        (1e4, "10k"),
        (12345678901234567890, "12345678901234567k"),
        # Kubernetes itself loses these.
        ("1000E", "1"),
        ("9Ei", "9223372036854775807"),
    ],
)
def test_quantities_are_stored_in_canonical_form(written: Any, stored: str) -> None:
    target = {"type": "AverageValue", "averageValue": written}
    (found,) = as_stored(v2({"spec.metrics": [metric("pods", target, metric={"name": "m"})]}))["spec"]["metrics"]
    assert found["pods"]["target"]["averageValue"] == stored


def test_a_whole_number_is_one_however_it_is_written() -> None:
    assert as_stored(v2({"spec.maxReplicas": 5.0}))["spec"]["maxReplicas"] == 5


@pytest.mark.parametrize(
    ("changes", "path", "words"),
    [
        ({"spec.maxReplicas": "5"}, "spec.maxReplicas", "remove the quotes"),
        ({"spec.maxReplicas": 2**31}, "spec.maxReplicas", "between -2147483648 and 2147483647"),
        ({"spec.minReplicas": -(2**31) - 1}, "spec.minReplicas", "between"),
        ({"spec.maxReplicas": 5.5}, "spec.maxReplicas", "without fraction"),
        ({"spec.maxReplicas": True}, "spec.maxReplicas", "found true"),
        ({"spec.metrics": {}}, "spec.metrics", "a list is expected, found an object"),
        ({"spec.metrics": ["cpu"]}, "spec.metrics[0]", 'found the text "cpu"'),
        ({"spec.scaleTargetRef.name": 5}, "spec.scaleTargetRef.name", "put it in quotes"),
        ({"spec.behavior": []}, "spec.behavior", "an object with fields such as scaleUp"),
        ({"spec.behavior.scaleUp.tolerance": "5 %"}, "spec.behavior.scaleUp.tolerance", "not a quantity"),
        ({"spec.behavior.scaleUp.tolerance": ""}, "spec.behavior.scaleUp.tolerance", "not a quantity"),
        ({"spec.behavior.scaleUp.tolerance": "Pi"}, "spec.behavior.scaleUp.tolerance", "no digits before its suffix"),
        ({"spec.behavior.scaleUp.tolerance": True}, "spec.behavior.scaleUp.tolerance", "a quantity such as"),
        ({"metadata.labels": {"a": 1}}, "metadata.labels.a", "put it in quotes"),
        ({"metadata.labels": []}, "metadata.labels", "an object from keys to texts"),
        ({"metadata.creationTimestamp": "2023-02-29T00:00:00Z"}, "metadata.creationTimestamp", "a time such as"),
        ({"metadata.deletionGracePeriodSeconds": 2**63}, "metadata.deletionGracePeriodSeconds", "whole number"),
        ({"status": {"currentReplicas": "1"}}, "status.currentReplicas", "remove the quotes"),
        (
            {"metadata.ownerReferences": [{"controller": "yes"}]},
            "metadata.ownerReferences[0].controller",
            "true or false",
        ),
        ({"apiVersion": "autoscaling/v2beta2"}, "apiVersion", "until Kubernetes 1.25; write autoscaling/v2"),
        ({"apiVersion": "autoscaling/v3"}, "apiVersion", "write autoscaling/v2"),
        ({"kind": "HorizontalPodAutoScaler"}, "kind", "write HorizontalPodAutoscaler"),
    ],
)
def test_undecodable(changes: dict[str, Any], path: str, words: str) -> None:
    refused = outcome(v2(changes))
    assert isinstance(refused, Refused)
    (mismatch,) = refused.mismatches
    assert show(mismatch.path) == path
    assert words in mismatch.message


def test_everything_that_mismatches_is_said() -> None:
    refused = outcome(v2({"spec.maxReplicas": "5", "spec.minReplicas": [], "metadata": []}))
    assert isinstance(refused, Refused)
    assert [show(mismatch.path) for mismatch in refused.mismatches] == [
        "metadata",
        "spec.minReplicas",
        "spec.maxReplicas",
    ]


def test_keys_are_read_with_their_case() -> None:
    admission = admitted(v2({"spec.MinReplicas": 5, "metadata.Labels": 5}))
    assert admission.stored["spec"]["minReplicas"] == 2
    assert [show(field.path) for field in admission.unknown] == ["metadata.Labels", "spec.MinReplicas"]


def test_whole_numbers_have_32_bits() -> None:
    for field in ("minReplicas", "maxReplicas"):
        for fitting in (2**31 - 1, -(2**31)):
            assert isinstance(outcome(v2({f"spec.{field}": fitting})), Admission)
        for beyond in (2**31, -(2**31) - 1):
            assert isinstance(outcome(v2({f"spec.{field}": beyond})), Refused)


def test_a_time_is_a_text() -> None:
    assert isinstance(outcome(v2({"metadata.creationTimestamp": 5})), Refused)
