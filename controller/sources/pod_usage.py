"""Usage of pods as one list has it: grouped by labels, so that a selector is matched once per group."""

import asyncio
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol

import msgspec

from controller.decide.observed import PodUsage
from controller.decide.selectors import Selector
from controller.kube.traffic import Traffic
from controller.label_groups import LabelGroups
from controller.wire.samples import ListedUsage, decode_pod_usages, list_pod_metrics
from controller.wire.shapes import labels_from
from controller.wire.slices import ItemSlices

DECODED_PER_ITERATION: Final = 500
"""How many items one question has decoded in an iteration of the loop: about five milliseconds' worth."""


class UsageGroup(msgspec.Struct, eq=False, gc=False):
    """Pods with the same labels: encoded until somebody asks, since many of a long list nobody asks about.

    Nothing is added any more once somebody may ask; `encoded` is None when somebody has.
    """

    labels: Mapping[str, str]
    encoded: list[msgspec.Raw] | None = msgspec.field(default_factory=list)
    decoded: Sequence[PodUsage] = ()

    def add(self, item: msgspec.Raw) -> None:
        """Take one more in."""
        assert self.encoded is not None  # noqa: S101 - nobody has asked yet
        self.encoded.append(item)


async def usages_in(groups: Iterable[UsageGroup]) -> list[PodUsage]:
    """What the pods of these groups use, group by group in the order of the list. The loop runs in between.

    Raises:
        WireError: an item is malformed.
    """
    usages: list[PodUsage] = []
    left = DECODED_PER_ITERATION
    for group in groups:
        # Somebody else may be at it as well, and finish sooner.
        encoded, decoded = group.encoded, group.decoded
        if encoded is not None:
            decoded = []
            while len(decoded) < len(encoded):
                if not left:
                    await asyncio.sleep(0)
                    left = DECODED_PER_ITERATION
                part = encoded[len(decoded) : len(decoded) + left]
                decoded += decode_pod_usages(part)
                left -= len(part)
            group.encoded, group.decoded = None, decoded
        usages += decoded
    return usages


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
        self._groups: LabelGroups[UsageGroup] = LabelGroups(UsageGroup)
        self._as_written: dict[bytes, UsageGroup] = {}
        self.labelled = False

    def add(self, item: ListedUsage) -> None:
        """Take one item in.

        Raises:
            WireError: its labels are none.
        """
        group = self._as_written.get(item.labels_encoded)
        if group is None:
            labels = labels_from(item.labels_encoded)
            self.labelled = self.labelled or bool(labels)
            group = self._as_written[item.labels_encoded] = self._groups.of(labels)
        group.add(item.encoded)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def pieces(self) -> list[object]:
        """All that has to be freed one day, what is innermost first."""
        usages = chain.from_iterable((*(group.encoded or ()), *group.decoded) for group in self._groups)
        return [*usages, *self._as_written, *self._groups.pieces()]

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

    `wanted` are the namespaces whose items are taken, None: all. `query` may say which are listed. The list is taken
    apart in slices, while it arrives: the loop runs in between, however long it is.

    Raises:
        ApiError: there is no answer.
        WireError: it cannot be understood; some of it may have been added.
    """
    slices = ItemSlices()

    def take(items: Iterable[msgspec.Raw]) -> None:
        for item in list_pod_metrics(items, wanted):
            usages_of(item.namespace).add(item)

    await client.get_in_parts(path, Traffic.RESOURCE_METRICS, lambda part: take(slices.feed(part)), query=query)
    take(slices.end())
