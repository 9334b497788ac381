"""More work than the API servers allow: who is late, by how much, and who is not (decisions 0003 and 0018)."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

import pytest

from controller import precedence
from controller.arrivals import Arrivals
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import ExternalReading, ReadFailure
from controller.delay_queue import DelayQueue
from controller.kube.budget import Budget, Lane
from controller.kube.client import REQUEST_TIMEOUT_S
from controller.kube.traffic import CONCURRENT_MAX, Traffic
from controller.ports import ExternalQuestion, ResourceQuestion, Unreachable
from controller.worker import Workers
from tests.spine.objects import BACKLOG, autoscaler, scale
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.tasks import now_s, others
from tests.spine.world import MONOTONIC_NS, Gate, LoopClock

pytestmark = pytest.mark.looptime

NAMESPACES: Final = 10
SEEN_WITHIN_S: Final = PERIOD_S
"""How long it takes until all HPAs have been seen: they are not due at the same moment."""


class Crowd:
    """Many HPAs before limits as the real client has them; `decided_s` are the times of each one's decisions."""

    def __init__(self, concurrency: int = 5) -> None:
        loop = asyncio.get_running_loop()
        self.stage = stage = Stage(concurrency=concurrency)
        self.queue = DelayQueue(loop.time)
        stage.autoscalers.observe(
            Arrivals(self.queue, stage.rivals, stage.numbers, LoopClock(), loop.time, stage.schedule)
        )
        self.workers = Workers(
            self.queue,
            stage.reconciler.reconcile,
            concurrency,
            schedule=stage.schedule,
            instruments=stage.numbers,
        )

    async def add(self, names: Iterable[str], *, external: bool = False, cached: bool = True) -> list[str]:
        """HPAs that want to stay as they are, seen one after the other; gives their keys."""
        keys = []
        listed = list(names)
        for number, name in enumerate(listed):
            namespace = f"team-{number % NAMESPACES}"
            watched = autoscaler(*((BACKLOG,) if external else ()), name=name, namespace=namespace)
            self.stage.add(watched, scale(2, selector=f"app={name}", uid=f"uid-of-{name}"))
            if cached:
                self.stage.scales.cache(namespace, name)
            self.stage.uses(100, 100, name=name, namespace=namespace)
            keys.append(watched.key)
            await asyncio.sleep(SEEN_WITHIN_S / len(listed))
        return keys

    def decided_s(self, keys: Iterable[str], since_s: float) -> dict[str, list[float]]:
        """When each HPA was decided on."""
        times_s: dict[str, list[float]] = {key: [] for key in keys}
        for sync in self.stage.seen:
            at_s = (sync.now.monotonic_ns - MONOTONIC_NS) / NANOSECONDS
            if at_s >= since_s and sync.autoscaler.key in times_s:
                times_s[sync.autoscaler.key].append(at_s)
        return times_s


def intervals_s(times_s: dict[str, list[float]]) -> list[float]:
    """Between one decision and the next, all HPAs together, sorted; each HPA must have had some."""
    assert min(map(len, times_s.values())) >= 3, "somebody starves"
    return sorted(after_s - before_s for times in times_s.values() for before_s, after_s in itertools.pairwise(times))


def behind(lane: Lane, takes_s: float = 0.0) -> Gate:
    """Requests pass a lane, as those of the real client do, and are then under way for a time."""

    @asynccontextmanager
    async def sent() -> AsyncIterator[None]:
        async with lane.place():
            await lane.budget.spend()
            await asyncio.sleep(takes_s)
            yield

    return sent


def lane(places: int = 64, qps: float = 0.0, burst: int = 1) -> Lane:
    return Lane(places, Budget(qps, burst, asyncio.get_running_loop().time))


@asynccontextmanager
async def crowd(concurrency: int = 5) -> AsyncIterator[Crowd]:
    """A crowd at work; at its end no task is left."""
    before = others()
    built = Crowd(concurrency)
    working = asyncio.create_task(built.workers.run())
    try:
        yield built
    finally:
        built.queue.close()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert others() == before, "tasks outlive the workers"


def assert_nobody_starves(built: Crowd, keys: list[str], since_s: float) -> float:
    """No interval is longer than twice the mean, which is given."""
    gaps_s = intervals_s(built.decided_s(keys, since_s))
    mean_s = sum(gaps_s) / len(gaps_s)
    assert gaps_s[-1] <= 2 * mean_s, f"longest {gaps_s[-1]:.1f} s, mean {mean_s:.1f} s"
    return mean_s


def narrow_metrics(built: Crowd) -> None:
    built.stage.metrics.gate = behind(lane(qps=4))


def narrow_scales(built: Crowd) -> None:
    built.stage.scales.gate = behind(lane(qps=4))


def slow_scales(built: Crowd) -> None:
    built.stage.scales.gate = behind(lane(places=16), takes_s=4.0)


@pytest.mark.parametrize("narrow", [narrow_metrics, narrow_scales, slow_scales])
async def test_under_overload_everybody_waits_alike_and_the_lag_shows_it(narrow: Callable[[Crowd], None]) -> None:
    async with crowd() as built:
        narrow(built)
        keys = await built.add((f"web-{number}" for number in range(200)), cached=narrow is narrow_metrics)
        await asyncio.sleep(600)
        mean_s = assert_nobody_starves(built, keys, since_s=200)
        # Four requests a second for two hundred HPAs: the servers are never idle, and nothing is asked in vain.
        assert mean_s == pytest.approx(50, rel=0.05)
        late_s = built.stage.numbers.lags_s[-100:]
        assert sum(late_s) / len(late_s) == pytest.approx(mean_s - PERIOD_S, rel=0.1)


