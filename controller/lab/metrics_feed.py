"""What the metrics APIs answer: filled by a simulation or a test, read by the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RESOURCE_METRICS = "metrics.k8s.io"
CUSTOM_METRICS = "custom.metrics.k8s.io"
EXTERNAL_METRICS = "external.metrics.k8s.io"


class Usage(msgspec.Struct, frozen=True):
    """What a pod or node uses.

    `containers` maps container to resource to quantity (a node has one entry of any name). `labels` None
    means those of the pod in the store, without which a pod is not listed; `timestamp` empty means the moment
    of reading.
    """

    containers: Mapping[str, Mapping[str, str]]
    window: str = "30s"
    timestamp: str = ""
    labels: Mapping[str, str] | None = None


class Sample(msgspec.Struct, frozen=True):
    """One value of a custom or external metric, as a quantity.

    `series` are the labels of the metric itself; `window_s` None leaves the window out; `timestamp` empty
    means the moment of reading.
    """

    value: str
    series: Mapping[str, str] = msgspec.field(default_factory=dict)
    window_s: int | None = None
    timestamp: str = ""


class ObjectKey(msgspec.Struct, frozen=True):
    """What a custom metric describes: `resource` as `pods` or `deployments.apps`.

    No namespace for objects without.
    """

    resource: str
    namespace: str
    name: str


class MetricsFeed:
    """The present values of all metrics.

    Attributes:
        pods: usage by (namespace, pod).
        nodes: usage by node.
        custom: samples by metric, then by what they describe; several samples differ in their series.
        external: samples by (namespace, metric).
        unavailable: groups whose backend does not answer (503, stale in discovery).
        absent: groups that are not installed at all (404, missing from discovery).
        custom_versions: versions of custom.metrics.k8s.io that are served, the preferred one first.

    """

    def __init__(self) -> None:
        self.pods: dict[tuple[str, str], Usage] = {}
        self.nodes: dict[str, Usage] = {}
        self.custom: dict[str, dict[ObjectKey, list[Sample]]] = {}
        self.external: dict[tuple[str, str], list[Sample]] = {}
        self.unavailable: set[str] = set()
        self.absent: set[str] = set()
        self.custom_versions: Sequence[str] = ("v1beta2", "v1beta1")

    def set_pod(self, namespace: str, name: str, containers: Mapping[str, Mapping[str, str]]) -> None:
        """Set what the containers of a pod use now; labels and time are those at the moment of reading."""
        self.pods[namespace, name] = Usage(containers)

    def remove_pod(self, namespace: str, name: str) -> None:
        """Forget a pod and its custom metrics; it may be unknown."""
        self.pods.pop((namespace, name), None)
        for described in self.custom.values():
            described.pop(ObjectKey("pods", namespace, name), None)

    def set_custom(self, metric: str, described: ObjectKey, *samples: Sample) -> None:
        """Set the samples of a metric for one object; none makes the metric known without a value for it."""
        self.custom.setdefault(metric, {})[described] = list(samples)

    def set_external(self, namespace: str, metric: str, *samples: Sample) -> None:
        """Set the series of an external metric; none makes it known and empty."""
        self.external[namespace, metric] = list(samples)

    def groups(self) -> dict[str, tuple[str, ...]]:
        """The metrics groups that are installed, each with its versions."""
        versions = {
            RESOURCE_METRICS: ("v1beta1",),
            CUSTOM_METRICS: tuple(self.custom_versions),
            EXTERNAL_METRICS: ("v1beta1",),
        }
        return {group: served for group, served in versions.items() if group not in self.absent and served}
