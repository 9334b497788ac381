"""Answers of the metrics APIs: metrics.k8s.io, custom.metrics.k8s.io, external.metrics.k8s.io (§18)."""

import sys
from collections.abc import Container, Iterable, Mapping
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS, ZERO_TIME_NS, parse_rfc3339
from controller.decide.observed import ContainerUsage, ExternalReading, PodUsage, Sample
from controller.decide.quantity import milli
from controller.wire.durations import parse_duration
from controller.wire.errors import MESSAGE_CHARACTERS_MAX, each, located, printable, wire_errors
from controller.wire.shapes import NOTHING, Camel, QuantityText, labels_from

DEFAULT_WINDOW_NS: Final = 60 * NANOSECONDS
"""A custom metric's window where the answer does not say (§18.2)."""


class _Metadata(Camel):
    name: str
    namespace: str = ""
    labels: msgspec.Raw = NOTHING


class _ContainerUsage(Camel):
    name: str
    usage: dict[str, QuantityText] | None = None


class _PodMetrics(Camel):
    metadata: _Metadata
    timestamp: str | None = None
    window: str = "0s"
    containers: list[_ContainerUsage] | None = None


class _Namespace(Camel):
    namespace: str


class _Namespaced(Camel):
    metadata: _Namespace


class _Object(Camel):
    name: str = ""


class _MetricValue(Camel):
    described_object: _Object
    value: QuantityText
    timestamp: str | None = None
    window: int | None = None
    window_seconds: int | None = None


class _MetricValueList(Camel):
    items: list[_MetricValue] | None = None


class _ExternalValue(Camel):
    value: QuantityText
    timestamp: str | None = None


class _ExternalValueList(Camel):
    items: list[_ExternalValue] | None = None


_POD_METRICS: Final = msgspec.json.Decoder(_PodMetrics)
_NAMESPACED: Final = msgspec.json.Decoder(_Namespaced)
_ANY_TIME: Final = "1970-01-01T00:00:00Z"
_METRIC_VALUES: Final = msgspec.json.Decoder(_MetricValueList)
_EXTERNAL_VALUES: Final = msgspec.json.Decoder(_ExternalValueList)


class LabelledUsage(msgspec.Struct, frozen=True, gc=False):
    """One item of metrics.k8s.io with the pod's namespace and labels.

    `problem` says why the item could not be understood; `usage` then has no containers.
    """

    namespace: str
    labels: Mapping[str, str]
    usage: PodUsage
    problem: str | None = None


@wire_errors
def decode_pod_metrics(items: Iterable[msgspec.Raw], wanted: Container[str] | None) -> list[LabelledUsage]:
    """Those of the items, each a PodMetrics, that are in a wanted namespace; None: all of them.

    The others are hardly looked at, so that they cost little. A malformed item is one with a problem.

    Raises:
        WireError: an item without a name, or where that matters without a namespace.
    """
    if wanted is None:
        return [_decoded(raw) for raw in items]
    return [_decoded(raw) for raw in items if _NAMESPACED.decode(raw).metadata.namespace in wanted]


def _decoded(raw: msgspec.Raw) -> LabelledUsage:
    try:
        return _labelled(_POD_METRICS.decode(raw))
    except msgspec.ValidationError as error:
        # Whose item this is can only be said if at least the metadata is sound.
        metadata = msgspec.json.decode(raw, type=_OnlyMetadata).metadata
        return _spoiled(metadata, str(error))


class _OnlyMetadata(Camel):
    metadata: _Metadata


def _labelled(item: _PodMetrics) -> LabelledUsage:
    metadata = item.metadata
    try:
        usage = PodUsage(
            metadata.name,
            parse_rfc3339(item.timestamp) if item.timestamp else ZERO_TIME_NS,
            parse_duration(item.window),
            tuple([_used(container) for container in item.containers or ()]),
        )
    except ValueError as error:
        return _spoiled(metadata, str(error))
    return LabelledUsage(metadata.namespace, labels_from(bytes(metadata.labels)), usage)


def _used(container: _ContainerUsage) -> ContainerUsage:
    usage_milli: dict[str, int] = {}
    # Of all that syncs read this comes most often.
    for resource, text in (container.usage or {}).items():
        usage_milli[resource] = milli(text if type(text) is str else str(text))
    return ContainerUsage(sys.intern(container.name), usage_milli)


def _spoiled(metadata: _Metadata, problem: str) -> LabelledUsage:
    usage = PodUsage(metadata.name, ZERO_TIME_NS, 0, ())
    # A pod's name has up to 253 characters; what stands here need not be one.
    message = printable(f"metrics of pod {metadata.name[:253]}: {problem}", 2 * MESSAGE_CHARACTERS_MAX)
    return LabelledUsage(metadata.namespace, labels_from(bytes(metadata.labels)), usage, message)


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
    timestamp_ns = parse_rfc3339(item.timestamp) if item.timestamp else ZERO_TIME_NS
    return item.described_object.name, Sample(milli(str(item.value)), timestamp_ns, _window_ns(item))


def _located_sample(item: _MetricValue) -> tuple[str, Sample]:
    located("value", milli, str(item.value))
    located("timestamp", parse_rfc3339, item.timestamp or _ANY_TIME)
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
    timestamp = items[0].timestamp if items else None
    return ExternalReading(
        each("items", _external_milli, items),
        located("items[0].timestamp", parse_rfc3339, timestamp) if timestamp else None,
    )


def _external_milli(item: _ExternalValue) -> int:
    return located("value", milli, str(item.value))
