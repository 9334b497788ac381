"""Usage of pods as one list has it: grouped by labels, so that a selector is matched once per group."""

from collections.abc import Callable, Container, Iterable, Mapping
from itertools import chain
from typing import Protocol

import msgspec

from controller.decide.observed import PodUsage
from controller.decide.selectors import Selector
from controller.kube.client import Traffic
from controller.label_groups import LabelGroups
from controller.wire.samples import LabelledUsage, decode_pod_metrics
from controller.wire.slices import ItemSlices


class UsageGroup(msgspec.Struct, eq=False, gc=False):
    """Pods with the same labels; `problem` is what is wrong with one of them, if something is."""

    labels: Mapping[str, str]
    usages: list[PodUsage]
    problem: str | None = None


class InParts(Protocol):
    """Of a Client what gives long answers."""

    async def get_in_parts(
        self, path: str, traffic: Traffic, take: Callable[[bytes], None], *, query: Mapping[str, str] | None = None
    ) -> None:
        """See Client."""
        ...


class Usages:
    """What one namespace uses."""

    def __init__(self) -> None:
        self._groups: LabelGroups[UsageGroup] = LabelGroups()
        self.labelled = False

    def add(self, item: LabelledUsage) -> None:
        """Take one item in."""
        group = self._groups.get(item.labels)
        if group is None:
            group = UsageGroup(item.labels, [])
            self._groups.add(group)
            self.labelled = self.labelled or bool(item.labels)
        group.usages.append(item.usage)
        group.problem = group.problem or item.problem

    def __bool__(self) -> bool:
        return bool(self._groups)

    def pieces(self) -> list[object]:
        """All that has to be freed one day, what is innermost first."""
        usages = chain.from_iterable(group.usages for group in self._groups)
        return [*usages, *self._groups.pieces()]

    def selected(self, selector: Selector) -> Iterable[UsageGroup]:
        """The groups that a selector matches."""
        return self._groups.matching(selector)

    def all(self) -> Iterable[UsageGroup]:
        """Every group."""
        return self._groups


async def list_usages(
    client: InParts,
    path: str,
    wanted: Container[str] | None,
    usages_of: Callable[[str], Usages],
    query: Mapping[str, str] | None = None,
) -> None:
    """Have a list of PodMetrics added up: `usages_of` gives what an item of a namespace is added to.

    `wanted` are the namespaces whose items are taken, None: all. `query` may say which are listed. The list is decoded
    in slices, while it arrives: the loop turns in between, however long it is.

    Raises:
        ApiError: there is no answer.
        WireError: it cannot be understood; some of it may have been added.
    """
    slices = ItemSlices()

    def take(items: Iterable[msgspec.Raw]) -> None:
        for item in decode_pod_metrics(items, wanted):
            usages_of(item.namespace).add(item)

    await client.get_in_parts(path, Traffic.RESOURCE_METRICS, lambda part: take(slices.feed(part)), query=query)
    take(slices.end())
