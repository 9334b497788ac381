"""Nodes, and which of them a pod goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.behaviour.pod_status import pod_requests
from controller.lab.objects.quantity import parse as parse_quantity

if TYPE_CHECKING:
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

_RESOURCES = ("cpu", "memory")
_ROUNDING = 1e-6


class Refusal(msgspec.Struct, frozen=True):
    """Why no node takes a pod."""

    message: str


class Scheduler:
    """Gives each pod to the node that then has most room left, by what pods request.

    Cordoned nodes and node selectors are respected; taints and affinities are not looked at.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._placed: dict[str, tuple[str, dict[str, float]]] = {}
        self._used: dict[str, dict[str, float]] = {}

    def choose(self, pod: Object) -> str | Refusal:
        """The node for a pod, or why there is none."""
        wanted = _needs(pod)
        problems: dict[str, int] = {}
        best: tuple[float, str] | None = None
        nodes = self._cluster.view("nodes")
        for node in nodes:
            problem, free = self._fit(node, pod, wanted)
            if problem:
                problems[problem] = problems.get(problem, 0) + 1
            elif best is None or free > best[0]:
                best = (free, node["metadata"]["name"])
        if best is not None:
            return best[1]
        reasons = ", ".join(f"{count} {problem}" for problem, count in sorted(problems.items()))
        return Refusal(f"0/{len(nodes)} nodes are available: {reasons}" if nodes else "there are no nodes")

    def occupy(self, pod: Object, node: str) -> None:
        """Count a pod as being on a node."""
        self.release(pod["metadata"]["uid"])
        needs = _needs(pod)
        self._placed[pod["metadata"]["uid"]] = (node, needs)
        self._add(node, needs, 1)

    def release(self, uid: str) -> None:
        """No longer count a pod; it may be unknown."""
        node, needs = self._placed.pop(uid, ("", {}))
        self._add(node, needs, -1)

    def _add(self, node: str, needs: dict[str, float], sign: int) -> None:
        used = self._used.setdefault(node, {})
        for resource, amount in needs.items():
            used[resource] = used.get(resource, 0) + sign * amount

    def _fit(self, node: Object, pod: Object, wanted: dict[str, float]) -> tuple[str, float]:
        """What is in the way of a pod (empty if nothing), and the share of the node that would stay free."""
        labels = node["metadata"].get("labels") or {}
        if node["spec"].get("unschedulable"):
            return "cordoned", 0
        if any(labels.get(key) != value for key, value in (pod["spec"].get("nodeSelector") or {}).items()):
            return "without the labels of the node selector", 0
        allocatable = node["status"].get("allocatable") or {}
        shares = []
        for resource, amount in wanted.items():
            room = float(parse_quantity(allocatable.get(resource, "0")))
            left = room - self._used.get(node["metadata"]["name"], {}).get(resource, 0) - amount
            # Sums of fractions of cores are not exact; a millionth of a core is nobody's.
            if left < -_ROUNDING and amount:
                return f"with too little {resource}" if resource != "pods" else "full of pods", 0
            shares.append(left / room if room else 0)
        return "", min(shares)


def _needs(pod: Object) -> dict[str, float]:
    return {**{resource: pod_requests(pod, resource) for resource in _RESOURCES}, "pods": 1}


def make_node(number: int, cpu: str = "32", memory: str = "128Gi", pods: str = "110") -> Object:
    """A healthy node named `node-N` with so much room."""
    name, address = f"node-{number}", f"192.168.49.{number}"
    capacity = {"cpu": cpu, "memory": memory, "pods": pods}
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "status": {
            "capacity": capacity,
            "allocatable": dict(capacity),
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "simulated"}],
            "nodeInfo": {
                "kubeletVersion": "v1.36.3",
                "osImage": "simulated",
                "kernelVersion": "none",
                "containerRuntimeVersion": "simulated://1",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    }
