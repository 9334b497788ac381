"""Scales: read from the scale subresource, derived from the objects it stands for, and written (§19.4)."""

import sys
from typing import Any, Final, Literal

import msgspec

from controller.decide import selectors
from controller.decide.observed import Scale
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement, SelectorError
from controller.wire.errors import located, wire_errors
from controller.wire.shapes import Camel, Int32, Selector, selector_from


class _Metadata(Camel):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _ScaleSpec(Camel):
    replicas: Int32 | None = None


class _ScaleStatus(Camel):
    replicas: Int32 | None = None
    selector: str | None = None


class _Scale(Camel):
    metadata: _Metadata
    spec: _ScaleSpec | None = None
    status: _ScaleStatus | None = None


class _WorkloadSpec(Camel):
    replicas: Int32 | None = None
    selector: Selector | None = None


class _ControllerSpec(Camel):
    replicas: Int32 | None = None
    selector: dict[str, str] | None = None


class _WorkloadStatus(Camel):
    replicas: Int32 | None = None


class _Workload(Camel):
    metadata: _Metadata
    spec: _WorkloadSpec | None = None
    status: _WorkloadStatus | None = None


class _ReplicationController(Camel):
    metadata: _Metadata
    spec: _ControllerSpec | None = None
    status: _WorkloadStatus | None = None


_SCALE: Final = msgspec.json.Decoder(_Scale)
_WORKLOAD: Final = msgspec.json.Decoder(_Workload)
_REPLICATION_CONTROLLER: Final = msgspec.json.Decoder(_ReplicationController)

# The API server stores 1 where a manifest leaves replicas out.
_REPLICAS_DEFAULT: Final = 1

_OPERATORS_OF_TEXTS: Final = {text: name for name, text in selectors.OPERATORS_OF_OBJECTS.items()}


class NamedScale(msgspec.Struct, frozen=True, gc=False):
    """The scale of a named object."""

    namespace: str
    name: str
    scale: Scale


@wire_errors
def decode_scale(body: bytes) -> Scale:
    """The answer of `GET …/scale`; replicas that are absent are 0.

    Raises:
        WireError: not a scale, or its selector cannot be parsed or has no form as an object.
    """
    wire = _SCALE.decode(body)
    spec, status = wire.spec or _ScaleSpec(), wire.status or _ScaleStatus()
    return Scale(
        replicas=spec.replicas or 0,
        status_replicas=status.replicas or 0,
        selector=located("status.selector", _read_selector, status.selector) if status.selector else "",
        uid=wire.metadata.uid,
        version=wire.metadata.resource_version,
    )


@wire_errors
def decode_workload(body: bytes, kind: Literal["ReplicationController", "Deployment"]) -> NamedScale:
    """The scale that an encoded object would answer, without asking for it.

    `kind` ReplicationController has a map as its selector; Deployment stands for all kinds with a label selector.

    Raises:
        WireError: not such an object.
    """
    text: str
    if kind == "ReplicationController":
        controller = _REPLICATION_CONTROLLER.decode(body)
        metadata, status = controller.metadata, controller.status
        replicas = None if controller.spec is None else controller.spec.replicas
        labels = {} if controller.spec is None else controller.spec.selector or {}
        text = located("spec.selector", _text_of, LabelSelector(tuple(sorted(labels.items()))))
    else:
        workload = _WORKLOAD.decode(body)
        metadata, status = workload.metadata, workload.status
        replicas = None if workload.spec is None else workload.spec.replicas
        text = _selector_text(None if workload.spec is None else workload.spec.selector)
    scale = Scale(
        replicas=_REPLICAS_DEFAULT if replicas is None else replicas,
        status_replicas=0 if status is None else status.replicas or 0,
        selector=text,
        uid=metadata.uid,
        version=metadata.resource_version,
    )
    return NamedScale(sys.intern(metadata.namespace), sys.intern(metadata.name), scale)


def scale_to(api_version: str, kind: str, namespace: str, name: str, scale: Scale, replicas: int) -> dict[str, Any]:
    """The body of a scale write: the read scale with other replicas, its uid and version as preconditions (§13.1)."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": scale.uid,
            "resourceVersion": scale.version,
        },
        "spec": {"replicas": replicas},
        "status": {"replicas": scale.status_replicas, "selector": scale.selector},
    }


def _read_selector(text: str) -> str:
    """The selector as upstream's scale client hands it on, which makes it an object first (§19.4).

    Custom resources may say what no object can: of two values for a label the last one counts, and white space alone is
    no selector. What means the same stays as it is written, as caches have it.
    """
    written = selectors.parse(text)
    labels: dict[str, str] = {}
    expressions = []
    for requirement in written.requirements:
        if requirement.operator == "=":
            labels[requirement.key] = requirement.values[0]
            continue
        operator = _OPERATORS_OF_TEXTS.get(requirement.operator)
        if operator is None:
            raise SelectorError(f"{requirement.operator} has no form in a label selector object")
        expressions.append(LabelSelectorRequirement(requirement.key, operator, requirement.values))
    read = _text_of(LabelSelector(tuple(labels.items()), tuple(expressions)))
    return text if text.strip() and selectors.parse(read) == written else read


def _selector_text(wire: Selector | None) -> str:
    """As the API server prints it; no selector matches nothing and prints like an empty one."""
    if wire is None:
        return ""
    return located("spec.selector", _text_of, selector_from(wire))


def _text_of(selector: LabelSelector) -> str:
    return selectors.from_object(selector).text
