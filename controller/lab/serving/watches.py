"""Watches: the selected objects as they change, from a revision on, for as long as the client listens."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import msgspec

from controller.lab.faults import Cut, Duplicate, Expire, Reorder, Silence
from controller.lab.objects import errors
from controller.lab.operations.reading import Selection, parse_revision
from controller.lab.schema.decode import decode
from controller.lab.serving.negotiation import Wanted, wanted_form
from controller.lab.serving.reads import selection_of
from controller.lab.serving.rendering import render_object, render_table
from controller.lab.serving.service import boolean, number

if TYPE_CHECKING:
    from aiohttp import web

    from controller.lab.objects.resources import Endpoint, Object
    from controller.lab.serving.service import Exchange, Service
    from controller.lab.storage.history import Change
    from controller.lab.storage.stored import Stored

_LAST_BOOKMARK_S = 2.0
"""How long before its end a watch sends a last bookmark, so that the next one can go on from there."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class WatchOptions(msgspec.Struct, frozen=True):
    """What a client wants to watch.

    `initial` None leaves it to the revision whether the present state comes first.
    """

    selection: Selection
    wanted: Wanted
    revision_text: str
    bookmarks: bool
    initial: bool | None
    timeout_s: float


def watch_options(service: Service, exchange: Exchange, endpoint: Endpoint) -> WatchOptions:
    """The options of a request; raises `ApiError` when they contradict each other."""
    query = exchange.query
    if "watch" not in endpoint.verbs:
        raise errors.method_not_supported()
    match, initial = query.get("resourceVersionMatch", ""), boolean(query, "sendInitialEvents")
    problems = []
    if initial is not None and match != "NotOlderThan":
        text = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        problems.append(errors.forbidden("resourceVersionMatch", text))
    if match and initial is None:
        text = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        problems.append(errors.forbidden("resourceVersionMatch", text))
    if match not in ("", "NotOlderThan"):
        problems.append(errors.not_supported("resourceVersionMatch", match, ("NotOlderThan",)))
    if problems:
        raise errors.unprocessable("meta.k8s.io", "ListOptions", "", problems)
    return WatchOptions(
        selection=selection_of(exchange, endpoint),
        wanted=wanted_form(exchange.accept, query),
        revision_text=query.get("resourceVersion", ""),
        bookmarks=bool(boolean(query, "allowWatchBookmarks")),
        initial=initial,
        timeout_s=number(query, "timeoutSeconds") or service.watch.timeout_s,
    )


