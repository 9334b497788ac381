"""HorizontalPodAutoscalers (autoscaling/v2): spec and status from JSON (§21, §6.4)."""

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from controller.decide import quantity
from controller.decide.instants import ZERO_TIME_NS, parse_rfc3339
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
from controller.wire import autoscaler_shapes as shape
from controller.wire.errors import each, located, wire_errors
from controller.wire.objects import Identity
from controller.wire.shapes import SOURCE_KEYS, Camel, QuantityText, selector_from, shared

R = TypeVar("R")


# --- from JSON -----------------------------------------------------------------------------------


@wire_errors
def spec_from(body: Any) -> Spec:
    """The spec from a JSON value such as `hpa["spec"]`, completed as the API server does where fields are absent (§21).

    Raises:
        WireError: a field is missing, of the wrong type or no quantity.
    """
    return _spec(msgspec.convert(body, shape.Spec))


@wire_errors
def status_from(body: Any) -> Status:
    """The status from a JSON value such as `hpa["status"]`; None and {} are an empty one.

    Raises:
        WireError: a field is of the wrong type, no quantity or no time.
    """
    return _status(msgspec.convert(body or {}, shape.Status))


def _spec(wire: shape.Spec) -> Spec:
    return Spec(
        target=_reference(wire.scale_target_ref),
        replicas_max=wire.max_replicas,
        replicas_min=wire.min_replicas,
        metrics=shared(each("metrics", _metric, wire.metrics)) if wire.metrics else DEFAULT_METRICS,
        behavior=None if wire.behavior is None else shared(located("behavior", _behavior, wire.behavior)),
    )


def _metric(wire: shape.Metric) -> MetricSpec:
    source = wire.source()
    if source is None:
        return UnknownMetric(wire.type)
    target = located(f"{SOURCE_KEYS[wire.type]}.target", _target, source.target)
    identifier = _identifier(source.metric)
    match wire.type:
        case "Resource":
            return ResourceMetric(source.name, target)
        case "ContainerResource":
            return ContainerResourceMetric(source.name, source.container, target)
        case "Pods":
            return PodsMetric(identifier, target)
        case "Object":
            return ObjectMetric(identifier, _reference(source.described_object or shape.Reference()), target)
        case _:
            return ExternalMetric(identifier, target)


def _target(wire: shape.Target | None) -> Target:
    if wire is None:
        return Target()
    return Target(
        wire.type or "",
        _amount("value", quantity.milli, wire.value),
        _amount("averageValue", quantity.milli, wire.average_value),
        wire.average_utilization,
    )


def _amount(field: str, convert: Callable[[str], R], wire: QuantityText | None) -> R | None:
    return None if wire is None else located(field, convert, str(wire))


def _reference(wire: shape.Reference) -> Reference:
    return Reference(*map(sys.intern, (wire.kind, wire.name, wire.api_version or "")))


def _identifier(wire: shape.Identifier | None) -> MetricIdentifier:
    if wire is None:
        return MetricIdentifier("")
    return MetricIdentifier(wire.name, None if wire.selector is None else selector_from(wire.selector))


def _behavior(wire: shape.Behavior) -> Behavior:
    return Behavior(
        located("scaleUp", lambda rules: _rules(rules, DEFAULT_RULES_UP), wire.scale_up),
        located("scaleDown", lambda rules: _rules(rules, DEFAULT_RULES_DOWN), wire.scale_down),
    )


def _rules(wire: shape.Rules | None, default: Rules) -> Rules:
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
        _amount("tolerance", lambda text: quantity.parse(text).approximate(), wire.tolerance),
    )


def _status(wire: shape.Status) -> Status:
    return Status(
        replicas_current=wire.current_replicas or 0,
        replicas_desired=wire.desired_replicas or 0,
        last_scale_ns=located("lastScaleTime", parse_rfc3339, wire.last_scale_time) if wire.last_scale_time else None,
        metrics=each("currentMetrics", _metric_status, wire.current_metrics or ()),
        conditions=each("conditions", _condition, wire.conditions or ()),
        observed_generation=wire.observed_generation,
    )


