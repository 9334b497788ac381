"""Budgets of requests (`--kube-api-qps`) and the places of lanes: who goes when, and who in whose stead."""

import asyncio
import functools

import pytest

from controller.kube.budget import SILENT_PLACES, Budget, Lane
from controller.ports import Unreachable
from tests.spine.tasks import now_s

pytestmark = pytest.mark.looptime


async def test_as_many_go_at_once_as_the_burst_says_and_then_one_each_interval() -> None:
    budget = Budget(2.0, 3, asyncio.get_running_loop().time)
    for _ in range(2):
        began_s, gone_s = now_s(), list[float]()

        async def go(gone_s: list[float] = gone_s, began_s: float = began_s) -> None:
            await budget.spend()
            gone_s.append(now_s() - began_s)

        await asyncio.gather(*(go() for _ in range(6)))
        assert gone_s == pytest.approx([0.0, 0.0, 0.0, 0.5, 1.0, 1.5], abs=0.01)
        await asyncio.sleep(60)  # what is not spent does not add up to more than the burst


async def test_a_burst_of_none_is_one() -> None:
    budget, began_s = Budget(1.0, 0, asyncio.get_running_loop().time), now_s()
    await budget.spend()
    assert now_s() == began_s


async def test_who_comes_while_others_wait_does_not_pass_them() -> None:
    budget, gone = Budget(1.0, 1, asyncio.get_running_loop().time), list[str]()

    async def go(name: str) -> None:
        await budget.spend()
        gone.append(name)

    await budget.spend()
    first = asyncio.create_task(go("first"))
    await asyncio.sleep(1.0 - 1e-4)
    second = asyncio.create_task(go("second"))
    began_s = now_s()
    await asyncio.gather(first, second)
    assert gone == ["first", "second"]
    assert now_s() - began_s == pytest.approx(1.0, abs=0.01)


async def test_who_stops_waiting_in_the_moment_of_its_turn_gives_it_to_the_next_one() -> None:
    loop = asyncio.get_running_loop()
    budget = Budget(1.0, 1, loop.time)
    await budget.spend()
    began_s = now_s()
    waiting = [asyncio.create_task(budget.spend()) for _ in range(3)]
    await asyncio.sleep(0)
    assert budget._timer is not None
    # After the timer has rung, and before the task that it serves runs.
    loop.call_at(budget._timer.when(), waiting[0].cancel)
    await asyncio.wait_for(waiting[1], 10)
    assert waiting[0].cancelled()
    assert now_s() - began_s == pytest.approx(1.0, abs=0.01)
    await asyncio.wait_for(waiting[2], 10)
    assert now_s() - began_s == pytest.approx(2.0, abs=0.01)


async def test_the_last_who_stops_waiting_in_that_moment_leaves_all_as_it_was() -> None:
    loop = asyncio.get_running_loop()
    budget = Budget(1.0, 1, loop.time)
    await budget.spend()
    began_s = now_s()
    waiting = asyncio.create_task(budget.spend())
    await asyncio.sleep(0)
    assert budget._timer is not None
    loop.call_at(budget._timer.when(), waiting.cancel)
    await asyncio.wait([waiting])
    await budget.spend()
    assert now_s() - began_s == pytest.approx(1.0, abs=0.01)
    await budget.spend()
    assert now_s() - began_s == pytest.approx(2.0, abs=0.01)


async def test_a_lane_is_narrow_only_until_something_is_said_and_only_if_nothing_was() -> None:
    narrow = Lane(16, Budget(0.0, 1, asyncio.get_running_loop().time))
    silence = functools.partial(Unreachable, "silence")
    before = narrow.answers
    narrow.answered()
    narrow.unanswered(before, silence)
    assert narrow._places._count == 16, "it has answered meanwhile"
    narrow.unanswered(narrow.answers, silence)
    assert narrow._places._count == SILENT_PLACES
    narrow.answered()
    assert narrow._places._count == 16
