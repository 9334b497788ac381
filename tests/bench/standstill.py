"""How long the loop stands still at most, for what a large cluster makes it do at once; 50 ms is the goal."""

import asyncio
import gc
import time
from typing import Final

import aiohttp
from msgspec import structs

from controller.arrivals import Arrivals
from controller.cache import TOLD_PER_ITERATION, Cache
from controller.clock import SystemClock
from controller.collector import COLLECT_AFTER, freeze_young
from controller.decide import selectors
from controller.delay_queue import DelayQueue
from controller.kube.list_watch import decode_watched_pod
from controller.pod_cache import PodCache, WatchedPod
from controller.ports import WatchedAutoscaler
from controller.rivals import Rivals
from controller.schedule import Schedule
from controller.telemetry.exposition import metrics_route
from controller.telemetry.instruments import PrometheusInstruments
from controller.telemetry.loop_lag import LoopLag
from controller.telemetry.server import Listener
from controller.worker import Workers
from tests.bench import objects, population
from tests.bench.calibration import REPEATS
from tests.bench.loop_held import HELD_GOAL_MS, loop_held
from tests.bench.measured import Figure
from tests.bench.memory import AUTOSCALERS, PODS
from tests.spine.objects import autoscaler, list_anew, scale
from tests.spine.stage import Stage

PERIOD_S: Final = 15.0
STANDSTILL_S: Final = 0.2


def figures() -> list[Figure]:
    """Each in a loop of its own."""
    return [
        *asyncio.run(_syncs()),
        asyncio.run(_exposition()),
        asyncio.run(_new_pods()),
        *asyncio.run(_new_autoscalers()),
        asyncio.run(_watched()),
        *_collections(),
    ]


async def _syncs() -> list[Figure]:
    """All HPAs due in the same moment, with everything that they ask for at hand."""
    loop = asyncio.get_running_loop()
    stage = Stage()
    for number in range(AUTOSCALERS):
        name, namespace = f"web-{number}", f"team-{number % population.NAMESPACES}"
        stage.add(autoscaler(name=name, namespace=namespace), scale(2, selector=f"app={name}", uid=name))
        stage.scales.cache(namespace, name)
        stage.uses(100, 100, name=name, namespace=namespace)
    stage.reconciler._observers = ()  # the stage remembers every sync, which is not what is measured
    keys = [watched.key for watched in stage.autoscalers]
    queue = DelayQueue(loop.time)
    workers = Workers(
        queue,
        stage.reconciler.reconcile,
        5,
        schedule=stage.schedule,
        instruments=stage.numbers,
    )
    working = asyncio.create_task(workers.run())

    async def once() -> None:
        goal = len(stage.numbers.lags_s) + len(keys)
        due_s = loop.time() + 1.0
        for number, key in enumerate(keys):
            queue.add(key, due_s)
            if number % 100 == 0:
                await asyncio.sleep(0)
        while len(stage.numbers.lags_s) < goal or queue.in_hand:  # noqa: ASYNC110 - bounded by the work there is
            await asyncio.sleep(0.001)

    await once()  # the first one writes statuses
    figure = await loop_held(f"{AUTOSCALERS:,} syncs that are due at once", once)
    queue.close()
    await working
    return [figure]


async def _exposition() -> Figure:
    instruments = PrometheusInstruments(time.monotonic)
    for number in range(AUTOSCALERS):
        instruments.replicas_desired(f"team-{number % population.NAMESPACES}", f"web-{number}", number)
    listener = Listener("127.0.0.1:0", {"/metrics": metrics_route(instruments.registry)})
    await listener.start()
    try:
        async with aiohttp.ClientSession() as http:

            async def scrape() -> None:
                async with http.get(f"http://127.0.0.1:{listener.port}/metrics") as answer:
                    async for _ in answer.content.iter_any():
                        pass

            return await loop_held(f"/metrics of {AUTOSCALERS:,} HPAs", scrape)
    finally:
        await listener.stop()


