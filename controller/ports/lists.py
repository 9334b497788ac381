"""Lists and watches (§20)."""

from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import msgspec

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T]):
    """A part of a list. `token` is empty on the last part; `version` is the list's resourceVersion."""

    items: list[T]
    version: str
    token: str = ""


class Put(msgspec.Struct, Generic[T]):
    """An object was added or changed."""

    item: T
    version: str


class Removed(msgspec.Struct):
    """The object with this key, `namespace/name`, is gone, or has become something that cannot be understood."""

    key: str
    version: str


class Bookmark(msgspec.Struct):
    """Nothing changed up to this version; `initial_end`: everything that existed at first has now been sent (§20.2)."""

    version: str
    initial_end: bool = False


WatchEvent = Put[T] | Removed | Bookmark


class ListWatch(Protocol[T]):
    """One resource of an API server. All methods raise ApiError."""

    async def list(self, limit: int, token: str) -> Page[T]:
        """A consistent part of the list, after `token` (empty: from the start); a `limit` of 0: all of it."""
        ...

    async def watch(
        self, version: str, timeout_s: float, take: Callable[[WatchEvent[T]], None], *, initial: bool
    ) -> None:
        """Give changes after a version to `take`, until the server ends the watch after about `timeout_s`.

        As soon as the server has accepted it, a bookmark of the given version. `initial`: then everything that exists,
        then a bookmark with `initial_end` (streaming list); `version` is empty. What `take` raises ends it.
        """
        ...
