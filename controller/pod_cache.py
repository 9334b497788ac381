"""All pods of the cluster, found by namespace and selector without scanning."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Final

import msgspec

from controller.cache import Listing
from controller.decide.observed import Pod
from controller.decide.selectors import Selector
from controller.label_groups import LabelGroups

SELECTORS_PER_GROUP: Final = 4
"""For how many selectors the groups are known that they match, at most: nobody says when one is not used any more."""


_name: Final = attrgetter("name")


class WatchedPod(msgspec.Struct, frozen=True, gc=False):
    """A pod and its namespace."""

    namespace: str
    pod: Pod


class _Group:
    """Pods with the same labels."""

    __slots__ = ("labels", "pods")

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.labels = labels
        self.pods: dict[str, Pod] = {}


class _Namespace:
    """The pods of one namespace."""

    __slots__ = ("_selected", "group_of", "groups")

    def __init__(self) -> None:
        self.group_of: dict[str, _Group] = {}
        self.groups: LabelGroups[_Group] = LabelGroups(_Group)
        self._selected: dict[str, tuple[_Group, ...]] = {}
        """By the text of a selector, until there are other groups."""

    def __len__(self) -> int:
        return len(self.group_of)

    def put(self, pod: Pod) -> None:
        group = self.group_of.get(pod.name)
        if group is not None:
            if group.labels is pod.labels or group.labels == pod.labels:
                group.pods[pod.name] = pod
                return
            self.remove(pod.name)
        group = self.groups.of(pod.labels)
        if not group.pods:
            self._selected.clear()
        group.pods[pod.name] = pod
        self.group_of[pod.name] = group

    def remove(self, name: str) -> None:
        group = self.group_of.pop(name, None)
        if group is None:
            return
        del group.pods[name]
        if not group.pods:
            self.groups.remove(group)
            self._selected.clear()

    def selected(self, selector: Selector) -> tuple[_Group, ...]:
        """The groups that a selector matches. Every sync asks twice, with the same selectors, for groups that stay."""
        found = self._selected.get(selector.text)
        if found is None:
            if len(self._selected) >= SELECTORS_PER_GROUP * len(self.groups):
                self._selected.clear()
            found = self._selected[selector.text] = tuple(self.groups.matching(selector))
        return found


class _Namespaces(dict[str, _Namespace]):
    """The pods of all namespaces that have any."""

    def put(self, item: WatchedPod) -> None:
        namespace = self.get(item.namespace)
        if namespace is None:
            namespace = self[item.namespace] = _Namespace()
        namespace.put(item.pod)

    def remove(self, key: str) -> None:
        namespace, _, name = key.partition("/")
        found = self.get(namespace)
        if found is not None:
            found.remove(name)
            if not found:
                del self[namespace]


class _PodsListed:
    """A Listing of pods, which are grouped as they come."""

    def __init__(self, take: Callable[[_Namespaces], None]) -> None:
        self._take = take
        self._listed = _Namespaces()
        self.put = self._listed.put
        self.remove = self._listed.remove

    def complete(self) -> None:
        self._take(self._listed)


class PodCache:
    """A Store of pods. Reads cost what they find, not what there is."""

    def __init__(self) -> None:
        self._namespaces = _Namespaces()

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def count(self, namespace: str) -> int:
        """How many pods a namespace has."""
        return len(self._namespaces.get(namespace, ()))

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods that the selector matches, in name order (§9.1)."""
        found = self._namespaces.get(namespace)
        if found is None:
            return ()
        pods = [pod for group in found.selected(selector) for pod in group.pods.values()]
        pods.sort(key=_name)
        return tuple(pods)

    def labels_matching(self, namespace: str, selector: Selector) -> list[Mapping[str, str]]:
        """The distinct label sets of the pods that the selector matches."""
        found = self._namespaces.get(namespace)
        return [] if found is None else [group.labels for group in found.selected(selector)]

    def get(self, namespace: str, name: str) -> Pod | None:
        """The pod, or None."""
        found = self._namespaces.get(namespace)
        group = None if found is None else found.group_of.get(name)
        return None if group is None else group.pods[name]

    def listing(self, namespace: str = "") -> Listing[WatchedPod]:
        """See cache.ByNamespace. A hundred thousand pods would hold the loop if they were grouped at once."""
        return _PodsListed(partial(self._take, namespace))

    def put(self, item: WatchedPod) -> None:
        """See cache.Store."""
        self._namespaces.put(item)

    def remove(self, key: str) -> None:
        """See cache.Store."""
        self._namespaces.remove(key)

    def _take(self, namespace: str, listed: _Namespaces) -> None:
        if not namespace:
            self._namespaces = listed
            return
        self._namespaces.pop(namespace, None)
        self._namespaces.update(listed)
