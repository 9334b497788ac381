"""The APIs that metrics are read from, unless another source has them."""

from typing import Final

import msgspec

from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
)


class MetricsApi(msgspec.Struct, frozen=True):
    """One of them.

    Attributes:
        kinds, types: the metrics, as specs and as statuses have them.
        versions: under which it may be served, the preferred one first.
        what: what it tells, in words.
        provider: what to install where nobody serves it.
    """

    kinds: tuple[type[MetricSpec], ...]
    types: tuple[str, ...]
    versions: tuple[str, ...]
    what: str
    provider: str

    @property
    def group(self) -> str:
        """Its API group."""
        return self.versions[0].partition("/")[0]

    def asked_for(self, metrics: tuple[MetricSpec, ...]) -> bool:
        """Whether one of these metrics is read from it."""
        return any(isinstance(metric, self.kinds) for metric in metrics)


METRICS_APIS: Final = (
    MetricsApi(
        (ResourceMetric, ContainerResourceMetric),
        ("Resource", "ContainerResource"),
        ("metrics.k8s.io/v1beta1",),
        "pods' CPU and memory",
        "install metrics-server",
    ),
    MetricsApi(
        (PodsMetric, ObjectMetric),
        ("Pods", "Object"),
        ("custom.metrics.k8s.io/v1beta2", "custom.metrics.k8s.io/v1beta1"),
        "custom metrics",
        "install an adapter, such as prometheus-adapter",
    ),
    MetricsApi(
        (ExternalMetric,),
        ("External",),
        ("external.metrics.k8s.io/v1beta1",),
        "external metrics",
        "install an adapter, such as KEDA or prometheus-adapter",
    ),
)
