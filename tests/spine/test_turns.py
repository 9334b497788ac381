"""Few syncs at a time decide and write: by urgency, then by age; no turn is ever lost."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.ports import SCALE_FIRST, STATUS_SECOND
from controller.precedence import Turns
from tests.spine.tasks import now_s, settle

pytestmark = pytest.mark.looptime


class Crowd:
    """Tasks that want turns, and who has had one in which order."""

    def __init__(self, turns: Turns) -> None:
        self.turns = turns
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.served: list[str] = []
        self.holding: set[str] = set()
        self.most = 0
        self.leaving = asyncio.Event()

    def want(self, name: str, urgency: int = SCALE_FIRST, due_s: float = 0.0, hold_s: float = 1.0) -> None:
        self.tasks[name] = asyncio.create_task(self.hold(name, urgency, due_s, hold_s))

    async def hold(self, name: str, urgency: int, due_s: float, hold_s: float) -> None:
        async with self.turns.held(urgency, due_s):
            self.served.append(name)
            self.holding.add(name)
            self.most = max(self.most, len(self.holding))
            try:
                await asyncio.sleep(hold_s)
            finally:
                self.holding.discard(name)
                self.leaving.set()  # whoever waits for this runs before the next one hears of its turn


@asynccontextmanager
async def crowd(count: int, statuses_per_turn: int = 1) -> AsyncIterator[Crowd]:
    """A crowd that shares so many turns; at the end all turns must be free again."""
    turns = Turns(count, statuses_per_turn=statuses_per_turn)
    people = Crowd(turns)
    try:
        yield people
    finally:
        for task in people.tasks.values():
            task.cancel()
        await asyncio.gather(*people.tasks.values(), return_exceptions=True)
    assert await free_of(turns) == count, "a turn was lost, or one was made up"


async def free_of(turns: Turns) -> int:
    """How many turns can be had at once."""
    free = 0
    held = []
    while True:
        block = turns.held(SCALE_FIRST, 0.0)
        attempt = asyncio.ensure_future(block.__aenter__())
        await settle()
        if not attempt.done():
            attempt.cancel()
            await asyncio.gather(attempt, return_exceptions=True)
            break
        held.append(block)
        free += 1
    for block in held:
        await block.__aexit__(None, None, None)
    return free


@pytest.mark.parametrize("count", [1, 2, 5])
async def test_no_more_than_the_given_number_hold_a_turn_at_once(count: int) -> None:
    async with crowd(count) as people:
        for number in range(20):
            people.want(f"sync {number}")
        await asyncio.sleep(100)
        assert len(people.served) == 20
        assert people.most == count


@pytest.mark.parametrize("count", [0, -1])
def test_fewer_than_one_turn_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Turns(count)


async def test_scale_writes_come_before_status_writes_however_old_those_are() -> None:
    async with crowd(1) as people:
        people.want("holder")
        await settle()
        people.want("old status", STATUS_SECOND, due_s=1.0)
        people.want("new scale", SCALE_FIRST, due_s=9.0)
        people.want("newer status", STATUS_SECOND, due_s=2.0)
        await asyncio.sleep(10)
        assert people.served == ["holder", "new scale", "old status", "newer status"]


async def test_among_equally_urgent_ones_the_key_that_has_been_due_longest_comes_first() -> None:
    async with crowd(1) as people:
        people.want("holder")
        await settle()
        for due_s in (5.0, 3.0, 4.0, 1.0, 2.0):
            people.want(f"due at {due_s:g}", due_s=due_s)
            await settle()
        await asyncio.sleep(10)
        assert people.served == ["holder", *(f"due at {due_s}" for due_s in range(1, 6))]


async def test_among_equals_the_first_to_come_is_served_first() -> None:
    async with crowd(1) as people:
        for number in range(5):
            people.want(f"{number}")
            await settle()
        await asyncio.sleep(10)
        assert people.served == ["0", "1", "2", "3", "4"]


async def test_a_turn_given_back_goes_to_a_waiter_and_not_to_a_newcomer() -> None:
    async with crowd(1) as people:
        people.want("holder")
        await settle()
        people.want("waiter", due_s=9.0)
        await people.leaving.wait()
        await people.hold("newcomer", SCALE_FIRST, 0.0, 1.0)
        assert people.served == ["holder", "waiter", "newcomer"]


async def test_a_turn_is_given_back_when_its_holder_fails() -> None:
    turns = Turns(1)
    with pytest.raises(ZeroDivisionError):
        async with turns.held(SCALE_FIRST, 0.0):
            raise ZeroDivisionError
    assert await free_of(turns) == 1


async def test_a_waiter_that_is_cancelled_is_passed_over() -> None:
    async with crowd(1) as people:
        people.want("holder")
        await settle()
        people.want("gives up", due_s=1.0)
        people.want("stays", due_s=2.0)
        await settle()
        people.tasks["gives up"].cancel()
        await asyncio.sleep(10)
        assert people.served == ["holder", "stays"]


async def test_a_waiter_that_is_refused_and_cancelled_in_one_moment_has_no_turn_to_give_back() -> None:
    async with crowd(1) as people:
        people.want("holder")
        await settle()
        people.want("unlucky")
        await settle()
        people.turns.refuse(lambda: RuntimeError("no answer"))
        people.tasks["unlucky"].cancel()
        await settle()


async def test_a_waiter_that_is_cancelled_in_the_moment_it_gets_its_turn_passes_it_on() -> None:
    async with crowd(1) as people:
        people.want("holder")
        await settle()
        people.want("unlucky", due_s=1.0)
        people.want("next", due_s=2.0)
        await people.leaving.wait()
        # The turn is granted, and "unlucky" has not heard of it yet.
        people.tasks["unlucky"].cancel()
        await asyncio.sleep(10)
        assert people.served == ["holder", "next"]


async def test_statuses_share_a_turn() -> None:
    async with crowd(2, statuses_per_turn=4) as people:
        for number in range(20):
            people.want(f"status {number}", STATUS_SECOND)
        await asyncio.sleep(10)
        assert people.most == 8


async def test_a_scale_waits_for_a_whole_turn_and_no_status_overtakes_it() -> None:
    async with crowd(1, statuses_per_turn=4) as people:
        for hold_s in (1.0, 2.0, 3.0):
            people.want(f"until {hold_s:g}", STATUS_SECOND, hold_s=hold_s)
        await settle()
        people.want("scale", SCALE_FIRST, due_s=9.0, hold_s=1.0)
        people.want("late status", STATUS_SECOND, due_s=1.0)
        await asyncio.sleep(2.5)
        assert people.holding == {"until 3"}
        await asyncio.sleep(1.0)
        assert people.holding == {"scale"}
        await asyncio.sleep(1.0)
        assert people.holding == {"late status"}


async def test_whoever_gives_up_waiting_for_a_whole_turn_lets_statuses_have_the_parts() -> None:
    async with crowd(1, statuses_per_turn=4) as people:
        people.want("holder", STATUS_SECOND, hold_s=9.0)
        await settle()
        people.want("scale", SCALE_FIRST)
        people.want("status", STATUS_SECOND)
        await settle()
        assert people.holding == {"holder"}
        people.tasks["scale"].cancel()
        await settle()
        assert people.holding == {"holder", "status"}


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(1, 3),
    statuses_per_turn=st.integers(1, 3),
    wants=st.lists(
        st.tuples(st.integers(0, 12), st.sampled_from((SCALE_FIRST, STATUS_SECOND)), st.integers(0, 3)),
        min_size=1,
        max_size=12,
    ),
    cancels=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 11), st.integers(0, 4)), max_size=12),
)
async def test_no_turn_is_lost_wherever_holders_and_waiters_are_cancelled(
    count: int, statuses_per_turn: int, wants: list[tuple[int, int, int]], cancels: list[tuple[int, int, int]]
) -> None:
    async with crowd(count, statuses_per_turn) as people:
        loop = asyncio.get_running_loop()
        for number, (come_s, urgency, hold_s) in enumerate(wants):
            loop.call_at(now_s() + come_s, people.want, f"{number}", urgency, float(come_s), float(hold_s))

        def cancel(number: int, passes: int) -> None:
            """After so many passes of the loop: between a grant and the moment the waiter hears of it, too."""
            if passes:
                loop.call_soon(cancel, number, passes - 1)
            elif (task := people.tasks.get(f"{number}")) is not None:
                task.cancel()

        for at_s, number, passes in cancels:
            loop.call_at(now_s() + at_s, cancel, number, passes)
        await asyncio.sleep(100)
        assert people.most <= count * statuses_per_turn
        assert all(task.done() for task in people.tasks.values())
        unserved = {name for name in people.tasks if name not in people.served}
        assert all(people.tasks[name].cancelled() for name in unserved), "somebody waits for ever"


async def test_whoever_has_given_back_a_turn_hides_nobody_who_waits() -> None:
    """A scale write that is under way goes before statuses that wait, so these fill no room; one that was does not."""
    async with crowd(1) as people:
        people.want("scale", SCALE_FIRST)
        await asyncio.sleep(2)
        for number in range(3):
            people.want(f"status {number}", STATUS_SECOND, hold_s=100.0)
        await settle()
        room = asyncio.create_task(people.turns.room(2))
        await asyncio.sleep(50)
        assert not room.done()
        await asyncio.sleep(60)
        assert room.done()
