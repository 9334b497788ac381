"""HorizontalPodAutoscalers: manifests, and what their status says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.api_client import ApiClient
    from tests.e2e.workload_kinds import WorkloadKind

GROUP_VERSION = "autoscaling/v2"


def path(namespace: str, name: str | None = None, subresource: str | None = None) -> str:
    """The path of all HPAs of a namespace, of one, or of a subresource of it."""
    parts = ["/apis", GROUP_VERSION, "namespaces", namespace, "horizontalpodautoscalers", name, subresource]
    return "/".join(part for part in parts if part)


def manifest(
    name: str,
    target: Mapping[str, str],
    metrics: Sequence[Mapping[str, Any]] = (),
    *,
    minimum: int = 1,
    maximum: int = 10,
    behavior: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """An HPA; without metrics the API server makes it one for 80 % of CPU."""
    spec: dict[str, Any] = {"scaleTargetRef": dict(target), "minReplicas": minimum, "maxReplicas": maximum}
    if metrics:
        spec["metrics"] = [dict(metric) for metric in metrics]
    if behavior is not None:
        spec["behavior"] = dict(behavior)
    return {
        "apiVersion": GROUP_VERSION,
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": spec,
    }


def reference(kind: WorkloadKind, name: str) -> dict[str, str]:
    """An object of a kind, as HPAs name it."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, "name": name}


# --- metrics; the target is written as one keyword, such as averageValue="2" ---


def resource(name: str, **target: object) -> dict[str, Any]:
    """A Resource metric."""
    return {"type": "Resource", "resource": {"name": name, "target": _target(target)}}


def container_resource(container: str, name: str, **target: object) -> dict[str, Any]:
    """A ContainerResource metric."""
    source = {"name": name, "container": container, "target": _target(target)}
    return {"type": "ContainerResource", "containerResource": source}


def pods(metric: str, labels: Mapping[str, str] | None = None, **target: object) -> dict[str, Any]:
    """A Pods metric; labels select its series."""
    return {"type": "Pods", "pods": {"metric": _identifier(metric, labels), "target": _target(target)}}


def of_object(described: Mapping[str, str], metric: str, **target: object) -> dict[str, Any]:
    """An Object metric."""
    source = {"describedObject": dict(described), "metric": _identifier(metric, None), "target": _target(target)}
    return {"type": "Object", "object": source}


def external(metric: str, labels: Mapping[str, str] | None = None, **target: object) -> dict[str, Any]:
    """An External metric; labels select its series."""
    return {"type": "External", "external": {"metric": _identifier(metric, labels), "target": _target(target)}}


def _target(target: Mapping[str, object]) -> dict[str, object]:
    (field,) = target
    kinds = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
    return {"type": kinds[field], **target}


def _identifier(metric: str, labels: Mapping[str, str] | None) -> dict[str, Any]:
    return {"name": metric} | ({"selector": {"matchLabels": dict(labels)}} if labels else {})


# --- status ---


def conditions(autoscaler: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Status and reason of each condition, in their order."""
    found = autoscaler.get("status", {}).get("conditions", [])
    return {item["type"]: (item["status"], item["reason"]) for item in found}


def message(autoscaler: Mapping[str, Any], condition: str) -> str:
    """The text of a condition; empty if there is no such condition."""
    found = autoscaler.get("status", {}).get("conditions", [])
    return next((str(item["message"]) for item in found if item["type"] == condition), "")


async def events_of(client: ApiClient, namespace: str, name: str) -> list[dict[str, Any]]:
    """The events about an HPA, in the order in which they were first seen. Raises ApiError."""
    query = {"fieldSelector": f"involvedObject.kind=HorizontalPodAutoscaler,involvedObject.name={name}"}
    found = (await client.get(f"/api/v1/namespaces/{namespace}/events", query))["items"]
    return sorted(found, key=lambda event: int(event["metadata"]["resourceVersion"]))
