"""The whole spine: watch → cache → queue → workers → reconcile, for two hundred HPAs over simulated minutes."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec
import pytest
from structlog.testing import capture_logs

from controller.arrivals import Arrivals
from controller.cache import resync_forever
from controller.decide import selectors
from controller.decide.observed import ReadFailure
from controller.decide.status import Status
from controller.delay_queue import DelayQueue
from controller.ports import (
    Bookmark,
    Page,
    Put,
    Rejected,
    Removed,
    ResourceQuestion,
    Unreachable,
    WatchedAutoscaler,
    WatchEvent,
)
from controller.watch import Watch
from controller.worker import Workers
from tests.spine.objects import autoscaler, scale
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.tasks import now_s, others, settle
from tests.spine.world import LoopClock

pytestmark = pytest.mark.looptime

HPAS: Final = 200
NAMESPACES: Final = 10
CONCURRENCY: Final = 5


class Shelf:
    """The port `ListWatch` for HPAs: what the API server has, told to one watch at a time."""

    def __init__(self) -> None:
        self.items: dict[str, WatchedAutoscaler] = {}
        self.lists = 0
        self._version = 1
        self._stream: asyncio.Queue[WatchEvent[WatchedAutoscaler] | Exception] = asyncio.Queue()

    def put(self, watched: WatchedAutoscaler) -> None:
        self._version += 1
        stored = msgspec.structs.replace(watched, version=str(self._version))
        self.items[watched.key] = stored
        self._stream.put_nowait(Put(stored, stored.version))

    def delete(self, key: str) -> None:
        self._version += 1
        del self.items[key]
        self._stream.put_nowait(Removed(key, str(self._version)))

    def store_status(self, written: WatchedAutoscaler, status: Status) -> None:
        if written.key in self.items:
            self.put(msgspec.structs.replace(self.items[written.key], status=status))

    def cut(self) -> None:
        self._stream.put_nowait(Unreachable("connection reset"))

    async def list(self, limit: int, token: str) -> Page[WatchedAutoscaler]:  # noqa: ARG002 - there is one page
        self.lists += 1
        return Page(list(self.items.values()), str(self._version))

    async def watch(
        self, version: str, timeout_s: float, take: Callable[[WatchEvent[WatchedAutoscaler]], None], *, initial: bool
    ) -> None:
        if initial:
            raise Rejected("no streaming lists here", 422)
        take(Bookmark(version))
        while True:
            try:
                # Not wait_for: in Python 3.11 it swallows a cancellation that comes together with an event.
                async with asyncio.timeout(min(timeout_s, 60)):
                    event = await self._stream.get()
            except TimeoutError:
                take(Bookmark(str(self._version)))
                continue
            if isinstance(event, Exception):
                raise event
            if int(event.version) > int(version):  # what came before the list is in it
                take(event)


class Spine:
    """A stage with everything in front of it; its shelf is its API server's."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.stage = stage = Stage()
        self.shelf = Shelf()
        # A status that is written comes back by the watch, and only by it.
        stage.statuses.observers[:] = [self.shelf.store_status]
        self.queue = DelayQueue(loop.time)
        stage.autoscalers.observe(
            Arrivals(self.queue, stage.rivals, stage.numbers, LoopClock(), loop.time, stage.schedule)
        )
        self.watch = Watch("autoscalers", self.shelf, stage.autoscalers, random=lambda: 0.0, instruments=stage.numbers)
        self.workers = Workers(
            self.queue,
            stage.reconciler.reconcile,
            CONCURRENCY,
            schedule=stage.schedule,
            instruments=stage.numbers,
        )
        self.working: asyncio.Task[None] | None = None

    def populate(self) -> list[str]:
        """HPAs of Deployments with two replicas that use what they should; gives their keys."""
        keys = []
        for number in range(HPAS):
            name, namespace = f"web-{number}", f"team-{number % NAMESPACES}"
            watched = autoscaler(name=name, namespace=namespace)
            self.stage.add(watched, scale(2, selector=f"app={name}"))
            self.stage.uses(100, 100, name=name, namespace=namespace)
            self.stage.autoscalers.remove(watched.key)  # only its watch may fill the cache
            self.stage.rivals.unregister(namespace, name)
            self.shelf.put(watched)
            keys.append(watched.key)
        self.stage.numbers.autoscalers = 0
        return keys

    def read_takes(self, key: str, seconds: float) -> None:
        """Let the metrics of one HPA come late."""
        namespace, _, name = key.partition("/")
        self.stage.metrics.read_s[ResourceQuestion(namespace, selectors.parse(f"app={name}"))] = seconds