def _condition(wire: shape.Condition) -> Condition:
    changed = wire.last_transition_time
    changed_ns = located("lastTransitionTime", parse_rfc3339, changed) if changed else ZERO_TIME_NS
    # The same few texts stand in thousands of HPAs.
    type_, status, reason, message = map(sys.intern, (wire.type, wire.status, wire.reason, wire.message))
    return Condition(type_, status, reason, message, changed_ns)


def _metric_status(wire: shape.Metric) -> MetricStatus:
    source = wire.source()
    if source is None:
        return MetricStatus(wire.type)
    current, place = source.current or shape.Target(), f"{SOURCE_KEYS[wire.type]}.current"
    return MetricStatus(
        type=sys.intern(wire.type),
        resource=sys.intern(source.name),
        container=sys.intern(source.container),
        metric=None if source.metric is None else shared(_identifier(source.metric)),
        described=None if source.described_object is None else _reference(source.described_object),
        value=_amount(f"{place}.value", quantity.parse, current.value),
        average_value=_amount(f"{place}.averageValue", quantity.parse, current.average_value),
        average_utilization=current.average_utilization,
    )


# --- whole objects -------------------------------------------------------------------------------


class _Object(Camel):
    metadata: dict[str, msgspec.Raw]
    spec: msgspec.Raw = msgspec.Raw(b"{}")
    status: msgspec.Raw = msgspec.Raw(b"null")


class _ManagedFields(Camel):
    manager: str = ""
    time: str = ""
    subresource: str = ""


_OBJECT = msgspec.json.Decoder(_Object)
_MANAGED_FIELDS = msgspec.json.Decoder(list[_ManagedFields] | None)
_IDENTITY = msgspec.json.Decoder(Identity)
_decode_spec = wire_errors(msgspec.json.Decoder(shape.Spec).decode)
_decode_status = wire_errors(msgspec.json.Decoder(shape.Status | None).decode)


class EncodedAutoscaler(msgspec.Struct, frozen=True, gc=False):
    """What an encoded HPA says about itself, its spec and status as they came: one that is malformed has a name, too.

    `metadata` is JSON without managedFields, ready to be sent back unchanged. `status_writes` are manager and time
    (RFC 3339, to the second) of everybody who owns a field of its status; a manager's time moves with each of its
    writes that changes anything.
    """

    identity: Identity
    metadata: bytes
    status_writes: tuple[tuple[str, str], ...]
    spec: msgspec.Raw
    status: msgspec.Raw

    @wire_errors
    def decoded(self, spec: Spec | None = None, status: Status | None = None) -> tuple[Spec, Status]:
        """Spec and status; given are those that are known, and need not be decoded.

        Raises:
            WireError: a field is missing, of the wrong type, no quantity or no time.
        """
        if spec is None:
            spec = located("spec", _spec, located("spec", _decode_spec, self.spec))
        if status is None:
            status = located("status", _status, located("status", _decode_status, self.status) or shape.Status())
        return spec, status


@wire_errors
def decode_autoscaler(body: bytes) -> EncodedAutoscaler:
    """An encoded HPA.

    Raises:
        WireError: not an object with a name.
    """
    whole = _OBJECT.decode(body)
    managed = whole.metadata.pop("managedFields", None)
    metadata = msgspec.json.encode(whole.metadata)
    return EncodedAutoscaler(_IDENTITY.decode(metadata), metadata, _status_writes(managed), whole.spec, whole.status)


def _status_writes(managed: msgspec.Raw | None) -> tuple[tuple[str, str], ...]:
    """Empty where the managed fields cannot be read: nothing is decided by them."""
    try:
        entries = _MANAGED_FIELDS.decode(managed) if managed is not None else None
    except msgspec.MsgspecError:
        return ()
    return tuple((sys.intern(entry.manager), entry.time) for entry in entries or () if entry.subresource == "status")
