"""HorizontalPodAutoscalers (autoscaling/v2): spec and status from JSON, status to JSON (§6.4, §14)."""

from typing import Any, Final

import msgspec

from controller.decide import quantity
from controller.decide.instants import ZERO_TIME_NS, format_rfc3339, parse_rfc3339
from controller.decide.quantity import Quantity
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.decide.spec import (
    DEFAULT_METRICS,
    DEFAULT_RULES_DOWN,
    DEFAULT_RULES_UP,
    Behavior,
    ContainerResourceMetric,
    ExternalMetric,
    MetricIdentifier,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    Policy,
    Reference,
    ResourceMetric,
    Rules,
    Spec,
    Target,
    UnknownMetric,
)
from controller.decide.status import Condition, MetricStatus, Status
from controller.wire.errors import wire_errors

_Quantity = str | int | float
"""A quantity as JSON allows it: a string, or a bare number."""


class _Camel(msgspec.Struct, rename="camel", gc=False):
    """Fields in camelCase; null is as absent."""


class _SelectorRequirement(_Camel):
    key: str
    operator: str
    values: tuple[str, ...] | None = None


class _Selector(_Camel):
    match_labels: dict[str, str] | None = None
    match_expressions: list[_SelectorRequirement] | None = None


class _Identifier(_Camel):
    name: str = ""
    selector: _Selector | None = None


class _Reference(_Camel):
    kind: str = ""
    name: str = ""
    api_version: str | None = None


class _Target(_Camel):
    type: str | None = None
    value: _Quantity | None = None
    average_value: _Quantity | None = None
    average_utilization: int | None = None


class _Source(_Camel):
    """Any of the five metric sources, of a spec (`target`) or of a status (`current`)."""

    name: str = ""
    container: str = ""
    metric: _Identifier | None = None
    described_object: _Reference | None = None
    target: _Target | None = None
    current: _Target | None = None


class _Metric(_Camel):
    type: str = ""
    resource: _Source | None = None
    container_resource: _Source | None = None
    pods: _Source | None = None
    object: _Source | None = None
    external: _Source | None = None

    def source(self) -> _Source | None:
        """The source that belongs to the type."""
        match self.type:
            case "Resource":
                return self.resource
            case "ContainerResource":
                return self.container_resource
            case "Pods":
                return self.pods
            case "Object":
                return self.object
            case "External":
                return self.external
            case _:
                return None


class _Policy(_Camel):
    type: str = ""
    value: int = 0
    period_seconds: int = 0


class _Rules(_Camel):
    stabilization_window_seconds: int | None = None
    select_policy: str | None = None
    policies: list[_Policy] | None = None
    tolerance: _Quantity | None = None


class _Behavior(_Camel):
    scale_up: _Rules | None = None
    scale_down: _Rules | None = None


class _Spec(_Camel):
    scale_target_ref: _Reference
    max_replicas: int
    min_replicas: int | None = None
    metrics: list[_Metric] | None = None
    behavior: _Behavior | None = None


class _Condition(_Camel):
    type: str
    status: str
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class _Status(_Camel):
    observed_generation: int | None = None
    last_scale_time: str | None = None
    current_replicas: int | None = None
    desired_replicas: int | None = None
    current_metrics: list[_Metric] | None = None
    conditions: list[_Condition] | None = None


class AutoscalerBody(_Camel):
    """Spec and status as decoded; the metadata belongs to whoever decodes the whole object."""

    spec: _Spec
    status: _Status | None = None


# --- from JSON -----------------------------------------------------------------------------------


@wire_errors
def spec_from(body: Any) -> Spec:
    """The spec from a JSON value such as `hpa["spec"]`, completed as the API server does where fields are absent (§21).

    Raises:
        WireError: a field is missing, of the wrong type or no quantity.
    """
    return _spec(msgspec.convert(body, _Spec))


@wire_errors
def status_from(body: Any) -> Status:
    """The status from a JSON value such as `hpa["status"]`; None and {} are an empty one.

    Raises:
        WireError: a field is of the wrong type, no quantity or no time.
    """
    return _status(msgspec.convert(body or {}, _Status))


@wire_errors
def from_body(body: AutoscalerBody) -> tuple[Spec, Status]:
    """Spec and status of a decoded object.

    Raises:
        WireError: a quantity or a time is malformed.
    """
    return _spec(body.spec), _status(body.status or _Status())


def _spec(wire: _Spec) -> Spec:
    return Spec(
        target=_reference(wire.scale_target_ref),
        replicas_max=wire.max_replicas,
        replicas_min=wire.min_replicas,
        metrics=tuple(map(_metric, wire.metrics)) if wire.metrics else DEFAULT_METRICS,
        behavior=None if wire.behavior is None else _behavior(wire.behavior),
    )


def _metric(wire: _Metric) -> MetricSpec:
    source = wire.source()
    if source is None:
        return UnknownMetric(wire.type)
    target = _target(source.target)
    identifier = _identifier(source.metric)
    match wire.type:
        case "Resource":
            return ResourceMetric(source.name, target)
        case "ContainerResource":
            return ContainerResourceMetric(source.name, source.container, target)
        case "Pods":
            return PodsMetric(identifier, target)
        case "Object":
            return ObjectMetric(identifier, _reference(source.described_object or _Reference()), target)
        case _:
            return ExternalMetric(identifier, target)


def _target(wire: _Target | None) -> Target:
    if wire is None:
        return Target()
    return Target(
        wire.type or "",
        None if wire.value is None else quantity.milli(str(wire.value)),
        None if wire.average_value is None else quantity.milli(str(wire.average_value)),
        wire.average_utilization,
    )


