"""Keeps a cache in step with one resource of the API server: list, watch, resume, list again (§20).

A lost connection never empties the cache: it goes on from the last version it has seen, and lists anew only when the
server says that this version is too old, or fails when asked for it. A new list replaces the content in one step.
"""

import asyncio
from http import HTTPStatus
from typing import Final, Generic, TypeVar, assert_never

import structlog
import tenacity

from controller.backoff import GrowingWait, Random
from controller.cache import Listing, Store
from controller.liveness import Liveness
from controller.patience import Patience
from controller.ports import (
    ApiError,
    Bookmark,
    Expired,
    Instruments,
    ListWatch,
    Put,
    Refused,
    Rejected,
    Removed,
    ServerFailure,
    Throttled,
    Unreachable,
    WatchEvent,
)

T = TypeVar("T")

PAGE_ITEMS: Final = 500
EVERYTHING: Final = 0

_AWAY: Final = (502, 503)

_log = structlog.get_logger(__name__)


_PATIENT: Final = Patience()


class Watch(Generic[T]):
    """One resource's list and watch loop, the only writer of its store."""

    def __init__(
        self,
        resource: str,
        source: ListWatch[T],
        store: Store[T],
        *,
        random: Random,
        instruments: Instruments,
        patience: Patience = _PATIENT,
        otherwise: str = "",
        relists: bool = False,
    ) -> None:
        """`resource` is its name in logs and metrics; `otherwise` what happens without it, empty if it is needed.

        `relists`: whether it is listed again and again where it may be listed, but not watched.
        """
        self.resource = resource
        self.liveness = Liveness()
        self._source = source
        self._store = store
        self._random = random
        self._instruments = instruments
        self._patience = patience
        self._otherwise = otherwise
        self._relists = relists
        self._told_refused = False
        self._version: str | None = None
        self._listed_s = 0.0
        self._has_expired = False
        self._streaming_list = True

    async def run(self) -> None:
        """Keep the store in step until cancelled; every failure is logged, counted and retried."""
        loop = asyncio.get_running_loop()
        retrying = tenacity.AsyncRetrying(
            wait=GrowingWait(self._random, loop.time, max_s=self._patience.wait_max_s),
            retry=tenacity.retry_if_exception_type(Exception),
            before_sleep=self._failed,
        )
        await retrying(self._follow)

    async def _follow(self) -> None:
        """List if need be, then watch, again and again; only failures end it."""
        while True:
            try:
                if self._version is None:
                    await self._list()
                else:
                    await self._consume(self._version, initial=False)
            except (Unreachable, Throttled):
                raise  # that says nothing about the version: go on from it
            except Refused:
                if self._relists:
                    self._forget()
                raise
            except Expired as error:
                if self._version is None:
                    raise  # even a new list is too old: wait
                again = self._has_expired
                self._forget()
                self._has_expired = True
                if again and asyncio.get_running_loop().time() - self._listed_s < self._patience.short_s:
                    # A server whose new lists expire at once, be it because they take so long, needs a pause.
                    raise
                self._instruments.watch_restarted(self.resource, "expired")
                _log.info("listing anew", resource=self.resource, error=str(error))
            except Exception as error:
                # A version that the server answers with an error (of a restored etcd, say) would fail for ever.
                if not _is_away(error):
                    self._forget()
                raise

    async def _list(self) -> None:
        """Fill the store anew; with a streaming list the same connection then goes on as the watch (§20.2)."""
        failure: ApiError | None = None
        if self._streaming_list:
            try:
                await self._consume("", initial=True)
            except ApiError as error:
                if self._version is not None:
                    raise  # the list was complete, the watch that followed has failed
                if isinstance(error, Throttled) or _is_away(error):
                    raise  # who is asked to come back later does not ask for more at once
                self._streaming_list = not isinstance(error, Rejected)
                failure = error
            else:
                return
        await self._list_pages()
        if failure is not None:
            _log.info("no streaming list, listed in pages", resource=self.resource, error=str(failure))

    async def _list_pages(self) -> None:
        listing = self._store.listing()
        limit, token = PAGE_ITEMS, ""
        while True:
            try:
                page = await self._source.list(limit, token)
            except Expired:
                if not token:
                    raise
                # The server forgets what the pages are of before all are read: at once then, as client-go's pager asks.
                listing, limit, token = self._store.listing(), EVERYTHING, ""
                continue
            for item in page.items:
                listing.put(item)
            token = page.token
            if not token:
                break
        self._complete(listing, page.version)

    async def _consume(self, version: str, *, initial: bool) -> None:
        """Apply one watch's events to the store until the server ends it.

        Raises:
            Unreachable: silent for too long, or over too soon.
            ServerFailure: nothing came at all, not even a bookmark.
            ApiError: whatever the server said.
        """
        loop = asyncio.get_running_loop()
        patience = self._patience
        server_timeout_s = patience.server_timeout_s * (1.0 + self._random())
        began_s = loop.time()
        listing = self._store.listing() if initial else None
        heard, events = 0, 0

        def take(event: WatchEvent[T]) -> None:
            nonlocal listing, heard, events
            patience.put_off(silence, loop.time())
            if listing is not None:
                if self._list_event(event, listing):
                    listing = None
                    self._told_refused = False
            elif heard:
                self._apply(event)
            else:
                self._opened()
            heard += 1
            events += not isinstance(event, Bookmark)

        try:
            async with asyncio.timeout(patience.open_max_s) as silence:
                await self._source.watch(version, server_timeout_s, take, initial=initial)
        except TimeoutError as error:
            if not silence.expired():
                raise
            self.liveness.lost()
            raise self._silent(version, heard) from error
        except ApiError:
            self.liveness.lost()
            raise
        self.liveness.ended()
        if listing is not None:
            if loop.time() - began_s < server_timeout_s / 2:
                raise Unreachable("cut off before the streaming list was complete")
            raise Rejected("the watch has ended, but its streaming list has not: the server does not know such lists")
        if not events and loop.time() - began_s < patience.short_s:
            raise Unreachable("the watch ended at once without an event")

    def _silent(self, version: str, heard: int) -> ApiError:
        """What a watch has died of by which nothing came for too long; `heard` counts that it was opened as well."""
        if not heard:
            return Unreachable(f"the watch was not answered within {self._patience.open_max_s:g} s")
        if heard == 1 and version:
            # A server whose versions are behind this one, as after etcd was restored, is silent until they are not.
            text = (
                f"nothing for {self._patience.silence_max_s:g} s since it was opened: is version {version} yet to come?"
            )
            return ServerFailure(text, HTTPStatus.OK)
        return Unreachable(f"no event or bookmark for {self._patience.silence_max_s:g} s: taken for half-open")

    def _opened(self) -> None:
        """The server has accepted the watch."""
        self.liveness.opened()
        self._told_refused = False

    def _apply(self, event: WatchEvent[T]) -> None:
        """Take in one event of what goes on."""
        if _earlier(event.version, self._version):
            # What came in the wrong order may be gone already, or be newer: only a list can tell.
            raise ServerFailure(f"{self.resource}: version {event.version} came after {self._version}", HTTPStatus.OK)
        match event:
            case Put(item=item):
                self._store.put(item)
            case Removed(key=key):
                self._store.remove(key)
            case Bookmark():
                self.liveness.watching()  # bookmarks come behind what was missed
            case _:
                assert_never(event)
        self.liveness.heard()
        self._version = event.version or self._version

    def _list_event(self, event: WatchEvent[T], listing: Listing[T]) -> bool:
        """Take in one event of the initial objects; whether it was the last one."""
        match event:
            case Put(item=item):
                listing.put(item)
            case Removed(key=key):
                listing.remove(key)
            case Bookmark(initial_end=True, version=version):
                self._complete(listing, version)
                return True
            case Bookmark():
                pass
            case _:
                assert_never(event)
        return False

    def _complete(self, listing: Listing[T], version: str) -> None:
        listing.complete()
        self._version = version
        self._listed_s = asyncio.get_running_loop().time()
        self.liveness.listed()

    def _forget(self) -> None:
        """Begin with a list the next time."""
        self._version = None
        self._has_expired = False
        self.liveness.lost()

    def _failed(self, state: tenacity.RetryCallState) -> None:
        self.liveness.lost()
        error = state.outcome.exception() if state.outcome is not None else None
        if isinstance(error, Refused):
            self.liveness.refused()
        if self._otherwise and isinstance(error, Refused):
            # Not everybody grants what is not needed; that is no reason to complain for ever.
            if not self._told_refused:
                _log.warning("may not be watched", resource=self.resource, otherwise=self._otherwise, error=str(error))
            self._told_refused = True
            return
        reason = "expired" if isinstance(error, Expired) else "lost" if isinstance(error, Unreachable) else "error"
        self._instruments.watch_restarted(self.resource, reason)
        _log.warning(
            "watch failed, will retry",
            resource=self.resource,
            error=str(error) or repr(error),
            retry_in_s=round(state.next_action.sleep, 3) if state.next_action is not None else None,
        )


def _is_away(error: Exception) -> bool:
    """Whether the server, or what is in front of it, says that it cannot be asked now: nothing about the version."""
    return isinstance(error, ServerFailure) and error.status in _AWAY


def _earlier(version: str, known: str | None) -> bool:
    """Whether the order of versions can be told, and is the wrong one."""
    if known is None or not (version.isdecimal() and known.isdecimal()):
        return False
    return int(version) < int(known)
