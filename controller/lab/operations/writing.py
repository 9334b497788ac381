"""Creating and changing objects: who may set what, when a write conflicts, and when it is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.lab.kinds import custom
from controller.lab.kinds.validation import validate_metadata, validate_metadata_update
from controller.lab.objects import errors
from controller.lab.operations import deletion
from controller.lab.patching.ownership import track_update
from controller.lab.storage.stored import Stored

if TYPE_CHECKING:
    from controller.lab.objects.resources import Endpoint, Object, Resource
    from controller.lab.operations.world import World

_GENERATED_ATTEMPTS = 8
_SET_BY_SERVER = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")


class WriteOptions(msgspec.Struct, frozen=True):
    """How to write.

    `manager` names the writer whose fields are tracked, empty to track nothing; `managed_fields` are given by
    server-side apply, which tracks by itself.
    """

    dry_run: bool = False
    subresource: str = ""
    manager: str = ""
    managed_fields: list[Any] | None = None


def create(world: World, endpoint: Endpoint, value: Object, namespace: str, options: WriteOptions) -> Stored:
    """A new object from its stored form, which is changed and kept; raises `ApiError` when it cannot be."""
    resource, metadata = endpoint.resource, value["metadata"]
    _match_namespace(resource, metadata, namespace)
    _check_namespace(world, endpoint, metadata)
    if metadata.get("resourceVersion", "") not in ("", "0"):
        raise errors.ApiError(500, "", "resourceVersion should not be set on objects to be created")
    for name in (*_SET_BY_SERVER, "managedFields"):
        metadata.pop(name, None)
    generated = metadata.get("generateName", "") if not metadata.get("name") else ""
    for attempt in range(1, _GENERATED_ATTEMPTS + 1):
        if generated:
            metadata["name"] = world.generated_name(generated)
        if world.store.get(resource, metadata.get("namespace", ""), metadata.get("name", "")) is None:
            break
        if not generated or attempt == _GENERATED_ATTEMPTS:
            break
    endpoint.default(value)
    metadata["uid"] = world.new_uid()
    metadata["creationTimestamp"] = world.clock.timestamp()
    if resource.rules.generation != "never":
        metadata["generation"] = 1
    resource.rules.on_create(value)
    problems = validate_metadata(resource, value) + resource.rules.validate(value, None, world.settings)
    if problems:
        raise errors.unprocessable(resource.group, endpoint.kind, metadata.get("name", ""), problems)
    if world.store.get(resource, metadata.get("namespace", ""), metadata["name"]) is not None:
        raise errors.already_exists(endpoint.group, endpoint.plural, metadata["name"])
    resource.rules.canonicalize(value)
    _manage(world, endpoint, None, value, options)
    if options.dry_run:
        return Stored(resource, value, 0)
    if resource.key == custom.DEFINITIONS:
        value["status"] = custom.established(value, world.clock.timestamp())
    return _put(world, resource, value)


def update(world: World, endpoint: Endpoint, current: Stored, new: Object, options: WriteOptions) -> Stored:
    """The object after a change to its stored form, which is kept; the current one when nothing changed.

    `new` carries the writer's preconditions: uid and resourceVersion. Raises `ApiError` when they fail or the
    result is invalid. An object whose last finalizer is gone is deleted.
    """
    resource, metadata, old = endpoint.resource, new["metadata"], current.value
    _match_namespace(resource, metadata, current.namespace)
    _check_preconditions(endpoint, current, metadata)
    metadata["resourceVersion"] = old["metadata"]["resourceVersion"]
    if not options.subresource:
        endpoint.default(new)
    _keep(new, old, resource, options.subresource)
    problems = _problems(world, resource, new, old, options.subresource)
    if problems:
        raise errors.unprocessable(resource.group, endpoint.kind, current.name, problems)
    resource.rules.canonicalize(new)
    _manage(world, endpoint, old, new, options)
    if deletion.is_finished(new):
        return deletion.finish(world, current, new, dry_run=options.dry_run)
    if new == old:
        return current
    if options.dry_run:
        return Stored(resource, new, current.revision)
    return _put(world, resource, new)


def _put(world: World, resource: Resource, value: Object) -> Stored:
    # Whoever hears of a definition may use what it defines, so it is served before it is stored.
    if resource.key == custom.DEFINITIONS:
        world.registry.remove(value["spec"]["group"], value["spec"]["names"]["plural"])
        for served in custom.endpoints(value):
            world.registry.add(served)
    return world.store.put(resource, value)


def _match_namespace(resource: Resource, metadata: Object, namespace: str) -> None:
    if not resource.namespaced:
        metadata.pop("namespace", None)
    elif metadata.get("namespace", "") not in ("", namespace):
        text = "the namespace of the provided object does not match the namespace sent on the request"
        raise errors.bad_request(text)
    else:
        metadata["namespace"] = namespace


def _check_namespace(world: World, endpoint: Endpoint, metadata: Object) -> None:
    if not endpoint.resource.namespaced:
        return
    name = metadata["namespace"]
    namespace = world.store.get(world.registry.preferred("namespaces").resource, "", name)
    if namespace is None:
        raise errors.not_found("", "namespaces", name)
    if namespace.value["metadata"].get("deletionTimestamp"):
        cause = f"unable to create new content in namespace {name} because it is being terminated"
        refusal = errors.forbidden_request(endpoint.group, endpoint.plural, metadata.get("name", ""), cause)
        terminating = {
            "reason": "NamespaceTerminating",
            "message": f"namespace {name} is being terminated",
            "field": "metadata.namespace",
        }
        refusal.details = {**(refusal.details or {}), "causes": [terminating]}
        raise refusal


def _check_preconditions(endpoint: Endpoint, current: Stored, metadata: Object) -> None:
    uid = metadata.get("uid", "")
    if uid and uid != current.uid:
        cause = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {current.uid}"
        raise errors.conflict(endpoint.group, endpoint.plural, current.name, cause)
    version = metadata.get("resourceVersion", "")
    if version in ("", "0"):
        if not endpoint.resource.rules.unconditional_update:
            problem = errors.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise errors.unprocessable(endpoint.group, endpoint.plural, current.name, [problem])
    elif version != current.value["metadata"]["resourceVersion"]:
        raise errors.conflict(endpoint.group, endpoint.plural, current.name)


def _keep(new: Object, old: Object, resource: Resource, subresource: str) -> None:
    """Put back what this write cannot change."""
    rules, metadata, before = resource.rules, new["metadata"], old["metadata"]
    if subresource == "status":
        kept = [name for name in old if name not in ("metadata", "status")]
        for name in [name for name in new if name not in ("metadata", "status") and name not in kept]:
            del new[name]
        new.update({name: old[name] for name in kept})
        if rules.status_keeps == ("*",):
            new["metadata"] = metadata = dict(before)
        for name in rules.status_keeps:
            _restore(metadata, before, name)
        rules.on_status(new, old)
    elif rules.has_status and subresource != "scale":
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
    for name in (*_SET_BY_SERVER, "generation"):
        _restore(metadata, before, name)
    if subresource != "status" and _generation_grows(new, old, resource):
        metadata["generation"] = before.get("generation", 0) + 1


def _restore(metadata: Object, before: Object, name: str) -> None:
    if name in before:
        metadata[name] = before[name]
    elif name in metadata:
        del metadata[name]


def _generation_grows(new: Object, old: Object, resource: Resource) -> bool:
    match resource.rules.generation:
        case "never":
            return False
        case "spec":
            return bool(new.get("spec") != old.get("spec"))
        case "spec and annotations":
            annotations = new["metadata"].get("annotations") != old["metadata"].get("annotations")
            return annotations or new.get("spec") != old.get("spec")
        case "all but metadata":
            return {**new, "metadata": None} != {**old, "metadata": None}


def _problems(world: World, resource: Resource, new: Object, old: Object, subresource: str) -> list[errors.FieldError]:
    problems = validate_metadata(resource, new) + validate_metadata_update(new, old)
    if old["metadata"].get("deletionTimestamp"):
        known = set(old["metadata"].get("finalizers") or ())
        added = [name for name in new["metadata"].get("finalizers") or () if name not in known]
        if added:
            reason = f"no new finalizers can be added if the object is being deleted, found new finalizers {added}"
            problems.append(errors.forbidden("metadata.finalizers", reason))
    if subresource == "status":
        return problems + resource.rules.validate_status(new)
    return problems + resource.rules.validate(new, old, world.settings)


def _manage(world: World, endpoint: Endpoint, old: Object | None, new: Object, options: WriteOptions) -> None:
    """Bring metadata.managedFields up to date; whatever the writer sent there does not count."""
    metadata = new["metadata"]
    before = old["metadata"].get("managedFields") if old else None
    metadata.pop("managedFields", None)
    entries = before
    if options.managed_fields is not None:
        entries = options.managed_fields
    elif options.manager:
        # Nobody owns the status that the server itself gives to a new object.
        given = old is not None or not endpoint.resource.rules.has_status
        entries = track_update(
            before or [],
            old or {},
            new if given else {name: value for name, value in new.items() if name != "status"},
            manager=options.manager,
            subresource=options.subresource,
            api_version=endpoint.api_version,
            schema=world.registry.preferred(endpoint.resource.key).schema,
            timestamp=world.clock.timestamp(),
        )
    if entries:
        metadata["managedFields"] = entries