def _reference(wire: _Reference) -> Reference:
    return Reference(wire.kind, wire.name, wire.api_version or "")


def _identifier(wire: _Identifier | None) -> MetricIdentifier:
    if wire is None:
        return MetricIdentifier("")
    return MetricIdentifier(wire.name, None if wire.selector is None else _selector(wire.selector))


def _selector(wire: _Selector) -> LabelSelector:
    return LabelSelector(
        tuple(sorted((wire.match_labels or {}).items())),
        tuple(
            LabelSelectorRequirement(entry.key, entry.operator, entry.values or ())
            for entry in wire.match_expressions or ()
        ),
    )


def _behavior(wire: _Behavior) -> Behavior:
    return Behavior(_rules(wire.scale_up, DEFAULT_RULES_UP), _rules(wire.scale_down, DEFAULT_RULES_DOWN))


def _rules(wire: _Rules | None, default: Rules) -> Rules:
    """§21.2, field by field."""
    if wire is None:
        return default
    window_s = wire.stabilization_window_seconds
    policies = wire.policies
    return Rules(
        default.window_s if window_s is None else window_s,
        default.policies
        if policies is None
        else tuple(Policy(policy.type, policy.value, policy.period_seconds) for policy in policies),
        default.select if wire.select_policy is None else wire.select_policy,
        None if wire.tolerance is None else quantity.parse(str(wire.tolerance)).approximate(),
    )


def _status(wire: _Status) -> Status:
    return Status(
        replicas_current=wire.current_replicas or 0,
        replicas_desired=wire.desired_replicas or 0,
        last_scale_ns=parse_rfc3339(wire.last_scale_time) if wire.last_scale_time else None,
        metrics=tuple(map(_metric_status, wire.current_metrics or ())),
        conditions=tuple(
            Condition(
                condition.type,
                condition.status,
                condition.reason,
                condition.message,
                parse_rfc3339(condition.last_transition_time) if condition.last_transition_time else ZERO_TIME_NS,
            )
            for condition in wire.conditions or ()
        ),
        observed_generation=wire.observed_generation,
    )


def _metric_status(wire: _Metric) -> MetricStatus:
    source = wire.source()
    if source is None:
        return MetricStatus(wire.type)
    current = source.current or _Target()
    return MetricStatus(
        type=wire.type,
        resource=source.name,
        container=source.container,
        metric=None if source.metric is None else _identifier(source.metric),
        described=None if source.described_object is None else _reference(source.described_object),
        value=_reported(current.value),
        average_value=_reported(current.average_value),
        average_utilization=current.average_utilization,
    )


def _reported(wire: _Quantity | None) -> Quantity | None:
    return None if wire is None else quantity.parse(str(wire))


# --- to JSON -------------------------------------------------------------------------------------

_SOURCE_KEYS: Final = {
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "Pods": "pods",
    "Object": "object",
    "External": "external",
}


def status_to(status: Status) -> dict[str, Any]:
    """The status as the API server stores it: zero values left out where Go leaves them out, no metrics as null."""
    body: dict[str, Any] = {}
    if status.observed_generation is not None:
        body["observedGeneration"] = status.observed_generation
    if status.last_scale_ns is not None:
        body["lastScaleTime"] = format_rfc3339(status.last_scale_ns)
    if status.replicas_current:
        body["currentReplicas"] = status.replicas_current
    body["desiredReplicas"] = status.replicas_desired
    body["currentMetrics"] = [_metric_status_to(metric) for metric in status.metrics] or None
    if status.conditions:
        body["conditions"] = [_condition_to(condition) for condition in status.conditions]
    return body


def _condition_to(condition: Condition) -> dict[str, Any]:
    body: dict[str, Any] = {"type": condition.type, "status": condition.status}
    body["lastTransitionTime"] = None if condition.changed_ns == ZERO_TIME_NS else format_rfc3339(condition.changed_ns)
    if condition.reason:
        body["reason"] = condition.reason
    if condition.message:
        body["message"] = condition.message
    return body


def _metric_status_to(status: MetricStatus) -> dict[str, Any]:
    if status.type not in _SOURCE_KEYS:
        return {"type": status.type}
    source: dict[str, Any] = {}
    if status.type in ("Resource", "ContainerResource"):
        source["name"] = status.resource
    if status.type == "ContainerResource":
        source["container"] = status.container
    if status.metric is not None:
        source["metric"] = _identifier_to(status.metric)
    if status.described is not None:
        source["describedObject"] = reference_to(status.described)
    current: dict[str, Any] = {}
    if status.value is not None:
        current["value"] = str(status.value)
    if status.average_value is not None:
        current["averageValue"] = str(status.average_value)
    if status.average_utilization is not None:
        current["averageUtilization"] = status.average_utilization
    source["current"] = current
    return {"type": status.type, _SOURCE_KEYS[status.type]: source}


def reference_to(reference: Reference) -> dict[str, Any]:
    """A cross-version object reference as JSON."""
    body = {"kind": reference.kind, "name": reference.name}
    if reference.api_version:
        body["apiVersion"] = reference.api_version
    return body


def _identifier_to(identifier: MetricIdentifier) -> dict[str, Any]:
    body: dict[str, Any] = {"name": identifier.name}
    if identifier.selector is not None:
        body["selector"] = _selector_to(identifier.selector)
    return body


def _selector_to(selector: LabelSelector) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if selector.match_labels:
        body["matchLabels"] = dict(selector.match_labels)
    if selector.match_expressions:
        body["matchExpressions"] = [
            {"key": entry.key, "operator": entry.operator} | ({"values": list(entry.values)} if entry.values else {})
            for entry in selector.match_expressions
        ]
    return body
