"""Groups of objects with the same labels, found by selector without scanning.

The pods of a ReplicaSet share their labels: an index from (label, value) to groups is small, and a selector is matched
once per group instead of once per pod.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, Generic, Protocol, TypeVar

import msgspec

from controller.decide.selectors import Requirement, Selector

_NARROWING: Final = ("=", "in")

_in_order: Final = msgspec.json.Encoder(order="deterministic").encode
"""The same bytes for the same labels: as fast as a set of them, which the garbage collector would look at."""


class Group(Protocol):
    """What has these labels; groups are told apart by identity."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Never change."""
        ...


G = TypeVar("G", bound=Group)


class LabelGroups(Generic[G]):
    """One group at most for each set of labels."""

    __slots__ = ("_by_label", "_groups", "_make")

    def __init__(self, make: Callable[[Mapping[str, str]], G]) -> None:
        """`make` gives an empty group with these labels."""
        self._make = make
        self._groups: dict[bytes, G] = {}
        self._by_label: dict[tuple[str, str], G | set[G]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[G]:
        return iter(self._groups.values())

    def pieces(self) -> list[object]:
        """All that has to be freed one day, groups last."""
        return [*self._by_label, *self._by_label.values(), *self._groups, *self._groups.values()]

    def of(self, labels: Mapping[str, str]) -> G:
        """The group with exactly these labels, a new one if there is none yet."""
        identity = _in_order(labels)
        group = self._groups.get(identity)
        if group is None:
            group = self._groups[identity] = self._make(labels)
            for label in labels.items():
                self._label(label, group)
        return group

    def remove(self, group: G) -> None:
        """Leave out a group that is there."""
        del self._groups[_in_order(group.labels)]
        for label in group.labels.items():
            labelled = self._by_label[label]
            if isinstance(labelled, set) and len(labelled) > 1:
                labelled.discard(group)
            else:
                del self._by_label[label]

    def matching(self, selector: Selector) -> Iterator[G]:
        """The groups that a selector matches, in no order."""
        for group in self._candidates(selector):
            if selector.matches(group.labels):
                yield group

    def _label(self, label: tuple[str, str], group: G) -> None:
        """Have a group found by a label. Most labels have one group only, so a set for each would be mostly header."""
        labelled = self._by_label.setdefault(label, group)
        if isinstance(labelled, set):
            labelled.add(group)
        elif labelled is not group:
            self._by_label[label] = {labelled, group}

    def _labelled(self, key: str, value: str) -> Collection[G]:
        labelled = self._by_label.get((key, value))
        if labelled is None:
            return ()
        return labelled if isinstance(labelled, set) else (labelled,)

    def _candidates(self, selector: Selector) -> Collection[G]:
        """The groups of the rarest label that the selector demands."""
        best: Collection[G] | None = None
        for requirement in selector.requirements:
            if requirement.operator in _NARROWING:
                found = self._with_any(requirement)
                if best is None or len(found) < len(best):
                    best = found
        return self._groups.values() if best is None else best

    def _with_any(self, requirement: Requirement) -> Collection[G]:
        if len(requirement.values) == 1:
            return self._labelled(requirement.key, requirement.values[0])
        return set().union(*(self._labelled(requirement.key, value) for value in requirement.values))
