"""What KWOK plays: how a node gets ready, how pods start, get ready and go, and what kubelets would measure of them.

Annotations of a pod, and so of a pod template, tell how it behaves; see the constants.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

STARTS_AFTER = "e2e.example.com/starts-after"
"""How long the pod stays pending, such as ``2s``; at once if absent."""

READY_AFTER = "e2e.example.com/ready-after"
"""How long after its start the pod gets ready; at once if absent."""

READY = "e2e.example.com/ready"
"""``false``: the pod is not, or no longer, ready."""

USES_CPU = "e2e.example.com/uses-cpu"
"""What each container uses, such as ``150m``; of a pod, or else of its node for all pods there."""

METRICS_PATH = "metrics.k8s.io/resource-metrics-path"
"""The annotation of a node by which metrics-server finds its metrics."""

_API_VERSION = "kwok.x-k8s.io/v1alpha1"

_NODE_READY = """
{{ $now := Now }}
phase: Running
addresses:
- address: {{ NodeIP | Quote }}
  type: InternalIP
daemonEndpoints:
  kubeletEndpoint:
    Port: {{ NodePort }}
allocatable: {cpu: 1k, memory: 1Ti, pods: 10k}
capacity: {cpu: 1k, memory: 1Ti, pods: 10k}
conditions:
- lastHeartbeatTime: {{ $now | Quote }}
  lastTransitionTime: {{ $now | Quote }}
  reason: KubeletReady
  status: "True"
  type: Ready
"""

_CONTAINERS = """
containerStatuses:
{{ range .spec.containers }}
- image: {{ .image | Quote }}
  imageID: ""
  name: {{ .name | Quote }}
  ready: READY
  started: true
  restartCount: 0
  state:
    running:
      startedAt: {{ $started | Quote }}
{{ end }}
"""

_CONDITIONS = """
- lastTransitionTime: {{ $now | Quote }}
  status: "STATUS"
  type: ContainersReady
- lastTransitionTime: {{ $now | Quote }}
  status: "STATUS"
  type: Ready
"""

_STARTED = """
{{ $now := Now }}
{{ $started := $now }}
phase: Running
startTime: {{ $now | Quote }}
conditions:
- lastTransitionTime: {{ $now | Quote }}
  status: "True"
  type: Initialized
"""

_CHANGED = """
{{ $now := Now }}
{{ $started := .status.startTime }}
conditions:
"""


def documents() -> str:
    """The stages and metrics, as the text of a configuration file for KWOK."""
    return "\n---\n".join(json.dumps(one, indent=1) for one in [*_stages(), _usage(), _metrics()])


def _stages() -> list[dict[str, Any]]:
    unready = _STARTED + _CONDITIONS.lstrip("\n").replace("STATUS", "False") + _CONTAINERS.replace("READY", "false")
    becomes = {
        ready: _CHANGED + _CONDITIONS.replace("STATUS", str(ready)) + _CONTAINERS.replace("READY", str(ready).lower())
        for ready in (True, False)
    }
    kept = f'.metadata.annotations["{READY}"]'
    is_ready = '.status.conditions.[] | select( .type == "Ready" ) | .status'
    alive, phase = _absent(".metadata.deletionTimestamp"), ".status.phase"
    return [
        _stage("node-gets-ready", "Node", [_not_in(is_ready, "True")], {"statusTemplate": _NODE_READY}),
        _stage("pod-starts", "Pod", [alive, _in(phase, "Pending")], {"statusTemplate": unready}, STARTS_AFTER),
        _stage(
            "pod-gets-ready",
            "Pod",
            [alive, _in(phase, "Running"), _in(is_ready, "False"), _not_in(kept, "false")],
            {"statusTemplate": becomes[True]},
            READY_AFTER,
        ),
        _stage(
            "pod-gets-unready",
            "Pod",
            [alive, _in(phase, "Running"), _in(is_ready, "True"), _in(kept, "false")],
            {"statusTemplate": becomes[False]},
        ),
        _stage("pod-goes", "Pod", [{"key": ".metadata.deletionTimestamp", "operator": "Exists"}], {"delete": True}),
    ]


def _stage(
    name: str, kind: str, when: Sequence[dict[str, Any]], then: dict[str, Any], delayed_by: str | None = None
) -> dict[str, Any]:
    """A stage; delayed_by names the pod's annotation that tells how long it waits."""
    spec: dict[str, Any] = {
        "resourceRef": {"apiGroup": "v1", "kind": kind},
        "selector": {"matchExpressions": list(when)},
        "next": then,
    }
    if delayed_by is not None:
        source = {"expressionFrom": f'.metadata.annotations["{delayed_by}"]'}
        spec["delay"] = {"durationMilliseconds": 0, "durationFrom": source}
    return {"apiVersion": _API_VERSION, "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _in(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "In", "values": [value]}


def _not_in(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "operator": "NotIn", "values": [value]}


def _absent(key: str) -> dict[str, Any]:
    return {"key": key, "operator": "DoesNotExist"}


def _usage() -> dict[str, Any]:
    """CPU as annotations tell it, and 64 MiB of memory for each container."""
    told = [
        f'"{USES_CPU}" in {of}.metadata.annotations ? Quantity({of}.metadata.annotations["{USES_CPU}"])'
        for of in ("pod", "node")
    ]
    cpu = " : ".join([*told, 'Quantity("1m")'])
    usage = {"cpu": {"expression": cpu}, "memory": {"value": "64Mi"}}
    return {
        "apiVersion": _API_VERSION,
        "kind": "ClusterResourceUsage",
        "metadata": {"name": "as-annotated"},
        "spec": {"usages": [{"usage": usage}]},
    }


def _metrics() -> dict[str, Any]:
    """The metrics of a kubelet that metrics-server reads."""
    labels = [
        {"name": name, "value": value}
        for name, value in (
            ("container", "container.name"),
            ("namespace", "pod.metadata.namespace"),
            ("pod", "pod.metadata.name"),
        )
    ]
    # KWOK integrates usage from its first answer on; metrics-server takes a total of 0 for a failure.
    container_cpu = 'pod.CumulativeUsage("cpu", container.name) + 1.0'
    # The same at each reading: metrics-server drops one that tells of an earlier start than the one before.
    started = "UnixSecond(pod.metadata.creationTimestamp)"
    metrics = [
        _metric("container_cpu_usage_seconds_total", "counter", container_cpu, labels),
        _metric("container_memory_working_set_bytes", "gauge", 'pod.Usage("memory", container.name)', labels),
        _metric("container_start_time_seconds", "gauge", started, labels),
        _metric("node_cpu_usage_seconds_total", "counter", 'node.CumulativeUsage("cpu") + 1.0'),
        _metric("node_memory_working_set_bytes", "gauge", 'node.Usage("memory") + 1.0'),
    ]
    return {
        "apiVersion": _API_VERSION,
        "kind": "Metric",
        "metadata": {"name": "resource"},
        "spec": {"path": metrics_path("{nodeName}"), "metrics": metrics},
    }


def _metric(name: str, kind: str, value: str, labels: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    dimension = "container" if labels else "node"
    return {"name": name, "kind": kind, "dimension": dimension, "help": name, "labels": list(labels), "value": value}


def metrics_path(node: str) -> str:
    """Where KWOK serves the metrics of a node."""
    return f"/metrics/nodes/{node}/metrics/resource"
