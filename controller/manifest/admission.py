"""What the API server makes of a manifest on create: decoded, converted, completed, validated (§21, §22)."""

from typing import Any, Final, Protocol

import msgspec

from controller.manifest import metadata as metadata_rules
from controller.manifest import validate
from controller.manifest.convert import Converted, converted, origin, without_annotations
from controller.manifest.decode import Altered, Mismatch, UnknownField, decode
from controller.manifest.defaults import defaulted, without_tolerances
from controller.manifest.findings import Problem
from controller.manifest.load import Document
from controller.manifest.schema import AUTOSCALERS, GROUP, KIND, V1, V2
from controller.manifest.tree import Path, nearest_line, why_no_text

_SERVED_UNTIL: Final = {"autoscaling/v2beta1": "1.24", "autoscaling/v2beta2": "1.25"}
_OTHER_KIND: Final = "Scale"
_KEPT_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
)
"""What a manifest says for itself; the rest of the metadata is the server's."""


class Gates(Protocol):
    """The feature gates that matter here; `controller.decide.spec.Gates` is one."""

    @property
    def scale_to_zero(self) -> bool:
        """HPAScaleToZero."""

    @property
    def configurable_tolerance(self) -> bool:
        """HPAConfigurableTolerance."""

    @property
    def pod_level_resources(self) -> bool:
        """PodLevelResources."""


class DefaultGates(msgspec.Struct, frozen=True):
    """The gates as Kubernetes 1.36 has them (§1.2)."""

    scale_to_zero: bool = False
    configurable_tolerance: bool = True
    pod_level_resources: bool = True


class Refused(msgspec.Struct, frozen=True):
    """The manifest cannot be decoded; there is at least one mismatch."""

    mismatches: tuple[Mismatch, ...]


class Admission(msgspec.Struct, frozen=True):
    """The manifest as the API server understands it.

    `stored` is the autoscaling/v2 object without status; it is what is stored when there are no problems. `given` is
    what was decoded, in the version of the manifest. `conversion` is None for autoscaling/v2.
    """

    document: Document
    stored: dict[str, Any]
    given: dict[str, Any]
    problems: tuple[Problem, ...]
    unknown: tuple[UnknownField, ...]
    altered: tuple[Altered, ...] = ()
    conversion: Converted | None = None

    def line(self, path: Path) -> int:
        """The line of what a field of the stored object was made from, or of the innermost thing around it."""
        origins = self.conversion.origins if self.conversion else {}
        return nearest_line(self.document.root, origin(origins, path))


def is_autoscaler(document: Document) -> bool:
    """Whether the document is meant as one, misspelt included: groups of custom resources have a dot."""
    if document.group == GROUP:
        return document.kind not in ("", _OTHER_KIND)
    return document.kind == KIND and "." not in document.group


def admit(document: Document, gates: Gates) -> Admission | Refused:
    """What the API server makes of a HorizontalPodAutoscaler manifest."""
    record = AUTOSCALERS.get(document.api_version)
    if record is None:
        return _refused(document, "apiVersion", _unserved(document))
    if document.kind != KIND:
        return _refused(document, "kind", _unknown(document.api_version, document.kind))
    decoded = decode(document.root, record)
    if decoded.mismatches:
        return Refused(decoded.mismatches)
    given: dict[str, Any] = decoded.value
    annotations = given["metadata"].get("annotations", {})
    conversion = converted(given["spec"], annotations) if document.api_version == V1 else None
    spec = conversion.spec if conversion else defaulted(given["spec"])
    if not gates.configurable_tolerance:
        spec = without_tolerances(spec)
    metadata = given["metadata"] | {
        "annotations": without_annotations(annotations),
        "ownerReferences": _distinct(given["metadata"].get("ownerReferences", [])),
    }
    problems = (
        *metadata_rules.problems(metadata),
        *validate.problems(spec, scale_to_zero=gates.scale_to_zero),
    )
    stored = {
        "apiVersion": V2,
        "kind": KIND,
        "metadata": {name: metadata[name] for name in _KEPT_METADATA if metadata.get(name)},
        "spec": spec,
    }
    return Admission(document, stored, given, problems, decoded.unknown, decoded.altered, conversion)


def _distinct(owners: list[dict[str, Any]]) -> list[dict[str, Any]]:
    repeated = metadata_rules.repeated_owners(owners)
    return [owner for index, owner in enumerate(owners) if index not in repeated]


def _refused(document: Document, field: str, message: str) -> Refused:
    return Refused((Mismatch((field,), nearest_line(document.root, (field,)), message),))


def _unknown(api_version: str, kind: str) -> str:
    if kind.endswith("List"):
        return f"{kind} needs a list of items"
    other = "" if kind.lower() == KIND.lower() else f", or the apiVersion that {kind} is of"
    return f"{api_version} has no {kind}; write {KIND}{other}"


def _unserved(document: Document) -> str:
    api_version = document.api_version
    if not api_version:
        return why_no_text(document.root, "apiVersion", V2, f"; write {V2}")
    if api_version in _SERVED_UNTIL:
        return f"{api_version} is served only until Kubernetes {_SERVED_UNTIL[api_version]}; write {V2}"
    return f"{api_version} has no {KIND}; write {V2}"