async def test_slow_status_writes_hold_up_everybody_alike() -> None:
    async with crowd() as built:
        keys = await built.add(f"web-{number}" for number in range(100))
        built.stage.statuses.write_s = 24.0

        async def unrest() -> None:
            for load in itertools.cycle(range(95, 105)):
                for key in keys:
                    namespace, _, name = key.partition("/")
                    built.stage.uses(load, load, name=name, namespace=namespace)
                await asyncio.sleep(7.0)

        changing = asyncio.create_task(unrest())
        await asyncio.sleep(600)
        changing.cancel()
        await asyncio.wait([changing])
        # Five turns of twelve statuses each, and nearly every sync writes one for 24 seconds.
        assert assert_nobody_starves(built, keys, since_s=200) >= 2 * PERIOD_S


async def test_a_write_passes_all_reads_that_wait_for_the_same_budget() -> None:
    async with crowd(concurrency=1) as built:
        names = [f"web-{number}" for number in range(50)]
        await built.add(names, cached=False)
        for number, name in enumerate(names):
            built.stage.uses(200, 200, name=name, namespace=f"team-{number % NAMESPACES}")
        built.stage.scales.gate = behind(lane(qps=1))
        await asyncio.sleep(2 * PERIOD_S)
        before = len(built.stage.scales.accepted)
        await asyncio.sleep(30)
        assert len(built.stage.scales.accepted) - before >= 14, "every read is followed by its write"


@pytest.mark.parametrize(
    ("places", "qps", "order"), [(64, 1.0, [9, 3, 1, 5, 7, 8]), (1, 0.0, [9, 3, 5, 1, 7, 8])], ids=["budget", "places"]
)
async def test_of_the_reads_that_wait_the_oldest_due_goes_first(places: int, qps: float, order: list[int]) -> None:
    gate, sent = behind(lane(places, qps), takes_s=0.5), list[int]()

    async def ask(due_s: int) -> None:
        precedence.begin(due_s)
        async with gate():
            sent.append(due_s)

    asking = [asyncio.create_task(ask(due_s)) for due_s in (9, 7, 8, 3, 5)]
    await asyncio.sleep(1.2)
    asking.append(asyncio.create_task(ask(1)))
    await asyncio.gather(*asking)
    assert sent == order


async def test_who_stops_waiting_has_spent_nothing() -> None:
    narrow = lane(qps=1)
    await narrow.budget.spend()
    began_s = now_s()
    waiting = [asyncio.create_task(narrow.budget.spend()) for _ in range(5)]
    await asyncio.sleep(0.5)
    for task in waiting[:4]:
        task.cancel()
    await asyncio.wait_for(waiting[4], 10)
    assert now_s() - began_s == pytest.approx(1.0, abs=0.01)
    await asyncio.gather(*waiting, return_exceptions=True)


async def test_all_scales_are_written_before_the_first_status_that_waits() -> None:
    async with crowd(concurrency=1) as built:
        names = [f"web-{number}" for number in range(20)]
        built.stage.scales.write_s = 1.0
        keys = await built.add(names)
        await asyncio.sleep(3 * PERIOD_S)
        built.stage.taken_lines()
        for key in keys:
            namespace, _, name = key.partition("/")
            built.stage.uses(200, 200, name=name, namespace=namespace)
            built.queue.add(key, now_s())
        await asyncio.sleep(60)
        lines = [line.split()[0] for line in built.stage.taken_lines() if not line.startswith("event")]
        assert lines[:20] == ["scale"] * 20
        assert "status" in lines[20:]


def external_lane() -> Lane:
    return lane(places=CONCURRENT_MAX[Traffic.EXTERNAL_METRICS])


async def test_a_hundred_and_thirty_hpas_whose_metric_takes_two_seconds_hold_up_nobody() -> None:
    async with crowd() as built:
        slow = await built.add((f"slow-{number}" for number in range(130)), external=True)
        built.stage.metrics.gate = behind(external_lane())
        for key in slow:
            namespace = key.partition("/")[0]
            built.stage.metrics.read_s[ExternalQuestion(namespace, BACKLOG.metric)] = 2.0
            built.stage.metrics.answers[ExternalQuestion(namespace, BACKLOG.metric)] = ExternalReading((2000,), None)
        quick = await built.add(f"web-{number}" for number in range(300))
        await asyncio.sleep(150)
        for keys in (quick, slow):
            assert percentile_99(intervals_s(built.decided_s(keys, since_s=60))) <= 1.1 * PERIOD_S


async def test_a_thousand_hpas_whose_metrics_never_come_hold_up_nobody() -> None:
    async with crowd() as built:
        others_lane, dead_lane = lane(), external_lane()
        dead: set[str] = set()

        @asynccontextmanager
        async def silent() -> AsyncIterator[None]:
            """The client gives up on an answer after half a minute."""
            question = built.stage.metrics.asked[-1]
            if isinstance(question, ResourceQuestion):
                async with behind(others_lane)():
                    yield
                return
            with suppress(Unreachable):
                async with dead_lane.place():
                    answers = dead_lane.answers
                    await asyncio.sleep(REQUEST_TIMEOUT_S)
                    dead_lane.unanswered(answers, lambda: Unreachable("not asked"))
            yield

        built.stage.metrics.gate = silent
        built.stage.metrics.otherwise = ReadFailure("no answer within 30 s")
        dead |= set(await built.add((f"dead-{number}" for number in range(1000)), external=True))
        quick = await built.add(f"web-{number}" for number in range(200))
        await asyncio.sleep(150)
        assert percentile_99(intervals_s(built.decided_s(quick, since_s=60))) <= 1.1 * PERIOD_S
        failed = built.decided_s(dead, since_s=0)
        assert all(failed.values()), "each of the others is told in its status"


def percentile_99(values: list[float]) -> float:
    return values[int(0.99 * (len(values) - 1))]
