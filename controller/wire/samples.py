"""Answers of the metrics APIs: metrics.k8s.io, custom.metrics.k8s.io, external.metrics.k8s.io (§18)."""

import sys
from collections.abc import Container, Iterable
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS, ZERO_TIME_NS, parse_rfc3339
from controller.decide.observed import ContainerUsage, ExternalReading, PodUsage, Sample
from controller.decide.quantity import milli
from controller.wire.durations import parse_duration
from controller.wire.errors import WireError, each, located, wire_errors
from controller.wire.shapes import NOTHING, Camel, QuantityText
from controller.wire.slices import ARRAY

DEFAULT_WINDOW_NS: Final = 60 * NANOSECONDS
"""A custom metric's window where the answer does not say (§18.2)."""


class _Name(Camel):
    name: str = ""


class _Named(Camel):
    metadata: _Name


class _Labels(Camel):
    labels: msgspec.Raw = NOTHING


class _Labelled(Camel):
    metadata: _Labels


class _Place(_Labels):
    namespace: str = ""


class _Placed(Camel):
    metadata: _Place


class _ContainerUsage(Camel):
    name: str = ""
    usage: dict[str, QuantityText | None] | None = None


class _PodMetrics(_Named):
    timestamp: str | None = None
    window: str = "0s"
    containers: list[_ContainerUsage] | None = None


class _Object(Camel):
    name: str = ""


class _MetricValue(Camel):
    described_object: _Object
    value: QuantityText | None = None
    timestamp: str | None = None
    window: int | None = None
    window_seconds: int | None = None


class _MetricValueList(Camel):
    items: list[_MetricValue] | None = None


class _ExternalValue(Camel):
    value: QuantityText | None = None
    timestamp: str | None = None


class _ExternalValueList(Camel):
    items: list[_ExternalValue] | None = None


_POD_METRICS: Final = msgspec.json.Decoder(_PodMetrics)
_ALL_POD_METRICS: Final = msgspec.json.Decoder(list[_PodMetrics])
_NAMED: Final = msgspec.json.Decoder(_Named)
_LABELLED: Final = msgspec.json.Decoder(_Labelled)
_PLACED: Final = msgspec.json.Decoder(_Placed)
_ANY_TIME: Final = "1970-01-01T00:00:00Z"
_METRIC_VALUES: Final = msgspec.json.Decoder(_MetricValueList)
_EXTERNAL_VALUES: Final = msgspec.json.Decoder(_ExternalValueList)


@wire_errors
def labels_as_written(items: Iterable[msgspec.Raw]) -> list[bytes]:
    """The labels of each of the items, a PodMetrics; nothing else of them is looked at.

    Raises:
        WireError: an item has no metadata.
    """
    decode = _LABELLED.decode
    return [bytes(decode(item).metadata.labels) for item in items]


@wire_errors
def placed_in(namespaces: Container[str], items: Iterable[msgspec.Raw]) -> list[tuple[str, bytes, msgspec.Raw]]:
    """Of the items, each a PodMetrics, those that are in one of the namespaces, after it and the labels as written.

    The others are hardly looked at, so that they cost little.

    Raises:
        WireError: an item has no namespace.
    """
    placed = []
    for item in items:
        metadata = _PLACED.decode(item).metadata
        if metadata.namespace in namespaces:
            placed.append((metadata.namespace, bytes(metadata.labels), item))
        elif not metadata.namespace:
            raise WireError("an item has no namespace", "metadata.namespace")
    return placed


def decode_pod_usages(array: bytes | bytearray) -> list[PodUsage]:
    """What an encoded array of PodMetrics says about usage (§18.1).

    Raises:
        WireError: an item is malformed; it says which pod's.
    """
    try:
        return _pod_usages(array)
    except WireError:
        # Once more, one by one: that would be too dear where nothing is wrong.
        return [_pod_usage_of(item) for item in ARRAY.decode(array)]


