"""Manifests for tests, written as changes to a plain one, and what becomes of them."""

import copy
import enum
import json
from collections.abc import Mapping
from typing import Any

from controller.manifest.admission import Admission, DefaultGates, Gates, Refused, admit
from controller.manifest.advice import advise
from controller.manifest.load import Document, documents
from controller.manifest.tree import show

PLAIN: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": 2,
        "maxReplicas": 10,
    },
}
_TEXTS = ("labels", "annotations", "matchLabels")
SCALE_TO_ZERO = DefaultGates(scale_to_zero=True)


class Gone(enum.Enum):
    """A change that removes a field."""

    GONE = enum.auto()


GONE = Gone.GONE


def v2(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A plain autoscaling/v2 manifest with fields set, by dotted paths."""
    manifest = copy.deepcopy(PLAIN)
    for path, value in (changes or {}).items():
        *parents, last = path.split(".")
        target = manifest
        for parent in parents:
            target = target.setdefault(parent, {})
        if value is GONE:
            target.pop(last, None)
        else:
            target[last] = copy.deepcopy(value)
    return manifest


def v1(changes: Mapping[str, Any] | None = None, **annotations: Any) -> dict[str, Any]:
    """The same in autoscaling/v1; `metrics=` and `behavior=` become annotations, as JSON unless they are texts."""
    manifest = v2({"apiVersion": "autoscaling/v1", **(changes or {})})
    if annotations:
        written = manifest["metadata"].setdefault("annotations", {})
        for name, value in annotations.items():
            key = f"autoscaling.alpha.kubernetes.io/{name}"
            written[key] = value if isinstance(value, str) else json.dumps(value)
    return manifest


def metric(source: str, target: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A metric of one source, such as `resource`."""
    return {"type": source[0].upper() + source[1:], source: {**fields, "target": dict(target)}}


def loaded(manifest: Any) -> Document:
    """The one document that a manifest is."""
    (document,) = documents("web.json", json.dumps(manifest).encode())
    assert isinstance(document, Document)
    return document


def outcome(manifest: Any, gates: Gates | None = None) -> Admission | Refused:
    """What becomes of a manifest."""
    return admit(loaded(manifest), gates or DefaultGates())


def admitted(manifest: Any, gates: Gates | None = None) -> Admission:
    """What becomes of a manifest that can be decoded."""
    found = outcome(manifest, gates)
    assert isinstance(found, Admission), found
    return found


def errors(manifest: Any, gates: Gates | None = None) -> list[tuple[str, str]]:
    """Fields and kinds of all errors, sorted, the kinds without their prefix."""
    problems = admitted(manifest, gates).problems
    return sorted((show(problem.path), problem.kind.removeprefix("FieldValue")) for problem in problems)


def as_stored(manifest: Any, gates: Gates | None = None) -> dict[str, Any]:
    """What is stored of a valid manifest."""
    found = admitted(manifest, gates)
    assert not found.problems, found.problems
    return found.stored


def without_empty(value: Any) -> Any:
    """The value as the recordings compare it: null and empty texts are as absent, but labels and the like stay."""
    if isinstance(value, dict):
        return {
            key: item if key in _TEXTS else without_empty(item)
            for key, item in value.items()
            if item is not None and item != ""
        }
    if isinstance(value, list):
        return [without_empty(item) for item in value]
    return value


def check_advice(manifest: dict[str, Any], expected: list[tuple[str, str]], words: str) -> None:
    """Asserts that a valid manifest gets this advice and no other, by code and field, and some of it in these words."""
    assert errors(manifest) == []
    found = advise(admitted(manifest), DefaultGates())
    assert sorted((advice.code, show(advice.path)) for advice in found) == sorted(expected)
    assert any(words in advice.message for advice in found), [advice.message for advice in found]
