"""What the spine needs of the world, in memory: time, leadership, scales, statuses, events, metrics, numbers.

Every fake implements a protocol of controller.ports. Things that must happen in a certain order leave a line in one
`Journal`.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Final

import msgspec

from controller.decide.events import Event
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import ReadFailure, Reading, Scale, ScaleFailure
from controller.decide.result import Action, Cause
from controller.decide.spec import Reference
from controller.decide.status import Status
from controller.ports import (
    ApiError,
    Conflict,
    NotFound,
    NotLeading,
    Question,
    ScaleReading,
    WatchedAutoscaler,
)
from tests.spine.tasks import now_s

WALL_NS: Final = 1_750_000_000 * NANOSECONDS
MONOTONIC_NS: Final = 5_000_000 * NANOSECONDS

Hook = Callable[[], None]
"""Something that happens in the world while a request is under way."""

Gate = Callable[[], AbstractAsyncContextManager[None]]
"""What a request to an API server passes on its way out."""


class LoopClock:
    """The port `Clock`: both clocks follow the loop's virtual time."""

    def now(self) -> Now:
        passed_ns = round(now_s() * NANOSECONDS)
        return Now(WALL_NS + passed_ns, MONOTONIC_NS + passed_ns)


class Election:
    """The port `Leadership`, won and lost on command."""

    def __init__(self) -> None:
        self.term = 1
        self.tenure: int | None = 1
        self.leading = True

    def check(self) -> None:
        if not self.leading:
            raise NotLeading("the Lease is not ours")

    def lose(self) -> None:
        self.leading = False

    def win(self) -> None:
        self.leading = True
        self.term += 1


class Journal:
    """What was accepted by the world, in order: `scale 5`, `status 3→5`, `event SuccessfulRescale`."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        self.lines.append(line)


class Accepted(msgspec.Struct, frozen=True):
    """A write of a scale that the server has accepted; `before` is the replicas it replaced."""

    at_s: float
    name: str
    before: int
    replicas: int


def slow(wait_s: float) -> Gate:
    """A gate at which everybody waits so long."""

    @asynccontextmanager
    async def gate() -> AsyncIterator[None]:
        await asyncio.sleep(wait_s)
        yield

    return gate


class MemoryScales:
    """The port `Scales`: an API server's scales, and what a watch cache has seen of them."""

    def __init__(self, election: Election, journal: Journal) -> None:
        self.journal = journal
        self.accepted: list[Accepted] = []
        self.attempted_s: list[float] = []
        self.live_reads = 0
        self.read_s = 0.0
        self.write_s = 0.0
        self.gate: Gate = nullcontext
        self.read_failures: deque[ScaleFailure] = deque()
        self.write_faults: deque[Exception] = deque()
        self.while_reading: deque[Hook] = deque()
        self.while_writing: deque[Hook] = deque()
        self._election = election
        self._scales: dict[tuple[str, str], Scale] = {}
        self._cached: dict[tuple[str, str], Scale] = {}
        self._version = 100

    def put(self, namespace: str, name: str, scale: Scale) -> None:
        """Set a target's scale, as its owner does; the server gives it a new version."""
        self._version += 1
        self._scales[namespace, name] = msgspec.structs.replace(scale, version=str(self._version))

    def by_hand(self, namespace: str, name: str, replicas: int) -> None:
        """`kubectl scale`."""
        self.put(namespace, name, msgspec.structs.replace(self._scales[namespace, name], replicas=replicas))

    def delete(self, namespace: str, name: str) -> None:
        """The target is gone."""
        del self._scales[namespace, name]

    def replicas(self, namespace: str, name: str) -> int:
        """What the server has now."""
        return self._scales[namespace, name].replicas

    def cache(self, namespace: str, name: str) -> None:
        """Let the watch cache see the scale as it is now; reads that may come from it do from now on."""
        self._cached[namespace, name] = self._scales[namespace, name]

    async def read(self, namespace: str, target: Reference, *, live: bool) -> ScaleReading:
        key = namespace, target.name
        if not live and key in self._cached:
            return ScaleReading(self._cached[key], live=False)
        async with self.gate():
            return await self._read_live(namespace, target)

    async def _read_live(self, namespace: str, target: Reference) -> ScaleReading:
        key = namespace, target.name
        self.live_reads += 1
        await asyncio.sleep(self.read_s / 2)
        found = self._scales.get(key)
        if self.read_failures:
            return ScaleReading(self.read_failures.popleft(), live=True)
        if self.while_reading:
            self.while_reading.popleft()()
        await asyncio.sleep(self.read_s / 2)
        return ScaleReading(found or ScaleFailure(f"deployments.apps {target.name!r} not found"), live=True)

    async def write(
        self, namespace: str, target: Reference, scale: Scale, replicas: int, may_send: Callable[[], None]
    ) -> None:
        async with self.gate():
            self._election.check()
            may_send()
            await self._write(namespace, target, scale, replicas)

    async def _write(self, namespace: str, target: Reference, scale: Scale, replicas: int) -> None:
        self.attempted_s.append(now_s())
        await asyncio.sleep(self.write_s / 2)
        if self.while_writing:
            self.while_writing.popleft()()
        if self.write_faults:
            raise self.write_faults.popleft()
        before = self._scales.get((namespace, target.name))
        if before is None:
            raise NotFound(f"deployments.apps {target.name!r} not found", 404)
        if (before.uid, before.version) != (scale.uid, scale.version):
            raise conflict()
        self.put(namespace, target.name, msgspec.structs.replace(before, replicas=replicas))
        self.accepted.append(Accepted(now_s(), target.name, before.replicas, replicas))
        self.journal.write(f"scale {replicas}")
        await asyncio.sleep(self.write_s / 2)


