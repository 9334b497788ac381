"""The columns of `kubectl get`, kind by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.objects import selectors
from controller.lab.objects.resources import nested
from controller.lab.serving.durations import age
from controller.lab.serving.hpa_targets import targets
from controller.lab.serving.pod_state import READINESS_COLUMNS, describe_pod

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from controller.lab.objects.resources import Object

_NONE = "<none>"
_UNSET = "<unset>"


class Column(msgspec.Struct, frozen=True):
    """A column; `wide` ones are only shown with `-o wide`."""

    name: str
    type: str = "string"
    description: str = ""
    wide: bool = False
    format: str = ""


class Printer(msgspec.Struct, frozen=True):
    """The columns of a kind, and the cells of one object at a moment."""

    columns: tuple[Column, ...]
    cells: Callable[[Object, datetime], list[Any]]


NAME = Column("Name", format="name", description="Name of the object.")
AGE = Column("Age", description="Time since the object was created.")


def _numbers(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "integer") for name in names)


def _wide(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, wide=True) for name in names)


def _created(obj: Object, now: datetime) -> str:
    return age(obj["metadata"].get("creationTimestamp"), now)


def _name(obj: Object) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _containers(spec: Object | None) -> tuple[str, str]:
    containers = nested(spec, "containers") or []
    names = ",".join(container["name"] for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)


def _selector(structured: Object | None) -> str:
    try:
        return str(selectors.structured_selector(structured) or "") or _NONE
    except ValueError:
        return "<error>"


def _labels(labels: dict[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or _NONE


def _hpa(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj["status"]
    reference = spec["scaleTargetRef"]
    fewest = spec.get("minReplicas")
    return [
        _name(obj),
        f"{reference['kind']}/{reference['name']}",
        targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
        _UNSET if fewest is None else str(fewest),
        spec["maxReplicas"],
        status.get("currentReplicas", 0),
        _created(obj, now),
    ]


def _deployment(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj["status"]
    return [
        _name(obj),
        f"{status.get('readyReplicas', 0)}/{spec['replicas']}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _created(obj, now),
        *_containers(spec["template"]["spec"]),
        _selector(spec.get("selector")),
    ]


def _scale(obj: Object, now: datetime) -> list[Any]:
    replicas = nested(obj, "spec", "replicas") or 0, nested(obj, "status", "replicas") or 0
    return [_name(obj), *replicas, _created(obj, now)]


def _replica_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj["status"]
    selector = spec.get("selector")
    structured = selector is None or "matchLabels" in selector or "matchExpressions" in selector
    return [
        _name(obj),
        spec["replicas"],
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _created(obj, now),
        *_containers(nested(spec, "template", "spec")),
        _selector(selector) if structured else _labels(selector),
    ]


def _stateful_set(obj: Object, now: datetime) -> list[Any]:
    spec, status = obj["spec"], obj["status"]
    ready = f"{status.get('readyReplicas', 0)}/{spec['replicas']}"
    return [_name(obj), ready, _created(obj, now), *_containers(spec["template"]["spec"])]


def _pod(obj: Object, now: datetime) -> list[Any]:
    state = describe_pod(obj, now)
    return [_name(obj), state.ready, state.reason, state.restarts, _created(obj, now), *state.wide]


def _namespace(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj["status"].get("phase", ""), _created(obj, now)]


def _event(obj: Object, now: datetime) -> list[Any]:
    first = age(obj.get("firstTimestamp") or obj.get("eventTime"), now)
    last = age(obj["lastTimestamp"], now) if obj.get("lastTimestamp") else first
    series = obj.get("series")
    if series:
        last = age(series.get("lastObservedTime"), now)
    about = obj["involvedObject"]
    target = about.get("kind", "").lower() + (f"/{about['name']}" if about.get("name") else "")
    source = obj.get("source") or {}
    component = source.get("component") or obj.get("reportingComponent", "")
    host = source.get("host") or obj.get("reportingInstance", "")
    return [
        last,
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        f"{component}, {host}" if host else component,
        obj.get("message", "").strip(),
        first,
        series.get("count", 0) if series else obj.get("count") or 1,
        _name(obj),
    ]


def _node(obj: Object, now: datetime) -> list[Any]:
    status = obj["status"]
    found = [item for item in status.get("conditions") or () if item["type"] == "Ready"]
    states = [("" if item["status"] == "True" else "Not") + "Ready" for item in found] or ["Unknown"]
    if obj["spec"].get("unschedulable"):
        states.append("SchedulingDisabled")
    prefix = "node-role.kubernetes.io/"
    labels = obj["metadata"].get("labels") or {}
    roles = sorted(label.removeprefix(prefix) for label in labels if label.startswith(prefix))
    information = status.get("nodeInfo") or {}
    addresses = {item["type"]: item["address"] for item in reversed(status.get("addresses") or ())}
    return [
        _name(obj),
        ",".join(states),
        ",".join(roles) or _NONE,
        _created(obj, now),
        information.get("kubeletVersion", ""),
        addresses.get("InternalIP", _NONE),
        addresses.get("ExternalIP", _NONE),
        *(information.get(name) or "<unknown>" for name in ("osImage", "kernelVersion", "containerRuntimeVersion")),
    ]


def _service(obj: Object, now: datetime) -> list[Any]:
    spec = obj["spec"]
    ports = ",".join(f"{port['port']}/{port.get('protocol', 'TCP')}" for port in spec.get("ports") or ())
    external = spec.get("externalName") or ",".join(spec.get("externalIPs") or ())
    return [
        _name(obj),
        spec.get("type", ""),
        spec.get("clusterIP") or _NONE,
        external or _NONE,
        ports or _NONE,
        _created(obj, now),
        _labels(spec.get("selector")),
    ]


def _secret(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or {}), _created(obj, now)]


def _config_map(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), len(obj.get("data") or {}) + len(obj.get("binaryData") or {}), _created(obj, now)]


def _lease(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), obj["spec"].get("holderIdentity", ""), _created(obj, now)]


def _plain(obj: Object, now: datetime) -> list[Any]:
    return [_name(obj), _created(obj, now)]


def _created_at(obj: Object, _: datetime) -> list[Any]:
    return [_name(obj), obj["metadata"].get("creationTimestamp", "")]


def _texts(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name) for name in names)


_REPLICAS = _numbers("Desired", "Current", "Ready")
_TEMPLATE = _wide("Containers", "Images", "Selector")

FALLBACK = Printer((NAME, Column("Created At", "date")), _created_at)
"""What kinds without columns of their own are shown with."""

PRINTERS: dict[str, Printer] = {
    "horizontalpodautoscalers.autoscaling": Printer(
        (NAME, *_texts("Reference", "Targets", "MinPods", "MaxPods", "Replicas"), AGE), _hpa
    ),
    "deployments.apps": Printer((NAME, *_texts("Ready", "Up-to-date", "Available"), AGE, *_TEMPLATE), _deployment),
    "replicasets.apps": Printer((NAME, *_REPLICAS, AGE, *_TEMPLATE), _replica_set),
    "replicationcontrollers": Printer((NAME, *_REPLICAS, AGE, *_TEMPLATE), _replica_set),
    "statefulsets.apps": Printer((NAME, *_texts("Ready"), AGE, *_wide("Containers", "Images")), _stateful_set),
    "pods": Printer((NAME, *_texts("Ready", "Status", "Restarts"), AGE, *_wide(*READINESS_COLUMNS)), _pod),
    "namespaces": Printer((NAME, *_texts("Status"), AGE), _namespace),
    "events": Printer(
        (
            *_texts("Last Seen", "Type", "Reason", "Object"),
            *_wide("Subobject", "Source"),
            *_texts("Message"),
            *_wide("First Seen", "Count"),
            Column("Name", wide=True, format="name"),
        ),
        _event,
    ),
    "nodes": Printer(
        (
            NAME,
            *_texts("Status", "Roles"),
            AGE,
            *_texts("Version"),
            *_wide("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
        ),
        _node,
    ),
    "services": Printer(
        (NAME, *_texts("Type", "Cluster-IP", "External-IP", "Port(s)"), AGE, *_wide("Selector")), _service
    ),
    "secrets": Printer((NAME, *_texts("Type", "Data"), AGE), _secret),
    "configmaps": Printer((NAME, *_texts("Data"), AGE), _config_map),
    "serviceaccounts": Printer((NAME, AGE), _plain),
    "leases.coordination.k8s.io": Printer((NAME, *_texts("Holder"), AGE), _lease),
}

SCALE = Printer((NAME, *_numbers("Desired", "Available"), AGE), _scale)
"""What a scale is shown with, whatever it belongs to."""

CUSTOM = Printer((NAME, Column("Age", "date")), _plain)
"""What custom resources are shown with."""