@asynccontextmanager
async def running_spine() -> AsyncIterator[Spine]:
    """A spine at work on an empty cluster; at its end no task is left."""
    before = others()
    spine = Spine()
    tasks = [
        asyncio.create_task(spine.watch.run()),
        asyncio.create_task(resync_forever(spine.stage.autoscalers, PERIOD_S)),
    ]
    spine.working = asyncio.create_task(spine.workers.run())
    try:
        yield spine
    finally:
        spine.queue.close()
        await asyncio.wait_for(spine.working, 600)
        for task in tasks:
            task.cancel()
        endings = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(ending, asyncio.CancelledError) for ending in endings), endings
    assert others() == before, "tasks outlive the spine"


async def test_every_hpa_is_synced_every_period_and_none_is_in_two_hands() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        await asyncio.sleep(300)
        numbers = spine.stage.numbers
        assert set(numbers.started) == set(keys)
        assert numbers.doubled == []
        assert numbers.autoscalers == HPAS
        for times_s in numbers.started.values():
            gaps_s = [after_s - before_s for before_s, after_s in itertools.pairwise(times_s)]
            assert len(times_s) >= 300 / (1.04 * PERIOD_S) - 1
            assert all(0.96 * PERIOD_S - 0.01 <= gap_s <= 1.04 * PERIOD_S + 0.01 for gap_s in gaps_s)
        # One status write each, whose echo makes nobody due early.
        assert spine.stage.statuses.writes == HPAS


async def test_slow_metrics_of_some_delay_only_those() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        slow, quick = set(keys[:50]), set(keys[50:])
        for key in slow:
            spine.read_takes(key, 40.0)
        await asyncio.sleep(300)
        started = spine.stage.numbers.started
        assert min(len(started[key]) for key in quick) >= 17
        assert max(len(started[key]) for key in slow) <= 300 / 40 + 1
        assert min(len(started[key]) for key in slow) >= 5
        assert spine.stage.numbers.doubled == []


async def test_rescales_reach_every_target_while_everything_else_goes_on() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        await asyncio.sleep(60)
        for key in keys[::2]:
            namespace, _, name = key.partition("/")
            spine.stage.uses(200, 200, name=name, namespace=namespace)
        spine.stage.scales.write_s = 0.05
        await asyncio.sleep(2 * PERIOD_S)
        for number, key in enumerate(keys):
            namespace, _, name = key.partition("/")
            assert spine.stage.scales.replicas(namespace, name) == (2 if number % 2 else 4)


async def test_a_bug_in_one_sync_leaves_the_others_alone_and_is_tried_again() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        spine.stage.statuses.faults.extend(RuntimeError("a bug") for _ in range(30))
        with capture_logs() as logs:
            await asyncio.sleep(300)
        assert [line["event"] for line in logs].count("sync failed unexpectedly") == 30
        assert set(spine.stage.statuses.stored) == set(keys)
        assert min(map(len, spine.stage.numbers.started.values())) >= 17


async def test_of_deleted_hpas_nothing_remains() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        await asyncio.sleep(60)
        for key in keys:
            spine.shelf.delete(key)
        await asyncio.sleep(2 * PERIOD_S)
        stage = spine.stage
        assert (len(spine.queue), spine.queue.in_hand, len(stage.autoscalers)) == (0, 0, 0)
        assert [stage.history(key) for key in keys] == [None] * HPAS
        assert stage.numbers.autoscalers == 0
        # Not even of the workers' side: done syncs are dropped, the queue's heap has run dry.
        assert (spine.workers._syncs, spine.queue._heap) == (set(), [])
        assert not stage.rivals._namespaces


async def test_many_minutes_of_work_leave_the_queue_no_larger() -> None:
    async with running_spine() as spine:
        spine.populate()
        await asyncio.sleep(300)
        sizes = []
        for _ in range(3):
            await asyncio.sleep(150)
            sizes.append(len(spine.queue._heap))
        assert max(sizes) <= 3 * HPAS, "each key has one entry, and few that were superseded"


async def test_a_lost_connection_stops_nothing_but_the_news() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        await asyncio.sleep(60)
        spine.shelf.cut()
        await settle()
        assert not spine.watch.liveness.alive
        assert len(spine.stage.autoscalers) == HPAS
        spine.shelf.delete(keys[0])
        await asyncio.sleep(2)
        assert spine.watch.liveness.alive
        assert spine.shelf.lists == 1
        assert len(spine.stage.autoscalers) == HPAS - 1


async def test_closing_finishes_what_is_in_hand() -> None:
    async with running_spine() as spine:
        keys = spine.populate()
        for key in keys:
            spine.read_takes(key, 2.0)
        await asyncio.sleep(PERIOD_S + 1)
        in_hand = spine.queue.in_hand
        assert in_hand > 0
        began_s = now_s()
        spine.queue.close()
        assert spine.working is not None
        await asyncio.wait_for(spine.working, 60)
        assert now_s() - began_s < 2.5
        assert len(spine.stage.statuses.stored) == in_hand
        assert not [reading for reading in spine.stage.metrics.answers.values() if isinstance(reading, ReadFailure)]
