"""Advice about how manifests are written: unknown fields, annotations, what belongs to the server."""

from typing import Any

import pytest

from controller.manifest.admission import DefaultGates
from controller.manifest.advice import advise
from tests.manifest.manifests import admitted, check_advice, metric, v1, v2

METRICS = "spec.metrics"
M0 = "spec.metrics[0]"
PREFIX = "autoscaling.alpha.kubernetes.io/"
UTILIZATION = {"type": "Utilization", "averageUtilization": 80}
VALUE = {"type": "Value", "value": "10"}
OWNER = {"apiVersion": "apps/v1", "kind": "A", "name": "a", "uid": "u-1", "controller": True}
CPU = metric("resource", UTILIZATION, name="cpu")

TABLE: list[tuple[str, dict[str, Any], list[tuple[str, str]], str]] = [
    ("misspelt", v2({"spec.minReplica": 1}), [("unknown-field", "spec.minReplica")], "did you mean minReplicas?"),
    ("case of a key", v2({"spec.Behavior": {}}), [("unknown-field", "spec.Behavior")], "did you mean behavior?"),
    ("indented wrongly", v2({"minReplicas": 1}), [("unknown-field", "minReplicas")], "did you mean spec.minReplicas?"),
    (
        "one level up",
        v2({"spec.behavior": {"selectPolicy": "Max", "scaleUp": {"selectPolicy": "Max"}}}),
        [("unknown-field", "spec.behavior.selectPolicy")],
        "spec.behavior.scaleDown.selectPolicy or",
    ),
    ("nonsense", v2({"spec.xyzzy": 1}), [("unknown-field", "spec.xyzzy")], "remove it"),
    (
        "v1 field in v2",
        v2({"spec.targetCPUUtilizationPercentage": 1}),
        [("unknown-field", "spec.targetCPUUtilizationPercentage")],
        "write a Resource metric",
    ),
    ("v2 field in v1", v1({METRICS: []}), [("unknown-field", "spec.metrics")], "write apiVersion: autoscaling/v2"),
    (
        "beta field",
        v2({METRICS: [CPU | {"resource": {"name": "cpu", "target": UTILIZATION, "targetAverageUtilization": 5}}]}),
        [("unknown-field", f"{M0}.resource.targetAverageUtilization")],
        "target: {type: Utilization",
    ),
    (
        "selector of a beta",
        v2({METRICS: [metric("external", VALUE, metric={"name": "m"}, metricSelector={})]}),
        [("unknown-field", f"{M0}.external.metricSelector")],
        "write metric: {name: …, selector: …}",
    ),
    (
        "annotation",
        v2({"metadata.annotations": {f"{PREFIX}behavior": "{}"}}),
        [("annotation-ignored", f"metadata.annotations[{PREFIX}behavior]")],
        "write spec.behavior instead",
    ),
    (
        "reserved annotation",
        v2({"metadata.annotations": {f"{PREFIX}scale-up-tolerance": "1"}}),
        [("annotation-ignored", f"metadata.annotations[{PREFIX}scale-up-tolerance]")],
        "remove it",
    ),
    (
        "annotation of v1",
        v1(
            {"spec.targetCPUUtilizationPercentage": 5},
            metrics=[{"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": 1}}],
        ),
        [("annotation-of-v1", f"metadata.annotations[{PREFIX}metrics]")],
        "comes after those of the annotation",
    ),
    (
        "annotation of v1 alone",
        v1(metrics=[{"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": 1}}]),
        [("annotation-of-v1", f"metadata.annotations[{PREFIX}metrics]")],
        "shows spec.metrics; write",
    ),
    (
        "unreadable annotation",
        v1(behavior='{"ScaleUp": {"Policies": 5}}'),
        [("annotation-unreadable", f"metadata.annotations[{PREFIX}behavior]")],
        "ScaleUp.Policies: a list is expected",
    ),
    (
        "owner",
        v2({"metadata.ownerReferences": [OWNER, OWNER | {"name": "other", "controller": False}, OWNER]}),
        [("owner-repeated", "metadata.ownerReferences[2]")],
        "the same as metadata.ownerReferences[0]",
    ),
    ("status", v2({"status.currentReplicas": 3}), [("status-ignored", "status")], "remove it"),
    *(
        (name, v2({f"metadata.{name}": value}), [("server-field", f"metadata.{name}")], words)
        for name, value, words in (
            ("resourceVersion", "7", "a later kubectl apply ends in a conflict"),
            ("uid", "u-1", "a later kubectl apply fails, and --server-side the first one"),
            (
                "managedFields",
                [{"manager": "kubectl"}],
                "managedFields makes kubectl apply --server-side fail; remove it",
            ),
            ("deletionTimestamp", "2026-01-02T03:04:05Z", "a later kubectl apply fails, for it must not change"),
            ("deletionGracePeriodSeconds", 0, "a later kubectl apply fails, for it must not change"),
        )
    ),
    (
        "status and version, but of no object",
        v2({"metadata.resourceVersion": "7", "status.currentReplicas": 3}),
        [("server-field", "metadata.resourceVersion"), ("status-ignored", "status")],
        "the status of a manifest is ignored",
    ),
    (
        "as the cluster prints it",
        v2({"metadata.resourceVersion": "7", "metadata.uid": "u-1", "status.currentReplicas": 3}),
        [("server-field", "metadata.resourceVersion")],
        "remove resourceVersion, uid and status before it is applied",
    ),
]


@pytest.mark.parametrize(("manifest", "expected", "words"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_advice(manifest: dict[str, Any], expected: list[tuple[str, str]], words: str) -> None:
    check_advice(manifest, expected, words)


def test_of_a_refused_manifest_only_what_may_explain_it_is_said() -> None:
    manifest = v2({"spec.maxReplica": 5, "spec.maxReplicas": 0, "spec.behavior.scaleUp.tolerance": 7})
    assert [advice.code for advice in advise(admitted(manifest), DefaultGates())] == ["unknown-field"]
