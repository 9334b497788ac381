"""Usage of pods as one list has it: grouped by labels, so that a selector is matched once per group."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Final, Protocol

import msgspec

from controller.decide.observed import PodUsage
from controller.decide.selectors import Selector
from controller.kube.traffic import Traffic
from controller.label_groups import LabelGroups
from controller.wire.errors import WireError
from controller.wire.samples import decode_pod_usages, labels_as_written, placed_in
from controller.wire.shapes import labels_from
from controller.wire.slices import CLOSED, ItemSlices

DECODED_PER_ITERATION: Final = 500
"""How many items one question has decoded in an iteration of the loop: about five milliseconds' worth."""

STALE_MAX: Final = 2
"""How many times as many sets of labels are known as a list has, at most."""

ONE_PIECE_MAX: Final = 20
"""How many pods are freed with their group, not each by itself: to name them takes as long as to free them."""

TEXT_BYTES_MAX: Final = 32 * 1024
"""About a hundred pods: so many are decoded without a pause."""


class UsageGroup(msgspec.Struct, eq=False, gc=False):
    """Pods with the same labels: encoded until somebody asks, since many of a long list nobody asks about.

    Nothing is added any more once somebody may ask. Pods lie in texts of `TEXT_BYTES_MAX`, most groups in one: objects
    for each pod would be made and freed with every list, and the garbage collector would look at whatever holds them.
    """

    full: tuple[bytearray, ...] = ()
    last: bytearray = msgspec.field(default_factory=lambda: bytearray(b"["))
    decoded: tuple[PodUsage, ...] | None = None

    def add(self, item: msgspec.Raw) -> None:
        """Take a copy of a pod's item in."""
        last = self.last
        if len(last) > TEXT_BYTES_MAX:
            self.full += (last,)
            self.last = last = bytearray(b"[")
        last += item
        last += b","

    def texts(self) -> Iterator[bytearray]:
        """What is encoded, as arrays of pods' items."""
        for text in (*self.full, self.last):
            text[-1] = CLOSED
            yield text

    def keep(self, decoded: tuple[PodUsage, ...]) -> None:
        """Have this in place of what is encoded."""
        self.full, self.last, self.decoded = (), bytearray(), decoded


async def usages_in(groups: Iterable[UsageGroup]) -> list[PodUsage]:
    """What the pods of these groups use, group by group in the order of the list. The loop runs in between.

    Raises:
        WireError: an item is malformed; of several, the same one is named in whatever order the groups come, or the
            condition that says so would change from sync to sync.
    """
    usages: list[PodUsage] = []
    problems: list[WireError] = []
    left = DECODED_PER_ITERATION
    for group in groups:
        decoded = group.decoded
        if decoded is None:
            found: list[PodUsage] = []
            try:
                for text in group.texts():
                    if left <= 0:
                        await asyncio.sleep(0)
                        left = DECODED_PER_ITERATION
                    usages_in_text = decode_pod_usages(text)
                    left -= len(usages_in_text)
                    found += usages_in_text
            except WireError as error:
                problems.append(error)
                left = 0  # it was looked at twice, however many they are
                continue
            # Somebody else may have been at it as well, and have finished sooner, with the same.
            decoded = tuple(found)
            group.keep(decoded)
        usages += decoded
    if problems:
        raise min(problems, key=str)
    return usages


class InParts(Protocol):
    """Of a Client what gives long answers."""

    async def get_in_parts(
        self, path: str, traffic: Traffic, take: Callable[[memoryview], None], *, query: Mapping[str, str] | None = None
    ) -> None:
        """See Client."""
        ...


class _LabelSet(msgspec.Struct, eq=False, gc=False):
    labels: Mapping[str, str]
    written: list[bytes] = msgspec.field(default_factory=list)


class LabelSets:
    """Which labels pods have, in whatever order they are written; none is ever forgotten."""

    def __init__(self) -> None:
        self._groups: LabelGroups[_LabelSet] = LabelGroups(_LabelSet)
        self._by_writing: dict[bytes, _LabelSet] = {}

    def __len__(self) -> int:
        """How many, each counted as often as it is written in another order."""
        return len(self._by_writing)

    def learn(self, written: bytes) -> Mapping[str, str]:
        """The labels, which are known from now on.

        Raises:
            WireError: they are none.
        """
        known = self._by_writing.get(written)
        if known is None:
            known = self._groups.of(labels_from(written))
            known.written.append(written)
            self._by_writing[written] = known
        return known.labels

    def matching(self, selector: Selector) -> Iterator[bytes]:
        """As they are written, those that a selector matches."""
        return chain.from_iterable(known.written for known in self._groups.matching(selector))

    def pieces(self) -> list[object]:
        """All that has to be freed one day."""
        return [*self._by_writing, *self._groups.pieces()]


