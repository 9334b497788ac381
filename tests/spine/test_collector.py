"""The garbage collector is kept from what stays, a little at a time."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from controller.collector import (
    COLLECT_AFTER,
    OLD_OBJECTS_MAX,
    OLD_STEPS,
    OLD_STEPS_MAX,
    SETTLED_PERIODS,
    STEP_S,
    Collecting,
)

pytestmark = pytest.mark.looptime

SETTLED_S = 10.0


class Collected:
    """What the collector was asked for."""

    def __init__(self) -> None:
        self.thresholds: tuple[int, ...] = ()
        self.generations: list[int] = []
        self.generations_s: dict[int, list[float]] = {0: [], 1: [], 2: []}
        self.frozen_s: list[float] = []
        self.frozen_before_first = 0
        self.old = range(OLD_OBJECTS_MAX)

    def set_threshold(self, threshold0: int, threshold1: int = 0, threshold2: int = 0, /) -> None:
        self.thresholds = (threshold0, threshold1, threshold2)

    def collect(self, generation: int = 2) -> int:
        if not self.generations:
            self.frozen_before_first = len(self.frozen_s)
        self.generations.append(generation)
        self.generations_s[generation].append(asyncio.get_running_loop().time())
        return 0

    def get_objects(self, generation: int | None = None) -> range:
        assert generation == 2
        return self.old

    def freeze(self) -> None:
        self.frozen_s.append(asyncio.get_running_loop().time())


class Controller:
    term = 0


@asynccontextmanager
async def collecting(collected: Collected, controller: Controller) -> AsyncIterator[Collecting]:
    it = Collecting(SETTLED_S / SETTLED_PERIODS, asyncio.get_running_loop().time, lambda: controller.term, collected)
    running = asyncio.create_task(it.run())
    try:
        yield it
    finally:
        running.cancel()
        await asyncio.wait([running])


async def test_what_is_made_at_the_start_is_frozen_step_by_step() -> None:
    """A full collection, which stops everything, comes only when all that there is, what was imported, is frozen."""
    collected = Collected()
    async with collecting(collected, Controller()):
        await asyncio.sleep(5 * SETTLED_S)
    steps = round(SETTLED_S / STEP_S) + 1
    assert collected.thresholds == COLLECT_AFTER
    assert collected.frozen_s == pytest.approx([0.0, *(number * STEP_S for number in range(steps))])
    assert collected.generations[: steps + 1] == [2, *[1] * steps]
    assert collected.frozen_before_first == 1


async def test_it_begins_again_when_caches_are_filled_late() -> None:
    collected = Collected()
    async with collecting(collected, Controller()) as it:
        await asyncio.sleep(3 * SETTLED_S)
        it.settle()
        await asyncio.sleep(3 * SETTLED_S)
    assert max(collected.frozen_s) == pytest.approx(4 * SETTLED_S, abs=STEP_S)


async def test_a_standby_settles_when_it_leads() -> None:
    """Hours after its start, all HPAs are synced for the first time."""
    collected, controller = Collected(), Controller()
    async with collecting(collected, controller):
        await asyncio.sleep(30 * SETTLED_S)
        controller.term = 1
        await asyncio.sleep(3 * SETTLED_S)
    late = [at_s for at_s in collected.frozen_s if at_s > 2 * SETTLED_S]
    assert min(late) == pytest.approx(30 * SETTLED_S, abs=STEP_S)
    assert max(late) == pytest.approx(31 * SETTLED_S, abs=STEP_S)
    began = collected.generations_s[2]
    assert began[0] == 0.0
    assert pytest.approx(30 * SETTLED_S, abs=STEP_S) in began, "garbage from before must not be frozen"


async def test_what_is_made_later_is_looked_at_a_little_at_a_time() -> None:
    collected = Collected()
    assert old_looks(await steps_of(collected, 2 * OLD_STEPS)) == [OLD_STEPS, 2 * OLD_STEPS]
    assert len(collected.frozen_s) == round(SETTLED_S / STEP_S) + 2, "what syncs make is garbage some time"


async def test_too_many_old_objects_for_one_look_are_looked_at_once_an_hour() -> None:
    """Thousands of syncs may be in hand, and there may be fewer soon; but it may be garbage."""
    collected = Collected()
    collected.old = range(OLD_OBJECTS_MAX + 1)
    assert old_looks(await steps_of(collected, 2 * OLD_STEPS_MAX)) == [OLD_STEPS_MAX, 2 * OLD_STEPS_MAX]


def test_of_itself_the_collector_looks_at_no_more_than_two_portions() -> None:
    """Run in a process of its own, since this one's collector has other things to look at."""
    program = f"""if True:
        import gc
        looks = []
        gc.callbacks.append(lambda phase, info: phase == "stop" or looks.append(
            (info["generation"], sum(len(gc.get_objects(each)) for each in range(info["generation"] + 1)))))
        gc.freeze()
        gc.set_threshold{COLLECT_AFTER}
        kept = [[] for _ in range({20 * COLLECT_AFTER[0]})]
        del gc.callbacks[:]
        print(len(looks), max(generation for generation, _ in looks), max(objects for _, objects in looks))
    """
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 - our own code
    looks, oldest, objects_max = map(int, ended.stdout.split())
    assert looks >= 19
    assert oldest == 1
    assert objects_max <= 2 * (COLLECT_AFTER[0] + 100)


async def steps_of(collected: Collected, steps: int) -> list[int]:
    """The generations that so many steps asked for once everything had settled."""
    async with collecting(collected, Controller()):
        await asyncio.sleep(SETTLED_S + (steps + 0.5) * STEP_S)
    return collected.generations[-steps:]


def old_looks(generations: list[int]) -> list[int]:
    """The numbers of those steps that looked at what is old, the first being 1; all others looked at what is young."""
    assert set(generations) <= {1, 2}
    return [number for number, generation in enumerate(generations, start=1) if generation == 2]
