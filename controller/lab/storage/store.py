"""All objects of the lab: as they are, as they were as far as that is remembered, and as they change."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from controller.lab.objects import errors
from controller.lab.storage.history import Change, History
from controller.lab.storage.stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from controller.lab.objects.resources import Object, Resource

_SNAPSHOTS = 16
"""Past states kept for lists that are read page by page; each is a list of references."""


class _Shelf:
    """The objects of one resource, by namespace and name."""

    def __init__(self, history: History) -> None:
        self.namespaces: dict[str, dict[str, Stored]] = {}
        self.history = history

    def everything(self) -> list[Stored]:
        return [item for objects in self.namespaces.values() for item in objects.values()]


class Store:
    """A single state with one revision counter for everything, as etcd is to the API server.

    Args:
        now_s: Seconds that never go back; used for objects that expire.
        first_revision: The revision before the first write.
        history_limit: Changes remembered per resource.

    """

    def __init__(self, now_s: Callable[[], float], first_revision: int = 1, history_limit: int = 10_000) -> None:
        self.revision = self._floor = first_revision
        self._now_s = now_s
        self._history_limit = history_limit
        self._shelves: dict[str, _Shelf] = {}
        self._snapshots: dict[tuple[str, int], list[Stored]] = {}
        self._expiry: list[tuple[float, int, Stored]] = []
        self._owners: dict[str, dict[tuple[str, str], Stored]] = {}

    def get(self, resource: Resource, namespace: str, name: str) -> Stored | None:
        """The object of that name, or None."""
        return self._shelf(resource).namespaces.get(namespace, {}).get(name)

    def items(self, resource: Resource, namespace: str | None = None) -> list[Stored]:
        """The objects of a namespace (all namespaces when None), ordered by namespace and name."""
        self._expire()
        shelf = self._shelf(resource)
        found = shelf.everything() if namespace is None else list(shelf.namespaces.get(namespace, {}).values())
        found.sort(key=_sort_key)
        return found

    def put(self, resource: Resource, value: Object) -> Stored:
        """Create or replace an object.

        Its resourceVersion is set here, so `value` must belong to the caller.
        """
        self._expire()
        shelf = self._shelf(resource)
        self.revision += 1
        value["metadata"]["resourceVersion"] = str(self.revision)
        stored = Stored(resource, value, self.revision)
        objects = shelf.namespaces.setdefault(stored.namespace, {})
        previous = objects.get(stored.name)
        objects[stored.name] = stored
        self._index_owners(previous, stored)
        if resource.rules.time_to_live_s:
            deadline_s = self._now_s() + resource.rules.time_to_live_s
            heapq.heappush(self._expiry, (deadline_s, self.revision, stored))
        shelf.history.append(Change("MODIFIED" if previous else "ADDED", self.revision, stored, previous))
        return stored

    def remove(self, stored: Stored) -> Stored:
        """Remove an object; the result is its last state, stamped with the revision of the removal."""
        shelf = self._shelf(stored.resource)
        objects = shelf.namespaces[stored.namespace]
        del objects[stored.name]
        if not objects:
            del shelf.namespaces[stored.namespace]
        self._index_owners(stored, None)
        self.revision += 1
        last = stored.at(self.revision)
        shelf.history.append(Change("DELETED", self.revision, last, stored))
        return last

    def dependents(self, uid: str) -> list[Stored]:
        """The objects that name this uid as an owner."""
        return list(self._owners.get(uid, {}).values())

    def history(self, resource: Resource) -> History:
        """The changes of a resource."""
        return self._shelf(resource).history

    def forget_history(self, resource: Resource | None = None) -> None:
        """Forget all past states (of one resource, or of all).

        Reading from before now is answered with 410.
        """
        if resource is None:
            self._floor = self.revision
        for key, shelf in self._shelves.items():
            if resource is None or resource.key == key:
                shelf.history.forget(self.revision)
        self._snapshots.clear()

    def snapshot(self, resource: Resource, revision: int) -> Sequence[Stored]:
        """All objects as they were at a revision, ordered.

        Raises an Expired `ApiError` when that is forgotten.
        """
        cached = self._snapshots.get((resource.key, revision))
        if cached is not None:
            return cached
        state = {item.path: item for item in self.items(resource)}
        for change in reversed(self._shelf(resource).history.after(revision)):
            if change.previous is None:
                state.pop(change.current.path, None)
            else:
                state[change.previous.path] = change.previous
        snapshot = sorted(state.values(), key=_sort_key)
        while len(self._snapshots) >= _SNAPSHOTS:
            del self._snapshots[next(iter(self._snapshots))]
        self._snapshots[resource.key, revision] = snapshot
        return snapshot

    def check_reached(self, revision: int) -> None:
        """Refuse a revision that lies in the future, as a server does that has not caught up."""
        if revision > self.revision:
            raise errors.too_large_resource_version(revision, self.revision)

    def _shelf(self, resource: Resource) -> _Shelf:
        shelf = self._shelves.get(resource.key)
        if shelf is None:
            shelf = self._shelves[resource.key] = _Shelf(History(self._history_limit, self._floor))
        return shelf

    def _index_owners(self, previous: Stored | None, current: Stored | None) -> None:
        for uid in _owner_uids(previous):
            owned = self._owners.get(uid, {})
            owned.pop(_identity(previous), None)
            if not owned:
                self._owners.pop(uid, None)
        for uid in _owner_uids(current):
            if current is not None:
                self._owners.setdefault(uid, {})[_identity(current)] = current

    def _expire(self) -> None:
        while self._expiry and self._expiry[0][0] <= self._now_s():
            stored = heapq.heappop(self._expiry)[2]
            # A later write has its own entry; this one only counts when the object is still that version.
            if self.get(stored.resource, stored.namespace, stored.name) is stored:
                self.remove(stored)


def _identity(stored: Stored | None) -> tuple[str, str]:
    return (stored.resource.key, stored.path) if stored else ("", "")


def _owner_uids(stored: Stored | None) -> list[str]:
    references = stored.value["metadata"].get("ownerReferences") if stored else None
    return [reference.get("uid", "") for reference in references or ()]


def _sort_key(stored: Stored) -> str:
    return stored.path
