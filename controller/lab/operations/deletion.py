"""Deletion: graceful for pods, held up by finalizers, spreading to what is owned or lies in a namespace."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import msgspec

from controller.lab.clock import format_timestamp
from controller.lab.kinds import custom
from controller.lab.objects import errors
from controller.lab.objects.resources import copied, nested
from controller.lab.storage.stored import Stored

if TYPE_CHECKING:
    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.operations.world import World

Propagation = Literal["", "Background", "Foreground", "Orphan"]

FOREGROUND = "foregroundDeletion"
_PERMANENT_NAMESPACES = frozenset({"default", "kube-system", "kube-public", "kube-node-lease"})


class DeleteOptions(msgspec.Struct, frozen=True):
    """How to delete; `grace_period_s` None means what the object says, empty preconditions mean none."""

    grace_period_s: int | None = None
    propagation: Propagation = ""
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


class Deleted(msgspec.Struct, frozen=True):
    """The last state of an object; one that is not `gone` waits for a grace period or finalizers."""

    stored: Stored
    gone: bool


def delete(world: World, endpoint: Endpoint, current: Stored, options: DeleteOptions) -> Deleted:
    """The outcome of deleting an object.

    Raises `ApiError` when a precondition fails or it may not be deleted.
    """
    _check_preconditions(endpoint, current, options)
    if endpoint.resource.key == "namespaces" and current.name in _PERMANENT_NAMESPACES:
        raise errors.forbidden_request("", "namespaces", current.name, "this namespace may not be deleted")
    if options.dry_run:
        return Deleted(current, gone=True)
    value = copied(current.value)
    finalizers = _finalizers(value, options.propagation)
    grace_s = _grace_s(current, options) if endpoint.resource.rules.graceful else 0
    if endpoint.resource.key == "namespaces":
        return _delete_namespace(world, current, value)
    pending_s = value["metadata"].get("deletionGracePeriodSeconds", 0)
    if "deletionTimestamp" in value["metadata"] and 0 < pending_s <= grace_s:
        return Deleted(current, gone=False)
    if options.propagation == "Orphan":
        _disown(world, current.uid)
    if not finalizers and not endpoint.resource.rules.graceful:
        return Deleted(_remove(world, current), gone=True)
    _mark(world, value, finalizers, grace_s)
    marked = world.store.put(current.resource, value)
    if not finalizers and not grace_s:
        return Deleted(_remove(world, marked), gone=True)
    if FOREGROUND in finalizers:
        for dependent in world.store.dependents(current.uid):
            _delete_dependent(world, dependent, current.uid, "Foreground")
        still = world.store.get(current.resource, current.namespace, current.name)
        if still is not None:
            _release(world, still)
    remaining = world.store.get(current.resource, current.namespace, current.name)
    return Deleted(remaining or marked, gone=remaining is None)


def is_finished(value: Object) -> bool:
    """Whether an object that is being deleted has nothing left to wait for."""
    metadata = value["metadata"]
    waiting = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return bool(metadata.get("deletionTimestamp")) and not waiting and not nested(value, "spec", "finalizers")


def finish(world: World, current: Stored, last: Object, *, dry_run: bool) -> Stored:
    """The last state of an object whose final write took away what it was waiting for; it is removed."""
    if not dry_run:
        _remove(world, current)
    return Stored(current.resource, last, current.revision)


def _release(world: World, owner: Stored) -> None:
    """Let an owner in foreground deletion go when nothing that blocks it is left."""
    if FOREGROUND not in (owner.value["metadata"].get("finalizers") or ()):
        return
    if any(_blocks(dependent, owner.uid) for dependent in world.store.dependents(owner.uid)):
        return
    value = copied(owner.value)
    value["metadata"]["finalizers"].remove(FOREGROUND)
    if is_finished(value):
        _remove(world, owner)
    else:
        world.store.put(owner.resource, value)


def _check_preconditions(endpoint: Endpoint, current: Stored, options: DeleteOptions) -> None:
    version = current.value["metadata"]["resourceVersion"]
    for name, wanted, found in (
        ("UID", options.uid, current.uid),
        ("ResourceVersion", options.resource_version, version),
    ):
        if wanted and wanted != found:
            text = f"the {name} in the precondition ({wanted}) does not match the {name} in record ({found})"
            raise errors.conflict(endpoint.group, endpoint.kind, current.name, text)


def _finalizers(value: Object, propagation: Propagation) -> list[str]:
    kept = list(value["metadata"].get("finalizers") or ())
    if propagation == "Foreground" and FOREGROUND not in kept:
        kept.append(FOREGROUND)
    elif propagation in ("Background", "Orphan") and FOREGROUND in kept:
        kept.remove(FOREGROUND)
    return kept


def _grace_s(current: Stored, options: DeleteOptions) -> int:
    spec, phase = current.value["spec"], nested(current.value, "status", "phase")
    if not spec.get("nodeName") or phase in ("Failed", "Succeeded"):
        return 0
    wanted = options.grace_period_s
    if wanted is None:
        wanted = spec.get("terminationGracePeriodSeconds", 0)
    return wanted if wanted >= 0 else 1


def _mark(world: World, value: Object, finalizers: list[str], grace_s: int) -> None:
    metadata = value["metadata"]
    if "deletionTimestamp" not in metadata and "generation" in metadata:
        metadata["generation"] += 1
    metadata["deletionTimestamp"] = format_timestamp(world.clock.now() + timedelta(seconds=grace_s))
    metadata["deletionGracePeriodSeconds"] = grace_s
    metadata.pop("finalizers", None)
    if finalizers:
        metadata["finalizers"] = finalizers


def _remove(world: World, current: Stored) -> Stored:
    last = world.store.remove(current)
    if current.resource.key == custom.DEFINITIONS:
        _withdraw(world, current.value)
    for dependent in world.store.dependents(current.uid):
        _delete_dependent(world, dependent, current.uid, "Background")
    for reference in current.value["metadata"].get("ownerReferences") or ():
        owner = _owner(world, reference, current.namespace)
        if owner is not None:
            _release(world, owner)
    _finish_namespace(world, current.namespace)
    return last


def _delete_dependent(world: World, dependent: Stored, uid: str, propagation: Propagation) -> None:
    """Delete what only this owner held; what has another owner only loses the reference."""
    fresh = world.store.get(dependent.resource, dependent.namespace, dependent.name)
    if fresh is None or fresh.uid != dependent.uid:
        return
    others = [owner for owner in fresh.value["metadata"].get("ownerReferences") or () if owner["uid"] != uid]
    if any(_owner(world, owner, fresh.namespace) for owner in others):
        _write_owners(world, fresh, others)
        return
    endpoint = world.registry.preferred(fresh.resource.key)
    delete(world, endpoint, fresh, DeleteOptions(propagation=propagation))


def _owner(world: World, reference: Object, namespace: str) -> Stored | None:
    group = reference["apiVersion"].rpartition("/")[0]
    endpoint = world.registry.by_kind(group, reference["kind"])
    if endpoint is None:
        return None
    where = namespace if endpoint.resource.namespaced else ""
    found = world.store.get(endpoint.resource, where, reference["name"])
    return found if found is not None and found.uid == reference["uid"] else None


def _disown(world: World, uid: str) -> None:
    for dependent in world.store.dependents(uid):
        owners = dependent.value["metadata"].get("ownerReferences") or ()
        _write_owners(world, dependent, [owner for owner in owners if owner["uid"] != uid])


def _write_owners(world: World, stored: Stored, owners: list[Object]) -> None:
    value = copied(stored.value)
    value["metadata"].pop("ownerReferences", None)
    if owners:
        value["metadata"]["ownerReferences"] = owners
    world.store.put(stored.resource, value)


def _blocks(dependent: Stored, uid: str) -> bool:
    owners = dependent.value["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == uid and owner.get("blockOwnerDeletion") for owner in owners)


def _delete_namespace(world: World, current: Stored, value: Object) -> Deleted:
    if "deletionTimestamp" not in value["metadata"]:
        _mark(world, value, list(value["metadata"].get("finalizers") or ()), 0)
        value["status"]["phase"] = "Terminating"
        current = world.store.put(current.resource, value)
    for resource in world.registry.resources():
        for stored in world.store.items(resource, current.name) if resource.namespaced else ():
            fresh = world.store.get(resource, stored.namespace, stored.name)
            if fresh is not None:
                endpoint = world.registry.preferred(resource.key)
                delete(world, endpoint, fresh, DeleteOptions(propagation="Background"))
    _finish_namespace(world, current.name)
    gone = world.store.get(current.resource, "", current.name) is None
    return Deleted(current, gone=gone)


def _finish_namespace(world: World, name: str) -> None:
    """Remove a terminating namespace once nothing is left in it."""
    namespaces = world.registry.preferred("namespaces").resource
    namespace = world.store.get(namespaces, "", name) if name else None
    if namespace is None or "deletionTimestamp" not in namespace.value["metadata"]:
        return
    empty = not any(world.store.items(resource, name) for resource in world.registry.resources() if resource.namespaced)
    if empty and not namespace.value["metadata"].get("finalizers"):
        world.store.remove(namespace)


def _withdraw(world: World, definition: Object) -> None:
    """Delete all objects of a custom resource, then stop serving it."""
    served = custom.endpoints(definition)
    for stored in world.store.items(served[0].resource) if served else ():
        world.store.remove(stored)
    world.registry.remove(definition["spec"]["group"], definition["spec"]["names"]["plural"])
