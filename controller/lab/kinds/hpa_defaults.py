"""Defaults of a HorizontalPodAutoscaler in its stored form (autoscaling/v2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object

ROUND_TRIP_ANNOTATIONS = tuple(
    f"autoscaling.alpha.kubernetes.io/{name}"
    for name in (
        "metrics",
        "current-metrics",
        "conditions",
        "behavior",
        "scale-down-tolerance",
        "scale-up-tolerance",
    )
)
"""Annotations that carry v2 content inside v1 objects; they are never stored."""

DEFAULT_CPU_UTILIZATION = 80


def cpu_metric(utilization: int) -> Object:
    """The metric that stands for a CPU utilization percentage."""
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def set_minimum(hpa: Object) -> None:
    """Fill in minReplicas, which both versions default alike."""
    hpa["spec"].setdefault("minReplicas", 1)


def set_defaults(hpa: Object) -> None:
    """Fill in everything that v2 defaults, in place."""
    set_minimum(hpa)
    spec = hpa["spec"]
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_metric(DEFAULT_CPU_UTILIZATION)]
    behavior = spec.get("behavior")
    if behavior is not None:
        up: Object = {"stabilizationWindowSeconds": 0}
        _complete(behavior, "scaleUp", up, [_policy("Pods", 4), _policy("Percent", 100)])
        _complete(behavior, "scaleDown", {}, [_policy("Percent", 100)])


def canonicalize(hpa: Object) -> None:
    """Give an HPA, however it arrived, the form in which it is read back.

    Complete, without v1's annotations.
    """
    set_defaults(hpa)
    annotations = hpa["metadata"].get("annotations")
    if annotations and any(name in annotations for name in ROUND_TRIP_ANNOTATIONS):
        kept = {key: value for key, value in annotations.items() if key not in ROUND_TRIP_ANNOTATIONS}
        hpa["metadata"]["annotations"] = kept
        if not kept:
            del hpa["metadata"]["annotations"]


def clear_status(hpa: Object) -> None:
    """Give a new HPA the status it starts with."""
    hpa["status"] = {"desiredReplicas": 0, "currentMetrics": None}


def is_cpu_utilization(metric: Object) -> bool:
    """Whether v1 can express this metric as targetCPUUtilizationPercentage."""
    return (
        metric.get("type") == "Resource"
        and nested(metric, "resource", "name") == "cpu"
        and nested(metric, "resource", "target", "averageUtilization") is not None
    )


def _policy(kind: str, value: int) -> Object:
    return {"type": kind, "value": value, "periodSeconds": 15}


def _complete(behavior: Object, direction: str, defaults: Object, policies: list[Any]) -> None:
    rules = behavior.get(direction)
    if rules is None:
        rules = behavior[direction] = {}
    for name, value in {**defaults, "selectPolicy": "Max"}.items():
        if rules.get(name) is None:
            rules[name] = value
    if rules.get("policies") is None:
        rules["policies"] = policies
