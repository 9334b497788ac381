"""Sound documents of every kind that the controller, lint and replay read: what damage is done to."""

import gzip
import itertools
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from tests.recording.lived import CPU, header, rising_and_falling

DATA: Final = Path(__file__).parent.parent / "data"
_RECORDINGS: Final = 12
_MANIFESTS: Final = 40
_TICKS: Final = 4
_TIME: Final = "2026-01-31T12:00:00Z"


def metadata(name: str, **fields: object) -> dict[str, Any]:
    """The metadata of an object in the namespace shop."""
    return {"name": name, "namespace": "shop", "uid": f"uid-of-{name}", "resourceVersion": "7"} | fields


def autoscaler(name: str = "web") -> dict[str, Any]:
    """An HPA with every kind of metric, both directions of behavior and a status."""
    identifier = {"name": "hits", "selector": {"matchLabels": {"a": "b"}}}
    service = {"apiVersion": "v1", "kind": "Service", "name": "front"}
    expressions = [{"key": "zone", "operator": "In", "values": ["a", "b"]}]
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    resource = {"name": "memory", "container": "app", "target": {"type": "AverageValue", "averageValue": "1Gi"}}
    hits = {"metric": identifier, "describedObject": service, "target": {"type": "Value", "value": "2k"}}
    backlog = {"metric": {"name": "backlog", "selector": {"matchExpressions": expressions}}}
    rules = {
        "stabilizationWindowSeconds": 60,
        "selectPolicy": "Max",
        "tolerance": "0.05",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }
    current = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageValue": "100m", "value": "1"}}}
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": _TIME, "reason": "R", "message": "m"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(name, labels={"app": "web"}, annotations={"a": "b"}, managedFields=[{"manager": "x"}]),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 1,
            "maxReplicas": 10,
            "metrics": [
                {"type": "Resource", "resource": cpu},
                {"type": "ContainerResource", "containerResource": resource},
                {"type": "Pods", "pods": {"metric": identifier, "target": resource["target"]}},
                {"type": "Object", "object": hits},
                {"type": "External", "external": backlog | {"target": {"type": "AverageValue", "averageValue": "30"}}},
            ],
            "behavior": {"scaleUp": rules, "scaleDown": rules},
        },
        "status": {
            "observedGeneration": 3,
            "lastScaleTime": _TIME,
            "currentReplicas": 3,
            "desiredReplicas": 3,
            "currentMetrics": [current],
            "conditions": [condition],
        },
    }


def autoscaler_v1() -> dict[str, Any]:
    """An HPA of autoscaling/v1."""
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "annotations": {"autoscaling.alpha.kubernetes.io/metrics": "[]"}},
        "spec": {"scaleTargetRef": target, "maxReplicas": 5, "targetCPUUtilizationPercentage": 80},
    }


def pod(name: str = "web-0") -> dict[str, Any]:
    """A running pod with init containers, pod-level requests and overhead."""
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": _TIME}
    return {
        "metadata": metadata(name, labels={"app": "web"}, deletionTimestamp=None),
        "spec": {
            "containers": [{"name": "app", "resources": requests}, {"name": "side", "resources": {}}],
            "initContainers": [{"name": "init", "restartPolicy": "Always", "resources": requests}],
            "resources": requests,
            "overhead": {"cpu": "10m"},
        },
        "status": {"phase": "Running", "startTime": _TIME, "conditions": [ready]},
    }


def scale() -> dict[str, Any]:
    """An answer of a scale subresource."""
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata("web"),
        "spec": {"replicas": 3},
        "status": {"replicas": 3, "selector": "app=web"},
    }


def workload(name: str = "web") -> dict[str, Any]:
    """A Deployment as far as its scale goes."""
    expressions = [{"key": "tier", "operator": "NotIn", "values": ["x"]}]
    selector = {"matchLabels": {"app": name}, "matchExpressions": expressions}
    return {"metadata": metadata(name), "spec": {"replicas": 3, "selector": selector}, "status": {"replicas": 3}}


