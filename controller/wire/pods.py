"""Pods (v1) reduced to what decisions need, with everything that pods of a template share held once."""

import sys
from functools import lru_cache
from typing import Final

import msgspec

from controller.decide.instants import ZERO_TIME_NS, parse_rfc3339
from controller.decide.observed import Container, Pod, PodRequests, Readiness
from controller.decide.quantity import parse
from controller.wire.errors import WireError, each, located, wire_errors
from controller.wire.shapes import NOTHING, Camel, QuantityText, labels_from

_TEMPLATES_MAX: Final = 32_768


class _Metadata(Camel):
    name: str
    namespace: str = ""
    resource_version: str = ""
    deletion_timestamp: str | None = None
    labels: msgspec.Raw = NOTHING


class _Resources(Camel):
    requests: dict[str, QuantityText] | None = None


class _Container(Camel):
    name: str
    resources: msgspec.Raw = NOTHING
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
_RESOURCES: Final = msgspec.json.Decoder(_Resources | None)


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
        labels=labels_from(bytes(metadata.labels)),
        phase=sys.intern(status.phase),
        requests=_requests(
            _signature(spec.containers),
            _signature(spec.init_containers),
            _items(spec.resources.requests if spec.resources is not None else None),
            _items(spec.overhead),
        ),
        deleted=metadata.deletion_timestamp is not None,
        started_ns=None if status.start_time is None else located("status.startTime", parse_rfc3339, status.start_time),
        ready=_ready(status.conditions or ()),
    )
    return sys.intern(metadata.namespace), pod, metadata.resource_version


_Items = tuple[tuple[str, QuantityText], ...]
_Signature = tuple[tuple[str, bytes, bool], ...]
"""Name, encoded resources and whether it is restartable, of each container."""


def _ready(conditions: "list[_Condition] | tuple[()]") -> Readiness | None:
    for index, condition in enumerate(conditions):
        if condition.type == "Ready":
            since = condition.last_transition_time
            try:
                since_ns = parse_rfc3339(since) if since else ZERO_TIME_NS
            except ValueError as error:
                raise WireError(str(error), f"status.conditions[{index}].lastTransitionTime") from error
            return Readiness(sys.intern(condition.status), since_ns)
    return None


def _items(quantities: dict[str, QuantityText] | None) -> _Items:
    return tuple(quantities.items()) if quantities else ()


def _signature(containers: list[_Container] | None) -> _Signature:
    """What of the containers matters, as a key: resources as they are encoded, since they need decoding once only."""
    if not containers:
        return ()
    return tuple(
        [(container.name, bytes(container.resources), container.restart_policy == "Always") for container in containers]
    )


@lru_cache(maxsize=_TEMPLATES_MAX)
def _requests(containers: _Signature, init_containers: _Signature, pod_level: _Items, overhead: _Items) -> PodRequests:
    """The requests, one value for all pods of a template."""
    return PodRequests(
        each("spec.containers", _container, containers),
        each("spec.initContainers", _container, init_containers),
        located("spec.resources.requests", _nano, pod_level),
        located("spec.overhead", _nano, overhead),
    )


def _container(signature: tuple[str, bytes, bool]) -> Container:
    name, resources, restartable = signature
    return Container(sys.intern(name), located("resources", _requested, resources), restartable)


@wire_errors
def _requested(encoded: bytes) -> dict[str, int]:
    resources = _RESOURCES.decode(encoded)
    return located("requests", _nano, _items(resources.requests)) if resources is not None else {}


def _nano(items: _Items) -> dict[str, int]:
    return {sys.intern(resource): located(resource, _amount, text) for resource, text in items}


def _amount(text: QuantityText) -> int:
    return parse(str(text)).nano()
