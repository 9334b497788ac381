"""The scale subresource: read from an object, and written back into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from controller.lab.objects import errors, names, selectors
from controller.lab.objects.errors import FieldError, invalid, required
from controller.lab.objects.resources import Object, Resource, ScalePaths, copied, nested

if TYPE_CHECKING:
    from controller.lab.storage.stored import Stored

_COPIED_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_UNSET = -(2**31)
"""Stands for replicas that a custom resource does not have, so that a patch which sets none is noticed."""


def read_scale(resource: Resource, stored: Stored) -> Object:
    """The Scale of an object as GET gives it; raises `ApiError` when it has no replicas to speak of."""
    scale, found = _scale(resource, stored)
    if not found:
        path = "." + ".".join(_paths(resource, stored).spec_replicas)
        raise errors.internal_error(f'the spec replicas field "{path}" does not exist')
    return _printed(scale)


def read_for_update(resource: Resource, stored: Stored) -> Object:
    """The Scale that a patch is applied to; replicas that are missing are a number no write may contain."""
    scale, found = _scale(resource, stored)
    if not found:
        scale["spec"]["replicas"] = _UNSET
    return scale


def write_scale(resource: Resource, stored: Stored, scale: Object) -> Object:
    """A copy of the object with the replicas, and as preconditions namespace and resourceVersion, of a Scale.

    Raises `ApiError`: 422 for an invalid Scale, 409 when its uid is that of another object.
    """
    metadata = scale.get("metadata") or {}
    replicas = nested(scale, "spec", "replicas") or 0
    path = _paths(resource, stored).spec_replicas
    if replicas == _UNSET:
        raise errors.bad_request(f'the spec replicas field ".{".".join(path)}" cannot be empty')
    problems = _validate(scale, replicas)
    if problems:
        raise errors.unprocessable("autoscaling", "Scale", stored.name, problems)
    uid = metadata.get("uid", "")
    if uid and uid != stored.uid:
        cause = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {stored.uid}"
        raise errors.conflict(resource.group, resource.plural, stored.name, cause)
    changed = copied(stored.value)
    parent: dict[str, Any] = changed
    for name in path[:-1]:
        parent = parent.setdefault(name, {})
    parent[path[-1]] = replicas
    for precondition in ("namespace", "resourceVersion"):
        if metadata.get(precondition):
            changed["metadata"][precondition] = metadata[precondition]
    return changed


def _paths(resource: Resource, stored: Stored) -> ScalePaths:
    if resource.scale is None:
        raise errors.not_found(resource.group, f"{resource.plural}/scale", stored.name)
    return resource.scale


def _scale(resource: Resource, stored: Stored) -> tuple[Object, bool]:
    paths, value = _paths(resource, stored), stored.value
    replicas = nested(value, *paths.spec_replicas)
    if replicas is not None and type(replicas) is not int:
        path = ".".join(paths.spec_replicas)
        raise errors.internal_error(f'the spec replicas field ".{path}" is no whole number: {replicas}')
    metadata = value["metadata"]
    scale = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in _COPIED_METADATA if name in metadata},
        "spec": {"replicas": replicas or 0},
        "status": {
            "replicas": nested(value, *paths.status_replicas) or 0,
            "selector": selector_text(resource, stored),
        },
    }
    return scale, replicas is not None


def selector_text(resource: Resource, stored: Stored) -> str:
    """The selector of an object's pods as its Scale prints it; empty when it has none."""
    paths = _paths(resource, stored)
    if paths.selector is None:
        return ""
    found = nested(stored.value, *paths.selector)
    match paths.selector_form:
        case "text":
            return found if isinstance(found, str) else ""
        case "map":
            return str(selectors.plain_selector(found))
        case _:
            try:
                return str(selectors.structured_selector(found) or "")
            except ValueError as error:
                raise errors.bad_request(str(error)) from error


def _printed(scale: Object) -> Object:
    """The Scale with what is zero left out, as it is sent."""
    if not scale["spec"]["replicas"]:
        scale["spec"] = {}
    if not scale["status"]["selector"]:
        del scale["status"]["selector"]
    return scale


def _validate(scale: Object, replicas: int) -> list[FieldError]:
    name = nested(scale, "metadata", "name") or ""
    problems = [invalid("metadata.name", name, text) for text in names.subdomain_problems(name)]
    if not name:
        problems = [required("metadata.name", "name or generateName is required")]
    if replicas < 0:
        problems.append(invalid("spec.replicas", replicas, "must be greater than or equal to 0"))
    return problems
