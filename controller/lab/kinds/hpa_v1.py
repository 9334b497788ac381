"""HorizontalPodAutoscaler v1 from and to the stored v2 form (docs/behaviour.md §22)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.kinds.hpa_defaults import (
    DEFAULT_CPU_UTILIZATION,
    ROUND_TRIP_ANNOTATIONS,
    cpu_metric,
    is_cpu_utilization,
)
from controller.lab.objects import quantity
from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller.lab.objects.resources import Object

_METRICS, _CURRENT_METRICS, _CONDITIONS, _BEHAVIOR = ROUND_TRIP_ANNOTATIONS[:4]

_SOURCES = ("object", "pods", "resource", "containerResource", "external")
_STATUS_FIELDS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def to_hub(hpa: Object) -> Object:
    """The stored form of a v1 object; annotations that cannot be read are ignored, as the API server does."""
    spec, status = hpa["spec"], hpa["status"]
    metadata = dict(hpa["metadata"])
    annotations: dict[str, str] = dict(metadata.get("annotations") or {})
    cpu = spec.get("targetCPUUtilizationPercentage")
    metrics = [_metric_to_hub(metric) for metric in _read_list(annotations.get(_METRICS))]
    if cpu is not None:
        metrics.append(cpu_metric(cpu))
    new_spec = {key: value for key, value in spec.items() if key != "targetCPUUtilizationPercentage"}
    new_spec["metrics"] = metrics or [cpu_metric(DEFAULT_CPU_UTILIZATION)]
    behavior = _behavior_to_hub(annotations.get(_BEHAVIOR))
    if behavior:
        new_spec["behavior"] = behavior
    kept = {key: value for key, value in annotations.items() if key not in ROUND_TRIP_ANNOTATIONS}
    metadata.pop("annotations", None)
    if kept:
        metadata["annotations"] = kept
    return {**hpa, "metadata": metadata, "spec": new_spec, "status": _status_to_hub(status, annotations)}


def from_hub(hpa: Object) -> Object:
    """The v1 form of a stored object; what v1 has no field for stands in annotations."""
    spec, status = hpa["spec"], hpa["status"]
    metadata = dict(hpa["metadata"])
    annotations: dict[str, str] = dict(metadata.get("annotations") or {})
    metrics = spec.get("metrics") or []
    others = [_metric_from_hub(metric) for metric in metrics if not is_cpu_utilization(metric)]
    currents = [_status_from_hub(metric) for metric in status.get("currentMetrics") or []]
    carried = (
        (_METRICS, others),
        (_CURRENT_METRICS, currents),
        (_CONDITIONS, status.get("conditions")),
        (_BEHAVIOR, _behavior_from_hub(spec.get("behavior"))),
    )
    annotations.update({name: _dump(content) for name, content in carried if content})
    if annotations:
        metadata["annotations"] = annotations
    new_spec = {key: value for key, value in spec.items() if key not in ("metrics", "behavior")}
    cpu = next((metric for metric in metrics if is_cpu_utilization(metric)), None)
    if cpu is not None:
        new_spec["targetCPUUtilizationPercentage"] = cpu["resource"]["target"]["averageUtilization"]
    new_status = {key: status[key] for key in _STATUS_FIELDS if key in status}
    new_status.setdefault("currentReplicas", 0)
    for metric in status.get("currentMetrics") or []:
        utilization = nested(metric, "resource", "current", "averageUtilization")
        if metric["type"] == "Resource" and metric["resource"]["name"] == "cpu" and utilization is not None:
            new_status["currentCPUUtilizationPercentage"] = utilization
    return {**hpa, "metadata": metadata, "spec": new_spec, "status": new_status}


def _dump(content: object) -> str:
    return msgspec.json.encode(content).decode()


def _read_list(text: str | None) -> list[Object]:
    try:
        content = json.loads(text) if text else []
    except ValueError:
        return []
    return [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []


def _without_none(**fields: Any) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _canonical(value: Any) -> str | None:
    """A quantity from an annotation in canonical form; None when it is absent or cannot be read."""
    try:
        return None if value is None else quantity.canonical(str(value))
    except ValueError:
        return None


def _metric_to_hub(metric: Object) -> Object:
    converted: Object = {"type": metric.get("type", "")}
    for name in _SOURCES:
        source = metric.get(name)
        if isinstance(source, dict):
            converted[name] = _SOURCE_TO_HUB[name](source)
    return converted


def _identifier(source: Object, selector: str = "selector") -> Object:
    return _without_none(name=source.get("metricName", ""), selector=source.get(selector))


def _object_to_hub(source: Object) -> Object:
    average, value = _canonical(source.get("averageValue")), _canonical(source.get("targetValue")) or "0"
    if average is None:
        target = {"type": "Value", "value": value}
    else:
        # v1 cannot leave the value out; its zero means that there is none.
        target = _without_none(type="AverageValue", value=value if value != "0" else None, averageValue=average)
    described = source.get("target") or {}
    described = {"kind": described.get("kind", ""), "name": described.get("name", ""), **described}
    return {"describedObject": described, "target": target, "metric": _identifier(source)}


def _pods_to_hub(source: Object) -> Object:
    average = _canonical(source.get("targetAverageValue")) or "0"
    return {"metric": _identifier(source), "target": {"type": "AverageValue", "averageValue": average}}


def _resource_to_hub(source: Object) -> Object:
    utilization, average = (
        source.get("targetAverageUtilization"),
        _canonical(source.get("targetAverageValue")),
    )
    kind = "AverageValue" if utilization is None else "Utilization"
    target = _without_none(type=kind, averageValue=average, averageUtilization=utilization)
    converted = {"name": source.get("name", ""), "target": target}
    return {**converted, "container": source["container"]} if "container" in source else converted


def _container_to_hub(source: Object) -> Object:
    return {**_resource_to_hub(source), "container": source.get("container", "")}


def _external_to_hub(source: Object) -> Object:
    value, average = _canonical(source.get("targetValue")), _canonical(source.get("targetAverageValue"))
    kind = "AverageValue" if value is None else "Value"
    target = _without_none(type=kind, value=value, averageValue=average)
    return {"metric": _identifier(source, "metricSelector"), "target": target}


_SOURCE_TO_HUB: dict[str, Callable[[Object], Object]] = {
    "object": _object_to_hub,
    "pods": _pods_to_hub,
    "resource": _resource_to_hub,
    "containerResource": _container_to_hub,
    "external": _external_to_hub,
}


def _metric_from_hub(metric: Object) -> Object:
    converted: Object = {"type": metric["type"]}
    for name in _SOURCES:
        source = metric.get(name)
        if source is not None:
            converted[name] = _source_from_hub(name, source)
    return converted


def _source_from_hub(name: str, source: Object) -> Object:
    target, metric = source["target"], source.get("metric", {})
    value, average = target.get("value"), target.get("averageValue")
    match name:
        case "object":
            return {
                "target": source["describedObject"],
                "metricName": metric["name"],
                "targetValue": value or "0",
                **_without_none(selector=metric.get("selector"), averageValue=average),
            }
        case "pods":
            return {
                "metricName": metric["name"],
                "targetAverageValue": average or "0",
                **_without_none(selector=metric.get("selector")),
            }
        case "external":
            return _without_none(
                metricName=metric["name"],
                metricSelector=metric.get("selector"),
                targetValue=value,
                targetAverageValue=average,
            )
        case _:
            return _without_none(
                name=source["name"],
                targetAverageUtilization=target.get("averageUtilization"),
                targetAverageValue=average,
                container=source.get("container"),
            )


def _status_from_hub(metric: Object) -> Object:
    converted: Object = {"type": metric["type"]}
    for name in _SOURCES:
        source = metric.get(name)
        if source is not None:
            converted[name] = _current_from_hub(name, source)
    return converted


def _current_from_hub(name: str, source: Object) -> Object:
    current, metric = source["current"], source.get("metric", {})
    value, average = current.get("value"), current.get("averageValue")
    match name:
        case "object":
            return {
                "target": source["describedObject"],
                "metricName": metric["name"],
                "currentValue": value or "0",
                **_without_none(selector=metric.get("selector"), averageValue=average),
            }
        case "pods":
            return {
                "metricName": metric["name"],
                "currentAverageValue": average or "0",
                **_without_none(selector=metric.get("selector")),
            }
        case "external":
            return {
                "metricName": metric["name"],
                **_without_none(metricSelector=metric.get("selector")),
                "currentValue": value or "0",
                **_without_none(currentAverageValue=average),
            }
        case _:
            return {
                "name": source["name"],
                **_without_none(currentAverageUtilization=current.get("averageUtilization")),
                "currentAverageValue": average or "0",
                **_without_none(container=source.get("container")),
            }


def _status_to_hub(status: Object, annotations: dict[str, str]) -> Object:
    converted = {key: status[key] for key in _STATUS_FIELDS if key in status}
    currents = [_current_to_hub(metric) for metric in _read_list(annotations.get(_CURRENT_METRICS))]
    utilization = status.get("currentCPUUtilizationPercentage")
    if not currents and utilization is not None:
        current = {"averageUtilization": utilization}
        currents = [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]
    converted["currentMetrics"] = currents or None
    conditions = _read_list(annotations.get(_CONDITIONS))
    if conditions:
        converted["conditions"] = conditions
    if converted.get("currentReplicas") == 0:
        del converted["currentReplicas"]
    return converted


def _current_to_hub(metric: Object) -> Object:
    converted: Object = {"type": metric.get("type", "")}
    for name in _SOURCES:
        source = metric.get(name)
        if not isinstance(source, dict):
            continue
        average = source.get("averageValue", source.get("currentAverageValue"))
        current = _without_none(
            value=source.get("currentValue"),
            averageValue=average,
            averageUtilization=source.get("currentAverageUtilization"),
        )
        if name in ("resource", "containerResource"):
            content = _without_none(name=source.get("name", ""), current=current, container=source.get("container"))
        else:
            selector = "metricSelector" if name == "external" else "selector"
            content = {"metric": _identifier(source, selector), "current": current}
            if name == "object":
                content["describedObject"] = source.get("target") or {"kind": "", "name": ""}
        converted[name] = content
    return converted


def _behavior_from_hub(behavior: Object | None) -> Object | None:
    """The behavior with the capitalised names under which the annotation carries it.

    Absent fields are null.
    """
    if behavior is None:
        return None
    return {_upper(direction): _rules_from_hub(behavior.get(direction)) for direction in ("scaleUp", "scaleDown")}


def _rules_from_hub(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    policies = [
        {_upper(name): policy[name] for name in ("type", "value", "periodSeconds")}
        for policy in rules.get("policies") or ()
    ]
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies or None,
        "Tolerance": rules.get("tolerance"),
    }


def _behavior_to_hub(text: str | None) -> Object | None:
    try:
        content = json.loads(text) if text else None
    except ValueError:
        return None
    lowered = _lowered(content)
    if not isinstance(lowered, dict):
        return None
    return {name: lowered[name] for name in ("scaleUp", "scaleDown") if isinstance(lowered.get(name), dict)}


def _upper(name: str) -> str:
    return name[0].upper() + name[1:]


def _lowered(content: Any) -> Any:
    """The content with field names beginning in lower case, as v2 writes them, and without nulls."""
    match content:
        case dict():
            lowered = {key[:1].lower() + key[1:]: _lowered(value) for key, value in content.items()}
            return {key: value for key, value in lowered.items() if value is not None}
        case list():
            return [_lowered(item) for item in content]
        case _:
            return content
