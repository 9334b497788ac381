"""What a scrape of the lab's cluster finds: usage of containers, requests served, and what the metrics APIs know.

| series | labels | |
| --- | --- | --- |
| `container_cpu_usage_seconds_total` | namespace, pod, container | as cadvisor has it |
| `container_memory_working_set_bytes` | namespace, pod, container | as cadvisor has it |
| `http_requests_total` | namespace, pod, service (the Load's name) | for pods of a `service` load |
| custom metrics of the lab | namespace, the resource's singular, those of the metric | a gauge of the metric's name |
| external metrics of the lab | namespace, those of the metric | the same |
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from controller.lab.objects.quantity import parse as parse_quantity
from controller.lab.prometheus.promql import NAME_LABEL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from controller.lab.cluster import Cluster
    from controller.lab.metrics_feed import ObjectKey
    from controller.lab.objects.resources import Object
    from controller.lab.prometheus.series import SeriesStore

CPU: Final = "container_cpu_usage_seconds_total"
MEMORY: Final = "container_memory_working_set_bytes"
REQUESTS: Final = "http_requests_total"
_NAME: Final = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
_LABEL: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_Found = tuple[dict[str, str], float]


class Collector:
    """Scrapes the cluster into a store whenever pods have been measured."""

    def __init__(self, cluster: Cluster, store: SeriesStore) -> None:
        self._cluster = cluster
        self._store = store
        self._cpu_s: dict[tuple[str, str, str], float] = {}
        """What each container has used since it was first seen."""
        self._scraped_s = cluster.clock.monotonic_s()

    def scrape(self, running: Sequence[Object], served: Mapping[str, tuple[str, float]]) -> None:
        """Write down everything; `served` has the Load and the requests since the beginning by the pod's uid."""
        now_s = self._cluster.clock.monotonic_s()
        passed_s, self._scraped_s = now_s - self._scraped_s, now_s
        found = [*self._containers(running, passed_s), *_requests(running, served), *self._known()]
        self._store.scraped(self._cluster.clock.now().timestamp(), found)

    def _containers(self, running: Sequence[Object], passed_s: float) -> Iterator[_Found]:
        before, self._cpu_s = self._cpu_s, {}
        for pod in running:
            namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            usage = self._cluster.metrics.pods.get((namespace, name))
            for container in (item["name"] for item in pod["spec"]["containers"]):
                key = namespace, name, container
                labels = {"namespace": namespace, "pod": name, "container": container}
                used = {} if usage is None else usage.containers.get(container, {})
                # What was measured is a rate, which held since the scrape before.
                total_s = before.get(key, 0.0) + passed_s * _number(used.get("cpu", "0"))
                self._cpu_s[key] = total_s
                yield {NAME_LABEL: CPU, **labels}, total_s
                if "memory" in used:
                    yield {NAME_LABEL: MEMORY, **labels}, _number(used["memory"])

    def _known(self) -> Iterator[_Found]:
        feed = self._cluster.metrics
        for metric, described in feed.custom.items():
            for key, samples in described.items():
                for sample in samples:
                    yield from _gauge(metric, {**self._labels(key), **sample.series}, sample.value)
        for (namespace, metric), samples in feed.external.items():
            for sample in samples:
                yield from _gauge(metric, {"namespace": namespace, **sample.series}, sample.value)

    def _labels(self, key: ObjectKey) -> dict[str, str]:
        try:
            singular = self._cluster.world.registry.preferred(key.resource).singular
        except KeyError:
            singular = key.resource.partition(".")[0].removesuffix("s")
        labels = {singular: key.name}
        return {"namespace": key.namespace, **labels} if key.namespace else labels


def _requests(running: Sequence[Object], served: Mapping[str, tuple[str, float]]) -> Iterator[_Found]:
    for pod in running:
        metadata = pod["metadata"]
        if metadata["uid"] in served:
            load, requests = served[metadata["uid"]]
            labels = {"namespace": metadata["namespace"], "pod": metadata["name"], "service": load}
            yield {NAME_LABEL: REQUESTS, **labels}, requests


def _gauge(metric: str, labels: dict[str, str], value: str) -> Iterator[_Found]:
    """The series, if Prometheus could have one of this name; labels that it could not have are left out."""
    if metric in (CPU, MEMORY, REQUESTS) or not _NAME.fullmatch(metric):
        return
    kept = {label: text for label, text in labels.items() if _LABEL.fullmatch(label)}
    yield {NAME_LABEL: metric, **kept}, _number(value)


def _number(quantity: str) -> float:
    return float(parse_quantity(quantity))
