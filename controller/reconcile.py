"""One sync of one HPA: read scale → gather → decide → write scale → status → events (§4, §13, §14).

What is decided, and what follows from a write's success or failure, comes from `decide`; this module does the reading
and writing in between and keeps each HPA's history.
"""

import asyncio
import math
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec
import structlog
from msgspec.structs import replace

from controller.accounting import count_metrics, count_sync
from controller.backoff import Random
from controller.cache import Cache
from controller.decide import events
from controller.decide.decision import conclude, decide, rescaled
from controller.decide.events import Event
from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.observed import Observation, ReadFailure, Scale
from controller.decide.result import Conclusion, Decision, Write, WriteFailed
from controller.decide.spec import Autoscaler, Settings
from controller.delay_queue import Due
from controller.gather import Gathered, Gatherer
from controller.observers import tell
from controller.ports import (
    SCALE_FIRST,
    STATUS_SECOND,
    ApiError,
    Clock,
    EventSink,
    Instruments,
    Leadership,
    Mandate,
    NotLeading,
    NotMandated,
    NotSent,
    Past,
    ScaleReading,
    Scales,
    StatusWriter,
    Sync,
    SyncObserver,
    Turn,
    WatchedAutoscaler,
)
from controller.scaling import Scaling, TargetChanged
from controller.schedule import Schedule

ROUNDS_MAX: Final = 5
"""How often one sync decides at most: each further time the target had changed under it."""

ALIVE_AGAIN_PERIODS: Final = 0.25
"""How soon an HPA is due again that could not be synced because a watch was lost; most are back within a second."""

_log = structlog.get_logger(__name__)


class _NotAlive(Exception):
    """A cache that decisions rest on is not alive."""


class _SpecChanged(NotSent):
    """The HPA no longer says what the sync began with."""


class _Memory(msgspec.Struct, gc=False):
    """What is remembered of an HPA between its syncs; `term` is the leadership under which it was last synced."""

    history: History
    term: int


class _Decided(msgspec.Struct, frozen=True, gc=False):
    """A decision, from what and when it was made, and its write's result; None when nothing was to be written."""

    decision: Decision
    write: Write | None
    gathered: Gathered
    now: Now


