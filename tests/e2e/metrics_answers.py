"""How the metrics APIs write values down (docs/behaviour.md, §18)."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.e2e.label_selector import LabelSelector
    from tests.e2e.metrics_values import DescribedObject, PodUsage, Series

RESOURCE_METRICS = "metrics.k8s.io/v1beta1"
EXTERNAL_METRICS = "external.metrics.k8s.io/v1beta1"


def now() -> dt.datetime:
    """The wall time that samples without one of their own get."""
    return dt.datetime.now(dt.UTC)  # noqa: TID251  # samples are dated by the wall clock


def pod_metrics(namespace: str, name: str, usage: PodUsage) -> dict[str, Any]:
    """One PodMetrics, as an item of a list."""
    return {
        "metadata": {
            "name": name,
            "namespace": namespace,
            "creationTimestamp": _time(None),
            "labels": dict(usage.labels),
        },
        "timestamp": _time(usage.timestamp),
        "window": usage.window,
        "containers": [{"name": name, "usage": dict(used)} for name, used in usage.containers.items()],
    }


def pod_metrics_list(items: Iterable[tuple[str, str, PodUsage]]) -> dict[str, Any]:
    """A PodMetricsList."""
    return _list("PodMetricsList", RESOURCE_METRICS, [pod_metrics(*item) for item in items])


def custom_metrics_list(
    version: str, metric: str, items: Iterable[tuple[DescribedObject, Series]], selector: LabelSelector
) -> dict[str, Any]:
    """A MetricValueList in v1beta1 or v1beta2; each item repeats the metric selector that was asked with, or null."""
    echoed = {"selector": selector.as_object() if selector else None}
    values = []
    for described, series in items:
        value: dict[str, Any] = {
            "describedObject": {
                "kind": described.kind,
                "namespace": described.namespace,
                "name": described.name,
                "apiVersion": described.api_version,
            },
            "timestamp": _time(series.timestamp),
            "value": series.value,
        }
        if version == "v1beta1":
            value |= {"metricName": metric, **echoed} | _optional("window", series.window_s)
        else:
            value |= {"metric": {"name": metric, **echoed}} | _optional("windowSeconds", series.window_s)
        values.append(value)
    return _list("MetricValueList", f"custom.metrics.k8s.io/{version}", values)


def external_metrics_list(metric: str, items: Iterable[Series]) -> dict[str, Any]:
    """An ExternalMetricValueList."""
    values = [
        {
            "metricName": metric,
            "metricLabels": dict(series.labels),
            "timestamp": _time(series.timestamp),
            "value": series.value,
            **_optional("window", series.window_s),
        }
        for series in items
    ]
    return _list("ExternalMetricValueList", EXTERNAL_METRICS, values)


def resource_list(group_version: str, resources: Sequence[tuple[str, str, Sequence[str]]]) -> dict[str, Any]:
    """The APIResourceList of a version: per namespaced resource its name, kind and verbs."""
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": [
            {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": list(verbs)}
            for name, kind, verbs in resources
        ],
    }


def failure(code: int, reason: str, message: str) -> dict[str, Any]:
    """A Status that says no."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }


def _list(kind: str, api_version: str, items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": api_version, "metadata": {}, "items": items}


def _optional(name: str, value: int | None) -> dict[str, int]:
    return {} if value is None else {name: value}


def _time(moment: dt.datetime | None) -> str:
    return (moment or now()).astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
