import asyncio
import itertools
import weakref

import pytest

from controller.sources.shared import PIECES_PER_ITERATION, SharedReads, fresh_s, meanwhile_s
from tests.spine.tasks import LoopIterations


class Answers:
    """Reads that take a second; `failing` ones end with an error."""

    def __init__(self, meanwhile_s: float = 0.0) -> None:
        self.asked = list[str]()
        self.failing = False
        self.shared = SharedReads(self._read, asyncio.get_running_loop().time, 3.0, meanwhile_s=meanwhile_s)

    async def _read(self, question: str) -> str:
        self.asked.append(question)
        await asyncio.sleep(1)
        if self.failing:
            raise ValueError("no")
        return f"{question} {len(self.asked)}"


@pytest.mark.looptime
async def test_one_read_serves_all_who_ask_while_it_is_fresh() -> None:
    answers = Answers()
    assert await asyncio.gather(*(answers.shared.get("a") for _ in range(50))) == ["a 1"] * 50
    await asyncio.sleep(1.9)
    assert await answers.shared.get("a") == "a 1", "counted from when it was asked"
    await asyncio.sleep(0.2)
    assert await answers.shared.get("a") == "a 2"
    assert await answers.shared.get("b") == "b 3"


@pytest.mark.looptime
async def test_a_failure_is_shared_by_those_who_wait_and_nobody_else() -> None:
    answers = Answers()
    answers.failing = True
    got = await asyncio.gather(*(answers.shared.get("a") for _ in range(3)), return_exceptions=True)
    assert [type(found) for found in got] == [ValueError] * 3
    answers.failing = False
    assert await answers.shared.get("a") == "a 2"


@pytest.mark.looptime
async def test_one_who_stops_waiting_does_not_stop_the_read() -> None:
    answers = Answers()
    first, second = asyncio.create_task(answers.shared.get("a")), asyncio.create_task(answers.shared.get("a"))
    await asyncio.sleep(0.5)
    first.cancel()
    assert await second == "a 1"
    assert len(answers.asked) == 1


@pytest.mark.looptime
async def test_those_who_stop_waiting_together_end_together() -> None:
    answers, loop = Answers(), LoopIterations()
    try:
        asking = [asyncio.create_task(answers.shared.get("a")) for _ in range(400)]
        await asyncio.sleep(0)
        for task in asking:
            task.cancel()
        before = loop.number
        await asyncio.wait(asking)
        assert loop.number - before < 10
    finally:
        await loop.stop()
    assert await answers.shared.get("a") == "a 1"


@pytest.mark.looptime
async def test_what_is_stale_is_forgotten() -> None:
    answers = Answers()
    for number in range(20):
        await answers.shared.get(f"q{number}")
    assert len(answers.shared._answers) < 10


@pytest.mark.looptime
async def test_nobody_waits_for_the_next_answer_as_long_as_the_last_one_serves() -> None:
    """Of ten thousand syncs in one namespace all would stand still while its pods are listed."""
    answers = Answers(meanwhile_s=2.0)
    assert await answers.shared.get("a") == "a 1"
    await asyncio.sleep(2.5)
    asked_s = asyncio.get_running_loop().time()
    assert [await answers.shared.get("a") for _ in range(3)] == ["a 1"] * 3
    assert asyncio.get_running_loop().time() == asked_s
    await asyncio.sleep(1.1)
    assert await answers.shared.get("a") == "a 2"
    assert answers.asked == ["a", "a"]
    await asyncio.sleep(4)
    assert await answers.shared.get("a") == "a 3", "too old to serve"


@pytest.mark.looptime
async def test_when_the_next_answer_fails_the_last_one_serves_no_longer() -> None:
    """Else each who asks would have the server asked once more."""
    answers = Answers(meanwhile_s=2.0)
    await answers.shared.get("a")
    await asyncio.sleep(2.5)
    answers.failing = True
    assert await answers.shared.get("a") == "a 1"
    await asyncio.sleep(1.1)
    with pytest.raises(ValueError, match="no"):
        await answers.shared.get("a")


class Large:
    """An answer of which there should not be two."""


@pytest.mark.looptime
async def test_a_stale_answer_is_freed_before_its_successor_is_there() -> None:
    made = list[weakref.ref[Large]]()

    async def read(_: str) -> Large:
        await asyncio.sleep(1)
        large = Large()
        made.append(weakref.ref(large))
        return large

    shared = SharedReads(read, asyncio.get_running_loop().time, 3.0)
    await shared.get("a")
    await asyncio.sleep(5)
    next_one = asyncio.create_task(shared.get("a"))
    await asyncio.sleep(0.5)
    assert [one() for one in made] == [None]
    assert isinstance(await next_one, Large)


@pytest.mark.looptime
async def test_a_large_answer_is_freed_a_few_pieces_at_a_time() -> None:
    """And nothing of it while somebody still looks at it."""
    made = list[weakref.ref[Large]]()

    async def read(_: str) -> list[Large]:
        if made:
            return []
        large = [Large() for _ in range(10 * PIECES_PER_ITERATION)]
        made.extend(map(weakref.ref, large))
        return large

    def left() -> int:
        return sum(one() is not None for one in made)

    shared = SharedReads(read, asyncio.get_running_loop().time, 3.0, pieces=list[object])
    looked_at = (await shared.get("a"))[:7]
    await asyncio.sleep(5)
    await shared.get("a")
    counts = [left()]
    while counts[-1] > len(looked_at) and len(counts) < 20:
        await asyncio.sleep(0)
        counts.append(left())
    freed = [before - after for before, after in itertools.pairwise(counts)]
    assert max(freed) == PIECES_PER_ITERATION
    assert counts[-1] == len(looked_at)


@pytest.mark.parametrize(("period_s", "expected_s"), [(15, 3), (60, 3), (5, 1), (1, 0.2)])
def test_every_sync_sees_a_new_answer(period_s: float, expected_s: float) -> None:
    assert fresh_s(period_s) == pytest.approx(expected_s)
    assert fresh_s(period_s) + meanwhile_s(period_s) <= period_s / 3


@pytest.mark.looptime
async def test_an_answer_that_is_fresh_is_not_asked_for_again() -> None:
    answers = Answers(meanwhile_s=2.0)
    for _ in range(2):
        await answers.shared.get("a")
        await asyncio.sleep(1.5)
    assert answers.asked == ["a"]


@pytest.mark.looptime
async def test_who_asks_shares_what_is_fresh_or_under_way_and_nothing_else() -> None:
    answers = Answers()
    assert not answers.shared.shares("a")
    asking = asyncio.create_task(answers.shared.get("a"))
    await asyncio.sleep(0.5)
    assert answers.shared.shares("a"), "under way"
    await asking
    assert answers.shared.shares("a"), "fresh"
    assert not answers.shared.shares("b")
    await asyncio.sleep(2.5)
    assert not answers.shared.shares("a")


@pytest.mark.looptime
async def test_an_answer_that_serves_while_the_next_is_under_way_survives_the_answers_of_others() -> None:
    answers = Answers(meanwhile_s=2.0)
    await answers.shared.get("a")
    await asyncio.sleep(1.5)
    other = asyncio.create_task(answers.shared.get("b"))
    await asyncio.sleep(0.7)
    assert await answers.shared.get("a") == "a 1"
    await other
    asked_s = asyncio.get_running_loop().time()
    assert await answers.shared.get("a") == "a 1"
    assert asyncio.get_running_loop().time() == asked_s
