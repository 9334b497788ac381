"""Specs from JSON: absent, null and empty fields (§21), every metric, and errors that say where."""

from typing import Any

import msgspec
import pytest

from controller.decide.selectors import LabelSelectorRequirement
from controller.decide.spec import (
    DEFAULT_METRICS,
    DEFAULT_RULES_DOWN,
    DEFAULT_RULES_UP,
    Behavior,
    ExternalMetric,
    MetricIdentifier,
    MetricSpec,
    ObjectMetric,
    Policy,
    Reference,
    ResourceMetric,
    Rules,
    Target,
    UnknownMetric,
)
from controller.decide.status import Status
from controller.wire.autoscalers import decode_autoscaler, spec_from
from controller.wire.errors import WireError
from tests.builders import container_metric, cpu, external_metric, label_selector, pods_metric, resource_metric

TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}


def body(**fields: object) -> dict[str, object]:
    return {"scaleTargetRef": TARGET, "maxReplicas": 5} | fields


def metric(metric_type: str, **source: object) -> dict[str, object]:
    """A metric of that type, with the source that belongs to it."""
    return {"type": metric_type, metric_type[0].lower() + metric_type[1:]: source}


@pytest.mark.parametrize("absent", [{}, {"minReplicas": None, "metrics": None, "behavior": None}, {"metrics": []}])
def test_the_least_that_a_spec_has(absent: dict[str, object]) -> None:
    """§21.1: no behavior stays none (§21.2)."""
    spec = spec_from(body(**absent))
    assert spec.target == Reference("Deployment", "web", "apps/v1")
    assert (spec.replicas_min, spec.replicas_max) == (None, 5)
    assert spec.metrics == DEFAULT_METRICS
    assert spec.behavior is None


def test_zero_is_not_absent() -> None:
    assert spec_from(body(minReplicas=0)).replicas_min == 0


UTILIZED = {"type": "Utilization", "averageUtilization": 50}
NULLS = {"type": None, "value": None, "averageValue": None, "averageUtilization": None}
AVERAGE = {"type": "AverageValue", "averageValue": "100m"}
IDENTIFIED = {"metric": {"name": "hits"}}

METRICS: dict[str, tuple[dict[str, object], MetricSpec]] = {
    "Resource": (
        metric("Resource", name="cpu", target=UTILIZED),
        cpu(50),
    ),
    "Resource, average": (
        metric("Resource", name="memory", target=AVERAGE),
        resource_metric("memory", average_milli=100),
    ),
    "ContainerResource": (
        metric(
            "ContainerResource", name="cpu", container="app", target={"type": "Utilization", "averageUtilization": 50}
        ),
        container_metric("app", 50),
    ),
    "Pods": (metric("Pods", metric={"name": "requests"}, target=AVERAGE), pods_metric(100)),
    "Object": (
        metric(
            "Object",
            metric={"name": "hits"},
            describedObject={"kind": "Service", "name": "front", "apiVersion": "v1"},
            target={"type": "Value", "value": "2"},
        ),
        ObjectMetric(MetricIdentifier("hits"), Reference("Service", "front", "v1"), Target("Value", value_milli=2000)),
    ),
    "External, both targets": (
        metric("External", metric={"name": "backlog"}, target={"type": "Value", "value": 1, "averageValue": 0.5}),
        external_metric(value_milli=1000, average_milli=500, target_type="Value"),
    ),
    "selector": (
        metric(
            "External",
            metric={
                "name": "backlog",
                "selector": {
                    "matchLabels": {"b": "2", "a": "1"},
                    "matchExpressions": [
                        {"key": "c", "operator": "In", "values": ["y", "x"]},
                        {"key": "d", "operator": "Exists"},
                        {"key": "e", "operator": "Exists", "values": None},
                    ],
                },
            },
            target={"value": "1"},
        ),
        external_metric(
            value_milli=1000,
            target_type="",
            selector=label_selector({"a": "1", "b": "2"}, ("c", "In", "yx"), ("d", "Exists", ()), ("e", "Exists", ())),
        ),
    ),
    "empty selector": (
        metric("Pods", metric={"name": "requests", "selector": {}}, target=AVERAGE),
        pods_metric(100, selector=label_selector()),
    ),
    "null selector": (metric("Pods", metric={"name": "requests", "selector": None}, target=AVERAGE), pods_metric(100)),
    "empty source": (
        metric("Object"),
        ObjectMetric(MetricIdentifier(""), Reference("", ""), Target()),
    ),
    "null fields": (
        metric("Object", metric=None, describedObject=None, target=None),
        ObjectMetric(MetricIdentifier(""), Reference("", ""), Target()),
    ),
    "null targets": (
        metric(
            "Resource",
            name="cpu",
            target={"type": None, "value": None, "averageValue": None, "averageUtilization": None},
        ),
        ResourceMetric("cpu", Target()),
    ),
    "unknown type": ({"type": "Sunspots"}, UnknownMetric("Sunspots")),
    "no type": ({}, UnknownMetric("")),
    "source absent": ({"type": "Pods"}, UnknownMetric("Pods")),
    "source null": ({"type": "Pods", "pods": None}, UnknownMetric("Pods")),
    "source of another type": ({"type": "Pods", "resource": {"name": "cpu"}}, UnknownMetric("Pods")),
    "fields that are not known": (
        metric("Resource", name="cpu", target=UTILIZED | {"x": 1}, y={}),
        cpu(50),
    ),
}


