"""Advice about single manifests: what is said, where, and that good manifests stay without any."""

from typing import Any

import pytest

from controller.manifest.admission import DefaultGates
from controller.manifest.advice import advise
from controller.manifest.tree import show
from tests.manifest.manifests import SCALE_TO_ZERO, admitted, check_advice, errors, metric, v1, v2

METRICS = "spec.metrics"
UTILIZATION = {"type": "Utilization", "averageUtilization": 80}
AVERAGE = {"type": "AverageValue", "averageValue": "10"}
VALUE = {"type": "Value", "value": "10"}
INGRESS = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "front"}
NAMED = {"name": "requests"}
CPU = metric("resource", UTILIZATION, name="cpu")
EXTERNAL = metric("external", VALUE, metric=NAMED)
PERCENT = {"type": "Percent", "value": 100, "periodSeconds": 60}
PODS = {"type": "Pods", "value": 4, "periodSeconds": 60}
M0 = "spec.metrics[0]"
UP = "spec.behavior.scaleUp"

# As `kubectl api-resources --api-group=` has them.
CORE = (
    "Binding ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume "
    "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret ServiceAccount Service"
)


def _object(target: dict[str, Any], **described: Any) -> dict[str, Any]:
    return metric("object", target, describedObject=INGRESS | described, metric=NAMED)


def _pods(target: dict[str, Any], **identifier: Any) -> dict[str, Any]:
    return metric("pods", target, metric=NAMED | identifier)


def _resource(target: dict[str, Any], name: str = "cpu") -> dict[str, Any]:
    return metric("resource", target, name=name)


def _one(entry: dict[str, Any]) -> dict[str, Any]:
    return {METRICS: [entry]}