def _of_pod(encoded: msgspec.Raw, error: WireError) -> WireError:
    """The error, saying whose metrics they are."""
    try:
        name = _name(encoded)
    except WireError as nameless:
        return WireError(f"metrics of a pod: {nameless.problem}", nameless.path or "metadata.name")
    # A pod's name has up to 253 characters; what stands here need not be one.
    whose = f"pod {name[:253]}" if name else "a pod"
    return WireError(f"metrics of {whose}: {error.problem}", error.path)


@wire_errors
def _name(encoded: msgspec.Raw) -> str:
    name: str = _NAMED.decode(encoded).metadata.name
    return name


@wire_errors
def _pod_usages(array: bytes | bytearray) -> list[PodUsage]:
    return [_pod_usage(item) for item in _ALL_POD_METRICS.decode(array)]


def _pod_usage_of(encoded: msgspec.Raw) -> PodUsage:
    try:
        return _decoded_pod_usage(encoded)
    except WireError as error:
        raise _of_pod(encoded, error) from error


@wire_errors
def _decoded_pod_usage(encoded: msgspec.Raw) -> PodUsage:
    return _pod_usage(_POD_METRICS.decode(encoded))


def _pod_usage(item: _PodMetrics) -> PodUsage:
    if not item.metadata.name:
        raise WireError("it has no name", "metadata.name")
    return PodUsage(
        item.metadata.name,
        ZERO_TIME_NS if item.timestamp is None else parse_rfc3339(item.timestamp),
        parse_duration(item.window),
        tuple([_used(container) for container in item.containers or ()]),
    )


def _used(container: _ContainerUsage) -> ContainerUsage:
    usage_milli: dict[str, int] = {}
    # Of all that syncs read this comes most often.
    for resource, text in (container.usage or {}).items():
        try:
            usage_milli[resource] = milli(text if type(text) is str else _text(text))
        except ValueError:
            usage_milli[resource] = milli(_text(text))
    return ContainerUsage(sys.intern(container.name), usage_milli)


@wire_errors
def decode_metric_values(body: bytes) -> list[tuple[str, Sample]]:
    """Name of the described object and sample of each item of a MetricValueList, v1beta1 or v1beta2 (§18.2).

    Raises:
        WireError: not such a list, or an item is malformed.
    """
    items = _METRIC_VALUES.decode(body).items or ()
    try:
        return [_named_sample(item) for item in items]
    except ValueError:
        # Once more, keeping track of places: that would be too dear where nothing is wrong.
        return list(each("items", _located_sample, items))


def _named_sample(item: _MetricValue) -> tuple[str, Sample]:
    timestamp_ns = ZERO_TIME_NS if item.timestamp is None else parse_rfc3339(item.timestamp)
    return item.described_object.name, Sample(milli(_text(item.value)), timestamp_ns, _window_ns(item))


def _located_sample(item: _MetricValue) -> tuple[str, Sample]:
    located("value", milli, _text(item.value))
    located("timestamp", parse_rfc3339, _ANY_TIME if item.timestamp is None else item.timestamp)
    return _named_sample(item)


def _window_ns(item: _MetricValue) -> int:
    seconds = item.window if item.window_seconds is None else item.window_seconds
    return DEFAULT_WINDOW_NS if seconds is None else seconds * NANOSECONDS


@wire_errors
def decode_external_values(body: bytes) -> ExternalReading:
    """All series of an ExternalMetricValueList (§18.5).

    Raises:
        WireError: not such a list, or an item is malformed.
    """
    items = _EXTERNAL_VALUES.decode(body).items or ()
    times_ns = [at_ns for at_ns in each("items", _external_ns, items) if at_ns is not None]
    # They are used together, so they are as old as the oldest one.
    oldest_ns = min(times_ns) if items and len(times_ns) == len(items) else None
    return ExternalReading(each("items", _external_milli, items), oldest_ns)


def _external_ns(item: _ExternalValue) -> int | None:
    return None if item.timestamp is None else located("timestamp", parse_rfc3339, item.timestamp)


def _external_milli(item: _ExternalValue) -> int:
    return located("value", milli, _text(item.value))


def _text(value: QuantityText | None) -> str:
    """What is absent or null is 0, and white space means nothing, as upstream's decoder has it (§18.6)."""
    return "0" if value is None else str(value).strip()