class MemoryStatuses:
    """The port `StatusWriter`; `stored` has the last accepted status by key."""

    def __init__(self, election: Election, journal: Journal) -> None:
        self.stored: dict[str, Status] = {}
        self.writes = 0
        self.write_s = 0.0
        self.gate: Gate = nullcontext
        self.faults: deque[Exception] = deque()
        self.observers: list[Callable[[WatchedAutoscaler, Status], None]] = []
        self._election = election
        self._journal = journal

    async def write(self, autoscaler: WatchedAutoscaler, status: Status, may_send: Callable[[], None]) -> None:
        async with self.gate():
            self._election.check()
            may_send()
            await self._write(autoscaler, status)

    async def _write(self, autoscaler: WatchedAutoscaler, status: Status) -> None:
        await asyncio.sleep(self.write_s)
        if self.faults:
            raise self.faults.popleft()
        self.writes += 1
        self.stored[autoscaler.key] = status
        self._journal.write(f"status {status.replicas_current}→{status.replicas_desired}")
        for observer in self.observers:
            observer(autoscaler, status)


class MemorySink:
    """The port `EventSink`."""

    def __init__(self, journal: Journal) -> None:
        self.events: list[tuple[str, Event]] = []
        self._journal = journal

    def emit(self, autoscaler: WatchedAutoscaler, event: Event) -> None:
        self.events.append((autoscaler.key, event))
        self._journal.write(f"event {event.reason}")

    def reasons(self) -> list[str]:
        return [event.reason for _, event in self.events]


class MemoryMetrics:
    """The port `Metrics`: answers by question, each after `read_s`; a question without an answer fails."""

    def __init__(self) -> None:
        self.answers: dict[Question, Reading] = {}
        self.otherwise: Reading = ReadFailure("the metrics API is down")
        self.read_s: dict[Question, float] = {}
        self.raises: dict[Question, BaseException] = {}
        self.gate: Gate = nullcontext
        self.asked: list[Question] = []
        self.while_reading: deque[Hook] = deque()
        self.under_way = 0
        self.under_way_most = 0

    async def read(self, question: Question) -> Reading:
        self.asked.append(question)
        self.under_way += 1
        self.under_way_most = max(self.under_way_most, self.under_way)
        try:
            async with self.gate():
                await asyncio.sleep(self.read_s.get(question, 0.0))
            if self.while_reading:
                self.while_reading.popleft()()
            if question in self.raises:
                raise self.raises[question]
            return self.answers.get(question, self.otherwise)
        finally:
            self.under_way -= 1


class Numbers:
    """The port `Instruments`: everything that was observed."""

    def __init__(self) -> None:
        self.reconciliations: list[tuple[Action, Cause]] = []
        self.computations: list[tuple[Action, Cause, str]] = []
        self.desired: dict[tuple[str, str], int] = {}
        self.autoscalers = 0
        self.postponed: Counter[str] = Counter()
        self.restarts: list[tuple[str, str]] = []
        self.started: dict[str, list[float]] = {}
        self.lags_s: list[float] = []
        self.syncing: set[str] = set()
        self.doubled: list[str] = []

    def reconciled(self, action: Action, cause: Cause, duration_s: float) -> None:
        assert duration_s >= 0
        self.reconciliations.append((action, cause))

    def metric_computed(self, action: Action, cause: Cause, metric_type: str, duration_s: float) -> None:
        assert duration_s >= 0
        self.computations.append((action, cause, metric_type))

    def replicas_desired(self, namespace: str, name: str, replicas: int) -> None:
        self.desired[namespace, name] = replicas

    def autoscalers_counted(self, change: int) -> None:
        self.autoscalers += change

    def sync_started(self, key: str, lag_s: float) -> None:
        self.started.setdefault(key, []).append(now_s())
        self.lags_s.append(lag_s)
        if key in self.syncing:
            self.doubled.append(key)
        self.syncing.add(key)

    def sync_ended(self, key: str, duration_s: float) -> None:
        assert duration_s >= 0
        self.syncing.discard(key)

    def sync_postponed(self, reason: str) -> None:
        self.postponed[reason] += 1

    def watch_restarted(self, resource: str, reason: str) -> None:
        self.restarts.append((resource, reason))


def conflict() -> Conflict:
    """What the API server says to a write for a version that is no longer there."""
    return Conflict("the object has been modified", 409)


def api_error(message: str = "the server is on fire", status: int = 500) -> ApiError:
    """A failure of no particular kind."""
    return ApiError(message, status)
