"""What the API server fills in (§21.1, §21.2)."""

from typing import Any, Final

CPU_UTILIZATION_PERCENT: Final = 80
"""The target of the metric that an HPA without metrics gets."""

_PERIOD_S: Final = 15
_PODS: Final = {"type": "Pods", "value": 4, "periodSeconds": _PERIOD_S}
_DOUBLE: Final = {"type": "Percent", "value": 100, "periodSeconds": _PERIOD_S}


def defaulted(spec: dict[str, Any]) -> dict[str, Any]:
    """A decoded autoscaling/v2 spec, completed."""
    found = {
        "scaleTargetRef": spec["scaleTargetRef"],
        "minReplicas": spec.get("minReplicas", 1),
        "maxReplicas": spec["maxReplicas"],
        "metrics": spec.get("metrics") or default_metrics(),
    }
    behavior = spec.get("behavior")
    # No behavior stays no behavior, while an empty one is completed: the two decide differently (§10, §11).
    if behavior is not None:
        up = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [_PODS.copy(), _DOUBLE.copy()]}
        down = {"selectPolicy": "Max", "policies": [_DOUBLE.copy()]}
        found["behavior"] = {
            "scaleUp": up | behavior.get("scaleUp", {}),
            "scaleDown": down | behavior.get("scaleDown", {}),
        }
    return found


def default_metrics() -> list[dict[str, Any]]:
    """The metrics of an HPA that names none."""
    return [utilization_metric("cpu", CPU_UTILIZATION_PERCENT)]


def utilization_metric(resource: str, percent: int) -> dict[str, Any]:
    """A Resource metric that targets a utilization."""
    target = {"type": "Utilization", "averageUtilization": percent}
    return {"type": "Resource", "resource": {"name": resource, "target": target}}


def without_tolerances(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec as it is stored where the gate HPAConfigurableTolerance is off."""
    behavior = spec.get("behavior")
    if behavior is None:
        return spec
    rules = {
        direction: {name: value for name, value in fields.items() if name != "tolerance"}
        for direction, fields in behavior.items()
    }
    return spec | {"behavior": rules}
