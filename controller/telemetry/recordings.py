"""`/record/{namespace}/{name}`: new syncs of an HPA as they happen, as a recording; and the recorder's numbers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Final, NamedTuple

import msgspec
import structlog
from aiohttp import web
from prometheus_client.core import Metric

from controller.decide.instants import Now
from controller.explain.answer import Refusal
from controller.ports import Sync
from controller.recorder import Recorder, Source
from controller.telemetry.families import counter
from controller.telemetry.instruments import OURS
from controller.telemetry.server import UNREAD_MAX_S, taking

PATH: Final = "/record/{namespace}/{name}"
LISTENERS_MAX: Final = 100
PENDING_MAX: Final = 100
"""How many syncs may wait for a listener; one that is slower is sent away rather than told half of the story."""

SILENCE_S: Final = 10.0
"""A blank line is sent this often at least, so that a listener that is gone is noticed."""

BLANK: Final = b"\n"

_log = structlog.get_logger(__name__)


def families(recorder: Recorder | None) -> Iterable[Metric]:
    """What has been recorded and what has not; nothing without `--record`."""
    if recorder is None:
        return
    dropped = [((reason,), count) for reason, count in recorder.dropped.items()]
    yield counter(f"{OURS}_recording_dropped", "Syncs that were not recorded.", dropped, ("reason",))
    yield counter(f"{OURS}_recording_written", "Syncs that were recorded.", [((), recorder.written)])
    yield counter(f"{OURS}_recording_bytes", "Bytes of recordings, compressed.", [((), recorder.bytes_written)])


class _Listener(NamedTuple):
    source: Source
    queue: asyncio.Queue[bytes | None]


class Broadcast:
    """An observer of the reconciler that passes the syncs of single HPAs on to whoever listens to them."""

    def __init__(
        self,
        source: Source,
        now: Callable[[], Now],
        *,
        silence_s: float = SILENCE_S,
        unread_max_s: float = UNREAD_MAX_S,
    ) -> None:
        """What each listener gets begins `now`, and is of this source.

        `silence_s`: after so long without a sync a listener gets a blank line.

        `unread_max_s`: one that takes nothing for so long is cut off.
        """
        self._source = source
        self._now = now
        self._silence_s = silence_s
        self._unread_max_s = unread_max_s
        self._listeners: dict[str, list[_Listener]] = {}

    def __call__(self, sync: Sync) -> None:
        """See ports.SyncObserver; only an HPA that is listened to costs anything."""
        for source, queue in self._listeners.get(sync.autoscaler.key, ()):
            try:
                line = source.line(sync)
            except ValueError as error:
                _log.warning("a sync could not be sent", hpa=sync.autoscaler.key, error=str(error))
                return
            if queue.qsize() < PENDING_MAX:
                queue.put_nowait(line)
            elif queue.qsize() == PENDING_MAX:
                queue.put_nowait(None)

    def route(self, silence: Callable[[str], str]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        """The page: a header line, then a line per sync until the listener goes; blank lines in between.

        Where the page ends by itself its last line is a Refusal that says why. `silence` says why there will be no sync
        of an HPA, empty if there will: then the page ends so, or is refused.
        """

        async def record(request: web.Request) -> web.StreamResponse:
            key = f"{request.match_info['namespace']}/{request.match_info['name']}"
            if problem := silence(key):
                return _refused(404, problem)
            if sum(map(len, self._listeners.values())) >= LISTENERS_MAX:
                return _refused(429, f"{LISTENERS_MAX} recordings are under way already")
            listener = _Listener(self._source.since(self._now()), asyncio.Queue())
            self._listeners.setdefault(key, []).append(listener)
            try:
                answer = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
                await answer.prepare(request)
                await answer.write(listener.source.header(hpa=key))
                async for line in self._lines(listener.queue, lambda: silence(key)):
                    async with taking(request, self._unread_max_s):
                        await answer.write(line)
            finally:
                # Its place and its lines are for others.
                self._listeners[key].remove(listener)
                if not self._listeners[key]:
                    del self._listeners[key]
            return answer

        return record

    async def _lines(self, queue: asyncio.Queue[bytes | None], silence: Callable[[], str]) -> AsyncIterator[bytes]:
        """Lines as they come; at last, where there will be no more, why."""
        ending = ""
        while not ending:
            line = await self._next(queue)
            if line is None:
                ending = f"{PENDING_MAX} syncs were waiting to be read"
            elif line != BLANK or not (ending := silence()):
                yield line
        yield msgspec.json.encode(Refusal(ending)) + b"\n"

    async def _next(self, queue: asyncio.Queue[bytes | None]) -> bytes | None:
        """The next line, None at the end; a blank one where there is none for long."""
        try:
            return await asyncio.wait_for(queue.get(), self._silence_s)
        except TimeoutError:
            return BLANK


def _refused(status: int, problem: str) -> web.Response:
    return web.json_response({"error": problem}, status=status)
