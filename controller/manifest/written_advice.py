"""Advice about how a manifest is written: fields that nobody reads, annotations, what belongs to the server."""

import difflib
from collections.abc import Iterator
from typing import Any, Final

from controller.manifest.admission import Admission
from controller.manifest.convert import ANNOTATIONS, BEHAVIOR_ANNOTATION, CPU_FIELD, METRICS_ANNOTATION
from controller.manifest.decode import UnknownField
from controller.manifest.findings import Advice
from controller.manifest.metadata import repeated_owners
from controller.manifest.schema import AUTOSCALERS, V1, V2, Kind, ListOf, Record
from controller.manifest.tree import Node, Path, replacing, show

_MOVED: Final = {
    (V1, "spec", "metrics"): f"write apiVersion: {V2}, which has it",
    (V1, "spec", "behavior"): f"write apiVersion: {V2}, which has it",
    (V2, "spec", "targetCPUUtilizationPercentage"): "write a Resource metric under metrics, "
    "{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: …}}}",
    **{
        (V2, source, field): f"write target: {{type: {target_type}, {of_target}: …}}"
        for source in ("resource", "containerResource", "pods", "object", "external")
        for field, target_type, of_target in (
            ("targetAverageUtilization", "Utilization", "averageUtilization"),
            ("targetAverageValue", "AverageValue", "averageValue"),
            ("targetValue", "Value", "value"),
        )
    },
    **{(V2, source, "metricName"): "write metric: {name: …}" for source in ("pods", "object", "external")},
    **{
        (V2, source, field): "write metric: {name: …, selector: …}"
        for source, field in (("pods", "selector"), ("object", "selector"), ("external", "metricSelector"))
    },
}
"""Where fields of other versions went, by version, the object they are in, and their name."""

_UNCHANGED: Final = "is ignored when the object is created, and a later kubectl apply fails, for it must not change"
_SERVER_FIELDS: Final = {
    "resourceVersion": "is left out when the object is created, but a later kubectl apply ends in a conflict unless "
    "the object is still of this version",
    "uid": "is made anew when the object is created, so that a later kubectl apply fails, "
    "and --server-side the first one",
    "managedFields": "makes kubectl apply --server-side fail",
    "deletionTimestamp": _UNCHANGED,
    "deletionGracePeriodSeconds": _UNCHANGED,
}
"""Fields that belong to an object that exists, and what they do in a manifest."""

_SPEC_ANNOTATIONS: Final = {METRICS_ANNOTATION: "metrics", BEHAVIOR_ANNOTATION: "behavior"}
_SIMILAR: Final = 0.7
# A name that is known in more places says nothing about where it belongs.
_HOMES_MAX: Final = 2


def advise(admission: Admission) -> Iterator[Advice]:
    """Advice that holds whether or not the manifest is valid."""
    yield from _repeated_keys(admission.document.root)
    for field in admission.unknown:
        yield _unknown(field, admission.document.api_version)
    for altered in admission.altered:
        yield Advice(
            "quantity-altered",
            altered.path,
            f"{altered.written} is too large for Kubernetes, which stores {altered.stored}; measure in a larger unit",
        )
    given = admission.given
    if admission.conversion is None:
        yield from _annotations_of_v2(given)
        yield from _empty_behavior(given["spec"])
    else:
        yield from _annotations_of_v1(given, admission.conversion.ignored)
    yield from _of_the_server(given)
    path: Path = ("metadata", "ownerReferences")
    for index, first in repeated_owners(given["metadata"].get("ownerReferences", [])).items():
        yield Advice(
            "owner-repeated",
            (*path, index),
            f"this owner is the same as {show((*path, first))}, so that the API server drops it; remove it",
        )


def _repeated_keys(root: Node) -> Iterator[Advice]:
    # What an alias repeats is written in one place.
    seen: set[tuple[int, str | int]] = set()
    for path, node in replacing(root):
        place = node.line, path[-1]
        if place not in seen:
            seen.add(place)
            yield Advice(
                "key-repeated",
                path,
                f"the key stands on line {node.replaced_line} as well, and kubectl silently takes the last; keep one",
                line=node.line,
            )


