"""Kubernetes Events of what the lab's controllers and kubelets do."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

_NAME_MAX = 230
"""Leaves room for the digest within the 253 characters of a name."""


class Recorder:
    """Writes Events; the same one about the same object is counted instead of written again."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def record(self, component: str, about: Object, reason: str, message: str, *, warning: bool = False) -> None:
        """Write an Event about a namespaced object; nothing happens in a namespace that is going away."""
        cluster, metadata = self._cluster, about["metadata"]
        namespace, now = metadata["namespace"], cluster.clock.timestamp()
        text = "\0".join((metadata.get("uid", ""), component, reason, message))
        name = f"{metadata['name'][:_NAME_MAX]}.{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"
        known = cluster.find("events", name, namespace)
        if known is not None:
            cluster.update("events", {**known, "count": known.get("count", 1) + 1, "lastTimestamp": now})
            return
        scope = cluster.glance("namespaces", namespace)
        if scope is None or "deletionTimestamp" in scope["metadata"]:
            return
        named = ("name", "namespace", "uid", "resourceVersion")
        reference = {key: metadata[key] for key in named if key in metadata}
        event = {
            "metadata": {"name": name, "namespace": namespace},
            "involvedObject": {"apiVersion": about["apiVersion"], "kind": about["kind"], **reference},
            "type": "Warning" if warning else "Normal",
            "reason": reason,
            "message": message,
            "source": {"component": component},
            "reportingComponent": component,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        cluster.create("events", event)
