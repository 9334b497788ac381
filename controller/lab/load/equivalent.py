"""Load in units of pods: every metric of an HPA shows what so many fully used pods would need.

It is what a target gets that has an HPA and no load of its own, whatever metrics the HPA has.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.behaviour.pod_status import amount
from controller.lab.load.curves import Curve, Wave
from controller.lab.objects.quantity import parse as parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from controller.lab.objects.resources import Object

_LOW, _HIGH = 0.6, 0.8
_PERIOD = "10m"
_DEFAULTS = {"cpu": 0.1, "memory": 128 * 2**20}
_AVERAGE = 50


class Equivalent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """As much load as so many pods can take when each is exactly at its target."""

    pods: Curve


def default_for(spec: Mapping[str, Any]) -> Equivalent:
    """A wave that takes an HPA from below its minimum to most of its maximum and back, every ten minutes."""
    least = max(1, spec.get("minReplicas", 1))
    most = max(least + 1, spec["maxReplicas"])
    return Equivalent(Curve(wave=Wave(_LOW * least, least + _HIGH * (most - least), _PERIOD)))


def usage(spec: Mapping[str, Any], pod: Object, load: float, ready: int) -> dict[str, dict[str, float]]:
    """What each container of a pod uses of each resource, in its unit, when `ready` pods share the load."""
    share = load / max(1, ready)
    used = {container["name"]: {"cpu": 0.005, "memory": 32 * 2.0**20} for container in pod["spec"]["containers"]}
    for metric in spec.get("metrics") or ():
        source = metric.get("resource") or metric.get("containerResource")
        if source is None or source["name"] not in _DEFAULTS:
            continue
        name = source["name"]
        meant = [item for item in pod["spec"]["containers"] if source.get("container", item["name"]) == item["name"]]
        for container in meant:
            used[container["name"]][name] = share * _wanted(source, container, len(meant))
    return used


def _wanted(source: Object, container: Object, containers: int) -> float:
    """What a container uses of a resource in a pod that is at its target."""
    target, name = source["target"], source["name"]
    if target.get("averageValue") is not None:
        return float(parse_quantity(target["averageValue"])) / containers
    requested = amount(container, "requests", name) or _DEFAULTS[name]
    return requested * float(target.get("averageUtilization", _AVERAGE)) / 100


def per_pod(metric: Object, load: float, ready: int) -> Fraction:
    """The value of a Pods metric for each ready pod."""
    return _exact(load / max(1, ready)) * parse_quantity(metric["target"]["averageValue"])


def total(metric: Object, load: float, ready: int) -> Fraction:
    """The value of an Object or External metric."""
    target = metric["target"]
    if target.get("averageValue") is not None:
        return _exact(load) * parse_quantity(target["averageValue"])
    return _exact(load / max(1, ready)) * parse_quantity(target["value"])


def label_values(selector: Object | None) -> dict[str, str]:
    """Labels that a metric's selector matches, as far as it names values."""
    labels = dict((selector or {}).get("matchLabels") or {})
    for requirement in (selector or {}).get("matchExpressions") or ():
        values: Sequence[str] = requirement.get("values") or ()
        if requirement["operator"] in ("In", "Exists"):
            labels.setdefault(requirement["key"], values[0] if values else "any")
    return labels


def _exact(value: float) -> Fraction:
    return Fraction(round(value * 1000), 1000)
