"""CustomResourceDefinitions: what they must contain, and the endpoints they make the server serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.kinds.fields import METADATA_FIELDS
from controller.lab.objects import names
from controller.lab.objects.errors import FieldError, invalid, not_supported, required
from controller.lab.objects.resources import Endpoint, Object, Resource, Rules, ScalePaths, nested

if TYPE_CHECKING:
    from controller.lab.objects.resources import ValidationSettings


DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
"""The resource whose objects make the server serve further resources."""


def set_defaults(definition: Object) -> None:
    """Fill in a definition: singular and list names, and conversion None."""
    spec = definition["spec"]
    naming = spec["names"]
    kind = naming.get("kind", "")
    naming.setdefault("singular", kind.lower())
    naming.setdefault("listKind", f"{kind}List")
    spec.setdefault("conversion", {"strategy": "None"})


def validate(new: Object, old: Object | None, _: ValidationSettings) -> list[FieldError]:
    """What is wrong with a definition."""
    spec = new["spec"]
    naming, versions = spec["names"], spec.get("versions") or []
    plural, group = naming.get("plural", ""), spec["group"]
    errors = []
    if new["metadata"]["name"] != f"{plural}.{group}":
        reason = 'must be spec.names.plural+"."+spec.group'
        errors.append(invalid("metadata.name", new["metadata"]["name"], reason))
    if "." not in group or names.subdomain_problems(group):
        errors.append(invalid("spec.group", group, "should be a domain with at least one dot"))
    if spec["scope"] not in ("Namespaced", "Cluster"):
        errors.append(not_supported("spec.scope", spec["scope"], ("Cluster", "Namespaced")))
    errors += [required(f"spec.names.{field}") for field in ("plural", "kind") if not naming.get(field)]
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", [version.get("name") for version in versions], text))
    for index, version in enumerate(versions):
        errors += _version(version, f"spec.versions[{index}]")
    if old is not None and old["spec"]["scope"] != spec["scope"]:
        errors.append(invalid("spec.scope", spec["scope"], "field is immutable"))
    return errors


def _version(version: Object, path: str) -> list[FieldError]:
    errors = [] if version.get("name") else [required(f"{path}.name")]
    if nested(version, "schema", "openAPIV3Schema") is None:
        errors.append(required(f"{path}.schema.openAPIV3Schema", "schemas are required"))
    scale = nested(version, "subresources", "scale")
    if scale is None:
        return errors
    where = f"{path}.subresources.scale"
    for name, prefix in (("specReplicasPath", ".spec."), ("statusReplicasPath", ".status.")):
        if not scale.get(name):
            errors.append(required(f"{where}.{name}"))
        elif not scale[name].startswith(prefix):
            errors.append(invalid(f"{where}.{name}", scale[name], f"should be a json path under {prefix[:-1]}"))
    selector = scale.get("labelSelectorPath", "")
    if selector and not selector.startswith((".spec.", ".status.")):
        text = "should be a json path under either .status or .spec"
        errors.append(invalid(f"{where}.labelSelectorPath", selector, text))
    return errors


def established(definition: Object, timestamp: str) -> Object:
    """The status of a definition whose names are free: accepted and served at once."""
    spec = definition["spec"]
    conditions = [
        {
            "type": kind,
            "status": "True",
            "lastTransitionTime": timestamp,
            "reason": reason,
            "message": message,
        }
        for kind, reason, message in (
            ("NamesAccepted", "NoConflicts", "no conflicts found"),
            ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        )
    ]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {"conditions": conditions, "acceptedNames": spec["names"], "storedVersions": stored}


def endpoints(definition: Object) -> list[Endpoint]:
    """The endpoints of a definition, the version of highest priority first; they share one stored resource.

    Subresources are those of each version; objects of all versions are the same but for their apiVersion.
    """
    spec = definition["spec"]
    naming = spec["names"]
    served = [version for version in spec["versions"] if version.get("served")]
    found = []
    for version in sorted(served, key=lambda version: _priority(version["name"]), reverse=True):
        has_status = nested(version, "subresources", "status") is not None
        resource = Resource(
            group=spec["group"],
            plural=naming["plural"],
            kind=naming["kind"],
            namespaced=spec["scope"] == "Namespaced",
            rules=Rules(
                generation="all but metadata",
                on_create=_without_status if has_status else _as_it_is,
                has_status=has_status,
                status_keeps=("*",),
                unconditional_update=False,
            ),
            field_labels=METADATA_FIELDS,
            scale=_scale_paths(nested(version, "subresources", "scale")),
            custom=True,
        )
        found.append(
            Endpoint(
                group=spec["group"],
                version=version["name"],
                resource=resource,
                singular=naming.get("singular", ""),
                short_names=tuple(naming.get("shortNames") or ()),
                categories=tuple(naming.get("categories") or ()),
                published=nested(version, "schema", "openAPIV3Schema"),
            )
        )
    return found


def _without_status(obj: Object) -> None:
    obj.pop("status", None)


def _as_it_is(_: Object) -> None:
    """Keep what was sent, as there is no subresource for the status."""


def _scale_paths(scale: Object | None) -> ScalePaths | None:
    if scale is None:
        return None
    selector = scale.get("labelSelectorPath")
    return ScalePaths(
        spec_replicas=_split(scale["specReplicasPath"]),
        status_replicas=_split(scale["statusReplicasPath"]),
        selector=_split(selector) if selector else None,
        selector_form="text",
    )


def _split(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split("."))


def _priority(version: str) -> tuple[Any, ...]:
    """Order of versions as discovery prefers them: v2, v1, v1beta2, v1beta1, v1alpha1, then anything else."""
    stages = {"": 3, "beta": 2, "alpha": 1}
    body = version.removeprefix("v")
    for stage in ("alpha", "beta"):
        major, marker, minor = body.partition(stage)
        if marker and major.isdigit() and minor.isdigit() and version.startswith("v"):
            return (stages[stage], int(major), int(minor), "")
    if version.startswith("v") and body.isdigit():
        return (stages[""], int(body), 0, "")
    return (0, 0, 0, version)
