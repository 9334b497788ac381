"""The TARGETS column of `kubectl get hpa`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.objects.resources import nested

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object

_SHOWN = 2
_UNKNOWN = "<unknown>"
_FIELD_OF_TYPE = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}


def targets(specs: list[Object], statuses: list[Object]) -> str:
    """Current and wanted value of the first two metrics, and how many more there are."""
    if not specs:
        return "<none>"
    texts = [_metric(spec, statuses[index] if index < len(statuses) else {}) for index, spec in enumerate(specs)]
    shown = ", ".join(texts[:_SHOWN])
    return shown if len(texts) <= _SHOWN else f"{shown} + {len(texts) - _SHOWN} more..."


def _metric(spec: Object, status: Object) -> str:
    field = _FIELD_OF_TYPE.get(spec["type"])
    if field is None:
        return "<unknown type>"
    wanted = nested(spec, field, "target") or {}
    current = nested(status, field, "current")
    if field in ("resource", "containerResource"):
        return f"{spec[field]['name']}: {_resource(wanted, current)}"
    if field == "pods":
        return f"{_value(current, 'averageValue')}/{wanted.get('averageValue', '0')}"
    if wanted.get("averageValue") is not None:
        return f"{_value(current, 'averageValue')}/{wanted['averageValue']} (avg)"
    return f"{_value(current, 'value')}/{wanted.get('value', '0')}"


def _resource(wanted: Object, current: Object | None) -> str:
    if wanted.get("averageValue") is not None:
        return f"{_value(current, 'averageValue')}/{wanted['averageValue']}"
    used = nested(current, "averageUtilization")
    target = wanted.get("averageUtilization")
    return f"{_UNKNOWN if used is None else f'{used}%'}/{'<auto>' if target is None else f'{target}%'}"


def _value(current: Object | None, name: str) -> str:
    value = nested(current, name)
    return _UNKNOWN if value is None else str(value)
