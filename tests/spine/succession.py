"""One controller after another on the same world: ended properly or killed in the middle of whatever it does."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import ExternalReading, Reading
from controller.decide.spec import Settings
from controller.delay_queue import Due
from controller.gather import Gatherer
from controller.keeper import Keeper
from controller.ports import (
    ApiError,
    ExternalQuestion,
    Question,
    StoredShard,
    Sync,
    WatchedAutoscaler,
)
from controller.precedence import Turns
from controller.reconcile import Reconciler
from tests.spine.objects import scale
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.tasks import now_s, turn_of
from tests.spine.world import WALL_NS, Election, MemoryMetrics, conflict

KEEP_INTERVAL_S: Final = 10.0
EXACT: Final = Settings(tolerance=0.0)


class MemoryHistories:
    """The port `HistoryStore`: objects with versions.

    `faults` are met by the next requests, in order; those that are `unreadable` are not given out, and those that are
    `unwritable` not replaced.
    """

    def __init__(self) -> None:
        self.objects: dict[int, tuple[bytes, int]] = {}
        self.saves: list[tuple[float, int, int]] = []
        self.faults: deque[Exception] = deque()
        self.unreadable: set[int] = set()
        self.unwritable: set[int] = set()
        self.delay_s = 0.05
        self.before_save: deque[Callable[[], None]] = deque()
        self._version = 0

    async def load(self, number: int) -> StoredShard:
        await self._on_the_way()
        if number in self.unreadable:
            raise ApiError("it may not be read", 403)
        if number not in self.objects:
            return StoredShard(None, "")
        body, version = self.objects[number]
        return StoredShard(body, str(version))

    async def save(self, number: int, body: bytes, version: str) -> str:
        await self._on_the_way()
        if number in self.unwritable:
            raise ApiError("it may not be written", 403)
        if self.before_save:
            self.before_save.popleft()()
        _, present = self.objects.get(number, (b"", ""))
        if str(present) != version:
            raise conflict()
        self.saves.append((now_s(), number, len(body)))
        return self.put(number, body)

    def put(self, number: int, body: bytes) -> str:
        """Let somebody else write an object."""
        self._version += 1
        self.objects[number] = (body, self._version)
        return str(self._version)

    async def _on_the_way(self) -> None:
        await asyncio.sleep(self.delay_s)
        if self.faults:
            raise self.faults.popleft()


def unavailable() -> ApiError:
    return ApiError("the server is not there", 503)


class ProcessClock:
    """The port `Clock` of one machine: all have the same wall time, up to `ahead_s`."""

    def __init__(self, booted_ns: int, ahead_s: float = 0.0) -> None:
        self._booted_ns = booted_ns
        self._ahead_ns = round(ahead_s * NANOSECONDS)

    def now(self) -> Now:
        passed_ns = round(now_s() * NANOSECONDS)
        return Now(WALL_NS + self._ahead_ns + passed_ns, self._booted_ns + passed_ns)


class Demand(MemoryMetrics):
    """The port `Metrics`: an external metric by name, as it is at the moment of reading."""

    def __init__(self) -> None:
        super().__init__()
        self.curves: dict[str, Callable[[float], int]] = {}

    async def read(self, question: Question) -> Reading:
        await asyncio.sleep(0.2)
        assert isinstance(question, ExternalQuestion)
        return ExternalReading((self.curves[question.metric.name](now_s()) * 1_000,))


class Asked(msgspec.Struct, frozen=True):
    """What the metrics of an HPA asked for, in a sync of whichever controller."""

    at_s: float
    name: str
    replicas: int


class Succession:
    """The world, and at most one controller at work in it. With `keep` histories are handed on."""

    def __init__(self, *, keep: bool, settings: Settings = EXACT) -> None:
        self.stage = Stage(settings)
        self.stage.scales.read_s, self.stage.scales.write_s, self.stage.statuses.write_s = 0.2, 0.6, 0.4
        self.histories = MemoryHistories()
        self.demand = Demand()
        self.asked: list[Asked] = []
        self.tenure = 0
        self.keeper: Keeper | None = None
        self.election = Election()
        self._keep = keep
        self._settings = settings
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = asyncio.Event()

    def add(self, watched: WatchedAutoscaler, replicas: int, curve: Callable[[float], int]) -> None:
        """An HPA on the external metric of its own name."""
        self.stage.add(watched, scale(replicas, selector=f"app={watched.name}"))
        self.demand.curves[watched.name] = curve

    def start(self, first_s: float = PERIOD_S, ahead_s: float = 0.0) -> None:
        """A new controller, which makes its first syncs after a while."""
        self.tenure += 1
        self.election = Election()
        self.election.tenure = self.tenure
        clock = ProcessClock(self.tenure * 7_919 * NANOSECONDS, ahead_s)
        stage = self.stage
        keeper = None
        if self._keep:
            keeper = Keeper(
                self.histories,
                stage.autoscalers,
                self.election,
                clock,
                lambda: 0.5,
                self._settings,
                PERIOD_S,
                KEEP_INTERVAL_S,
            )
            stage.autoscalers.observe(keeper)
        self.keeper = keeper
        reconciler = Reconciler(
            autoscalers=stage.autoscalers,
            alive=lambda _: stage.ground.alive,
            scales=stage.scales,
            gatherer=Gatherer(stage.pods, self.demand, stage.rivals),
            statuses=stage.statuses,
            sink=stage.sink,
            leadership=self.election,
            mandate=stage.company,
            clock=clock,
            instruments=stage.numbers,
            random=lambda: 0.5,
            settings=self._settings,
            schedule=stage.schedule,
            observers=(self._observe,) if keeper is None else (self._observe, keeper),
            past=keeper,
        )
        self._stopping = asyncio.Event()
        keys = [watched.key for watched in stage.autoscalers]
        self._tasks = [asyncio.create_task(self._work(reconciler, key, first_s)) for key in keys]
        if keeper is not None:
            self._tasks.append(asyncio.create_task(keeper.run()))

    async def stop(self) -> None:
        """SIGTERM: finish what is in hand, save, end."""
        self._stopping.set()
        count = len(self._tasks) - (self.keeper is not None)
        await asyncio.gather(*self._tasks[:count])
        if self.keeper is not None:
            await self.keeper.hand_over(whole=True)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL, wherever it is."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    async def _work(self, reconciler: Reconciler, key: str, first_s: float) -> None:
        turns = Turns(5)
        due_s = now_s() + first_s
        while not self._stopping.is_set():
            try:
                async with asyncio.timeout_at(due_s):
                    await self._stopping.wait()
            except TimeoutError:
                due = Due(key, due_s)
                await reconciler.reconcile(due, turn_of(turns, due_s, []))
            due_s += PERIOD_S

    def _observe(self, sync: Sync) -> None:
        if sync.decision.stabilization is not None:
            self.asked.append(Asked(now_s(), sync.autoscaler.name, sync.decision.stabilization.desired))


def waves(middle: int, height: int, period_s: float, gusts: tuple[float, ...]) -> Callable[[float], int]:
    """A load that rises and falls, with gusts that come and go every 20 s."""

    def at(time_s: float) -> int:
        gust = gusts[int(time_s / 20) % len(gusts)]
        return max(1, round(middle + height * math.sin(time_s / period_s * 2 * math.pi) + gust * height))

    return at
