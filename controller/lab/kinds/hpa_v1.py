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
from controller.lab.kinds.hpa_v1_metrics import current_from_hub, current_to_hub, metric_from_hub, metric_to_hub
from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object

_METRICS, _CURRENT_METRICS, _CONDITIONS, _BEHAVIOR = ROUND_TRIP_ANNOTATIONS[:4]

_STATUS_FIELDS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


def to_hub(hpa: Object) -> Object:
    """The stored form of a v1 object; annotations that cannot be read are ignored, as the API server does."""
    spec, status = hpa["spec"], hpa["status"]
    metadata = dict(hpa["metadata"])
    annotations: dict[str, str] = dict(metadata.get("annotations") or {})
    cpu = spec.get("targetCPUUtilizationPercentage")
    metrics = [metric_to_hub(metric) for metric in _read_list(annotations.get(_METRICS))]
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
    others = [metric_from_hub(metric) for metric in metrics if not is_cpu_utilization(metric)]
    currents = [current_from_hub(metric) for metric in status.get("currentMetrics") or []]
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


def _status_to_hub(status: Object, annotations: dict[str, str]) -> Object:
    converted = {key: status[key] for key in _STATUS_FIELDS if key in status}
    currents = [current_to_hub(metric) for metric in _read_list(annotations.get(_CURRENT_METRICS))]
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