GOOD: dict[str, dict[str, Any]] = {
    "plain": v2(),
    "kinds in lower case": v2(
        {"spec.scaleTargetRef.kind": "deployment", METRICS: [_object(VALUE, apiVersion="v1", kind="service")]}
    ),
    "plain v1": v1({"spec.targetCPUUtilizationPercentage": 50}),
    "with metadata": v2({"metadata": {"name": "a", "namespace": "b", "labels": {"c": "d"}, "annotations": {"e": "f"}}}),
    "as kubectl makes it": v2(
        {"metadata.creationTimestamp": None, "status": {"currentReplicas": 0, "desiredReplicas": 0}}
    ),
    "every source": v2(
        {
            METRICS: [
                CPU,
                _resource({"type": "AverageValue", "averageValue": "500Mi"}, "memory"),
                metric("containerResource", UTILIZATION, name="memory", container="app"),
                _pods(AVERAGE, selector={"matchLabels": {"verb": "GET"}}),
                _object(VALUE),
                _object({"type": "AverageValue", "averageValue": "1500m"}),
                metric("object", VALUE, describedObject={"kind": "Service", "name": "a"}, metric=NAMED),
                EXTERNAL,
            ]
        }
    ),
    "the same metric of other series": v2(
        {METRICS: [_pods(AVERAGE, selector={"matchLabels": {"verb": verb}}) for verb in ("GET", "PUT")]}
    ),
    "two targets for one resource": v2({METRICS: [CPU, _resource(AVERAGE)]}),
    "behavior": v2(
        {
            "spec.behavior": {
                "scaleUp": {"stabilizationWindowSeconds": 0, "policies": [PERCENT, PODS], "tolerance": "50m"},
                "scaleDown": {"selectPolicy": "Disabled", "policies": [{**PODS, "periodSeconds": 1800}]},
            }
        }
    ),
    "custom resource": v2(
        {"spec.scaleTargetRef": {"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "a"}}
    ),
    "controller": v2({"spec.scaleTargetRef": {"apiVersion": "v1", "kind": "ReplicationController", "name": "a"}}),
    "utilization above 100": v2(_one(_resource({"type": "Utilization", "averageUtilization": 250}))),
    "a mebibyte of memory": v2(_one(_resource({"type": "AverageValue", "averageValue": "1Mi"}, "memory"))),
    "a short period of a direction that is off": v2(
        {"spec.behavior.scaleDown": {"selectPolicy": "Disabled", "policies": [{**PODS, "periodSeconds": 5}]}}
    ),
    "objects of the core group": v2({METRICS: [_object(VALUE, apiVersion="v1", kind=kind) for kind in CORE.split()]}),
    "fractions": v2(_one(_pods({"type": "AverageValue", "averageValue": "33.3333"}))),
}


@pytest.mark.parametrize("manifest", GOOD.values(), ids=list(GOOD))
def test_a_good_manifest_gets_no_advice(manifest: dict[str, Any]) -> None:
    assert errors(manifest) == []
    assert advise(admitted(manifest), DefaultGates()) == []


TABLE: list[tuple[str, dict[str, Any], list[tuple[str, str]], str]] = [
    ("fixed", v2({"spec.maxReplicas": 2}), [("replicas-fixed", "spec.maxReplicas")], "both 2"),
    (
        "daemons",
        v2({"spec.scaleTargetRef.kind": "DaemonSet"}),
        [("target-not-scalable", "spec.scaleTargetRef.kind")],
        "no DaemonSet",
    ),
    (
        "case",
        v2({"spec.scaleTargetRef.kind": "dEployment"}),
        [("target-not-scalable", "spec.scaleTargetRef.kind")],
        "write Deployment",
    ),
    (
        "old group",
        v2({"spec.scaleTargetRef.apiVersion": "extensions/v1beta1"}),
        [("target-not-scalable", "spec.scaleTargetRef.kind")],
        "apiVersion: apps/v1",
    ),
    (
        "other group",
        v2({"spec.scaleTargetRef.kind": "ReplicationController"}),
        [("target-not-scalable", "spec.scaleTargetRef.kind")],
        "apiVersion: v1",
    ),
    # metrics
    (
        "object as average",
        v2(_one(_object({"type": "AverageValue", "value": "1"}))),
        [("object-target", f"{M0}.object.target.type")],
        "write type: Value",
    ),
    (
        "object as value",
        v2(_one(_object({"type": "Value", "averageValue": "1"}))),
        [("object-target", f"{M0}.object.target.type")],
        "write type: AverageValue",
    ),
    (
        "object utilization",
        v2(_one(_object({"type": "Utilization", "value": "1", "averageUtilization": 5}))),
        [("object-target", f"{M0}.object.target.type")],
        "fails at run time",
    ),
    (
        "object of both",
        v2(_one(_object(VALUE | {"averageValue": "1"}))),
        [("target-field-ignored", f"{M0}.object.target.averageValue")],
        "beside value",
    ),
    (
        "pods as value",
        v2(_one(_pods(AVERAGE | {"type": "Value"}))),
        [("target-type", f"{M0}.pods.target.type")],
        "write type: AverageValue",
    ),
    (
        "pods of more",
        v2(_one(_pods(AVERAGE | {"value": "1", "averageUtilization": 3}))),
        [
            ("target-field-ignored", f"{M0}.pods.target.averageUtilization"),
            ("target-field-ignored", f"{M0}.pods.target.value"),
        ],
        "remove it",
    ),
    (
        "resource as utilization",
        v2(_one(_resource(AVERAGE | {"type": "Utilization"}))),
        [("target-type", f"{M0}.resource.target.type")],
        "averageValue decides",
    ),
    (
        "resource with value",
        v2(_one(_resource(UTILIZATION | {"value": "1"}))),
        [("target-field-ignored", f"{M0}.resource.target.value")],
        "value has no effect",
    ),
    (
        "external as value",
        v2(_one(metric("external", AVERAGE | {"type": "Value"}, metric=NAMED))),
        [("target-type", f"{M0}.external.target.type")],
        "averageValue decides",
    ),
    (
        "resource name",
        v2(_one(_resource(UTILIZATION, "Memory"))),
        [("resource-unmeasured", f"{M0}.resource.name")],
        "write memory",
    ),
    (
        "resource gpu",
        v2(_one(metric("containerResource", UTILIZATION, name="example.com/gpu", container="a"))),
        [("resource-unmeasured", f"{M0}.containerResource.name")],
        "Pods or External",
    ),
    (
        "memory in milli",
        v2(_one(_resource({"type": "AverageValue", "averageValue": "500m"}, "memory"))),
        [("memory-tiny", f"{M0}.resource.target.averageValue")],
        "write 500Mi",
    ),
    (
        "memory in bytes",
        v2(_one(_resource({"type": "AverageValue", "averageValue": 512}, "memory"))),
        [("memory-tiny", f"{M0}.resource.target.averageValue")],
        "write 512Mi",
    ),
    (
        "a hundred cores",
        v2(_one(_resource({"type": "AverageValue", "averageValue": "100"}))),
        [("cpu-huge", f"{M0}.resource.target.averageValue")],
        "write 100m",
    ),
    (
        "repeated with labels in another order",
        v2(
            {
                METRICS: [
                    _pods(AVERAGE, selector={"matchLabels": labels})
                    for labels in ({"verb": "GET", "host": "a"}, {"host": "a", "verb": "GET"})
                ]
            }
        ),
        [("metric-repeated", "spec.metrics[1]")],
        "the same as metrics[0]",
    ),
    (
        "two that fail are not the same",
        v2({METRICS: [_object({"type": "AverageValue", "value": "1"})] * 2}),
        [("object-target", f"spec.metrics[{index}].object.target.type") for index in (0, 1)],
        "write type: Value",
    ),
    (
        "cpu in cores",
        v2(_one(_resource({"type": "AverageValue", "averageValue": "500"}))),
        [("cpu-huge", f"{M0}.resource.target.averageValue")],
        "500 cores per pod; write 500m",
    ),
    (
        "cpu in thousands of cores",
        v2(_one(_resource({"type": "AverageValue", "averageValue": "2k"}))),
        [("cpu-huge", f"{M0}.resource.target.averageValue")],
        "2k is 2000 cores per pod; write 2000m",
    ),
    (
        "rounded up",
        v2(_one(_pods({"type": "AverageValue", "averageValue": "0.5m"}))),
        [("target-rounded", f"{M0}.pods.target.averageValue")],
        "500u counts as 1m",
    ),
    (
        "rounded from nano",
        v2(_one(_object({"type": "Value", "value": "0.1n"}))),
        [("target-rounded", f"{M0}.object.target.value")],
        "1n counts as 1m",
    ),
    (
        "too large",
        v2(_one(_pods({"type": "AverageValue", "averageValue": "5000E"}))),
        [("quantity-altered", f"{M0}.pods.target.averageValue")],
        "stores 5;",
    ),
    (
        "too large in binary",
        v2(_one(_pods({"type": "AverageValue", "averageValue": "8Ei"}))),
        [("quantity-altered", f"{M0}.pods.target.averageValue")],
        "9223372036854775807",
    ),
    (
        "selector value",
        v2(_one(_pods(AVERAGE, selector={"matchLabels": {"a": "b c"}}))),
        [("selector-invalid", f"{M0}.pods.metric.selector")],
        "not a label value",
    ),
    (
        "selector operator",
        v2(_one(_pods(AVERAGE, selector={"matchExpressions": [{"key": "a", "operator": "in"}]}))),
        [("selector-invalid", f"{M0}.pods.metric.selector")],
        "'in'",
    ),
    (
        "selector empty entry",
        v2(_one(_pods(AVERAGE, selector={"matchExpressions": [None]}))),
        [("selector-invalid", f"{M0}.pods.metric.selector")],
        "correct it",
    ),
    (
        "described without group",
        v2(_one(_object(VALUE, apiVersion=""))),
        [("described-object-group", f"{M0}.object.describedObject.apiVersion")],
        "no apiVersion means the core group, which has no Ingress",
    ),
    (
        "described with an empty group",
        v2(_one(_object(VALUE, apiVersion="/v1"))),
        [("described-object-group", f"{M0}.object.describedObject.apiVersion")],
        "apiVersion /v1 names the core group, which has no Ingress",
    ),
    (
        "described in another case",
        v2(_one(_object(VALUE, apiVersion="v1", kind="sErvice"))),
        [("described-object-group", f"{M0}.object.describedObject.apiVersion")],
        "no sErvice",
    ),
    (
        "repeated",
        v2({METRICS: [EXTERNAL, CPU, EXTERNAL]}),
        [("metric-repeated", "spec.metrics[2]")],
        "the same as metrics[0]",
    ),
    (
        "repeated with another target",
        v2({METRICS: [CPU, _resource({"type": "Utilization", "averageUtilization": 60})]}),
        [("metric-repeated", "spec.metrics[1]")],
        "targets, 60,",
    ),
    # behavior
    ("behavior empty", v2({"spec.behavior": {}}), [("behavior-empty", "spec.behavior")], "not the same as none"),
    (
        "directions empty",
        v2({"spec.behavior": {"scaleUp": {}, "scaleDown": None}}),
        [("behavior-empty", "spec.behavior")],
        "remove it",
    ),
    (
        "both disabled",
        v2({"spec.behavior": {"scaleUp": {"selectPolicy": "Disabled"}, "scaleDown": {"selectPolicy": "Disabled"}}}),
        [("scaling-disabled", "spec.behavior")],
        "enable one",
    ),
    (
        "short period",
        v2({"spec.behavior.scaleDown.policies": [PODS, PODS | {"periodSeconds": 5}]}),
        [("period-short", "spec.behavior.scaleDown.policies[1].periodSeconds")],
        "periodSeconds: 15",
    ),
    (
        "tolerance as percent",
        v2({"spec.behavior.scaleUp.tolerance": 5}),
        [("tolerance-large", f"{UP}.tolerance")],
        "below 6 times",
    ),
    (
        "tolerance down",
        v2({"spec.behavior.scaleDown.tolerance": "1"}),
        [("tolerance-large", "spec.behavior.scaleDown.tolerance")],
        "nothing is ever scaled down",
    ),
]


@pytest.mark.parametrize(("manifest", "expected", "words"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_advice(manifest: dict[str, Any], expected: list[tuple[str, str]], words: str) -> None:
    check_advice(manifest, expected, words)


@pytest.mark.parametrize(
    ("rules", "stuck"),
    [
        ({"policies": [PERCENT]}, True),
        ({"policies": [PERCENT, PERCENT | {"value": 900}]}, True),
        ({"policies": [PERCENT, PODS]}, False),
        ({"policies": [PERCENT, PODS], "selectPolicy": "Min"}, True),
        ({"policies": [PODS], "selectPolicy": "Min"}, False),
        ({"selectPolicy": "Disabled"}, True),
        ({"stabilizationWindowSeconds": 60}, False),
    ],
)
def test_leaving_zero(rules: dict[str, Any], *, stuck: bool) -> None:
    """§12.7."""
    from_zero = v2({"spec.minReplicas": 0, METRICS: [EXTERNAL], "spec.behavior.scaleUp": rules})
    assert errors(from_zero, SCALE_TO_ZERO) == []
    assert [advice.code for advice in advise(admitted(from_zero, SCALE_TO_ZERO), SCALE_TO_ZERO)] == [
        "stuck-at-zero"
    ] * stuck
    from_one = v2({METRICS: [EXTERNAL], "spec.behavior.scaleUp": rules})
    assert advise(admitted(from_one, SCALE_TO_ZERO), SCALE_TO_ZERO) == []


@pytest.mark.parametrize(
    ("rules", "remedy"),
    [
        ({"policies": [PERCENT]}, "add a Pods policy"),
        ({"policies": [PERCENT, PODS], "selectPolicy": "Min"}, "write selectPolicy: Max"),
    ],
)
def test_what_leads_out_of_zero(rules: dict[str, Any], remedy: str) -> None:
    manifest = v2({"spec.minReplicas": 0, METRICS: [EXTERNAL], "spec.behavior.scaleUp": rules})
    [advice] = advise(admitted(manifest, SCALE_TO_ZERO), SCALE_TO_ZERO)
    assert advice.message.endswith(f"never leave it; {remedy}")


@pytest.mark.parametrize(
    "manifest",
    [
        v2({"spec.behavior.scaleDown.tolerance": "50m"}),
        v1(
            behavior={
                "ScaleDown": {"Policies": [{"Type": "Pods", "Value": 1, "PeriodSeconds": 60}], "Tolerance": "50m"}
            }
        ),
    ],
)
def test_a_tolerance_is_dropped_without_its_gate(manifest: dict[str, Any]) -> None:
    gates = DefaultGates(configurable_tolerance=False)
    found = advise(admitted(manifest, gates), gates)
    assert ("tolerance-dropped", "spec.behavior.scaleDown.tolerance") in [
        (item.code, show(item.path)) for item in found
    ]
