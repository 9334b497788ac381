"""Pods (v1) reduced to what decisions need, with everything that pods of a template share held once."""

import sys
from functools import lru_cache
from typing import Final

import msgspec

from controller.decide.instants import ZERO_TIME_NS, parse_rfc3339
from controller.decide.observed import Container, Pod, PodRequests, Readiness
from controller.decide.quantity import parse
from controller.wire.errors import wire_errors
from controller.wire.shapes import Camel, QuantityText

_SHARED_MAX: Final = 32_768


class _Metadata(Camel):
    name: str
    namespace: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: dict[str, str] | None = None


class _Resources(Camel):
    requests: dict[str, QuantityText] | None = None


class _Container(Camel):
    name: str
    resources: _Resources | None = None
    restart_policy: str | None = None


class _Spec(Camel):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    overhead: dict[str, QuantityText] | None = None
    resources: _Resources | None = None


class _Condition(Camel):
    type: str
    status: str
    last_transition_time: str | None = None


class _Status(Camel):
    phase: str = ""
    start_time: str | None = None
    conditions: list[_Condition] | None = None


class _Pod(Camel):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


_DECODER: Final = msgspec.json.Decoder(_Pod)


@wire_errors
def decode_pod(body: bytes) -> tuple[str, Pod, str]:
    """Namespace, pod and resourceVersion of an encoded pod.

    Raises:
        WireError: not a pod.
    """
    wire = _DECODER.decode(body)
    metadata, spec, status = wire.metadata, wire.spec or _Spec(), wire.status or _Status()
    pod = Pod(
        name=metadata.name,
        labels=_labels(tuple(metadata.labels.items())) if metadata.labels else _NO_LABELS,
        phase=sys.intern(status.phase),
        requests=_requests(
            _signature(spec.containers),
            _signature(spec.init_containers),
            _items(spec.resources.requests if spec.resources is not None else None),
            _items(spec.overhead),
        ),
        deleted=metadata.deletion_timestamp is not None,
        started_ns=parse_rfc3339(status.start_time) if status.start_time is not None else None,
        ready=_ready(status.conditions or ()),
    )
    return sys.intern(metadata.namespace), pod, metadata.resource_version


_NO_LABELS: Final[dict[str, str]] = {}

_Items = tuple[tuple[str, QuantityText], ...]
_Signature = tuple[tuple[str, _Items, bool], ...]


def _ready(conditions: "list[_Condition] | tuple[()]") -> Readiness | None:
    for condition in conditions:
        if condition.type == "Ready":
            since = condition.last_transition_time
            return Readiness(sys.intern(condition.status), parse_rfc3339(since) if since else ZERO_TIME_NS)
    return None


def _items(quantities: dict[str, QuantityText] | None) -> _Items:
    return tuple(quantities.items()) if quantities else ()


def _signature(containers: list[_Container] | None) -> _Signature:
    """What of the containers matters, as a key."""
    if not containers:
        return ()
    return tuple(
        [
            (
                container.name,
                _items(container.resources.requests if container.resources is not None else None),
                container.restart_policy == "Always",
            )
            for container in containers
        ]
    )


@lru_cache(maxsize=_SHARED_MAX)
def _labels(items: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """The labels, one dict for all pods that have the same in the same order."""
    return {sys.intern(key): sys.intern(value) for key, value in items}


@lru_cache(maxsize=_SHARED_MAX)
def _requests(containers: _Signature, init_containers: _Signature, pod_level: _Items, overhead: _Items) -> PodRequests:
    """The requests, one value for all pods of a template."""
    return PodRequests(_containers(containers), _containers(init_containers), _nano(pod_level), _nano(overhead))


def _containers(signature: _Signature) -> tuple[Container, ...]:
    return tuple(Container(sys.intern(name), _nano(requests), restartable) for name, requests, restartable in signature)


def _nano(items: _Items) -> dict[str, int]:
    return {sys.intern(resource): parse(str(text)).nano() for resource, text in items}
