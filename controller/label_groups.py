"""Groups of objects with the same labels, found by selector without scanning.

The pods of a ReplicaSet share their labels: an index from (label, value) to groups is small, and a selector is matched
once per group instead of once per pod.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, Generic, Protocol, TypeVar

from controller.decide.selectors import Requirement, Selector

_NARROWING: Final = ("=", "in")


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
        self._groups: dict[frozenset[tuple[str, str]], G] = {}
        self._by_label: dict[tuple[str, str], set[G]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[G]:
        return iter(self._groups.values())

    def pieces(self) -> list[object]:
        """All that has to be freed one day, groups last."""
        return [*self._by_label, *self._by_label.values(), *self._groups, *self._groups.values()]

    def of(self, labels: Mapping[str, str]) -> G:
        """The group with exactly these labels, a new one if there is none yet."""
        identity = frozenset(labels.items())
        group = self._groups.get(identity)
        if group is None:
            group = self._groups[identity] = self._make(labels)
            for label in identity:
                self._by_label.setdefault(label, set()).add(group)
        return group

    def remove(self, group: G) -> None:
        """Leave out a group that is there."""
        identity = frozenset(group.labels.items())
        del self._groups[identity]
        for label in identity:
            with_label = self._by_label[label]
            with_label.discard(group)
            if not with_label:
                del self._by_label[label]

    def matching(self, selector: Selector) -> Iterator[G]:
        """The groups that a selector matches, in no order."""
        for group in self._candidates(selector):
            if selector.matches(group.labels):
                yield group

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
            return self._by_label.get((requirement.key, requirement.values[0]), ())
        return set().union(*(self._by_label.get((requirement.key, value), ()) for value in requirement.values))
