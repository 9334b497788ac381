"""An API server's lists and watches in memory: versions, bookmarks, pages, expiry, and failures on command."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from controller.ports import Bookmark, Expired, Page, Put, Rejected, Removed, WatchEvent
from tests.spine.tasks import now_s

BOOKMARK_PERIOD_S: Final = 60.0


class Thing(msgspec.Struct, frozen=True):
    """An object of which only its name and a value matter."""

    name: str
    value: int = 0


class Opened(msgspec.Struct, frozen=True):
    """A watch that somebody asked for."""

    at_s: float
    version: str
    initial: bool


_Sent = WatchEvent[Thing] | Exception | None
"""What goes down a stream; None ends it, an exception breaks it."""


class MemoryServer:
    """The port `ListWatch` for things."""

    def __init__(self, *, streaming: bool = True, page_items: int = 500) -> None:
        """`streaming`: knows streaming lists. `page_items`: the most that it puts on a page, whatever is asked."""
        self.streaming = streaming
        self.page_items = page_items
        self.tokens_expire = False
        self.silent = False
        self.hangs = False
        self.opened: list[Opened] = []
        self.pages_s: list[float] = []
        self.list_faults: deque[Exception] = deque()
        self.watch_faults: deque[Exception] = deque()
        self.page_s = 0.0
        self.first_event_s = 0.0
        """How long nothing comes by a watch that was accepted, not even what it begins with."""
        self.before_initial_end: list[WatchEvent[Thing]] = []
        self._version = 10
        self._expired = 0
        self._things: dict[str, Thing] = {}
        self._log: list[tuple[int, WatchEvent[Thing]]] = []
        self._streams: list[asyncio.Queue[_Sent]] = []

    @property
    def things(self) -> set[Thing]:
        return set(self._things.values())

    def put(self, *things: Thing) -> None:
        for thing in things:
            self._things[thing.name] = thing
            self._send(Put(thing, self._next()))

    def delete(self, name: str) -> None:
        del self._things[name]
        self._send(Removed(name, self._next()))

    def swap(self, first: Thing, second: Thing) -> None:
        """Both change, and the watches hear of the second change first."""
        earlier, later = Put(first, self._next()), Put(second, self._next())
        self._things |= {first.name: first, second.name: second}
        self._send(later)
        self._send(earlier)

    def forget_history(self) -> None:
        """Compaction: no watch can go on from any version before this moment's."""
        self._expired = self._version
        self._log.clear()

    def restore(self, *things: Thing) -> None:
        """Etcd comes back from a backup of long ago; watches that are open hear of it as of something new."""
        self._version, self._things = 1, {}
        self._log.clear()
        self.put(*things)

    def end(self, error: Exception | None = None) -> None:
        """End all open watches, orderly or with an error."""
        for stream in self._streams:
            stream.put_nowait(error)

    async def list(self, limit: int, token: str) -> Page[Thing]:
        self.pages_s.append(now_s())
        await asyncio.sleep(self.page_s)
        if self.list_faults:
            raise self.list_faults.popleft()
        if token and self.tokens_expire:
            raise Expired("the provided continue parameter is too old", 410)
        things = [self._things[name] for name in sorted(self._things)]
        begin = int(token or 0)
        end = begin + min(limit, self.page_items) if limit else len(things)
        return Page(things[begin:end], str(self._version), str(end) if end < len(things) else "")

    async def watch(
        self, version: str, timeout_s: float, take: Callable[[WatchEvent[Thing]], None], *, initial: bool
    ) -> None:
        self.opened.append(Opened(now_s(), version, initial))
        await self._admit()
        if initial and not self.streaming:
            raise Rejected("sendInitialEvents is forbidden", 422)
        stream: asyncio.Queue[_Sent] = asyncio.Queue()
        self._streams.append(stream)
        end_s = now_s() + timeout_s
        try:
            take(Bookmark(version))
            await asyncio.sleep(self.first_event_s)
            if not initial and int(version) < self._expired:
                raise Expired("too old resource version", 410)  # said in the stream, behind a 200
            if initial:
                for thing in list(self._things.values()):
                    take(Put(thing, str(self._version)))
                for event in self.before_initial_end:
                    take(event)
                take(Bookmark(str(self._version), initial_end=True))
            else:
                for at, event in list(self._log):
                    if at > int(version):
                        take(event)
            while True:
                sent = await self._receive(stream, end_s)
                if isinstance(sent, Exception):
                    raise sent
                if sent is None:
                    return
                if initial or int(sent.version) > self._behind(version):
                    take(sent)
        finally:
            self._streams.remove(stream)

    def _behind(self, version: str) -> int:
        """Events up to this version are kept from a watch; as with kube-apiserver, bookmarks are as well."""
        return int(version) if int(version) > self._version else 0

    async def _admit(self) -> None:
        if self.hangs:
            await asyncio.get_running_loop().create_future()
        if self.watch_faults:
            raise self.watch_faults.popleft()

    async def _receive(self, stream: "asyncio.Queue[_Sent]", end_s: float) -> _Sent:
        """The next event, or a bookmark when nothing has happened for a while; None at the end of the watch's time."""
        if self.silent:
            await asyncio.get_running_loop().create_future()
        wait_s = min(BOOKMARK_PERIOD_S, end_s - now_s())
        if wait_s <= 0:
            return None
        try:
            return await asyncio.wait_for(stream.get(), wait_s)
        except TimeoutError:
            if self.silent:
                await asyncio.get_running_loop().create_future()
            return Bookmark(str(self._version))

    def _next(self) -> str:
        self._version += 1
        return str(self._version)

    def _send(self, event: Put[Thing] | Removed) -> None:
        self._log.append((self._version, event))
        for stream in self._streams:
            stream.put_nowait(event)