def replication_controller() -> dict[str, Any]:
    """A ReplicationController as far as its scale goes."""
    return workload() | {"spec": {"replicas": 3, "selector": {"app": "web"}}}


def pod_metrics(count: int = 3) -> dict[str, Any]:
    """A PodMetricsList."""
    usage = [{"name": "app", "usage": {"cpu": "123456n", "memory": "64Mi"}}]
    return {
        "kind": "PodMetricsList",
        "metadata": {},
        "items": [
            {
                "metadata": {"name": f"web-{number}", "namespace": "shop", "labels": {"app": "web"}},
                "timestamp": _TIME,
                "window": "15s",
                "containers": usage,
            }
            for number in range(count)
        ],
    }


def metric_values(version: str = "v1beta2", count: int = 3) -> dict[str, Any]:
    """A MetricValueList; its versions differ in how they name window and metric."""
    extra: dict[str, object] = {"windowSeconds": 30, "metric": {"name": "hits"}}
    if version == "v1beta1":
        extra = {"window": 30, "metricName": "hits"}
    described = [{"kind": "Pod", "namespace": "shop", "name": f"web-{number}"} for number in range(count)]
    items = [{"describedObject": name, "timestamp": _TIME, "value": "500m"} | extra for name in described]
    return {"kind": "MetricValueList", "apiVersion": f"custom.metrics.k8s.io/{version}", "items": items}


def external_values() -> dict[str, Any]:
    """An ExternalMetricValueList."""
    item = {"metricName": "backlog", "metricLabels": {"a": "b"}, "timestamp": _TIME, "value": "17"}
    return {"kind": "ExternalMetricValueList", "items": [item, item | {"value": "1500m"}]}


def failure() -> dict[str, Any]:
    """A Status."""
    text = {"status": "Failure", "message": "too many requests", "reason": "TooManyRequests"}
    return {"kind": "Status", "code": 429, "details": {"retryAfterSeconds": 2}} | text


def queries() -> dict[str, str]:
    """What an annotation names: a query of each kind."""
    return {
        "requests": 'sum by (pod) (rate(http_requests_total{code!~"5..",job="web"}[2m]))',
        "orders waiting": 'sum(queue_depth{queue="orders"} offset 1m) or vector(0)',
        "share": "errors_total / on (pod) group_left (node) (requests_total > bool 1)",
        "peak": r'max_over_time(label_replace(up{a="\"x"}, "b", `$1`, "a", "(.*)")[10m:30s] @ end())',
    }


def watch_line(kind: str = "MODIFIED") -> dict[str, Any]:
    """A line of a watch of pods."""
    return {"type": kind, "object": pod()}


def bookmark() -> dict[str, Any]:
    """The object of a bookmark that ends the initial events."""
    return {"kind": "Pod", "metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}}


def listing() -> dict[str, Any]:
    """A page of pods."""
    return {"kind": "PodList", "metadata": {"resourceVersion": "5", "continue": "t"}, "items": [pod(), pod("web-1")]}


@cache
def manifests() -> tuple[dict[str, Any], ...]:
    """Manifests as users wrote them, evenly chosen from those in tests/data."""
    lines = (DATA / "manifests.jsonl").read_bytes().splitlines()
    return tuple(json.loads(line)["manifest"] for line in lines[:: max(1, len(lines) // _MANIFESTS)])


@cache
def recordings() -> tuple[tuple[dict[str, Any], ...], ...]:
    """Header and first ticks of recordings, evenly chosen from those in tests/data and not large."""
    paths = sorted((DATA / "recordings").glob("*.jsonl.gz"), key=lambda path: path.stat().st_size)
    chosen = paths[: len(paths) // 2 : max(1, len(paths) // 2 // _RECORDINGS)]
    return tuple(_beginning(path) for path in chosen)


def live_recording() -> bytes:
    """A recording of version 2."""
    return b"".join((header(CPU), *rising_and_falling()))


def _beginning(path: Path) -> tuple[dict[str, Any], ...]:
    with gzip.open(path) as file:
        return tuple(json.loads(line) for line in itertools.islice(file, _TICKS + 1))
