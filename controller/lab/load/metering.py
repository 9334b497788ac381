"""Measuring pods over windows, as kubelets, metrics-server and adapters do, into the metrics APIs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.load.models import IDLE_CPU, IDLE_MEMORY_BYTES, Work
from controller.lab.metrics_feed import ObjectKey, Sample, Usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

_NANO = 1_000_000_000
_MILLI = 1000


class Reading(msgspec.Struct, frozen=True):
    """What a pod had done when it was last measured."""

    at_s: float
    cpu_s: float
    requests: float


class Meter:
    """Reads the work of pods every so often; a pod has no metrics before its second reading.

    Args:
        cluster: Whose metrics are filled.

    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._readings: dict[str, Reading] = {}
        self.rates: dict[str, float] = {}
        """Requests per second of each measured pod, by uid."""

    def read(self, pods: Iterable[Object], works: Mapping[str, Work]) -> None:
        """Measure all running pods; what is no longer running is forgotten."""
        clock, feed = self._cluster.clock, self._cluster.metrics
        now_s, timestamp = clock.monotonic_s(), clock.timestamp()
        before, self._readings, self.rates = self._readings, {}, {}
        nodes: dict[str, dict[str, float]] = {}
        measured = {}
        for pod in pods:
            metadata, uid = pod["metadata"], pod["metadata"]["uid"]
            work = works.get(uid) or Work(cpu_s=IDLE_CPU * now_s)
            self._readings[uid] = Reading(now_s, work.cpu_s, work.requests)
            last = before.get(uid)
            if last is None or now_s <= last.at_s:
                continue
            window_s = now_s - last.at_s
            cores = (work.cpu_s - last.cpu_s) / window_s
            self.rates[uid] = (work.requests - last.requests) / window_s
            measured[metadata["namespace"], metadata["name"]] = Usage(
                _containers(pod, cores, work.memory_bytes), f"{window_s:.3f}s", timestamp
            )
            total = nodes.setdefault(pod["spec"]["nodeName"], {"cpu": 0.0, "memory": 0.0})
            total["cpu"] += cores
            total["memory"] += work.memory_bytes
        feed.pods.clear()
        feed.pods.update(measured)
        for node in self._cluster.view("nodes"):
            name = node["metadata"]["name"]
            feed.nodes[name] = Usage({"node": quantities(nodes.get(name, {"cpu": 0.0, "memory": 0.0}))})

    def forget_series_of(self, namespace: str, metric: str, names: set[str]) -> None:
        """Drop the values of a Pods metric for all pods of a namespace but these."""
        described = self._cluster.metrics.custom.get(metric, {})
        for key in [key for key in described if (key.resource, key.namespace) == ("pods", namespace)]:
            if key.name not in names:
                del described[key]


def set_pods_metric(cluster: Cluster, namespace: str, pod: str, metric: str, value: float, window_s: float) -> None:
    """Set a custom metric of a pod."""
    sample = Sample(milli(value), window_s=round(window_s), timestamp=cluster.clock.timestamp())
    cluster.metrics.set_custom(metric, ObjectKey("pods", namespace, pod), sample)


def milli(value: float) -> str:
    """A number as a quantity with thousandths."""
    return f"{round(value * _MILLI)}m"


def quantities(amounts: Mapping[str, float]) -> dict[str, str]:
    """Amounts of resources as metrics-server writes them: nanocores and kibibytes."""
    return {
        name: f"{round(value * _NANO)}n" if name == "cpu" else f"{round(value / 1024)}Ki"
        for name, value in amounts.items()
    }


def _containers(pod: Object, cores: float, memory_bytes: float) -> dict[str, dict[str, str]]:
    """The first container does the work, the others idle."""
    first, *others = pod["spec"]["containers"]
    idle = quantities({"cpu": IDLE_CPU, "memory": IDLE_MEMORY_BYTES})
    return {
        first["name"]: quantities({"cpu": cores, "memory": memory_bytes}),
        **{container["name"]: idle for container in others},
    }