@pytest.mark.parametrize(("wire", "expected"), METRICS.values(), ids=METRICS)
def test_metric(wire: dict[str, object], expected: MetricSpec) -> None:
    assert spec_from(body(metrics=[wire])).metrics == (expected,)


def test_values_of_an_expression_keep_their_order() -> None:
    """They are printed as written (§6.3)."""
    (found,) = spec_from(body(metrics=[METRICS["selector"][0]])).metrics
    assert isinstance(found, ExternalMetric)
    assert found.metric.selector is not None
    assert found.metric.selector.match_expressions[0] == LabelSelectorRequirement("c", "In", ("y", "x"))


UP, DOWN = DEFAULT_RULES_UP, DEFAULT_RULES_DOWN
FIVE = {"type": "Pods", "value": 5, "periodSeconds": 30}

BEHAVIORS: dict[str, tuple[dict[str, object], Behavior]] = {
    # §21.2, field by field.
    "empty": ({}, Behavior(UP, DOWN)),
    "null directions": ({"scaleUp": None, "scaleDown": None}, Behavior(UP, DOWN)),
    "empty directions": ({"scaleUp": {}, "scaleDown": {}}, Behavior(UP, DOWN)),
    "null fields": (
        {
            "scaleUp": {
                "stabilizationWindowSeconds": None,
                "selectPolicy": None,
                "policies": None,
                "tolerance": None,
            }
        },
        Behavior(UP, DOWN),
    ),
    "a window of 0": (
        {"scaleDown": {"stabilizationWindowSeconds": 0}},
        Behavior(UP, Rules(0, DOWN.policies)),
    ),
    "policies as a whole": (
        {"scaleUp": {"policies": [FIVE]}},
        Behavior(Rules(0, (Policy("Pods", 5, 30),)), DOWN),
    ),
    "no policies": ({"scaleDown": {"policies": []}}, Behavior(UP, Rules(None, ()))),
    "an empty policy": ({"scaleDown": {"policies": [{}]}}, Behavior(UP, Rules(None, (Policy("", 0, 0),)))),
    "selectPolicy": (
        {"scaleUp": {"selectPolicy": "Disabled"}},
        Behavior(Rules(0, UP.policies, "Disabled"), DOWN),
    ),
    "an empty selectPolicy is set": (
        {"scaleUp": {"selectPolicy": ""}},
        Behavior(Rules(0, UP.policies, ""), DOWN),
    ),
    "tolerance": (
        {"scaleUp": {"tolerance": "50m"}, "scaleDown": {"tolerance": 0}},
        Behavior(Rules(0, UP.policies, tolerance=0.05), Rules(None, DOWN.policies, tolerance=0.0)),
    ),
}


@pytest.mark.parametrize(("wire", "expected"), BEHAVIORS.values(), ids=BEHAVIORS)
def test_behavior(wire: dict[str, object], expected: Behavior) -> None:
    assert spec_from(body(behavior=wire)).behavior == expected


def resource(target: object) -> dict[str, object]:
    return body(metrics=[metric("Pods"), metric("Resource", name="cpu", target=target)])


NO_QUANTITY = "is not a quantity such as 500m, 2 or 1.5Gi"

