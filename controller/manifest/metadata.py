"""Validation of an object's metadata on create, as far as the API server lets a manifest decide it (§21.3)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from controller.manifest import names
from controller.manifest.findings import INVALID, REQUIRED, TOO_LONG, Problem
from controller.manifest.tree import Path

_ANNOTATIONS_BYTES_MAX: Final = 256 * 1024
_GENERATED_BASE_MAX: Final = 58
_GENERATED_SUFFIX: Final = "xxxxx"
_ORPHAN: Final = "orphan"
_FOREGROUND: Final = "foregroundDeletion"
_STANDARD_FINALIZERS: Final = ("kubernetes", _ORPHAN, _FOREGROUND)


def problems(metadata: dict[str, Any]) -> list[Problem]:
    """All that is wrong with decoded metadata, without repeated owners.

    The namespace may be missing, for it comes from the request.
    """
    return [
        *_name(metadata),
        *_invalid("namespace", names.dns_label(metadata["namespace"]) if metadata.get("namespace") else []),
        *_invalid("generation", ["must not be negative; leave it out"] if metadata.get("generation", 0) < 0 else []),
        *_labels(metadata.get("labels", {})),
        *_annotations(metadata.get("annotations", {})),
        *_owners(metadata.get("ownerReferences", [])),
        *_finalizers(metadata.get("finalizers", [])),
    ]


def repeated_owners(owners: Sequence[Mapping[str, Any]]) -> dict[int, int]:
    """Owners that are in every field as one before them, by index the index of that one: the API server drops them.

    Two with one uid that differ elsewhere are two to it.
    """
    first: dict[tuple[tuple[str, Any], ...], int] = {}
    found = {}
    for index, owner in enumerate(owners):
        same = first.setdefault(tuple(sorted(owner.items())), index)
        if same != index:
            found[index] = same
    return found


def _name(metadata: dict[str, Any]) -> list[Problem]:
    prefix, name = metadata.get("generateName", ""), metadata.get("name", "")
    found = _invalid("generateName", names.dns_subdomain(prefix, prefix=True) if prefix else [])
    if not name and prefix:
        # A name is made before it is validated.
        name = prefix[:_GENERATED_BASE_MAX] + _GENERATED_SUFFIX
    if not name:
        found.append(Problem(("metadata", "name"), REQUIRED, "write a name, such as that of the scale target"))
        return found
    return found + _invalid("name", names.dns_subdomain(name))


def _labels(labels: dict[str, str]) -> list[Problem]:
    found = []
    for key, value in labels.items():
        found.extend(_of_entry("labels", key, f"the key {key!r}", names.qualified_name(key)))
        found.extend(_of_entry("labels", key, f"the value {value!r} of {key}", names.label_value(value)))
    return found


def _annotations(annotations: dict[str, str]) -> list[Problem]:
    found = []
    for key in annotations:
        # Case does not matter; Go turns a capital dotted I into a plain i.
        complaints = names.qualified_name(key.replace("\u0130", "i").lower())
        found.extend(_of_entry("annotations", key, f"the key {key!r}", complaints))
    size = sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items())
    if size > _ANNOTATIONS_BYTES_MAX:
        message = f"all annotations together have {size} bytes; at most {_ANNOTATIONS_BYTES_MAX} are allowed"
        found.append(Problem(("metadata", "annotations"), TOO_LONG, message))
    return found


def _owners(owners: list[dict[str, Any]]) -> list[Problem]:
    path: Path = ("metadata", "ownerReferences")
    found = []
    controllers = 0
    for owner in owners:
        group, _, version = owner["apiVersion"].rpartition("/")
        # More than one slash leaves Go with neither group nor version.
        if not version or "/" in group:
            found.append(Problem((*path, "apiVersion"), INVALID, "needs a version, as in apps/v1"))
        found.extend(
            Problem((*path, field), INVALID, "must not be empty")
            for field in ("kind", "name", "uid")
            if not owner[field]
        )
        if (owner["apiVersion"], owner["kind"]) in (("v1", "Event"), ("/v1", "Event")):
            found.append(Problem(path, INVALID, "an Event must not own anything"))
        if owner.get("controller"):
            controllers += 1
            if controllers > 1:
                found.append(Problem(path, INVALID, "only one owner can have controller: true"))
    return found


def _finalizers(finalizers: list[str]) -> list[Problem]:
    path: Path = ("metadata", "finalizers")
    found: list[Problem] = []
    for index, finalizer in enumerate(finalizers):
        found.extend(
            Problem(path, INVALID, f"{finalizer!r} {complaint}", (*path, index))
            for complaint in names.qualified_name(finalizer)
        )
        if "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            found.append(
                Problem(
                    (*path, index), INVALID, f"{finalizer!r} needs a domain, as in example.com/{finalizer or 'name'}"
                )
            )
    if _ORPHAN in finalizers and _FOREGROUND in finalizers:
        found.extend(_invalid("finalizers", [f"{_ORPHAN} and {_FOREGROUND} exclude each other"]))
    return found


def _invalid(field: str, complaints: list[str]) -> list[Problem]:
    return [Problem(("metadata", field), INVALID, complaint) for complaint in complaints]


def _of_entry(field: str, key: str, subject: str, complaints: list[str]) -> list[Problem]:
    path: Path = ("metadata", field)
    return [Problem(path, INVALID, f"{subject} {complaint}", (*path, key)) for complaint in complaints]