class Reconciler:
    """Reconciles keys; a key must never be in two hands (the queue sees to that), different keys may."""

    def __init__(
        self,
        *,
        autoscalers: Cache[WatchedAutoscaler],
        alive: Callable[[str], bool],
        scales: Scales,
        gatherer: Gatherer,
        statuses: StatusWriter,
        sink: EventSink,
        leadership: Leadership,
        mandate: Mandate,
        clock: Clock,
        instruments: Instruments,
        random: Random,
        settings: Settings,
        schedule: Schedule,
        observers: tuple[SyncObserver, ...] = (),
        past: Past | None = None,
    ) -> None:
        """`alive`: whether the caches are alive on which decisions about a namespace's HPAs rest; if not none is made.

        `past` None: each term of leadership begins with nothing remembered, as upstream does (§2.5).
        """
        self._autoscalers = autoscalers
        self._alive = alive
        self._scales = scales
        self._scaling = Scaling(scales, random)
        self._gatherer = gatherer
        self._statuses = statuses
        self._sink = sink
        self._leadership = leadership
        self._mandate = mandate
        self._clock = clock
        self._instruments = instruments
        self._settings = settings
        self._schedule = schedule
        self._observers = observers
        self._past = past
        self._memories: dict[str, _Memory] = {}
        self._put_off: set[str] = set()

    async def reconcile(self, due: Due, turn: Turn) -> float | None:
        """One sync. Gives the loop time of the next one, or None when the HPA is gone (§3.4, §3.6)."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        watched = self._autoscalers.get(due.key)
        if watched is None:
            self._memories.pop(due.key, None)
            self._put_off.discard(due.key)
            _log.info("HPA has been deleted", hpa=due.key)
            return None
        soon_s = math.inf
        try:
            await self._sync(watched, turn)
            self._put_off.discard(due.key)
        except _SpecChanged:
            self._instruments.sync_postponed("spec-changed")
            soon_s = due.due_s  # it is still due, by what it says now
        except _NotAlive:
            self._instruments.sync_postponed("cache-not-alive")
            soon_s = loop.time() + ALIVE_AGAIN_PERIODS * self._schedule.period_s
        except NotLeading:
            self._instruments.sync_postponed("not-leading")
        due_s = self._schedule.next_due_s(due.key, began_s, loop.time())
        if soon_s == math.inf or due.key in self._put_off:
            return due_s  # what lasts must not bring thousands together, nor one HPA back again and again
        self._put_off.add(due.key)
        return min(due_s, soon_s)

    async def _sync(self, watched: WatchedAutoscaler, turn: Turn) -> None:
        began_s = asyncio.get_running_loop().time()
        term = self._leadership.term
        self._check(term, watched)
        if watched.problem is not None:
            _log.error("HPA cannot be understood", hpa=watched.key, error=watched.problem)
            self._instruments.reconciled("none", "internal", 0.0)
            return
        autoscaler = Autoscaler(watched.namespace, watched.name, watched.spec, self._settings)
        memory = self._memories.get(watched.key)
        # What was remembered under an earlier term is as good as forgotten: somebody else has decided since (§2.5).
        first = memory is None or memory.term != term
        history = History() if memory is None or first else memory.history
        rescales = self._mandate.rescales(watched.key)
        for rescale in rescales:
            history = rescaled(autoscaler, history, rescale.change, rescale.at_ns)
        reading = await self._scales.read(watched.namespace, watched.spec.target, live=first)
        taken_up = False
        if self._past is not None and history.recommendations is None and isinstance(reading.scale, Scale):
            history = await self._past.resumed(watched, reading.scale, history)
            taken_up = history.recommendations is not None
        decided = await self._decide(term, autoscaler, watched, history, reading, turn)
        decision, write = decided.decision, decided.write
        count_metrics(self._instruments, autoscaler, watched, decision, decided.gathered)
        concluded = self._clock.now()
        conclusion = conclude(autoscaler, watched.status, decision, write, concluded)
        self._memories[watched.key] = _Memory(conclusion.history, term)
        self._mandate.adopted(watched.key, rescales)
        withheld = self._mandate.withheld(watched)
        observed = decided.gathered.observation
        sync = Sync(watched, observed, history, decided.now, decision, write, conclusion, concluded, withheld, taken_up)
        tell(self._observers, sync.autoscaler.key, sync)
        status_error = None
        # What was done is told even if another controller has come in between.
        if withheld is None or write is not None:
            self._emit(watched, conclusion.events)
        if withheld is None:
            status_error = await self._write_status(term, watched, conclusion, turn, yields=_unread(observed))
            self._emit(watched, conclusion.events_after_status)
        duration_s = asyncio.get_running_loop().time() - began_s
        count_sync(self._instruments, watched, observed, decision, conclusion, status_error, duration_s)

    async def _decide(
        self,
        term: int,
        autoscaler: Autoscaler,
        watched: WatchedAutoscaler,
        history: History,
        reading: ScaleReading,
        turn: Turn,
    ) -> _Decided:
        """Gather, decide and write the scale; again, from the same history, each time the target changes meanwhile."""
        loop = asyncio.get_running_loop()
        writes, aged = 0, False
        for number in range(1, ROUNDS_MAX + 1):
            if aged:
                reading = await self._scales.read(watched.namespace, watched.spec.target, live=reading.live)
            # What the list of recommendations begins with is older than the decision, and out of a window of 0 (§4.5).
            read_ns = self._clock.now().monotonic_ns if history.recommendations is None else None
            gathered = await self._gatherer.gather(autoscaler, watched.status, reading.scale, watched.metadata)
            if read_ns is not None:
                gathered = replace(gathered, observation=replace(gathered.observation, scale_read_ns=read_ns))
            gathered_s = loop.time()
            async with turn(SCALE_FIRST, yields=_unread(gathered.observation)):
                self._check(term, watched)
                if self._outdated(watched, self._autoscalers.get(watched.key)):
                    raise _SpecChanged  # under overload it may have begun periods ago
                aged = loop.time() - gathered_s > self._schedule.period_s and number < ROUNDS_MAX
                if aged:
                    continue  # the wait for a turn made the observation old, and the scale with it
                now = self._clock.now()
                decision = decide(autoscaler, gathered.observation, history, now)
                if not decision.rescales or decision.desired is None or self._mandate.withheld(watched) is not None:
                    return _Decided(decision, None, gathered, now)
                try:
                    write = await self._scaling.write(
                        watched,
                        reading,
                        decision.desired,
                        writes,
                        check=partial(self._check, term, watched),
                        may_send=partial(self._may_send, term, watched),
                    )
                    return _Decided(decision, write, gathered, now)
                except TargetChanged as changed:
                    reading, writes = changed.reading, changed.writes
        failed = WriteFailed("the target kept changing while it was being scaled")
        return _Decided(decision, failed, gathered, now)

    async def _write_status(
        self, term: int, watched: WatchedAutoscaler, conclusion: Conclusion, turn: Turn, *, yields: bool
    ) -> str | None:
        """Store the status if it changed (§14.4); gives the error of a failed write (§14.5)."""
        if not conclusion.status_changed:
            return None
        async with turn(STATUS_SECOND, yields=yields):
            try:
                may_send = partial(self._may_send, term, watched, status=True)
                await self._statuses.write(watched, conclusion.status, may_send)
            except NotMandated:
                return None
            except ApiError as error:
                self._sink.emit(watched, events.status_not_written(str(error)))
                return f"failed to update status for {watched.name}: {error}"
            except NotLeading as error:
                # The scale may have been written before: that must still be counted and logged.
                return f"the status of {watched.name} was not written: {error}"
        return None

    def _may_send(self, term: int, watched: WatchedAutoscaler, *, status: bool = False) -> None:
        """Return if what a sync of this term has decided may go out at this moment; `status`: it is one.

        Raises:
            NotSent: another term has begun, or the HPA is gone or not ours to write.
            _SpecChanged: of a scale that it is for another spec, so for another target perhaps.
        """
        self._check_term(term)
        present = self._autoscalers.get(watched.key)
        if not watched.lives_on_in(present):
            raise NotMandated("the HPA has been deleted")
        withheld = self._mandate.withheld(watched)
        if withheld is not None:
            raise NotMandated(withheld.message)
        if status:
            self._mandate.sending(watched)
        elif self._outdated(watched, present):
            raise _SpecChanged

    def _outdated(self, watched: WatchedAutoscaler, present: WatchedAutoscaler | None) -> bool:
        """Whether a sync should begin anew: the first time for whatever has changed, then only for another target."""
        if present is None or not watched.changed_in(present):
            return False
        return watched.key not in self._put_off or present.spec.target != watched.spec.target

    def _emit(self, watched: WatchedAutoscaler, emitted: tuple[Event, ...]) -> None:
        for event in emitted:
            self._sink.emit(watched, event)

    def _check(self, term: int, watched: WatchedAutoscaler) -> None:
        """Return if a sync that began in this term of leadership may go on.

        Raises:
            NotLeading: somebody else may have decided since; what the sync knows is of before that.
            _NotAlive: a cache is not alive, and what it holds may be long past.
        """
        self._leadership.check()
        self._check_term(term)
        if not self._alive(watched.namespace):
            raise _NotAlive

    def _check_term(self, term: int) -> None:
        if self._leadership.term != term:
            raise NotLeading("another term has begun")


def _unread(observed: Observation) -> bool:
    """Whether no metric could be read. Many HPAs learn that at once, and those that can be scaled go before them."""
    return bool(observed.readings) and all(isinstance(reading, ReadFailure) for reading in observed.readings)
