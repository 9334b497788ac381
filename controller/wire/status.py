"""The status of an HPA as the JSON that is written to the API server (§6.4, §14)."""

from typing import Any

from controller.decide.instants import ZERO_TIME_NS, format_rfc3339
from controller.decide.selectors import LabelSelector
from controller.decide.spec import MetricIdentifier, Reference
from controller.decide.status import Condition, MetricStatus, Status
from controller.wire.shapes import SOURCE_KEYS


def status_to(status: Status) -> dict[str, Any]:
    """The status as the API server stores it: zero values left out where Go leaves them out, no metrics as null.

    Fields are in its order, too, so that nearly all of what we send comes back to the byte (see echoes).
    """
    body: dict[str, Any] = {}
    if status.observed_generation is not None:
        body["observedGeneration"] = status.observed_generation
    if status.last_scale_ns is not None:
        body["lastScaleTime"] = format_rfc3339(status.last_scale_ns)
    if status.replicas_current:
        body["currentReplicas"] = status.replicas_current
    body["desiredReplicas"] = status.replicas_desired
    body["currentMetrics"] = [metric_status_to(metric) for metric in status.metrics] or None
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


def metric_status_to(status: MetricStatus) -> dict[str, Any]:
    """An entry of `status.currentMetrics` as JSON, fields in the API server's order."""
    if status.type not in SOURCE_KEYS:
        return {"type": status.type}
    current: dict[str, Any] = {}
    if status.value is not None:
        current["value"] = str(status.value)
    if status.average_value is not None:
        current["averageValue"] = str(status.average_value)
    if status.average_utilization is not None:
        current["averageUtilization"] = status.average_utilization
    source: dict[str, Any] = {}
    if status.type in ("Resource", "ContainerResource"):
        source["name"] = status.resource
    if status.metric is not None:
        source["metric"] = _identifier_to(status.metric)
    source["current"] = current
    if status.type == "ContainerResource":
        source["container"] = status.container
    if status.described is not None:
        source["describedObject"] = reference_to(status.described)
    return {"type": status.type, SOURCE_KEYS[status.type]: source}


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
