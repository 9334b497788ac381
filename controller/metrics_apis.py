"""The APIs that metrics are read from, unless another source has them."""

from typing import Final

import msgspec

from controller.decide.conditions import SCALING_ACTIVE
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
)
from controller.decide.status import Status


class MetricsApi(msgspec.Struct, frozen=True):
    """One of them.

    Attributes:
        kinds, types: the metrics, as specs and as statuses have them.
        versions: under which it may be served, the preferred one first.
        family: what sources call such metrics.
        what: what it tells, in words.
        provider: what to install where nobody serves it.
    """

    kinds: tuple[type[MetricSpec], ...]
    types: tuple[str, ...]
    versions: tuple[str, ...]
    family: str
    what: str
    provider: str

    @property
    def group(self) -> str:
        """Its API group."""
        return self.versions[0].partition("/")[0]

    def asked_for(self, metrics: tuple[MetricSpec, ...]) -> bool:
        """Whether one of these metrics is read from it."""
        return any(isinstance(metric, self.kinds) for metric in metrics)

    def has_told(self, status: Status) -> bool:
        """Whether an HPA's last sync had such metrics, wherever from: from Prometheus, or by a query of its own."""
        active = status.condition(SCALING_ACTIVE)
        scales = active is not None and active.status == "True"
        return scales and any(metric.type in self.types for metric in status.metrics)


METRICS_APIS: Final = (
    MetricsApi(
        (ResourceMetric, ContainerResourceMetric),
        ("Resource", "ContainerResource"),
        ("metrics.k8s.io/v1beta1",),
        "resource",
        "pods' CPU and memory",
        "install metrics-server",
    ),
    MetricsApi(
        (PodsMetric, ObjectMetric),
        ("Pods", "Object"),
        ("custom.metrics.k8s.io/v1beta2", "custom.metrics.k8s.io/v1beta1"),
        "custom",
        "custom metrics",
        "install an adapter, such as prometheus-adapter",
    ),
    MetricsApi(
        (ExternalMetric,),
        ("External",),
        ("external.metrics.k8s.io/v1beta1",),
        "external",
        "external metrics",
        "install an adapter, such as KEDA or prometheus-adapter",
    ),
)
