"""The status of a pod as its kubelet reports it, and what others read from it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

import msgspec

from controller.lab.behaviour.conditions import find_condition, is_true, since
from controller.lab.clock import parse_timestamp
from controller.lab.objects.quantity import parse as parse_quantity

if TYPE_CHECKING:
    from datetime import datetime

    from controller.lab.objects.resources import Object

Stage = Literal["unplaced", "creating", "running", "waiting", "ended"]
"""Where a pod is in its life; `waiting` is between a crash and the next start of its containers."""


class Life(msgspec.Struct):
    """What a kubelet knows about a pod of its own.

    Times are as objects carry them. `problem` says why an unplaced pod has no node; `last_end` is the
    terminated state of the containers before the present ones, None before the first end; `stopping` that they
    were told to end.
    """

    stage: Stage = "unplaced"
    ready: bool = False
    restarts: int = 0
    node_ip: str = ""
    pod_ip: str = ""
    start_time: str = ""
    started_at: str = ""
    problem: str = ""
    last_end: Object | None = None
    stopping: bool = False


def pod_status(pod: Object, life: Life, now: str) -> Object:
    """The whole status of a pod; conditions that do not change keep the time of their last transition."""
    generation = pod["metadata"].get("generation", 1)
    status: Object = {
        "observedGeneration": generation,
        "phase": {"running": "Running", "waiting": "Running", "ended": "Succeeded"}.get(life.stage, "Pending"),
        "conditions": [
            {
                "type": kind,
                "status": "True" if holds else "False",
                "observedGeneration": generation,
                "lastProbeTime": None,
                "lastTransitionTime": since(pod["status"], kind, "True" if holds else "False", now),
                **({} if holds else {"reason": reason, "message": message}),
            }
            for kind, holds, reason, message in _conditions(pod["spec"], life)
        ],
        "qosClass": pod["status"].get("qosClass", "BestEffort"),
    }
    if life.stage == "unplaced":
        return status
    status |= {"hostIP": life.node_ip, "hostIPs": [{"ip": life.node_ip}], "startTime": life.start_time}
    if life.stage != "creating":
        status |= {"podIP": life.pod_ip, "podIPs": [{"ip": life.pod_ip}]}
    initial = pod["spec"].get("initContainers") or ()
    if initial:
        status["initContainerStatuses"] = [
            _container(pod, item, life, now, finished=item.get("restartPolicy") != "Always") for item in initial
        ]
    status["containerStatuses"] = [_container(pod, item, life, now) for item in pod["spec"]["containers"]]
    return status


def _conditions(spec: Object, life: Life) -> list[tuple[str, bool, str, str]]:
    if life.stage == "unplaced":
        return [("PodScheduled", False, "Unschedulable", life.problem)]
    names = ", ".join(container["name"] for container in spec["containers"])
    reason = "PodCompleted" if life.stage == "ended" else "ContainersNotReady"
    running = life.stage in ("running", "waiting")
    return [
        ("PodReadyToStartContainers", running, "", ""),
        ("Initialized", True, "", ""),
        ("Ready", life.ready, reason, f"not ready: {names}"),
        ("ContainersReady", life.ready, reason, f"not ready: {names}"),
        ("PodScheduled", True, "", ""),
    ]


def _container(pod: Object, container: Object, life: Life, now: str, *, finished: bool = False) -> Object:
    uid, image = pod["metadata"]["uid"], container.get("image", "")
    identity = _digest(uid, container["name"], str(life.restarts))
    running = life.stage == "running"
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": life.started_at or now, "finishedAt": now}
    state: Object
    if life.stage == "creating":
        state = {"waiting": {"reason": "PodInitializing" if finished else "ContainerCreating"}}
    elif finished or life.stage == "ended":
        known = find_state(pod["status"], container["name"], "terminated")
        state = {"terminated": known or {**ended, "containerID": f"containerd://{identity}"}}
    elif running:
        state = {"running": {"startedAt": life.started_at}}
    else:
        state = {"waiting": {"reason": "CrashLoopBackOff", "message": "it ended and waits for its next start"}}
    status: Object = {
        "name": container["name"],
        "state": state,
        "lastState": {"terminated": life.last_end} if life.last_end and not finished else {},
        "ready": finished or (running and life.ready),
        "restartCount": 0 if finished else life.restarts,
        "image": image,
        "imageID": "" if life.stage == "creating" else f"{image.partition(':')[0]}@sha256:{_digest(image)}",
        "started": running and not finished,
    }
    if life.stage != "creating":
        status["containerID"] = f"containerd://{identity}"
    return status


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def find_state(status: Object, container: str, state: str) -> Object | None:
    """What a status says about one state (`running`, `terminated`, `waiting`) of a container, or None."""
    for kind in ("containerStatuses", "initContainerStatuses"):
        for item in status.get(kind) or ():
            if item["name"] == container:
                found: Object | None = (item.get("state") or {}).get(state)
                return found
    return None


def is_active(pod: Object) -> bool:
    """Whether a pod counts for its controller: neither ended nor being deleted."""
    return not is_leaving(pod) and pod["status"].get("phase") not in ("Succeeded", "Failed")


def is_leaving(pod: Object) -> bool:
    """Whether a pod is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def is_ready(pod: Object) -> bool:
    """Whether a pod can take requests: ready, and not being deleted."""
    return is_active(pod) and is_true(pod["status"], "Ready")


def unavailable_s(pod: Object, minimum_s: int, now: datetime) -> float:
    """Seconds until a pod counts as available, 0 when it does; infinite when it is not even ready."""
    found = find_condition(pod["status"], "Ready")
    if found is None or found["status"] != "True":
        return float("inf")
    ready_s = (now - parse_timestamp(found["lastTransitionTime"])).total_seconds()
    return max(0.0, minimum_s - ready_s)


def pod_requests(pod: Object, resource: str) -> float:
    """What the containers of a pod reserve of a resource, in its unit (cores, bytes); 0 when nothing."""
    return sum(amount(container, "requests", resource) or 0 for container in pod["spec"]["containers"])


def amount(container: Object, kind: Literal["requests", "limits"], resource: str) -> float | None:
    """A request or limit of a container in its unit (cores, bytes); None when it has none."""
    text = ((container.get("resources") or {}).get(kind) or {}).get(resource)
    return None if text is None else float(parse_quantity(text))
