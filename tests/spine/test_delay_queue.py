"""§3: a key becomes due at its earliest time, once, and is in one hand at most."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.beats import beat_after
from controller.delay_queue import DUE_PER_ITERATION, DelayQueue, Due, QueueClosed
from tests.spine.tasks import now_s, running, settle

pytestmark = pytest.mark.looptime

BEAT_S = 0.005


def queue_of_loop() -> DelayQueue:
    return DelayQueue(asyncio.get_running_loop().time, beat_s=BEAT_S)


class Takers:
    """Tasks that each take one key, in the order in which they came."""

    def __init__(self, queue: DelayQueue) -> None:
        self._queue = queue
        self.tasks: list[asyncio.Task[None]] = []
        self.taken: list[Due] = []
        self.taken_s: list[float] = []
        self.refused = 0

    def come(self, count: int = 1) -> None:
        self.tasks += [asyncio.create_task(self._take()) for _ in range(count)]

    async def _take(self) -> None:
        try:
            due = await self._queue.take()
        except QueueClosed:
            self.refused += 1
        else:
            self.taken.append(due)
            self.taken_s.append(now_s())

    @property
    def keys(self) -> list[str]:
        return [due.key for due in self.taken]


@asynccontextmanager
async def takers(queue: DelayQueue, count: int = 1) -> AsyncIterator[Takers]:
    """So many waiting takers, gone at the end."""
    group = Takers(queue)
    group.come(count)
    await settle()
    try:
        yield group
    finally:
        for task in group.tasks:
            task.cancel()
        await asyncio.gather(*group.tasks, return_exceptions=True)


async def test_a_key_is_not_taken_before_it_is_due_and_at_most_a_beat_after() -> None:
    queue = queue_of_loop()
    queue.add("a", now_s() + 3.0)
    began_s = now_s()
    due = await queue.take()
    assert due == Due("a", began_s + 3.0)
    assert 3.0 <= now_s() - began_s <= 3.0 + 2 * BEAT_S


async def test_a_key_added_for_the_past_is_due_at_once() -> None:
    queue = queue_of_loop()
    await asyncio.sleep(10)
    queue.add("a", now_s() - 5.0)
    assert (await queue.take()).due_s == now_s() - 5.0


@pytest.mark.parametrize("times_s", [(5.0, 3.0), (3.0, 5.0), (5.0, 3.0, 4.0), (3.0, 3.0)])
async def test_of_several_times_for_a_waiting_key_the_earliest_wins(times_s: tuple[float, ...]) -> None:
    queue = queue_of_loop()
    for time_s in times_s:
        queue.add("a", now_s() + time_s)
    assert len(queue) == 1
    due = await queue.take()
    assert due.due_s == pytest.approx(min(times_s))
    assert queue.added == len(times_s)
    queue.done("a")
    async with takers(queue) as group:
        await asyncio.sleep(10)
        assert group.taken == [], "the later times must not make the key due again"


async def test_a_key_that_is_due_is_there_only_once() -> None:
    queue = queue_of_loop()
    for _ in range(3):
        queue.add("a", now_s())
    assert queue.depth == 1
    queue.add("a", now_s() + 1.0)
    await asyncio.sleep(2)
    assert queue.depth == 1
    assert queue.added == 4, "every call counts"


async def test_keys_are_taken_in_the_order_in_which_they_became_due() -> None:
    queue = queue_of_loop()
    for key, time_s in (("late", 3.0), ("early", 1.0), ("middle", 2.0)):
        queue.add(key, now_s() + time_s)
    await asyncio.sleep(4)
    queue.add("last", now_s())
    assert [(await queue.take()).key for _ in range(4)] == ["early", "middle", "late", "last"]


async def test_of_thousands_that_are_due_in_one_moment_a_few_become_due_in_each_iteration_in_their_order() -> None:
    queue = queue_of_loop()
    keys = [f"{number:04}" for number in range(10 * DUE_PER_ITERATION)]
    for key in reversed(keys):
        queue.add(key, now_s() + 2.0 if key < keys[-50] else now_s() + 2.0 + BEAT_S / 4)
        queue.add(key, now_s() + 3.0)
    await asyncio.sleep(1.9)
    taken: list[str] = []
    began_s, steps = now_s(), list[int]()
    while len(taken) < len(keys) and len(steps) < len(keys):
        await asyncio.sleep(0 if taken else BEAT_S)
        steps.append(queue.depth)
        taken += [(await queue.take()).key for _ in range(queue.depth)]
        assert now_s() < began_s + 0.2, "they wait for a further beat"
    assert max(steps) <= 2 * DUE_PER_ITERATION, "two iterations lie between looks at most"
    assert taken == keys
    for key in keys:
        queue.done(key)
    await asyncio.sleep(2)
    assert (len(queue), queue.depth) == (0, 0), "nothing is due a second time"


async def test_a_queue_that_is_closed_while_thousands_become_due_has_no_more_of_them() -> None:
    queue = queue_of_loop()
    for number in range(3 * DUE_PER_ITERATION):
        queue.add(str(number), now_s() + 1.0)
    await queue.take()
    due = queue.depth
    queue.close()
    await settle()
    assert queue.depth == due < 3 * DUE_PER_ITERATION - 1


async def test_a_key_in_hand_that_becomes_due_is_taken_again_only_when_it_is_done() -> None:
    queue = queue_of_loop()
    queue.add("a", now_s())
    await queue.take()
    queue.add("a", now_s() + 1.0)
    async with takers(queue) as group:
        await asyncio.sleep(5)
        assert group.taken == []
        assert queue.in_hand == 1
        queue.done("a")
        await settle()
        assert group.taken == [Due("a", 1.0)], "it has been due since its own time, not since it was given back"


async def test_a_key_in_hand_that_is_due_several_times_is_taken_again_once() -> None:
    queue = queue_of_loop()
    queue.add("a", now_s())
    await queue.take()
    for _ in range(3):
        queue.add("a", now_s())
        await asyncio.sleep(1)
    queue.done("a")
    async with takers(queue, 2) as group:
        await asyncio.sleep(5)
        assert group.keys == ["a"]


async def test_a_key_that_was_done_without_being_added_is_forgotten() -> None:
    queue = queue_of_loop()
    queue.add("a", now_s())
    queue.done((await queue.take()).key)
    async with takers(queue) as group:
        await asyncio.sleep(1000)
        assert group.taken == []
    assert (len(queue), queue.in_hand) == (0, 0)


async def test_closing_drains_what_is_due_and_drops_what_waits() -> None:
    queue = queue_of_loop()
    queue.add("due", now_s())
    queue.add("due, too", now_s())
    queue.add("waits", now_s() + 1.0)
    queue.close()
    queue.add("too late", now_s())
    assert [(await queue.take()).key for _ in range(2)] == ["due", "due, too"]
    with pytest.raises(QueueClosed):
        await queue.take()
    await asyncio.sleep(2)
    with pytest.raises(QueueClosed):
        await queue.take()


async def test_closing_sends_every_waiting_taker_home() -> None:
    queue = queue_of_loop()
    async with takers(queue, 3) as group:
        queue.close()
        await settle()
        assert group.refused == 3


async def test_a_key_that_became_due_in_a_hand_is_dropped_by_closing() -> None:
    queue = queue_of_loop()
    queue.add("a", now_s())
    await queue.take()
    queue.add("a", now_s())
    queue.close()
    queue.done("a")
    with pytest.raises(QueueClosed):
        await queue.take()


async def test_a_taker_cancelled_while_it_waits_takes_nothing() -> None:
    queue = queue_of_loop()
    async with takers(queue, 2) as group:
        group.tasks[0].cancel()
        await settle()
        queue.add("a", now_s())
        await settle()
        assert group.keys == ["a"]


async def test_a_taker_cancelled_in_the_moment_it_is_woken_passes_the_wake_up_on() -> None:
    queue = queue_of_loop()
    async with takers(queue, 2) as group:
        queue.add("a", now_s())  # wakes the first taker, which has not run yet
        group.tasks[0].cancel()
        await settle()
        assert group.tasks[0].cancelled()
        assert group.keys == ["a"]


async def test_a_newcomer_that_finds_a_due_key_may_take_it_and_the_woken_taker_waits_on() -> None:
    queue = queue_of_loop()
    async with takers(queue, 1) as group:
        queue.add("a", now_s())
        assert (await queue.take()).key == "a"
        await settle()
        assert group.taken == []
        queue.add("b", now_s())
        await settle()
        assert group.keys == ["b"]


async def test_thousands_of_keys_become_due_in_the_order_of_their_times() -> None:
    queue = queue_of_loop()
    count = 5000
    for number in range(count):
        queue.add(f"key-{number}", now_s() + 1.0 + (number * 7919 % count) * 0.01)
    taken: list[Due] = []
    late_s: list[float] = []

    async def work() -> None:
        while True:
            due = await queue.take()
            taken.append(due)
            late_s.append(now_s() - due.due_s)
            queue.done(due.key)

    async with running(work()):
        await asyncio.sleep(60)
    assert len({due.key for due in taken}) == len(taken) == count
    assert [due.due_s for due in taken] == sorted(due.due_s for due in taken)
    assert min(late_s) >= 0
    assert max(late_s) <= 2 * BEAT_S


async def test_one_timer_serves_keys_that_are_added_in_the_order_of_their_times() -> None:
    queue = queue_of_loop()
    queue.add("first", now_s() + 1.0)
    first = queue._timer
    for number in range(1000):
        queue.add(f"key-{number}", now_s() + 1.0 + number)
    assert queue._timer is first
    assert timers_of_loop() == 1
    queue.add("earlier", now_s() + 0.5)
    assert queue._timer is not first
    assert timers_of_loop() == 1


async def test_no_timer_remains_when_nothing_waits() -> None:
    queue = queue_of_loop()
    queue.add("a", now_s() + 1.0)
    await asyncio.sleep(2)
    assert timers_of_loop() == 0
    queue.add("b", now_s() + 1.0)
    queue.close()
    assert timers_of_loop() == 0


async def test_keys_due_within_a_beat_are_served_by_one_ring() -> None:
    queue = queue_of_loop()
    first_s = beat_after(now_s() + 1.0, BEAT_S)
    for number in range(40):
        queue.add(f"key-{number}", first_s + number * BEAT_S / 50)
    async with takers(queue, 40) as group:
        await asyncio.sleep(2)
        assert len(group.taken) == 40
        assert {round(taken_s - first_s, 6) for taken_s in group.taken_s} == {BEAT_S}


async def test_another_queue_rings_in_the_same_moment() -> None:
    queues = [queue_of_loop(), queue_of_loop()]
    first_s = beat_after(now_s() + 1.0, BEAT_S)
    for queue, part in zip(queues, (0.2, 0.7), strict=True):
        queue.add("a", first_s + part * BEAT_S)
    rung_s = []
    for queue in queues:
        await queue.take()
        rung_s.append(now_s())
    assert rung_s == [pytest.approx(first_s + BEAT_S)] * 2


@given(at_s=st.floats(0, 1e7), beat_s=st.sampled_from([0.005, 0.05, 1.0]))
def test_a_beat_is_clearly_after_the_moment_and_soon(at_s: float, beat_s: float) -> None:
    beat = beat_after(at_s, beat_s)
    assert 0.1 * beat_s - 1e-6 <= beat - at_s <= 1.1 * beat_s + 1e-6
    assert beat / beat_s == pytest.approx(round(beat / beat_s))


def timers_of_loop() -> int:
    """Timers armed in the running loop and not cancelled."""
    scheduled = asyncio.get_running_loop()._scheduled  # type: ignore[attr-defined]  # there is no public way to see them
    return sum(not timer.cancelled() for timer in scheduled)


@pytest.mark.parametrize("times", [(5.0, 2.0), (2.0, 5.0)])
async def test_the_earliest_of_the_times_given_in_a_hand_counts(times: tuple[float, float]) -> None:
    queue = queue_of_loop()
    queue.add("a", now_s())
    await queue.take()
    began_s = now_s()
    for after_s in times:
        queue.add("a", began_s + after_s)
    queue.done("a")
    assert (await queue.take()).due_s == began_s + 2.0
