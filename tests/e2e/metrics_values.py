"""The values that the stub of the metrics APIs answers with; tests set them."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from tests.e2e.label_selector import LabelSelector


@dataclasses.dataclass(frozen=True, slots=True)
class PodUsage:
    """What metrics-server would know of one pod."""

    containers: Mapping[str, Mapping[str, str]]
    """Per container a quantity such as ``250m`` by resource name."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Metrics carry the labels of their pod; labelSelector looks at these, not at the pod."""
    timestamp: dt.datetime | None = None
    """None: the moment of each answer."""
    window: str = "30s"
    """A Go duration."""


@dataclasses.dataclass(frozen=True, slots=True)
class Series:
    """One value of a custom or external metric."""

    value: str
    """A quantity."""
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Labels of the metric, which set several series of one name apart."""
    timestamp: dt.datetime | None = None
    """None: the moment of each answer."""
    window_s: int | None = None
    """None: the answer names no window."""


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedObject:
    """The object in a namespace that a custom metric describes."""

    namespace: str
    resource: str
    """As paths name it: plural and group, such as ``deployments.apps``; ``pods`` for the core group."""
    name: str
    kind: str
    api_version: str
    labels: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """What labelSelector looks at."""


def pod_object(namespace: str, name: str, labels: Mapping[str, str] | None = None) -> DescribedObject:
    """A pod, to describe by custom metrics."""
    return DescribedObject(namespace, "pods", name, "Pod", "/v1", labels or {})


def namespace_object(namespace: str) -> DescribedObject:
    """A namespace itself, to describe by custom metrics."""
    return DescribedObject(namespace, "namespaces", namespace, "Namespace", "/v1")


class MetricsValues:
    """All values, in the order in which they were first set.

    Tests set them at any time in the thread of the server's event loop; an answer holds what is set then.
    """

    def __init__(self) -> None:
        self._pods: dict[tuple[str, str], PodUsage] = {}
        self._custom: dict[tuple[str, str, str, str], tuple[DescribedObject, tuple[Series, ...]]] = {}
        self._external: dict[tuple[str, str], tuple[Series, ...]] = {}

    def set_pod(self, namespace: str, name: str, usage: PodUsage) -> None:
        """Sets what a pod uses."""
        self._pods[namespace, name] = usage

    def remove_pod(self, namespace: str, name: str) -> None:
        """Forgets what a pod uses. Raises KeyError when that is not known."""
        del self._pods[namespace, name]

    def set_custom(self, described: DescribedObject, metric: str, *series: Series) -> None:
        """Sets all series of an object's metric."""
        self._custom[described.namespace, described.resource, described.name, metric] = (described, series)

    def forget_custom(self, namespace: str, resource: str, metric: str) -> None:
        """Forgets a metric of all objects of a resource in a namespace. Harmless when it is not known."""
        gone = [key for key in self._custom if (key[0], key[1], key[3]) == (namespace, resource, metric)]
        for key in gone:
            del self._custom[key]

    def set_external(self, namespace: str, metric: str, *series: Series) -> None:
        """Sets all series of an external metric."""
        self._external[namespace, metric] = series

    def forget_object(self, described: DescribedObject) -> None:
        """Forgets all metrics of an object. Harmless when none is known."""
        place = (described.namespace, described.resource, described.name)
        self._custom = {key: value for key, value in self._custom.items() if key[:3] != place}

    def forget_external(self, namespace: str, metric: str) -> None:
        """Forgets an external metric. Harmless when it is not known."""
        self._external.pop((namespace, metric), None)

    def clear(self, namespace: str) -> None:
        """Forgets everything in a namespace."""
        self._pods = {key: value for key, value in self._pods.items() if key[0] != namespace}
        self._custom = {key: value for key, value in self._custom.items() if key[0] != namespace}
        self._external = {key: value for key, value in self._external.items() if key[0] != namespace}

    def pods(self, namespace: str | None, selector: LabelSelector) -> list[tuple[str, str, PodUsage]]:
        """Namespace, name and usage of the pods in a namespace, or in all if it is None."""
        return [
            (*key, usage)
            for key, usage in self._pods.items()
            if namespace in (None, key[0]) and selector.matches(usage.labels)
        ]

    def custom(
        self,
        namespace: str,
        resource: str,
        name: str,
        metric: str,
        selectors: tuple[LabelSelector, LabelSelector],
    ) -> list[tuple[DescribedObject, Series]]:
        """The series of one object, or of all that the first selector matches if name is ``*``.

        The second selector looks at the labels of the series.
        """
        object_selector, metric_selector = selectors
        return [
            (described, one)
            for (at, kind, of, what), (described, series) in self._custom.items()
            if (at, kind, what) == (namespace, resource, metric)
            and (of == name or (name == "*" and object_selector.matches(described.labels)))
            for one in series
            if metric_selector.matches(one.labels)
        ]

    def external(self, namespace: str, metric: str, selector: LabelSelector) -> list[Series]:
        """The series of an external metric that the selector matches."""
        return [one for one in self._external.get((namespace, metric), ()) if selector.matches(one.labels)]

    def custom_names(self) -> list[str]:
        """What discovery lists: ``<resource>/<metric>``."""
        return sorted({f"{resource}/{metric}" for _, resource, _, metric in self._custom})

    def external_names(self) -> list[str]:
        """The metrics that discovery lists."""
        return sorted({metric for _, metric in self._external})
