"""The status of a Deployment, from which kubectl tells how a rollout is going."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.behaviour import rollout
from controller.lab.behaviour.conditions import find_condition, since
from controller.lab.clock import format_timestamp, parse_timestamp

if TYPE_CHECKING:
    from datetime import datetime

    from controller.lab.objects.resources import Object

_PATIENCE_MAX_S = 2**31 - 1
"""A progressDeadlineSeconds that means never."""


def deployment_status(
    deployment: Object, new: Object | None, old: list[Object], now: datetime
) -> tuple[Object, float | None]:
    """The status, and in how many seconds time alone may change it (None for never).

    `new` is the replica set of the present template, None before it exists; `old` are the others.
    """
    everything = [*old, *([new] if new else [])]

    def total(name: str) -> int:
        return sum(found["status"].get(name, 0) for found in everything)

    size = sum(found["spec"]["replicas"] for found in everything)
    available = total("availableReplicas")
    counted = {
        "observedGeneration": deployment["metadata"].get("generation", 1),
        "replicas": total("replicas"),
        "updatedReplicas": new["status"].get("replicas", 0) if new else 0,
        "readyReplicas": total("readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, size - available),
    }
    # The kind leaves out zeroes, so a status with them would look changed each time; this one it keeps.
    status: Object = {name: value for name, value in counted.items() if value}
    status["terminatingReplicas"] = total("terminatingReplicas")
    progressing, again_s = _progressing(deployment, new, counted, now)
    conditions = [_available(deployment, available, now), *([progressing] if progressing else [])]
    kept = {item["type"] for item in conditions}
    others = [item for item in deployment["status"].get("conditions") or () if item["type"] not in kept]
    return {**status, "conditions": [*others, *conditions]}, again_s


def _available(deployment: Object, available: int, now: datetime) -> Object:
    desired = deployment["spec"]["replicas"]
    rolling = deployment["spec"]["strategy"].get("rollingUpdate")
    missing = 0
    if rolling is not None:
        missing = rollout.bounds(desired, rolling["maxSurge"], rolling["maxUnavailable"]).unavailable
    enough = available >= desired - missing
    status, previous = "True" if enough else "False", find_condition(deployment["status"], "Available")
    if previous is not None and previous["status"] == status:
        return previous
    moment = format_timestamp(now)
    return {
        "type": "Available",
        "status": status,
        "reason": "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
        "message": f"{available} of {desired} pods are available, at least {desired - missing} should be",
        "lastUpdateTime": moment,
        "lastTransitionTime": since(deployment["status"], "Available", status, moment),
    }


def _progressing(
    deployment: Object, new: Object | None, counted: dict[str, int], now: datetime
) -> tuple[Object | None, float | None]:
    """The condition Progressing, None for a Deployment that knows none, and seconds until it may time out."""
    before = deployment["status"]
    previous = find_condition(before, "Progressing")
    deadline_s = deployment["spec"].get("progressDeadlineSeconds", _PATIENCE_MAX_S)
    if deadline_s == _PATIENCE_MAX_S:
        return None, None
    name = (new or deployment)["metadata"]["name"]
    known = previous if previous is not None and name in previous["message"] else None
    settled = counted["updatedReplicas"] == counted["replicas"]
    if known is not None and settled and known["reason"] == "NewReplicaSetAvailable":
        return known, None
    if deployment["spec"].get("paused"):
        return _progress(before, "Unknown", "DeploymentPaused", f"{name} waits: the rollout is paused", now), None
    complete = settled and counted["updatedReplicas"] == counted["availableReplicas"] == deployment["spec"]["replicas"]
    if new is not None and complete:
        return _progress(before, "True", "NewReplicaSetAvailable", f"{name} has all its pods", now), None
    if known is None:
        text = f"{name} is the new replica set"
        return _progress(before, "True", "NewReplicaSetCreated", text, now), float(deadline_s)
    return _pending(before, known, counted, deadline_s, now)


def _pending(
    before: Object, known: Object, counted: dict[str, int], deadline_s: int, now: datetime
) -> tuple[Object, float | None]:
    """The condition of a rollout that goes on, which fails after too long without progress."""
    name = known["message"].partition(" ")[0]
    if _moved(before, counted) or known["reason"] == "DeploymentPaused":
        return _progress(before, "True", "ReplicaSetUpdated", f"{name} is getting its pods", now), float(deadline_s)
    if known["status"] == "False":
        return known, None
    waited_s = (now - parse_timestamp(known["lastUpdateTime"])).total_seconds()
    if waited_s < deadline_s:
        return known, deadline_s - waited_s
    text = f"{name} made no progress for {deadline_s} seconds"
    return _progress(before, "False", "ProgressDeadlineExceeded", text, now), None


def _progress(before: Object, status: str, reason: str, message: str, now: datetime) -> Object:
    moment = format_timestamp(now)
    return {
        "type": "Progressing",
        "status": status,
        "reason": reason,
        "message": message,
        "lastUpdateTime": moment,
        "lastTransitionTime": since(before, "Progressing", status, moment),
    }


def _moved(before: Object, counted: dict[str, int]) -> bool:
    """Whether more is updated, ready or available than before, or less is left of older templates."""
    left = before.get("replicas", 0) - before.get("updatedReplicas", 0)
    grown = any(
        counted[name] > before.get(name, 0) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grown or counted["replicas"] - counted["updatedReplicas"] < left