REFUSED: dict[str, tuple[object, str]] = {
    "nothing": (None, "Expected `object`, got `null`"),
    "a list": ([], "Expected `object`, got `array`"),
    "no target": ({"maxReplicas": 5}, "Object missing required field `scaleTargetRef`"),
    "no maximum": ({"scaleTargetRef": TARGET}, "Object missing required field `maxReplicas`"),
    "null maximum": (body(maxReplicas=None), "Expected `int`, got `null` - at `$.maxReplicas`"),
    "text for a number": (body(minReplicas="1"), "Expected `int | null`, got `str` - at `$.minReplicas`"),
    "fraction for a number": (body(maxReplicas=1.5), "Expected `int`, got `float` - at `$.maxReplicas`"),
    "boolean for a number": (body(maxReplicas=True), "Expected `int`, got `bool` - at `$.maxReplicas`"),
    "number beyond int32": (
        body(maxReplicas=2**31),
        "Expected `int` <= 2147483647 - at `$.maxReplicas`",
    ),
    "number beyond any double": (
        body(minReplicas=-(10**400)),
        "Expected `int` >= -2147483648 - at `$.minReplicas`",
    ),
    "number for a text": (
        body(scaleTargetRef=TARGET | {"kind": 5}),
        "Expected `str`, got `int` - at `$.scaleTargetRef.kind`",
    ),
    "object for a list": (body(metrics={}), "Expected `array | null`, got `object` - at `$.metrics`"),
    "null in a list": (body(metrics=[None]), "Expected `object`, got `null` - at `$.metrics[0]`"),
    "utilization": (
        resource({"averageUtilization": "50"}),
        "Expected `int | null`, got `str` - at `$.metrics[1].resource.target.averageUtilization`",
    ),
    "quantity of another type": (
        resource({"averageValue": []}),
        "Expected `int | float | str | null`, got `array` - at `$.metrics[1].resource.target.averageValue`",
    ),
    "quantity that is none": (
        resource({"averageValue": "much"}),
        f"'much' {NO_QUANTITY} - at `$.metrics[1].resource.target.averageValue`",
    ),
    "empty quantity": (resource({"value": ""}), f"'' {NO_QUANTITY} - at `$.metrics[1].resource.target.value`"),
    "tolerance that is none": (
        body(behavior={"scaleDown": {"tolerance": "10%"}}),
        f"'10%' {NO_QUANTITY} - at `$.behavior.scaleDown.tolerance`",
    ),
    "policy": (
        body(behavior={"scaleUp": {"policies": [{"value": "4"}]}}),
        "Expected `int`, got `str` - at `$.behavior.scaleUp.policies[0].value`",
    ),
    "selector's key": (
        body(metrics=[metric("Pods", metric={"selector": {"matchExpressions": [{"operator": "In"}]}})]),
        "Object missing required field `key` - at `$.metrics[0].pods.metric.selector.matchExpressions[0]`",
    ),
}


@pytest.mark.parametrize(("wire", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(wire: Any, message: str) -> None:
    with pytest.raises(WireError) as raised:
        spec_from(wire)
    assert str(raised.value) == message


def test_what_specs_say_alike_is_held_once() -> None:
    """Of ten thousand HPAs most have one of a few dozen metrics and behaviors."""
    wire = {
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "maxReplicas": 3,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}],
        "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}},
    }
    one, other = spec_from(wire), spec_from(wire | {"maxReplicas": 4})
    assert one.metrics is other.metrics
    assert one.behavior is other.behavior
    assert spec_from(wire | {"metrics": []}).metrics != one.metrics


def test_a_whole_object() -> None:
    """From bytes, as it arrives: unknown fields, such as most of the metadata, do not matter."""
    fields = {
        "metadata": {"name": "web", "x": 1},
        "spec": body(),
        "status": {"currentReplicas": 3, "desiredReplicas": 4},
    }
    spec, status = decode_autoscaler(msgspec.json.encode(fields)).decoded()
    assert spec == spec_from(body())
    assert (status.replicas_current, status.replicas_desired) == (3, 4)
    for without in ({}, {"status": None}):
        encoded = decode_autoscaler(msgspec.json.encode({"metadata": {"name": "web"}, "spec": body()} | without))
        assert encoded.decoded() == (spec, Status())


REFUSED_OBJECTS: dict[str, tuple[dict[str, object], str]] = {
    "spec": (
        {"metadata": {"name": "web"}, "spec": body(minReplicas="1")},
        "Expected `int | null`, got `str` - at `$.spec.minReplicas`",
    ),
    "no spec": ({"metadata": {"name": "web"}}, "Object missing required field `scaleTargetRef` - at `$.spec`"),
    "quantity": (
        {"metadata": {"name": "web"}, "spec": resource({"averageValue": "much"})},
        f"'much' {NO_QUANTITY} - at `$.spec.metrics[1].resource.target.averageValue`",
    ),
    "status": (
        {"metadata": {"name": "web"}, "spec": body(), "status": {"conditions": [{}]}},
        "Object missing required field `type` - at `$.status.conditions[0]`",
    ),
    "time": (
        {"metadata": {"name": "web"}, "spec": body(), "status": {"lastScaleTime": "noon"}},
        "'noon' is not an RFC 3339 time such as 2026-01-31T12:00:00Z - at `$.status.lastScaleTime`",
    ),
    "no metadata": ({"spec": body()}, "Object missing required field `metadata`"),
}


@pytest.mark.parametrize(("fields", "message"), REFUSED_OBJECTS.values(), ids=REFUSED_OBJECTS)
def test_refused_object(fields: dict[str, object], message: str) -> None:
    """The place begins at the object's top."""
    with pytest.raises(WireError) as raised:
        decode_autoscaler(msgspec.json.encode(fields)).decoded()
    assert str(raised.value) == message


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"null", b"{}x", b"\xff", b'{"metadata":' * 50_000])
def test_what_is_no_object(text: bytes) -> None:
    with pytest.raises(WireError):
        decode_autoscaler(text)
