"""Pods on paper: what a workload controller creates and what a kubelet would report of them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

NODE = "on-paper"


def pod_of(owner: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    """A new pod from the owner's template, scheduled; without a name the API server makes one up."""
    template = owner["spec"]["template"]
    metadata = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }
    naming = {"name": name} if name else {"generateName": f"{metadata['name']}-"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **naming,
            "labels": template["metadata"]["labels"],
            "ownerReferences": [reference],
        },
        "spec": {**template["spec"], "nodeName": NODE},
    }


def running_status(pod: Mapping[str, Any], *, ready: bool = True, since: dt.datetime | None = None) -> dict[str, Any]:
    """The status of a running pod, ready or not.

    since is when it started and when its conditions last changed; None means now.
    """
    moment = since or dt.datetime.now(dt.UTC)  # noqa: TID251  # pods are dated by the wall clock
    time = moment.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = {"PodScheduled": True, "Initialized": True, "ContainersReady": ready, "Ready": ready}
    return {
        "phase": "Running",
        "startTime": time,
        "conditions": [
            {"type": name, "status": str(value), "lastTransitionTime": time} for name, value in conditions.items()
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": ready,
                "started": True,
                "restartCount": 0,
                "state": {"running": {"startedAt": time}},
            }
            for container in pod["spec"]["containers"]
        ],
    }


def is_active(pod: Mapping[str, Any]) -> bool:
    """Whether a workload controller counts the pod: neither finished nor being deleted."""
    finished = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not finished and "deletionTimestamp" not in pod["metadata"]


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the pod reports to be ready."""
    conditions = pod.get("status", {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def is_owned_by(pod: Mapping[str, Any], uid: str) -> bool:
    """Whether the object with the uid controls the pod."""
    return any(reference["uid"] == uid for reference in pod["metadata"].get("ownerReferences", ()))
