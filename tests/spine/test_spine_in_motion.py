"""The whole spine while its surroundings change: HPAs come and go, phases are reached, the Lease is lost."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import msgspec
import pytest

from controller.arrivals import Arrivals
from controller.cache import resync_forever
from controller.decide import selectors
from controller.decide.status import Status
from controller.delay_queue import DelayQueue
from controller.pod_cache import WatchedPod
from controller.ports import Bookmark, Page, Put, Removed, ResourceQuestion, WatchedAutoscaler, WatchEvent
from controller.watch import Watch
from controller.worker import Workers
from tests.spine.objects import autoscaler, scale, usage, watched_pod
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.tasks import now_s, others, settle
from tests.spine.world import LoopClock

pytestmark = pytest.mark.looptime

T = TypeVar("T")

REPLICAS = 3
READ_S = 0.2


class Feed(Generic[T]):
    """The port `ListWatch` for objects of any kind: what is there at first, then what happens."""

    def __init__(self, items: list[T]) -> None:
        self._items = items
        self._events: asyncio.Queue[Put[T] | Removed] = asyncio.Queue()
        self._version = 1

    def send(self, event: Put[T] | Removed) -> None:
        """The server numbers what happens."""
        self._version += 1
        self._events.put_nowait(msgspec.structs.replace(event, version=str(self._version)))

    async def list(self, limit: int, token: str) -> Page[T]:  # noqa: ARG002 - the port's signature
        return Page(self._items, "1")

    async def watch(
        self, version: str, timeout_s: float, take: Callable[[WatchEvent[T]], None], *, initial: bool
    ) -> None:
        end_s = now_s() + timeout_s
        take(Bookmark(version))
        if initial:
            for item in self._items:
                take(Put(item, "1"))
            take(Bookmark("1", initial_end=True))
        while now_s() < end_s:
            try:
                take(await asyncio.wait_for(self._events.get(), 60))
            except TimeoutError:
                take(Bookmark(str(self._version)))


class Spine:
    """Everything between the watches and the writes, put together as the program does it."""

    def __init__(self, autoscalers: list[WatchedAutoscaler], concurrency: int = 5) -> None:
        loop = asyncio.get_running_loop()
        self.stage = Stage()
        self.stage.scales.read_s = self.stage.scales.write_s = READ_S
        self.queue = DelayQueue(loop.time, beat_s=0.01)
        rivals, numbers, schedule = self.stage.rivals, self.stage.numbers, self.stage.schedule
        arrivals = Arrivals(self.queue, rivals, numbers, LoopClock(), loop.time, schedule)
        self.stage.autoscalers.observe(arrivals)
        # Statuses come back through the watch here, a moment after they were written.
        self.stage.statuses.observers[:] = [self._stored]
        self.feed = Feed(autoscalers)
        pods = [pod for watched in autoscalers for pod in self._target(watched)]
        self.watches: list[Watch[WatchedAutoscaler] | Watch[WatchedPod]] = [
            Watch(
                "horizontalpodautoscalers",
                self.feed,
                self.stage.autoscalers,
                random=lambda: 0.5,
                instruments=self.stage.numbers,
            ),
            Watch("pods", Feed(pods), self.stage.pods, random=lambda: 0.5, instruments=self.stage.numbers),
        ]
        self.workers = Workers(
            self.queue,
            self.stage.reconciler.reconcile,
            concurrency,
            schedule=schedule,
            instruments=self.stage.numbers,
        )

    def _target(self, watched: WatchedAutoscaler) -> list[WatchedPod]:
        """A Deployment of ready pods that use what they should, or twice that if the HPA's number is even."""
        namespace, name = watched.namespace, watched.name
        self.stage.scales.put(namespace, name, scale(REPLICAS, selector=f"app={name}", uid=f"uid-of-{name}"))
        used = 200 if busy(watched) else 100
        question = ResourceQuestion(namespace, selectors.parse(f"app={name}"))
        self.stage.metrics.answers[question] = usage(*[used] * REPLICAS, name=name)
        self.stage.metrics.read_s[question] = READ_S
        return [watched_pod(f"{name}-{number}", {"app": name}, namespace=namespace) for number in range(REPLICAS)]

    def _stored(self, written: WatchedAutoscaler, status: Status) -> None:
        version = str(int(written.version) + 1)
        stored = msgspec.structs.replace(written, status=status, version=version)
        asyncio.get_running_loop().call_later(0.01, self.feed.send, Put(stored, version))


