"""All pods of the cluster, found by namespace and selector without scanning."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from controller.decide.observed import Pod
from controller.decide.selectors import Selector
from controller.label_groups import LabelGroups


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

    __slots__ = ("group_of", "groups")

    def __init__(self) -> None:
        self.group_of: dict[str, _Group] = {}
        self.groups: LabelGroups[_Group] = LabelGroups(_Group)

    def __len__(self) -> int:
        return len(self.group_of)

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> "_Namespace":
        """These pods. Those of one ReplicaSet follow each other in a list: their group is looked for once."""
        namespace = cls()
        for labels, alike in groupby(pods, attrgetter("labels")):
            group = namespace.groups.of(labels)
            named = {pod.name: pod for pod in alike}
            group.pods.update(named)
            namespace.group_of.update(dict.fromkeys(named, group))
        return namespace

    def put(self, pod: Pod) -> None:
        group = self.group_of.get(pod.name)
        if group is not None:
            if group.labels is pod.labels or group.labels == pod.labels:
                group.pods[pod.name] = pod
                return
            self.remove(pod.name)
        group = self.groups.of(pod.labels)
        group.pods[pod.name] = pod
        self.group_of[pod.name] = group

    def remove(self, name: str) -> None:
        group = self.group_of.pop(name, None)
        if group is None:
            return
        del group.pods[name]
        if not group.pods:
            self.groups.remove(group)


class PodCache:
    """A Store of pods. Reads cost what they find, not what there is.

    A new list is grouped when its namespaces are first looked at: a hundred thousand pods at once would hold the loop.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, _Namespace | dict[str, Pod]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._namespaces.values()))

    def count(self, namespace: str) -> int:
        """How many pods a namespace has."""
        return len(self._namespaces.get(namespace, ()))

    def matching(self, namespace: str, selector: Selector) -> tuple[Pod, ...]:
        """The pods that the selector matches, in name order (§9.1)."""
        found = self._found(namespace)
        if found is None:
            return ()
        pods = [pod for group in found.groups.matching(selector) for pod in group.pods.values()]
        pods.sort(key=lambda pod: pod.name)
        return tuple(pods)

    def labels_matching(self, namespace: str, selector: Selector) -> list[Mapping[str, str]]:
        """The distinct label sets of the pods that the selector matches."""
        found = self._found(namespace)
        return [] if found is None else [group.labels for group in found.groups.matching(selector)]

    def get(self, namespace: str, name: str) -> Pod | None:
        """The pod, or None."""
        found = self._found(namespace)
        group = None if found is None else found.group_of.get(name)
        return None if group is None else group.pods[name]

    def replace(self, items: Sequence[WatchedPod]) -> None:
        """See cache.Store."""
        ungrouped: defaultdict[str, dict[str, Pod]] = defaultdict(dict)
        for item in items:
            ungrouped[item.namespace][item.pod.name] = item.pod
        self._namespaces = {**ungrouped}

    def replace_namespace(self, namespace: str, items: Sequence[WatchedPod]) -> None:
        """See cache.ByNamespace."""
        self._namespaces[namespace] = {item.pod.name: item.pod for item in items}

    def put(self, item: WatchedPod) -> None:
        """See cache.Store."""
        namespace = self._found(item.namespace)
        if namespace is None:
            namespace = self._namespaces[item.namespace] = _Namespace()
        namespace.put(item.pod)

    def remove(self, key: str) -> None:
        """See cache.Store."""
        namespace, _, name = key.partition("/")
        found = self._found(namespace)
        if found is not None:
            found.remove(name)
            if not found:
                del self._namespaces[namespace]

    def _found(self, name: str) -> _Namespace | None:
        """The pods of a namespace, grouped."""
        found = self._namespaces.get(name)
        if isinstance(found, dict):
            found = self._namespaces[name] = _Namespace.of(found.values())
        return found
