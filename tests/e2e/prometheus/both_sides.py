"""One question, asked of prometheus-adapter over its API and of our source, as values that can be compared."""

from __future__ import annotations

import decimal
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from controller.decide.observed import ExternalReading, ObjectReading, PodsReading, ReadFailure, ResourceReading
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement, parse
from controller.decide.spec import MetricIdentifier, Reference
from controller.ports import ExternalQuestion, ObjectQuestion, PodsQuestion, ResourceQuestion
from controller.sources.answering import Unknown
from tests.e2e.api_client import ApiError

if TYPE_CHECKING:
    from controller.ports import Question
    from controller.sources.prometheus.source import PrometheusMetrics
    from tests.e2e.api_client import ApiClient

KINDS = {
    "deployments.apps": ("apps/v1", "Deployment"),
    "ingresses.networking.k8s.io": ("networking.k8s.io/v1", "Ingress"),
    "jobs.batch": ("batch/v1", "Job"),
    "namespaces": ("v1", "Namespace"),
    "services": ("v1", "Service"),
}
"""The kinds that rules of the comparison describe; an HPA names kinds, the adapter resources."""

SELECTORS: dict[str, LabelSelector | None] = {
    "": None,
    "code=200": LabelSelector((("code", "200"),)),
    "code in (200,500)": LabelSelector((), (LabelSelectorRequirement("code", "In", ("500", "200")),)),
    "code notin (500)": LabelSelector((), (LabelSelectorRequirement("code", "NotIn", ("500",)),)),
    "code,queue notin (orders)": LabelSelector(
        (), (LabelSelectorRequirement("code", "Exists"), LabelSelectorRequirement("jobs_queue", "NotIn", ("orders",)))
    ),
    "!code": LabelSelector((), (LabelSelectorRequirement("code", "DoesNotExist"),)),
}
"""Selectors of series as the API takes them and as HPAs write them."""

_SUFFIXES = {"m": "0.001", "": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12", "Ki": "1024", "Mi": "1048576"}

_OF_NAN = -(2**63)

Values = dict[str, int]
"""Milli-units by name of what was measured; empty where there is no answer."""


async def adapter_custom(
    client: ApiClient, namespace: str, resource: str, name: str, metric: str, sought: str
) -> Values:
    """What the adapter says of objects of a resource; for pods, name is the selector."""
    prefix = f"/apis/custom.metrics.k8s.io/v1beta1/namespaces/{namespace}"
    query = {"metricLabelSelector": sought} if sought else {}
    match resource:
        case "pods":
            path, query = f"{prefix}/pods/*/{metric}", {**query, "labelSelector": name}
        case "namespaces":
            path = f"{prefix}/metrics/{metric}"
        case _:
            path = f"{prefix}/{resource}/{name}/{metric}"
    items = (await _got(client, path, query)).get("items") or []
    return {item["describedObject"]["name"]: _milli(item["value"]) for item in items}


async def adapter_external(client: ApiClient, namespace: str, metric: str, sought: str) -> list[int]:
    """The values of all series that the adapter gives, sorted."""
    query = {"labelSelector": sought} if sought else {}
    answer = await _got(client, f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{metric}", query)
    values = sorted(_milli(item["value"]) for item in answer.get("items") or [])
    # The adapter makes the smallest number there is of NaN; ours is meant to have no answer then.
    return [] if _OF_NAN in values else values


async def adapter_usage(client: ApiClient, namespace: str, selector: str) -> dict[str, Any]:
    """Usage by pod and container, and the window."""
    path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods"
    items = (await _got(client, path, {"labelSelector": selector})).get("items") or []
    return {
        item["metadata"]["name"]: {
            one["name"]: {resource: _milli(text) for resource, text in one["usage"].items()}
            for one in item["containers"]
        }
        for item in items
    }


async def our_custom(
    source: PrometheusMetrics, namespace: str, resource: str, name: str, metric: str, sought: str
) -> Values:
    """What our source says; see adapter_custom."""
    identifier = MetricIdentifier(metric, SELECTORS[sought])
    if resource == "pods":
        reading = await _read(source, PodsQuestion(namespace, identifier, parse(name)))
        if reading is None:
            return {}
        assert isinstance(reading, PodsReading)
        return {pod: sample.value_milli for pod, sample in reading.samples.items()}
    version, kind = KINDS[resource]
    described = Reference(api_version=version, kind=kind, name=name)
    reading = await _read(source, ObjectQuestion(namespace, identifier, described))
    if reading is None:
        return {}
    assert isinstance(reading, ObjectReading)
    return {name: reading.value_milli}


async def our_external(source: PrometheusMetrics, namespace: str, metric: str, sought: str) -> list[int]:
    """See adapter_external."""
    reading = await _read(source, ExternalQuestion(namespace, MetricIdentifier(metric, SELECTORS[sought])))
    if reading is None:
        return []
    assert isinstance(reading, ExternalReading)
    return sorted(reading.values_milli)


async def our_usage(source: PrometheusMetrics, namespace: str, selector: str) -> dict[str, Any]:
    """See adapter_usage."""
    reading = await _read(source, ResourceQuestion(namespace, parse(selector)))
    if reading is None:
        return {}
    assert isinstance(reading, ResourceReading)
    return {item.pod: {one.name: dict(one.usage_milli) for one in item.containers} for item in reading.items}


async def _read(source: PrometheusMetrics, question: Question) -> object | None:
    answer = await source.read(question)
    return None if isinstance(answer, ReadFailure | Unknown) else answer


async def _got(client: ApiClient, path: str, query: dict[str, str]) -> dict[str, Any]:
    try:
        answer: dict[str, Any] = await client.get(path, query)
    except ApiError as error:
        if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.INTERNAL_SERVER_ERROR):
            raise
        return {}
    return answer


def _milli(text: str) -> int:
    """Milli-units of a quantity; the adapter writes none that is between two."""
    digits = text.rstrip("".join(sorted({letter for suffix in _SUFFIXES for letter in suffix})))
    value = decimal.Decimal(digits) * decimal.Decimal(_SUFFIXES[text[len(digits) :]]) * 1000
    if value != value.to_integral_value():
        raise ValueError(f"{text} is no whole number of milli-units")
    return int(value)