async def _new_pods() -> Figure:
    """A new list of all pods, in one namespace, put in the place of the old one, and looked at."""
    pod, _ = decode_watched_pod(objects.pod("team", "app", 0))
    cache, selector = PodCache(), selectors.parse("app=web-0")

    async def relist() -> None:
        listing = cache.listing()
        for number in range(AUTOSCALERS):
            await asyncio.sleep(0)
            labels = {**pod.pod.labels, "app": f"web-{number}"}
            for index in range(PODS // AUTOSCALERS):
                listing.put(WatchedPod("team", structs.replace(pod.pod, name=f"web-{number}-{index}", labels=labels)))
        await asyncio.sleep(0.01)
        listing.complete()
        cache.labels_matching("team", selector)

    await relist()
    return await loop_held(f"a new list of {PODS:,} pods", relist)


async def _new_autoscalers() -> list[Figure]:
    """A list of all HPAs, put in the place of nothing, and then in that of an old one, until all of it is announced."""
    items, time_s = list(population.autoscalers()), asyncio.get_running_loop().time

    def empty() -> Cache[WatchedAutoscaler]:
        cache: Cache[WatchedAutoscaler] = Cache(lambda watched: watched.key)
        instruments = PrometheusInstruments(time.monotonic)
        schedule = Schedule(PERIOD_S, cache.__len__)
        cache.observe(Arrivals(DelayQueue(time_s), Rivals(), instruments, SystemClock(), time_s, schedule))
        return cache

    async def fill(cache: Cache[WatchedAutoscaler]) -> None:
        await asyncio.sleep(0.01)
        list_anew(cache, items)
        for _ in range(AUTOSCALERS // TOLD_PER_ITERATION):
            await asyncio.sleep(0)

    first = await loop_held(f"a first list of {AUTOSCALERS:,} HPAs", lambda: fill(empty()))
    filled = empty()
    await fill(filled)
    return [first, await loop_held(f"a new list of {AUTOSCALERS:,} HPAs", lambda: fill(filled))]


async def _watched() -> Figure:
    """Whether our own metric sees a loop that stands still."""
    instruments = PrometheusInstruments(time.monotonic)
    watching = asyncio.create_task(LoopLag(instruments.registry).run())
    await asyncio.sleep(0.1)
    began_s = time.monotonic()
    while time.monotonic() - began_s < STANDSTILL_S:
        pass
    await asyncio.sleep(0.1)
    watching.cancel()
    await asyncio.wait([watching])
    seen_s = instruments.registry.get_sample_value("hpa_controller_event_loop_lag_seconds_sum") or 0.0
    share = seen_s / STANDSTILL_S
    return Figure(
        "a standstill, as the metric has it", seen_s * 1000, "ms", "of what it was", share, 0.7, at_most=False
    )


def _collections() -> list[Figure]:
    """What the collector, which stops everything, takes while a large cluster's caches fill and HPAs are synced first.

    A step of settling comes after each kind of objects, as often as the clock brings it at the start of a controller.
    """
    usual = gc.get_threshold()
    gc.unfreeze()
    gc.collect()
    kept: list[object] = []
    longest_ms = 0.0
    began_s = 0.0

    def clock(phase: str, _: object) -> None:
        nonlocal began_s, longest_ms
        if phase == "start":
            began_s = time.thread_time()
        else:
            longest_ms = max(longest_ms, (time.thread_time() - began_s) * 1000)

    gc.freeze()
    gc.callbacks.append(clock)
    gc.set_threshold(*COLLECT_AFTER)
    for fill in (population.pods, population.autoscalers, population.scales, population.memories):
        kept.append(fill())
        freeze_young(gc)
    gc.callbacks.remove(clock)
    gc.set_threshold(*usual)
    gc.unfreeze()
    whole_ms = _full_collection_ms()
    del kept
    return [
        Figure("a full collection over all caches", whole_ms, "ms"),
        Figure("the longest collection while they fill", longest_ms, "ms", goal=HELD_GOAL_MS),
    ]


def _full_collection_ms() -> float:
    gc.collect()
    best_s = float("inf")
    for _ in range(REPEATS):
        began_s = time.process_time()
        gc.collect()
        best_s = min(best_s, time.process_time() - began_s)
    return best_s * 1000
