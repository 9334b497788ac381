"""The state of a pod in the words of `kubectl get pods`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.objects.resources import nested
from controller.lab.serving.durations import age

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from controller.lab.objects.resources import Object

READINESS_COLUMNS = ("IP", "Node", "Nominated Node", "Readiness Gates")
_NONE = "<none>"


class PodState(msgspec.Struct, frozen=True):
    """The cells that describe a pod; `wide` are those of `-o wide`."""

    ready: str
    reason: str
    restarts: str
    wide: tuple[str, ...]


def describe_pod(pod: Object, now: datetime) -> PodState:
    """The state of a pod at a moment: why it does not run, as far as its containers say."""
    spec, status = pod["spec"], pod["status"]
    phase = status.get("phase", "")
    initial = _initial_reason(spec, status)
    containers = status.get("containerStatuses") or []
    sidecars = [container["name"] for container in spec.get("initContainers") or () if _is_sidecar(container)]
    sidecar_states = [item for item in status.get("initContainerStatuses") or () if item["name"] in sidecars]
    running = [item for item in containers if item["ready"] and "running" in (item.get("state") or {})]
    ready = len(running) + sum(bool(item["ready"] and item.get("started")) for item in sidecar_states)
    if initial and not _has_condition(status, "Initialized"):
        reason, counted = initial, status.get("initContainerStatuses") or []
    else:
        reason = _container_reason(status.get("reason") or phase, containers, status, running)
        counted = [*sidecar_states, *containers]
    if pod["metadata"].get("deletionTimestamp") and phase not in ("Failed", "Succeeded"):
        reason = "Unknown" if status.get("reason") == "NodeLost" else "Terminating"
    return PodState(
        ready=f"{ready}/{len(spec.get('containers') or ()) + len(sidecars)}",
        reason=reason,
        restarts=_restarts(counted, now),
        wide=_wide(spec, status),
    )


def _is_sidecar(container: Object) -> bool:
    return container.get("restartPolicy") == "Always"


def _has_condition(status: Object, kind: str) -> bool:
    return any(item["type"] == kind and item["status"] == "True" for item in status.get("conditions") or ())


def _initial_reason(spec: Object, status: Object) -> str:
    """What the first unfinished init container says; empty when all are done."""
    sidecars = {item["name"] for item in spec.get("initContainers") or () if _is_sidecar(item)}
    states = status.get("initContainerStatuses") or []
    for index, item in enumerate(states):
        terminated, waiting = nested(item, "state", "terminated"), nested(item, "state", "waiting")
        if (terminated or {}).get("exitCode") == 0 or (item["name"] in sidecars and item.get("started")):
            continue
        if terminated is not None:
            return "Init:" + _ended(terminated)
        if waiting and waiting.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{len(spec.get('initContainers') or ())}"
    return ""


def _ended(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _container_reason(reason: str, containers: Sequence[Object], status: Object, running: list[Object]) -> str:
    failure = ""
    for item in reversed(containers):
        terminated, waiting = nested(item, "state", "terminated"), nested(item, "state", "waiting")
        if waiting and waiting.get("reason"):
            reason = waiting["reason"]
        elif terminated is not None:
            reason = _ended(terminated)
            failure = reason if terminated.get("exitCode") else failure
    if reason != "Completed":
        return reason
    if running and _has_condition(status, "Ready"):
        return "Running"
    return failure or ("NotReady" if running else reason)


def _restarts(containers: Sequence[Object], now: datetime) -> str:
    count = sum(item["restartCount"] for item in containers)
    ends = [nested(item, "lastState", "terminated", "finishedAt") for item in containers]
    last = max((end for end in ends if end), default="")
    return f"{count} ({age(last, now)} ago)" if count and last else str(count)


def _wide(spec: Object, status: Object) -> tuple[str, ...]:
    addresses = status.get("podIPs") or []
    gates = spec.get("readinessGates") or []
    fulfilled = sum(_has_condition(status, gate.get("conditionType", "")) for gate in gates)
    return (
        (addresses[0].get("ip") if addresses else "") or _NONE,
        spec.get("nodeName") or _NONE,
        status.get("nominatedNodeName") or _NONE,
        f"{fulfilled}/{len(gates)}" if gates else _NONE,
    )
