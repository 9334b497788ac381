"""A load that the pods of one target share, shown by the metrics APIs as it would be in life."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from tests.e2e.metrics_values import DescribedObject, MetricsValues, PodUsage, Series, pod_object

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Publish: TypeAlias = Callable[[Sequence[Mapping[str, Any]], int], None]
    """Sets metrics from the pods there are and the whole load, in thousandths."""


class Load:
    """A load on the pods that ``seen`` was last told of: give that to the target's WorkloadPlayer."""

    def __init__(self, publish: Publish, total_milli: int) -> None:
        self._publish = publish
        self._total_milli = total_milli
        self._pods: Sequence[Mapping[str, Any]] = ()

    def seen(self, pods: Sequence[Mapping[str, Any]]) -> None:
        """The pods have changed, or may have."""
        self._pods = pods
        self._publish(pods, self._total_milli)

    def change(self, total_milli: int) -> None:
        """From now on the load is another one."""
        self._total_milli = total_milli
        self.seen(self._pods)


def usage(values: MetricsValues, namespace: str, resource: str, idle: Mapping[str, str] | None = None) -> Publish:
    """The container ``app`` of each pod uses its share of a resource; idle are what other containers use of it."""
    known: set[str] = set()

    def publish(pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        names = {pod["metadata"]["name"] for pod in pods}
        for gone in known - names:
            values.remove_pod(namespace, gone)
        known.clear()
        known.update(names)
        for pod in pods:
            containers = {"app": {resource: f"{total_milli // len(pods)}m"}}
            containers |= {name: {resource: amount} for name, amount in (idle or {}).items()}
            values.set_pod(namespace, pod["metadata"]["name"], PodUsage(containers, pod["metadata"]["labels"]))

    return publish


def per_pod(values: MetricsValues, namespace: str, metric: str, labels: Mapping[str, str], *others: Series) -> Publish:
    """Each pod has its share as a series with the labels, beside other series that never change."""
    known: dict[str, Mapping[str, str]] = {}

    def publish(pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        present = {pod["metadata"]["name"]: pod["metadata"]["labels"] for pod in pods}
        for name, gone in known.items():
            if name not in present:
                values.set_custom(pod_object(namespace, name, gone), metric)
        known.clear()
        known.update(present)
        for name, own in present.items():
            share = Series(f"{total_milli // len(present)}m", labels)
            values.set_custom(pod_object(namespace, name, own), metric, share, *others)

    return publish


def object_share(values: MetricsValues, described: DescribedObject, metric: str) -> Publish:
    """An object's metric tells each pod's share, as a queue's length per worker would."""

    def publish(pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        values.set_custom(described, metric, Series(f"{total_milli // max(len(pods), 1)}m"))

    return publish


def object_total(values: MetricsValues, described: DescribedObject, metric: str) -> Publish:
    """An object's metric tells the whole load."""

    def publish(_pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        values.set_custom(described, metric, Series(f"{total_milli}m"))

    return publish


def external_share(values: MetricsValues, namespace: str, metric: str) -> Publish:
    """An external metric tells each pod's share."""

    def publish(pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        values.set_external(namespace, metric, Series(f"{total_milli // max(len(pods), 1)}m"))

    return publish


def external_total(values: MetricsValues, namespace: str, metric: str, labels: Mapping[str, str]) -> Publish:
    """An external metric tells the whole load in two series with the labels, and has a large one without."""

    def publish(_pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        first, second = total_milli // 4, total_milli - total_milli // 4
        series = [Series(f"{part}m", {**labels, "part": str(part)}) for part in (first, second)]
        values.set_external(namespace, metric, *series, Series("1M", {"part": "other"}))

    return publish


def all_of(*publishers: Publish) -> Publish:
    """Several metrics tell of the same load."""

    def publish(pods: Sequence[Mapping[str, Any]], total_milli: int) -> None:
        for one in publishers:
            one(pods, total_milli)

    return publish
