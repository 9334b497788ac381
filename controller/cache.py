"""Copies of the API server's objects: one writer, many readers, swapped whole when a resource is listed anew."""

import asyncio
import math
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Final, Generic, Protocol, TypeVar

from controller.observers import tell

TOLD_PER_ITERATION: Final = 500
"""Of how many changes by a list observers hear in one iteration of the loop: a few milliseconds of work."""

RESYNC_SLICE: Final = 20
"""How many objects a resync announces in one go."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Listing(Protocol[T_contra]):
    """A list of all objects while it arrives: nobody sees anything of it before it is complete."""

    def put(self, item: T_contra) -> None:
        """Add an object, or replace one that the list has."""
        ...

    def remove(self, key: str) -> None:
        """Take out an object: a server that catches up while it sends the list also sends what is gone again."""
        ...

    def complete(self) -> None:
        """Have exactly these objects taken as all there are, in one step."""
        ...


class Store(Protocol[T_contra]):
    """The writer's face of a cache. Only the watch of its resource holds it (§20.6)."""

    def listing(self) -> Listing[T_contra]:
        """Room for a list that begins to arrive; one that is never completed changes nothing."""
        ...

    def put(self, item: T_contra) -> None:
        """Add or replace one object."""
        ...

    def remove(self, key: str) -> None:
        """Take out the object with this key, `namespace/name`, if it is there."""
        ...


class Observer(Protocol[T_contra]):
    """Hears of every change, after it is visible to readers. Must not await or write to the cache; see `peek`."""

    def changed(self, old: T_contra | None, new: T_contra | None) -> None:
        """`old` None: added; `new` None: deleted, `old` being its last known state; both: possibly unchanged."""
        ...


class ByNamespace(Store[T_contra], Protocol[T_contra]):
    """A cache whose namespaces may be watched one by one."""

    def listing(self, namespace: str = "") -> Listing[T_contra]:
        """See Store; of one namespace only, if it is named: the others stay as they are."""
        ...


class NamespaceStore(Generic[T]):
    """The writer's face of one namespace of a cache."""

    def __init__(self, whole: ByNamespace[T], namespace: str) -> None:
        self._whole = whole
        self._namespace = namespace

    def listing(self) -> Listing[T]:
        """See Store."""
        return self._whole.listing(self._namespace)

    def put(self, item: T) -> None:
        """See Store."""
        self._whole.put(item)

    def remove(self, key: str) -> None:
        """See Store."""
        self._whole.remove(key)


class _ObjectsListed(Generic[T]):
    """A Listing whose objects are taken all at once."""

    def __init__(self, key_of: Callable[[T], str], take: Callable[[dict[str, T]], None]) -> None:
        self._key_of = key_of
        self._take = take
        self._items: dict[str, T] = {}

    def put(self, item: T) -> None:
        self._items[self._key_of(item)] = item

    def remove(self, key: str) -> None:
        self._items.pop(key, None)

    def complete(self) -> None:
        self._take(self._items)


class Cache(Generic[T]):
    """Objects by key. Readers get the live objects, which are immutable."""

    def __init__(self, key_of: Callable[[T], str]) -> None:
        self._key_of = key_of
        self._items: dict[str, T] = {}
        self._observers: list[Callable[[T | None, T | None], None]] = []
        self._untold: dict[str, tuple[T | None, T | None]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def get(self, key: str) -> T | None:
        """The object, or None. Observers have heard of it: whoever acts on it may ask them."""
        if self._untold:
            self._catch_up(key)
        return self._items.get(key)

    def peek(self, key: str) -> T | None:
        """The object, or None, whether observers have heard of it or not: who is one asks about others like this.

        With `get` it would have all of those told of in the same moment, each from within the other.
        """
        return self._items.get(key)

    def observe(self, observer: Observer[T]) -> None:
        """Have the observer hear of all further changes."""
        self._observers.append(observer.changed)

    def listing(self, namespace: str = "") -> Listing[T]:
        """See ByNamespace; for a single namespace keys have to be `namespace/name`.

        When the list is complete vanished objects are announced as deleted, all others of it as changed (§20.6): those
        of a long one a part at a time, while the loop runs, and each before whatever happens to it afterwards.
        """
        return _ObjectsListed(self._key_of, partial(self._replace, f"{namespace}/" if namespace else ""))

    def put(self, item: T) -> None:
        """See Store."""
        key = self._key_of(item)
        old = self._items.get(key)
        self._items[key] = item
        self._catch_up(key)
        self._announce(old, item)

    def remove(self, key: str) -> None:
        """See Store."""
        old = self._items.pop(key, None)
        self._catch_up(key)
        if old is not None:
            self._announce(old, None)

    def announce(self, item: T) -> None:
        """Announce an object as changed although it has not, if it is still the cached one (§20.6)."""
        key = self._key_of(item)
        if self._items.get(key) is item:
            self._catch_up(key)
            self._announce(item, item)

    def _replace(self, prefix: str, listed: dict[str, T]) -> None:
        """Take these for all whose keys begin so. Those that are known and have not changed stay what they are."""
        old, others = dict[str, T](), dict[str, T]()
        for key, item in self._items.items():
            (old if key.startswith(prefix) else others)[key] = item
        for key, item in listed.items():
            known = old.get(key)
            if known is not None and known == item:
                listed[key] = known
        self._items = others | listed
        changes: dict[str, tuple[T | None, T | None]] = {
            key: (item, None) for key, item in old.items() if key not in listed
        }
        changes.update((key, (old.get(key), item)) for key, item in listed.items())
        for key in self._untold.keys() & changes.keys():
            self._catch_up(key)
        self._untold |= changes
        self._tell_of(iter(changes))

    def _tell_of(self, keys: Iterator[str]) -> None:
        """Announce the next changes by a list, and the rest of them in later iterations of the loop."""
        for key in islice(keys, TOLD_PER_ITERATION):
            self._catch_up(key)
        if self._untold:
            asyncio.get_running_loop().call_soon(self._tell_of, keys)

    def _catch_up(self, key: str) -> None:
        """Announce what a list has changed about an object, if that is still to be done."""
        change = self._untold.pop(key, None)
        if change is not None:
            self._announce(*change)

    def _announce(self, old: T | None, new: T | None) -> None:
        item = new if new is not None else old
        assert item is not None  # noqa: S101 - a change has at least one side
        tell(self._observers, self._key_of(item), old, new)


async def resync_forever(cache: Cache[T], period_s: float) -> None:
    """Announce every cached object each period (§20.6), a few at a time all through it: nobody waits for it."""
    period_s = max(period_s, 1.0)
    while True:
        items = list(cache)
        pause_s = period_s / max(1, math.ceil(len(items) / RESYNC_SLICE))
        for index, item in enumerate(items):
            if index % RESYNC_SLICE == 0:
                await asyncio.sleep(pause_s)
            cache.announce(item)
        if not items:
            await asyncio.sleep(pause_s)
