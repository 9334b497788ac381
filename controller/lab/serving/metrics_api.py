"""The metrics APIs (docs/behaviour.md §18), answered from the feed; read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.metrics_feed import (
    CUSTOM_METRICS,
    EXTERNAL_METRICS,
    RESOURCE_METRICS,
    ObjectKey,
    Sample,
    Usage,
)
from controller.lab.objects import errors
from controller.lab.objects.selectors import LabelSelector, parse_label_selector
from controller.lab.serving.service import UnknownPathError, json_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from controller.lab.objects.resources import Object
    from controller.lab.serving.service import Exchange, Service


def read_metrics(service: Service, exchange: Exchange) -> web.Response:
    """The answer to a request of one of the metrics APIs; raises `ApiError` as a real one would refuse it."""
    route, feed = exchange.route, service.feed
    if route.version not in feed.groups().get(route.group, ()):
        raise UnknownPathError
    if route.group in feed.unavailable:
        raise errors.service_unavailable("the server is currently unable to handle the request")
    if exchange.request.method != "GET" or route.verb == "watch":
        raise errors.method_not_supported()
    answer: Object
    if route.group == RESOURCE_METRICS:
        answer = _resource_metrics(service, exchange)
    elif route.group == CUSTOM_METRICS:
        answer = _custom_metrics(service, exchange)
    else:
        answer = _external_metrics(service, exchange)
    return json_response(msgspec.json.encode(answer))


def _selector(exchange: Exchange, name: str) -> LabelSelector:
    try:
        return parse_label_selector(exchange.query.get(name, ""))
    except ValueError as error:
        raise errors.bad_request(f"{name}: {error}") from error


def _resource_metrics(service: Service, exchange: Exchange) -> Object:
    route = exchange.route
    match route.plural:
        case "pods":
            items = _pod_metrics(service, route.namespace, _selector(exchange, "labelSelector"))
            kind, listed = "PodMetrics", "podmetrics"
        case "nodes" if route.namespace is None:
            items = _node_metrics(service, _selector(exchange, "labelSelector"))
            kind, listed = "NodeMetrics", "nodemetrics"
        case _:
            raise UnknownPathError
    if not route.name:
        return {
            "kind": f"{kind}List",
            "apiVersion": "metrics.k8s.io/v1beta1",
            "metadata": {},
            "items": items,
        }
    for item in items:
        if item["metadata"]["name"] == route.name:
            return {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", **item}
    named = f"{route.namespace}/{route.name}" if route.namespace else route.name
    raise errors.not_found(route.group, listed, named)


def _pod_metrics(service: Service, namespace: str | None, selector: LabelSelector) -> list[Object]:
    pods = service.world.registry.preferred("pods").resource
    items = []
    for (where, name), usage in sorted(service.feed.pods.items()):
        if namespace is not None and where != namespace:
            continue
        stored = service.world.store.get(pods, where, name)
        labels: Mapping[str, str] | None = usage.labels
        if labels is None:
            labels = stored.labels if stored else None
        if labels is None or not selector.matches(labels):
            continue
        containers = [{"name": container, "usage": dict(amounts)} for container, amounts in usage.containers.items()]
        items.append({**_header(service, name, usage, labels, namespace=where), "containers": containers})
    return items


def _node_metrics(service: Service, selector: LabelSelector) -> list[Object]:
    nodes = service.world.registry.preferred("nodes").resource
    items = []
    for name, usage in sorted(service.feed.nodes.items()):
        stored = service.world.store.get(nodes, "", name)
        labels = usage.labels if usage.labels is not None else (stored.labels if stored else {})
        if selector.matches(labels):
            amounts: dict[str, str] = {}
            for used in usage.containers.values():
                amounts.update(used)
            items.append({**_header(service, name, usage, labels), "usage": amounts})
    return items


def _header(service: Service, name: str, usage: Usage, labels: Mapping[str, str], *, namespace: str = "") -> Object:
    now = service.world.clock.timestamp()
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "creationTimestamp": now}
    if not namespace:
        del metadata["namespace"]
    if labels:
        metadata["labels"] = dict(labels)
    return {"metadata": metadata, "timestamp": usage.timestamp or now, "window": usage.window}


def _custom_metrics(service: Service, exchange: Exchange) -> Object:
    """Answer `namespaces/N/RESOURCE/NAME/METRIC` (NAME may be `*`) and `namespaces/N/metrics/METRIC`."""
    route = exchange.route
    if route.plural == "metrics" and route.name and not route.subresource:
        described = ObjectKey("namespaces", "", route.namespace or "")
        return _value_list(service, exchange, route.name, described)
    if route.rest or not route.subresource:
        raise UnknownPathError
    # Objects of the cluster are asked for as /nodes/NAME/METRIC, a namespace itself as
    # /namespaces/NAME/METRIC.
    described = ObjectKey(route.plural, route.namespace or "", route.name)
    return _value_list(service, exchange, route.subresource, described)


def _value_list(service: Service, exchange: Exchange, metric: str, wanted: ObjectKey) -> Object:
    known = service.feed.custom.get(metric, {})
    objects = {
        described: samples
        for described, samples in known.items()
        if (described.resource, described.namespace) == (wanted.resource, wanted.namespace)
    }
    everything = wanted.name == "*"
    relevant = any(described.resource == wanted.resource for described in known)
    if not relevant or (not everything and wanted not in objects):
        about = wanted.resource if everything else f"{wanted.resource} {wanted.name}"
        text = f"the server could not find the metric {metric} for {about}"
        raise errors.ApiError(404, "NotFound", text)
    labels, series = _selector(exchange, "labelSelector"), _selector(exchange, "metricLabelSelector")
    items = []
    for described, samples in sorted(objects.items(), key=lambda pair: pair[0].name):
        if (everything and not _selected(service, described, labels)) or (not everything and described != wanted):
            continue
        found = next((sample for sample in samples if series.matches(sample.series)), None)
        if found is not None:
            selector = exchange.query.get("metricLabelSelector", "")
            items.append(_custom_item(service, exchange.route.version, (metric, selector), described, found))
    version = f"{CUSTOM_METRICS}/{exchange.route.version}"
    return {"kind": "MetricValueList", "apiVersion": version, "metadata": {}, "items": items}


def _selected(service: Service, described: ObjectKey, selector: LabelSelector) -> bool:
    if not selector:
        return True
    try:
        resource = service.world.registry.preferred(described.resource).resource
    except KeyError:
        return False
    stored = service.world.store.get(resource, described.namespace, described.name)
    return stored is not None and selector.matches(stored.labels)


def _custom_item(
    service: Service, version: str, metric: tuple[str, str], described: ObjectKey, sample: Sample
) -> Object:
    plural, _, group = described.resource.partition(".")
    endpoint = next((found for found in service.world.registry if (found.group, found.plural) == (group, plural)), None)
    about: dict[str, Any] = {
        "kind": endpoint.kind if endpoint else plural,
        "namespace": described.namespace,
        "name": described.name,
        "apiVersion": f"/{endpoint.version}" if endpoint and not group else f"{group}/v1",
    }
    if endpoint and group:
        about["apiVersion"] = endpoint.api_version
    if not described.namespace:
        del about["namespace"]
    name, selector = metric
    parsed = _structured(selector)
    item: Object = {"describedObject": about}
    if version == "v1beta1":
        item["metricName"] = name
    else:
        item["metric"] = {"name": name, "selector": parsed}
    item["timestamp"] = sample.timestamp or service.world.clock.timestamp()
    if sample.window_s is not None:
        item["window" if version == "v1beta1" else "windowSeconds"] = sample.window_s
    item["value"] = sample.value
    if version == "v1beta1":
        item["selector"] = parsed
    return item


def _structured(text: str) -> Object | None:
    """A selector as the answer repeats it.

    Only equality is printed, as that is what metrics are asked with.
    """
    requirements = parse_label_selector(text).requirements
    labels = {item.key: item.values[0] for item in requirements if item.operator in ("=", "==")}
    return {"matchLabels": labels} if labels else None


def _external_metrics(service: Service, exchange: Exchange) -> Object:
    route = exchange.route
    if route.namespace is None or not route.plural or route.name:
        raise UnknownPathError
    known = service.feed.external.get((route.namespace, route.plural))
    if known is None:
        text = f"the server could not find the metric {route.plural} for namespace {route.namespace}"
        raise errors.ApiError(404, "NotFound", text)
    selector = _selector(exchange, "labelSelector")
    items = []
    for sample in known:
        if not selector.matches(sample.series):
            continue
        item: Object = {
            "metricName": route.plural,
            "metricLabels": dict(sample.series) or None,
            "timestamp": sample.timestamp or service.world.clock.timestamp(),
        }
        if sample.window_s is not None:
            item["window"] = sample.window_s
        items.append({**item, "value": sample.value})
    version = f"{EXTERNAL_METRICS}/{route.version}"
    return {"kind": "ExternalMetricValueList", "apiVersion": version, "metadata": {}, "items": items}