@asynccontextmanager
async def under_way(spine: Spine) -> AsyncIterator[asyncio.Task[None]]:
    """Watches first, then workers; everything has ended at the end."""
    before = others()
    background = [asyncio.create_task(watch.run()) for watch in spine.watches]
    for watch in spine.watches:
        await asyncio.wait_for(watch.liveness.wait_synced(), 10)
    background.append(asyncio.create_task(resync_forever(spine.stage.autoscalers, PERIOD_S)))
    working = asyncio.create_task(spine.workers.run())
    try:
        yield working
    finally:
        for task in (working, *background):
            task.cancel()
        endings = await asyncio.gather(working, *background, return_exceptions=True)
    assert [ending for ending in endings if isinstance(ending, Exception)] == []
    assert others() == before, "tasks outlive the spine"


def busy(watched: WatchedAutoscaler) -> bool:
    return int(watched.name.removeprefix("app-")) % 2 == 0


def many(count: int, first: int = 0) -> list[WatchedAutoscaler]:
    """HPAs in twenty namespaces."""
    return [autoscaler(name=f"app-{number}", namespace=f"team-{number % 20}") for number in range(first, first + count)]


def sync_tasks() -> list[str]:
    """The syncs that are still in memory, done or not."""
    gc.collect()
    tasks = [item for item in gc.get_objects() if isinstance(item, asyncio.Task)]
    return [task.get_name() for task in tasks if task.get_name().startswith("sync ")]


async def test_each_hpa_is_scaled_once_and_its_namespace_comes_to_be_synced_together() -> None:
    autoscalers = many(200)
    spine = Spine(autoscalers)
    async with under_way(spine):
        await asyncio.sleep(55 * PERIOD_S)
        accepted = [(write.name, write.before, write.replicas) for write in spine.stage.scales.accepted]
        assert sorted(accepted) == sorted((watched.name, 3, 6) for watched in autoscalers if busy(watched))
        started = spine.stage.numbers.started
        last_s = {watched.key: started[watched.key][-1] % PERIOD_S for watched in autoscalers}
        for namespace in {watched.namespace for watched in autoscalers}:
            phases_s = [last_s[watched.key] for watched in autoscalers if watched.namespace == namespace]
            assert max(phases_s) - min(phases_s) < 0.1
        assert len({round(phase_s) for phase_s in last_s.values()}) >= 8, "the namespaces spread over the period"


async def test_hpas_that_come_are_synced_and_those_that_go_are_forgotten() -> None:
    autoscalers = many(40)
    spine = Spine(autoscalers)
    async with under_way(spine):
        await asyncio.sleep(3.5 * PERIOD_S)
        came_s = now_s()
        gone, come = autoscalers[:10], many(10, first=1000)
        for watched in gone:
            spine.feed.send(Removed(watched.key, "2"))
        for watched in come:
            spine.feed.send(Put(watched, "2"))
        await settle()
        gone_keys = {watched.key for watched in gone}
        synced = {key: len(spine.stage.numbers.started[key]) for key in gone_keys}
        await asyncio.sleep(4 * PERIOD_S)
        started = spine.stage.numbers.started
        assert all(len(started[key]) - synced[key] <= 1 for key in gone_keys), "at most the sync that forgets it"
        assert gone_keys.isdisjoint(spine.stage.reconciler._memories)
        assert all(started[watched.key][0] == pytest.approx(came_s + PERIOD_S, abs=0.02) for watched in come)
        assert spine.stage.numbers.autoscalers == 40
        assert len(spine.queue) + spine.queue.in_hand == 40


async def test_a_lost_lease_stops_all_writes_and_a_new_one_goes_on_where_the_world_is() -> None:
    spine = Spine(many(60))
    spine.stage.election.lose()
    async with under_way(spine):
        await asyncio.sleep(4 * PERIOD_S)
        assert spine.stage.scales.accepted == []
        assert spine.stage.journal.lines == []
        spine.stage.election.win()
        await asyncio.sleep(2 * PERIOD_S)
        assert len(spine.stage.scales.accepted) == 30
