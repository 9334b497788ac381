"""Metrics of a HorizontalPodAutoscaler, targets and current values, from v1 to v2 and back (docs/behaviour.md §22)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.objects import quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller.lab.objects.resources import Object

_SOURCES = ("object", "pods", "resource", "containerResource", "external")


def metric_to_hub(metric: Object) -> Object:
    """A metric of v1's annotation in the form of v2; quantities that cannot be read count as missing."""
    converted: Object = {"type": metric.get("type", "")}
    for name in _SOURCES:
        source = metric.get(name)
        if isinstance(source, dict):
            converted[name] = _SOURCE_TO_HUB[name](source)
    return converted


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


def metric_from_hub(metric: Object) -> Object:
    """A metric in the form that v1's annotation carries; where v1 cannot leave a value out, zero says there is none."""
    return _from_hub(metric, _source_from_hub)


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


def current_to_hub(metric: Object) -> Object:
    """A metric's current value from v1's annotation in the form of v2, its quantities as they were written."""
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


def current_from_hub(metric: Object) -> Object:
    """A metric's current value in the form that v1's annotation carries."""
    return _from_hub(metric, _current_source_from_hub)


def _current_source_from_hub(name: str, source: Object) -> Object:
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


def _from_hub(metric: Object, source_from_hub: Callable[[str, Object], Object]) -> Object:
    sources = {name: metric[name] for name in _SOURCES if metric.get(name) is not None}
    return {"type": metric["type"], **{name: source_from_hub(name, source) for name, source in sources.items()}}


def _identifier(source: Object, selector: str = "selector") -> Object:
    return _without_none(name=source.get("metricName", ""), selector=source.get(selector))


def _without_none(**fields: Any) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _canonical(value: Any) -> str | None:
    """A quantity from an annotation in canonical form; None when it is absent or cannot be read."""
    try:
        return None if value is None else quantity.canonical(str(value))
    except ValueError:
        return None
