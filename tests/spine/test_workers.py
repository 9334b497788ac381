"""Due keys become syncs; failures stay where they happen; stopping leaves nothing behind (§2.3, §3.4)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from controller.delay_queue import DelayQueue, Due
from controller.ports import SCALE_FIRST, STATUS_SECOND, Turn
from controller.precedence import PER_ITERATION, current
from controller.schedule import Schedule
from controller.worker import READY_PER_TURN, STATUSES_PER_TURN, Workers
from tests.spine.tasks import now_s, others, settle
from tests.spine.world import Numbers

pytestmark = pytest.mark.looptime

PERIOD_S = 15.0

Story = Callable[[Due, Turn], Awaitable[float | None]]


class Plant:
    """Workers on a queue; `story` is what a sync does."""

    def __init__(self, story: Story, concurrency: int = 5) -> None:
        self.queue = DelayQueue(asyncio.get_running_loop().time, beat_s=0.01)
        self.numbers = Numbers()
        self.workers = Workers(
            self.queue,
            story,
            concurrency,
            schedule=Schedule(PERIOD_S, lambda: 1),
            instruments=self.numbers,
        )
        self.task = asyncio.create_task(self.workers.run())

    def due_now(self, *keys: str) -> None:
        for key in keys:
            self.queue.add(key, now_s())

    async def stopped(self) -> None:
        """Close and wait for the end, at most a virtual hour."""
        self.queue.close()
        await asyncio.wait_for(self.task, 3600)


@asynccontextmanager
async def plant(story: Story, concurrency: int = 5) -> AsyncIterator[Plant]:
    """Running workers, gone at the end with everything they began."""
    before = others()
    built = Plant(story, concurrency)
    try:
        yield built
    finally:
        built.queue.close()
        built.task.cancel()
        await asyncio.gather(built.task, return_exceptions=True)
    assert others() == before, "tasks outlive the workers"


async def again_in_a_period(due: Due, turn: Turn) -> float | None:  # noqa: ARG001 - a sync that reads nothing
    return due.due_s + PERIOD_S


async def test_a_key_is_synced_when_it_is_due_and_again_when_its_sync_says() -> None:
    async with plant(again_in_a_period) as built:
        built.queue.add("a", 10.0)
        await asyncio.sleep(10 + 3 * PERIOD_S + 1)
        assert built.numbers.started["a"] == pytest.approx([10.0, 25.0, 40.0, 55.0], abs=0.02)


async def test_the_lag_of_a_sync_is_how_long_its_key_had_been_due() -> None:
    async with plant(again_in_a_period) as built:
        await asyncio.sleep(7)
        built.queue.add("a", 4.0)
        await settle()
        assert built.numbers.lags_s == pytest.approx([3.0])


async def test_a_key_whose_hpa_is_gone_is_not_synced_again() -> None:
    async def gone(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        return None

    async with plant(gone) as built:
        built.due_now("a")
        await asyncio.sleep(1000)
        assert len(built.numbers.started["a"]) == 1
        assert (len(built.queue), built.queue.in_hand) == (0, 0)


async def test_any_number_of_syncs_may_wait_for_reads_while_few_decide() -> None:
    reading, most_reading, deciding, most_deciding = 0, 0, 0, 0

    async def story(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        nonlocal reading, most_reading, deciding, most_deciding
        reading += 1
        most_reading = max(most_reading, reading)
        await asyncio.sleep(10)
        reading -= 1
        async with turn():
            deciding += 1
            most_deciding = max(most_deciding, deciding)
            await asyncio.sleep(0.1)
            deciding -= 1
        return None

    async with plant(story, concurrency=3) as built:
        built.due_now(*(f"key-{number}" for number in range(100)))
        await asyncio.sleep(10.05)
        assert (most_reading, most_deciding) == (100, 3)
        await asyncio.sleep(100)
        assert most_deciding == 3
        assert built.numbers.syncing == set()


async def test_who_yields_goes_after_those_that_are_due_within_a_period() -> None:
    served: list[str] = []

    async def story(due: Due, turn: Turn) -> float | None:
        async with turn(yields=due.key == "failed"):
            served.append(due.key)
            await asyncio.sleep(20 if due.key == "first" else 1)
        return None

    async with plant(story, concurrency=1) as built:
        for key, due_s in {"first": 0.0, "failed": 1.0, "soon": PERIOD_S, "late": 1.0 + PERIOD_S + 0.5}.items():
            built.queue.add(key, due_s)
        await asyncio.sleep(30)
    assert served == ["first", "soon", "failed", "late"]


@pytest.mark.parametrize(
    ("urgency", "yields", "begun"),
    [
        (SCALE_FIRST, False, 1 + READY_PER_TURN),
        (STATUS_SECOND, False, STATUSES_PER_TURN + READY_PER_TURN),
        (SCALE_FIRST, True, 50),
    ],
    ids=["scales", "statuses", "those who yield"],
)
async def test_no_sync_begins_that_would_only_wait_for_its_turn(urgency: int, *, yields: bool, begun: int) -> None:
    async def story(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        async with turn(urgency, yields=yields):
            await asyncio.sleep(1)
        return None

    async with plant(story, concurrency=1) as built:
        built.due_now(*(f"key-{number}" for number in range(50)))
        await settle()
        # Those that begin in one iteration of the loop do not know of each other.
        assert begun <= len(built.numbers.started) < begun + PER_ITERATION
        await asyncio.sleep(50)
        assert len(built.numbers.started) == 50


async def test_scales_do_not_wait_for_the_statuses_of_others() -> None:
    served: list[str] = []

    async def story(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        for what, urgency in (("scale", SCALE_FIRST), ("status", STATUS_SECOND)):
            async with turn(urgency):
                served.append(what)
                await asyncio.sleep(1)
        return None

    async with plant(story, concurrency=1) as built:
        built.due_now(*(f"key-{number}" for number in range(5 * READY_PER_TURN)))
        await asyncio.sleep(1000)
    assert served == ["scale"] * 5 * READY_PER_TURN + ["status"] * 5 * READY_PER_TURN


async def test_a_sync_that_waits_for_ever_holds_up_nobody_else() -> None:
    async def story(due: Due, turn: Turn) -> float | None:
        if due.key == "stuck":
            await asyncio.get_running_loop().create_future()
        async with turn():
            return due.due_s + PERIOD_S

    async with plant(story, concurrency=1) as built:
        built.due_now("stuck", "a")
        await asyncio.sleep(10 * PERIOD_S)
        assert len(built.numbers.started["a"]) == 10
        assert len(built.numbers.started["stuck"]) == 1


class Panic(BaseException):
    """As libraries that are written in Rust raise it."""


@pytest.mark.parametrize(
    "failure", [ZeroDivisionError("bug"), RecursionError(), asyncio.CancelledError(), Panic()], ids=repr
)
async def test_whatever_a_sync_raises_stays_in_it_and_its_key_is_due_again_next_period(failure: BaseException) -> None:
    async def story(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        if due.key == "bad":
            raise failure
        return due.due_s + PERIOD_S

    async with plant(story) as built:
        with capture_logs() as logs:
            built.due_now("bad", "good")
            await asyncio.sleep(4 * PERIOD_S + 1)
        assert len(built.numbers.started["good"]) == 5
        assert len(built.numbers.started["bad"]) == 5
        assert {line["hpa"] for line in logs if line["log_level"] == "error"} == {"bad"}
        assert built.numbers.syncing == set()


async def test_a_key_is_never_synced_twice_at_once_however_often_it_becomes_due() -> None:
    async def slow(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        await asyncio.sleep(7)
        return now_s()

    async with plant(slow) as built:
        built.due_now("a")
        for _ in range(50):
            await asyncio.sleep(1)
            built.due_now("a")
        assert built.numbers.doubled == []
        assert len(built.numbers.started["a"]) == 8


async def test_stopping_drains_what_is_due_and_waits_for_what_is_in_hand() -> None:
    finished: list[str] = []

    async def story(due: Due, turn: Turn) -> float | None:
        async with turn():
            await asyncio.sleep(5)
        finished.append(due.key)
        return due.due_s + PERIOD_S

    async with plant(story, concurrency=1) as built:
        built.due_now("a", "b")
        built.queue.add("not yet due", now_s() + 1.0)
        began_s = now_s()
        await built.stopped()
        assert sorted(finished) == ["a", "b"]
        assert now_s() - began_s == pytest.approx(10.0)


async def test_stopping_idle_workers_takes_no_time() -> None:
    async with plant(again_in_a_period) as built:
        await settle()
        began_s = now_s()
        await built.stopped()
        assert now_s() - began_s == pytest.approx(0.0, abs=1e-3)


async def test_cancelling_the_workers_cancels_their_syncs_and_waits_until_they_are_gone() -> None:
    cleaned_up: list[str] = []

    async def story(due: Due, turn: Turn) -> float | None:  # noqa: ARG001
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.5)  # closing a connection, say
            cleaned_up.append(due.key)
        return None

    async with plant(story) as built:
        built.due_now("a", "b")
        await settle()
        built.task.cancel()
        await asyncio.gather(built.task, return_exceptions=True)
        assert built.task.cancelled()
        assert sorted(cleaned_up) == ["a", "b"], "something may still be sent after the workers have ended"


async def test_a_cancelled_sync_gives_its_key_and_its_turn_back() -> None:
    async def story(due: Due, turn: Turn) -> float | None:
        async with turn():
            if due.key == "a":
                await asyncio.sleep(1000)
        return None

    async with plant(story, concurrency=1) as built:
        built.due_now("a")
        await settle()
        (sync,) = (task for task in others() if task.get_name() == "sync a")
        sync.cancel()
        await settle()
        assert built.queue.in_hand == 0
        built.due_now("b")
        await settle()
        assert built.numbers.syncing == set()


async def test_finished_syncs_are_let_go() -> None:
    async with plant(again_in_a_period) as built:
        built.due_now(*(f"key-{number}" for number in range(200)))
        await asyncio.sleep(20 * PERIOD_S)
        assert built.workers._syncs == set()
        assert {task for task in others() if task.get_name().startswith("sync ")} == set()


async def test_what_a_sync_reads_goes_by_when_it_was_due() -> None:
    seen: list[tuple[float, float]] = []

    async def reads(due: Due, turn: Turn) -> float | None:  # noqa: ARG001 - it only reads
        seen.append((due.due_s, current().due_s))
        return None

    async with plant(reads) as built:
        await asyncio.sleep(7)
        built.queue.add("late", 2.0)
        built.queue.add("in time", 7.0)
        await settle()
    assert sorted(seen) == [(2.0, 2.0), (7.0, 7.0)]