class WatchStream:
    """One open watch: a position in the history of a resource, and the connection it is written to."""

    def __init__(self, service: Service, exchange: Exchange, endpoint: Endpoint, options: WatchOptions) -> None:
        self._service = service
        self._request = exchange.request
        self._route = exchange.route
        self._endpoint = endpoint
        self._options = options
        self._history = service.world.store.history(endpoint.resource)
        self._wake = asyncio.Event()
        self._headers_pending = True
        self._held_back: bytes | None = None
        self._after, self._position = 0, 0

    def start(self) -> list[bytes]:
        """The first events; raises an Expired `ApiError` when the revision to start from is forgotten."""
        store, options = self._service.world.store, self._options
        revision = parse_revision(options.revision_text)
        if options.initial:
            store.check_reached(revision)
        if options.initial or (options.initial is None and revision == 0):
            present = store.items(self._endpoint.resource, options.selection.namespace)
            self._after = store.revision
            events = [self._event("ADDED", stored) for stored in present if options.selection.matches(stored)]
            if options.initial and options.bookmarks:
                events.append(self._bookmark({INITIAL_EVENTS_END: "true"}))
        else:
            self._after, events = revision or store.revision, []
        self._position = self._history.position_after(self._after)
        return events

    async def run(self, response: web.StreamResponse, first: list[bytes]) -> None:
        """Write events until the time is over, the history is lost, or the client has gone."""
        clock_s, settings = self._service.loop_time_s, self._service.watch
        end_s = clock_s() + self._options.timeout_s
        bookmark_s = clock_s() + settings.bookmark_interval_s
        stops = (self._history.wake_on_change(self._wake), self._service.faults.wake_on_change(self._wake))
        try:
            events = first
            while clock_s() < end_s:
                self._wake.clear()
                if not await self._write(response, events + self._pending()):
                    return
                events = []
                if self._options.bookmarks and clock_s() >= bookmark_s:
                    bookmark_s = clock_s() + settings.bookmark_interval_s
                    events = [self._bookmark()]
                    continue
                last_s = end_s - _LAST_BOOKMARK_S
                if clock_s() < last_s < bookmark_s:
                    bookmark_s = last_s
                await self._sleep_until(min(bookmark_s, end_s) if self._options.bookmarks else end_s)
        except errors.ApiError as error:
            await response.write(_line("ERROR", msgspec.json.encode(error.status())))
        finally:
            for stop in stops:
                stop()

    async def _sleep_until(self, deadline_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline_s):
                await self._wake.wait()

    def _pending(self) -> list[bytes]:
        changes = self._history.read(self._position)
        self._position += len(changes)
        events = (self._translate(change) for change in changes if change.revision > self._after)
        return [event for event in events if event is not None]

    def _translate(self, change: Change) -> bytes | None:
        """The event a change is for this watcher: objects may enter or leave its selection."""
        matches = self._options.selection.matches
        now = change.type != "DELETED" and matches(change.current)
        before = change.previous is not None and matches(change.previous)
        if now:
            return self._event("MODIFIED" if before else "ADDED", change.current)
        if before and change.previous is not None:
            left = change.current if change.type == "DELETED" else change.previous.at(change.revision)
            return self._event("DELETED", left)
        return None

    def _event(self, kind: str, stored: Stored) -> bytes:
        now = self._service.world.clock.now()
        if self._options.wanted.form != "table":
            return _line(kind, render_object(self._endpoint, stored, self._options.wanted, now))
        headers, self._headers_pending = self._headers_pending, False
        metadata = {"resourceVersion": str(stored.revision)}
        table = render_table(self._endpoint, [stored], metadata, self._options.wanted, now, headers=headers)
        return _line(kind, table)

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        """A bookmark: an object of the kind with nothing but a revision (and what is always written)."""
        metadata: Object = {"resourceVersion": str(self._service.world.store.revision)}
        if annotations:
            metadata["annotations"] = annotations
        content: Object = {"metadata": metadata}
        if self._endpoint.schema is not None:
            content = decode(self._endpoint.schema, content).value
        body = {"kind": self._endpoint.kind, "apiVersion": self._endpoint.api_version, **content}
        return _line("BOOKMARK", msgspec.json.encode(body))

    async def _write(self, response: web.StreamResponse, events: list[bytes]) -> bool:
        """Send events as the faults that are switched on let them through; False when the watch is over."""
        for injection in self._service.faults.of_stream(self._route):
            match injection.fault:
                case Silence():
                    injection.strike()
                    # Nothing ends this but the client, or the server being stopped: that is what half-open
                    # means.
                    await asyncio.Event().wait()
                case Cut():
                    injection.strike()
                    if self._request.transport is not None:
                        self._request.transport.abort()
                    return False
                case Expire():
                    injection.strike()
                    raise errors.expired("too old resource version: injected by the lab")
                case Duplicate():
                    for _ in events:
                        injection.strike()
                    events = [copy for event in events for copy in (event, event)]
                case Reorder():
                    for _ in events:
                        injection.strike()
                    events = self._reordered(events)
                case _:
                    continue
        if events:
            await response.write(b"".join(events))
        return True

    def _reordered(self, events: list[bytes]) -> list[bytes]:
        """Every second event before the first one; an odd one waits for the next."""
        waiting = [self._held_back] if self._held_back is not None else []
        queue = waiting + events
        self._held_back = queue.pop() if len(queue) % 2 else None
        return [event for index in range(0, len(queue), 2) for event in (queue[index + 1], queue[index])]


def _line(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"
