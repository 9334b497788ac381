"""Copies of the API server's objects: one writer, many readers, swapped whole when a resource is listed anew."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from controller.observers import tell

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Store(Protocol[T_contra]):
    """The writer's face of a cache. Only the watch of its resource holds it (§20.6)."""

    def replace(self, items: Sequence[T_contra]) -> None:
        """Take exactly these objects as all there are, in one step."""
        ...

    def put(self, item: T_contra) -> None:
        """Add or replace one object."""
        ...

    def remove(self, key: str) -> None:
        """Take out the object with this key, `namespace/name`, if it is there."""
        ...


class Observer(Protocol[T_contra]):
    """Hears of every change, after it is visible to readers. Must not await or write to the cache."""

    def changed(self, old: T_contra | None, new: T_contra | None) -> None:
        """`old` None: added; `new` None: deleted, `old` being its last known state; both: possibly unchanged."""
        ...


class ByNamespace(Store[T_contra], Protocol[T_contra]):
    """A cache whose namespaces may be watched one by one."""

    def replace_namespace(self, namespace: str, items: Sequence[T_contra]) -> None:
        """Swap the content of one namespace."""
        ...


class NamespaceStore(Generic[T]):
    """The writer's face of one namespace of a cache: a new list of it leaves the others as they are."""

    def __init__(self, whole: ByNamespace[T], namespace: str) -> None:
        self._whole = whole
        self._namespace = namespace

    def replace(self, items: Sequence[T]) -> None:
        """See Store."""
        self._whole.replace_namespace(self._namespace, items)

    def put(self, item: T) -> None:
        """See Store."""
        self._whole.put(item)

    def remove(self, key: str) -> None:
        """See Store."""
        self._whole.remove(key)


class Liveness:
    """Whether a cache reflects the API server: listed once, and its watch has not been lost since.

    A cache keeps its content when the connection is lost; it is only no longer a ground for decisions.
    """

    def __init__(self) -> None:
        self._synced = asyncio.Event()
        self._alive = False

    @property
    def alive(self) -> bool:
        """Listed, and watched right now."""
        return self._alive

    @property
    def synced(self) -> bool:
        """Listed at least once."""
        return self._synced.is_set()

    async def wait_synced(self) -> None:
        """Return once the first list is complete (§2.2)."""
        await self._synced.wait()

    def listed(self) -> None:
        """The content is complete and current."""
        self._alive = True
        self._synced.set()

    def watching(self) -> None:
        """The watch is open; what changed meanwhile will follow."""
        self._alive = self._synced.is_set()

    def lost(self) -> None:
        """The watch failed; changes may be missing."""
        self._alive = False


class Cache(Generic[T]):
    """Objects by key. Readers get the live objects, which are immutable."""

    def __init__(self, key_of: Callable[[T], str]) -> None:
        self._key_of = key_of
        self._items: dict[str, T] = {}
        self._observers: list[Callable[[T | None, T | None], None]] = []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())

    def get(self, key: str) -> T | None:
        """The object, or None."""
        return self._items.get(key)

    def observe(self, observer: Observer[T]) -> None:
        """Have the observer hear of all further changes."""
        self._observers.append(observer.changed)

    def replace(self, items: Sequence[T]) -> None:
        """See Store: vanished objects are announced as deleted, all others as changed (§20.6)."""
        old, self._items = self._items, self._renewed(items)
        self._announce_all(old, self._items)

    def replace_namespace(self, namespace: str, items: Sequence[T]) -> None:
        """Replace the objects of one namespace, and announce no others; keys have to be `namespace/name`."""
        prefix = f"{namespace}/"
        old, others = dict[str, T](), dict[str, T]()
        for key, item in self._items.items():
            (old if key.startswith(prefix) else others)[key] = item
        new = self._renewed(items)
        self._items = others | new
        self._announce_all(old, new)

    def put(self, item: T) -> None:
        """See Store."""
        key = self._key_of(item)
        old = self._items.get(key)
        self._items[key] = item
        self._announce(old, item)

    def remove(self, key: str) -> None:
        """See Store."""
        old = self._items.pop(key, None)
        if old is not None:
            self._announce(old, None)

    def announce(self, item: T) -> None:
        """Announce an object as changed although it has not, if it is still the cached one (§20.6)."""
        if self._items.get(self._key_of(item)) is item:
            self._announce(item, item)

    def _renewed(self, items: Sequence[T]) -> dict[str, T]:
        """These objects by key; those that are known and have not changed stay what they are."""
        new: dict[str, T] = {}
        for item in items:
            key = self._key_of(item)
            known = self._items.get(key)
            new[key] = known if known is not None and known == item else item
        return new

    def _announce_all(self, old: dict[str, T], new: dict[str, T]) -> None:
        for key, item in old.items():
            if key not in new:
                self._announce(item, None)
        for key, item in new.items():
            self._announce(old.get(key), item)

    def _announce(self, old: T | None, new: T | None) -> None:
        item = new if new is not None else old
        assert item is not None  # noqa: S101 - a change has at least one side
        tell(self._observers, self._key_of(item), old, new)