class Usages:
    """What one list says.

    Attributes:
        labelled: whether any pod has labels; if none has, the API leaves them out.
    """

    def __init__(self, label_sets: LabelSets | None = None) -> None:
        """`label_sets`: what is known of them already."""
        self._label_sets = LabelSets() if label_sets is None else label_sets
        self._handed_on = False
        self._groups: dict[bytes, UsageGroup] = {}
        self.labelled = False

    def add(self, items: Iterable[tuple[bytes, msgspec.Raw]]) -> None:
        """Take copies of items in, each after its labels as they are written: an item itself would keep its neighbours.

        Raises:
            WireError: the labels of one are none.
        """
        groups = self._groups
        for labels, item in items:
            group = groups.get(labels)
            if group is None:
                self.labelled = bool(self._label_sets.learn(labels)) or self.labelled
                group = groups[labels] = UsageGroup()
            group.add(item)

    def successor(self) -> "Usages":
        """An empty one, for the list after this one; it knows the same labels, since from list to list few change.

        Where most are of pods that have gone it begins anew.
        """
        self._handed_on = len(self._label_sets) <= STALE_MAX * len(self._groups)
        return Usages(self._label_sets) if self._handed_on else Usages()

    def __bool__(self) -> bool:
        return bool(self._groups)

    def pieces(self) -> list[object]:
        """All that has to be freed one day, what is innermost first."""
        groups = self._groups.values()
        usages = chain.from_iterable(
            group.decoded for group in groups if group.decoded is not None and len(group.decoded) > ONE_PIECE_MAX
        )
        return [*usages, *groups, *(() if self._handed_on else self._label_sets.pieces())]

    def selected(self, selector: Selector) -> Iterator[UsageGroup]:
        """The groups that a selector matches."""
        return (self._groups[labels] for labels in self._label_sets.matching(selector) if labels in self._groups)

    def all(self) -> Iterable[UsageGroup]:
        """Every group."""
        return self._groups.values()


def pieces_across(usages: Mapping[str, Usages]) -> list[object]:
    """All that has to be freed one day of what many namespaces use, what is innermost first."""
    return [*chain.from_iterable(one.pieces() for one in usages.values()), *usages.values()]


async def list_in(client: InParts, path: str, usages: Usages, query: Mapping[str, str] | None = None) -> None:
    """Take a list of a namespace in: whatever its items say, they are of the namespace that was asked about.

    `query` may say which pods are listed.

    Raises:
        ApiError: there is no answer.
        WireError: it cannot be understood; some of it may have been taken in.
    """

    def take(items: Sequence[msgspec.Raw]) -> None:
        usages.add(zip(labels_as_written(items), items, strict=True))

    await _list(client, path, take, query)


async def list_across(client: InParts, path: str, wanted: Container[str]) -> Mapping[str, Usages]:
    """What each of the wanted namespaces uses that has pods at all, from a list of the whole cluster.

    Raises:
        ApiError: there is no answer.
        WireError: it cannot be understood, or an item does not say of which namespace it is.
    """
    usages: defaultdict[str, Usages] = defaultdict(Usages)

    def take(items: Iterable[msgspec.Raw]) -> None:
        for namespace, placed in groupby(placed_in(wanted, items), itemgetter(0)):
            usages[namespace].add((labels, item) for _, labels, item in placed)

    await _list(client, path, take)
    return usages


async def _list(
    client: InParts,
    path: str,
    take: Callable[[list[msgspec.Raw]], None],
    query: Mapping[str, str] | None = None,
) -> None:
    """Have the items of a list taken in slices, while it arrives: the loop runs in between, however long it is."""
    slices = ItemSlices()
    await client.get_in_parts(path, Traffic.RESOURCE_METRICS, lambda part: take(slices.feed(part)), query=query)
    take(slices.end())