def _of_the_server(given: dict[str, Any]) -> Iterator[Advice]:
    status = any(given["status"].values())
    names = [name for name in _SERVER_FIELDS if name in given["metadata"]]
    if status and "uid" in names:
        *most, last = (*names, "status")
        yield Advice(
            "server-field",
            ("metadata", names[0]),
            f"this is how `kubectl get` prints an object that exists; remove {', '.join(most)} and {last} before it is "
            f"applied",
        )
        return
    if status:
        yield Advice("status-ignored", ("status",), "the status of a manifest is ignored; remove it")
    for name in names:
        yield Advice(
            "server-field",
            ("metadata", name),
            f"{name} {_SERVER_FIELDS[name]}; remove it",
        )


def _unknown(field: UnknownField, api_version: str) -> Advice:
    name = str(field.path[-1])
    ignored = f"{api_version} has no such field and ignores it (kubectl refuses it by default)"
    return Advice("unknown-field", field.path, f"{ignored}; {_remedy(field.path, name, field.siblings, api_version)}")


def _remedy(path: Path, name: str, siblings: tuple[str, ...], api_version: str) -> str:
    parent = str(path[-2]) if len(path) > 1 else ""
    moved = _MOVED.get((api_version, parent, name))
    if moved is not None:
        return moved
    by_folded = {sibling.lower(): sibling for sibling in siblings}
    similar = difflib.get_close_matches(name.lower(), by_folded, n=1, cutoff=_SIMILAR)
    if similar:
        return f"did you mean {by_folded[similar[0]]}?"
    homes = sorted(_homes(AUTOSCALERS[api_version].fields["spec"].kind, name, "spec"))
    return f"did you mean {' or '.join(homes)}?" if 0 < len(homes) <= _HOMES_MAX else "remove it"


def _homes(kind: Kind, name: str, path: str) -> Iterator[str]:
    """Where in the schema a name is known, for fields that are indented wrongly."""
    if isinstance(kind, ListOf):
        yield from _homes(kind.item, name, f"{path}[]")
    elif isinstance(kind, Record):
        for field, content in kind.fields.items():
            if field == name:
                yield f"{path}.{field}"
            yield from _homes(content.kind, name, f"{path}.{field}")


def _annotations_of_v2(given: dict[str, Any]) -> Iterator[Advice]:
    annotations = given["metadata"].get("annotations", {})
    for name in ANNOTATIONS:
        if name not in annotations:
            continue
        field = _SPEC_ANNOTATIONS.get(name)
        remedy = f"write spec.{field} instead" if field else "remove it"
        yield Advice(
            "annotation-ignored",
            ("metadata", "annotations", name),
            f"the annotation {name} says nothing in {V2} and is not stored; {remedy}",
        )


def _annotations_of_v1(given: dict[str, Any], ignored: dict[str, str]) -> Iterator[Advice]:
    annotations = given["metadata"].get("annotations", {})
    for name, reason in ignored.items():
        yield Advice(
            "annotation-unreadable",
            ("metadata", "annotations", name),
            f"the API server silently ignores {name}, which it cannot read ({reason}); "
            f"write apiVersion: {V2} and spec.{_SPEC_ANNOTATIONS[name]}",
        )
    read = [name for name in _SPEC_ANNOTATIONS if name in annotations and name not in ignored]
    if read:
        order = (
            ", where the metric of targetCPUUtilizationPercentage comes after those of the annotation"
            if METRICS_ANNOTATION in read and CPU_FIELD[-1] in given["spec"]
            else ""
        )
        fields = " and ".join(f"spec.{_SPEC_ANNOTATIONS[name]}" for name in read)
        yield Advice(
            "annotation-of-v1",
            ("metadata", "annotations", read[0]),
            f"this annotation is how {V1} shows {fields}{order}; write apiVersion: {V2} and {fields}",
        )


def _empty_behavior(spec: dict[str, Any]) -> Iterator[Advice]:
    behavior = spec.get("behavior")
    if behavior is not None and not any(behavior.values()):
        path: Path = ("spec", "behavior")
        yield Advice(
            "behavior-empty",
            path,
            f"an empty {show(path)} is not the same as none, for it switches to policies per 15 s and another "
            f"stabilization; remove it, or write the rules that you want",
        )
