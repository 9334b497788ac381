"""Which objects a controller owns: those it made, those it adopts, and those it lets go."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object
    from controller.lab.objects.selectors import LabelSelector


def controller_of(obj: Object) -> Object | None:
    """The owner reference of the object's controller, or None for an orphan."""
    references = obj["metadata"].get("ownerReferences") or ()
    return next((reference for reference in references if reference.get("controller")), None)


def reference_to(owner: Object) -> Object:
    """The reference that makes an owner the controller of an object."""
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


class Claims:
    """Keeps track of orphans, so that a controller need not look at everything to find them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._orphans: dict[str, set[tuple[str, str]]] = {}

    def note(self, resource: str, kind: str, obj: Object) -> bool:
        """Whether an object that was changed is an orphan now; `kind` is that of the change."""
        key = (obj["metadata"]["namespace"], obj["metadata"]["name"])
        orphans = self._orphans.setdefault(resource, set())
        if kind != "DELETED" and controller_of(obj) is None:
            orphans.add(key)
            return True
        orphans.discard(key)
        return False

    def claim(self, resource: str, owner: Object, selector: LabelSelector) -> list[Object]:
        """The objects an owner controls; orphans its selector matches join it, those it no longer matches leave.

        An owner that is being deleted takes nothing in.
        """
        uid, namespace = owner["metadata"]["uid"], owner["metadata"]["namespace"]
        claimed = []
        for obj in self._cluster.owned(resource, uid):
            controller = controller_of(obj)
            if controller is None or controller["uid"] != uid:
                continue
            if selector.matches(obj["metadata"].get("labels") or {}):
                claimed.append(obj)
            elif "deletionTimestamp" not in obj["metadata"]:
                references = obj["metadata"]["ownerReferences"]
                self._own(resource, obj, [reference for reference in references if reference["uid"] != uid])
        if "deletionTimestamp" in owner["metadata"] or not selector:
            return claimed
        for where, name in sorted(self._orphans.get(resource, ())):
            orphan = self._cluster.glance(resource, name, where) if where == namespace else None
            if orphan is None or "deletionTimestamp" in orphan["metadata"]:
                continue
            if selector.matches(orphan["metadata"].get("labels") or {}):
                others = orphan["metadata"].get("ownerReferences") or ()
                claimed.append(self._own(resource, orphan, [*others, reference_to(owner)]))
        return claimed

    def _own(self, resource: str, obj: Object, references: Iterable[Object]) -> Object:
        metadata = {**obj["metadata"], "ownerReferences": list(references)}
        return self._cluster.update(resource, {**obj, "metadata": metadata})
