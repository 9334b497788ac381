"""Who goes first, and how many in one iteration of the loop."""

import asyncio
from collections import Counter
from contextlib import nullcontext

import pytest

from controller import precedence
from controller.precedence import Pace, Precedence, Turns
from controller.sources.shared import SharedReads
from tests.spine.tasks import LoopIterations, others

TURNS = 20
"""More iterations of the loop than anything here takes, unless it waits for time; none of it does."""


async def settled() -> None:
    for _ in range(TURNS):
        await asyncio.sleep(0)


async def test_few_go_on_in_one_turn_of_the_loop_the_oldest_first() -> None:
    pace, loop, passed = Pace(4), LoopIterations(), list[tuple[int, float]]()

    async def step(due_s: float) -> None:
        precedence.begin(due_s)
        await pace.step()
        passed.append((loop.number, due_s))

    await asyncio.gather(*(step(float(number)) for number in reversed(range(100))))
    await loop.stop()
    assert max(Counter(turn for turn, _ in passed).values()) <= 4
    first, rest = passed[:4], passed[4:]
    assert [due_s for _, due_s in first] == [99.0, 98.0, 97.0, 96.0], "nobody waited before them"
    assert [due_s for _, due_s in rest] == sorted(due_s for _, due_s in rest)
    assert len(passed) == 100


async def test_who_is_alone_need_not_wait() -> None:
    pace, loop = Pace(2), LoopIterations()
    await settled()
    before = loop.number
    await pace.step()
    await pace.step()
    assert loop.number == before
    await loop.stop()


async def test_who_stops_waiting_holds_up_nobody() -> None:
    pace = Pace(1)
    waiting = [asyncio.create_task(pace.step()) for _ in range(10)]
    await asyncio.sleep(0)
    for task in waiting[1:9]:
        task.cancel()
    await settled()
    assert waiting[9].done()
    assert not waiting[9].cancelled()
    assert others() == set()


@pytest.mark.parametrize("fails", [False, True], ids=["an answer", "a failure"])
async def test_thousands_who_share_an_answer_do_not_all_go_on_at_once(*, fails: bool) -> None:
    there = asyncio.Event()

    async def read(_: str) -> str:
        await there.wait()
        if fails:
            raise ValueError
        return "answer"

    shared = SharedReads(read, asyncio.get_running_loop().time, 3.0)
    loop, passed = LoopIterations(), list[int]()

    async def ask() -> None:
        with pytest.raises(ValueError) if fails else nullcontext():  # noqa: PT011 - our own
            assert await shared.get("question") == "answer"
        passed.append(loop.number)

    asking = [asyncio.create_task(ask()) for _ in range(1000)]
    await settled()
    assert passed == []
    there.set()
    await asyncio.gather(*asking)
    await loop.stop()
    assert max(Counter(passed).values()) <= precedence.PER_ITERATION


async def test_what_is_asked_while_a_turn_is_held_takes_its_precedence() -> None:
    turns = Turns(1)
    precedence.begin(5.0)
    assert precedence.current() == Precedence(precedence.READ_THIRD, 5.0)
    async with turns.held(0, 5.0):
        assert precedence.current() == Precedence(0, 5.0)
    assert precedence.current() == Precedence(precedence.READ_THIRD, 5.0)


async def test_those_who_are_refused_hear_of_it_in_their_order_and_a_few_at_a_time() -> None:
    turns, loop, refused = Turns(1), LoopIterations(), list[tuple[int, float]]()

    async def want(due_s: float) -> None:
        with pytest.raises(LookupError):
            async with turns.held(0, due_s):
                pass
        refused.append((loop.number, due_s))

    async with turns.held(0, 0.0):
        wanting = [asyncio.create_task(want(float(number))) for number in reversed(range(10))]
        await settled()
        turns.refuse(LookupError)
        await asyncio.gather(*wanting)
    await loop.stop()
    assert [due_s for _, due_s in refused] == [float(number) for number in range(10)]
    assert max(Counter(turn for turn, _ in refused).values()) <= precedence.PER_ITERATION
