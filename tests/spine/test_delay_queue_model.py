"""§3.3: whatever is done to the queue, in whatever order, it behaves like a plain model of what it promises."""

import asyncio
from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.delay_queue import DelayQueue, QueueClosed
from tests.spine.tasks import now_s, settle

pytestmark = pytest.mark.looptime

KEYS = ("a", "b", "c", "d")
BEAT_S = 0.005


@dataclass(frozen=True)
class Add:
    key: str
    after_s: int


@dataclass(frozen=True)
class Pass:
    seconds: int


@dataclass(frozen=True)
class Come:
    """A taker comes and waits for one key."""


@dataclass(frozen=True)
class Cancel:
    """One of the waiting takers is cancelled; with `after_wake_up` in the moment in which a key arrives for it."""

    which: int
    after_wake_up: str | None


@dataclass(frozen=True)
class GiveBack:
    which: int


@dataclass(frozen=True)
class Close:
    pass


Operation = Add | Pass | Come | Cancel | GiveBack | Close

operations = st.lists(
    st.builds(Add, st.sampled_from(KEYS), st.integers(-2, 6))
    | st.builds(Pass, st.integers(1, 4))
    | st.just(Come())
    | st.builds(Cancel, st.integers(0, 5), st.none() | st.sampled_from(KEYS))
    | st.builds(GiveBack, st.integers(0, 5)),
    max_size=40,
)


@dataclass
class Model:
    """What the queue promises, written down as simply as possible. Times are whole seconds."""

    now: int = 0
    waiting: dict[str, int] = field(default_factory=dict)
    due: list[str] = field(default_factory=list)
    hands: list[str] = field(default_factory=list)
    again: dict[str, int] = field(default_factory=dict)
    closed: bool = False

    def add(self, key: str, due: int) -> None:
        if self.closed or key in self.due:
            return
        if key in self.hands:
            self.again[key] = min(due, self.again.get(key, due))
            return
        if due <= self.now:
            self.waiting.pop(key, None)
            self.due.append(key)
        else:
            self.waiting[key] = min(due, self.waiting.get(key, due))

    def pass_time(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            for key in sorted(key for key, due in self.waiting.items() if due == self.now):
                del self.waiting[key]
                self.due.append(key)

    def take(self) -> str:
        key = self.due.pop(0)
        self.hands.append(key)
        return key

    def give_back(self, key: str) -> None:
        self.hands.remove(key)
        if key in self.again:
            self.add(key, self.again.pop(key))

    def close(self) -> None:
        self.closed = True
        self.waiting.clear()
        self.again.clear()


class Pair:
    """The queue and its model, side by side."""

    def __init__(self) -> None:
        self.queue = DelayQueue(asyncio.get_running_loop().time, beat_s=BEAT_S)
        self.model = Model()
        self.began_s = now_s()
        self.tasks: list[asyncio.Task[None]] = []
        self.taken: list[str] = []
        self.refused = 0

    async def do(self, operation: Operation) -> None:
        match operation:
            case Add(key, after_s):
                self.queue.add(key, self.began_s + self.model.now + after_s)
                self.model.add(key, self.model.now + after_s)
            case Pass(seconds):
                # Look half a second after each whole one, so that no key is just becoming due.
                self.model.pass_time(seconds)
                await asyncio.sleep(self.began_s + self.model.now + 0.5 - now_s())
            case Come():
                self.tasks.append(asyncio.create_task(self._take()))
            case Cancel(which, after_wake_up):
                if after_wake_up is not None:
                    self.queue.add(after_wake_up, self.began_s + self.model.now)
                    self.model.add(after_wake_up, self.model.now)
                if waiting := self.waiting_takers():
                    waiting[which % len(waiting)].cancel()
            case GiveBack(which):
                if self.model.hands:
                    key = self.model.hands[which % len(self.model.hands)]
                    self.queue.done(key)
                    self.model.give_back(key)
            case Close():
                self.queue.close()
                self.model.close()
        await settle()
        self.compare()

    def compare(self) -> None:
        """Takers have come and gone by now: bring the model to the same point, and check that they agree."""
        model = self.model
        for key in self.taken:
            assert model.due[:1] == [key], "keys are taken in the order in which they became due"
            assert key not in model.hands, "a key is in two hands"
            model.take()
        self.taken.clear()
        if self.waiting_takers():
            assert not model.due, "a key is due although somebody waits for it"
            assert not model.closed
        assert self.queue.depth == len(model.due)
        assert self.queue.in_hand == len(model.hands)
        assert len(self.queue) == len(model.due) + len(model.waiting)

    def waiting_takers(self) -> list[asyncio.Task[None]]:
        return [task for task in self.tasks if not task.done()]

    async def _take(self) -> None:
        try:
            due = await self.queue.take()
        except QueueClosed:
            self.refused += 1
        else:
            assert due.due_s <= now_s()
            self.taken.append(due.key)

    async def end(self) -> None:
        """Close, drain and look whether anything is left."""
        await self.do(Close())
        for _ in range(len(KEYS)):
            await self.do(Come())
        await self.do(Pass(100))
        assert self.model.due == []
        assert self.waiting_takers() == []
        endings = await asyncio.gather(*self.tasks, return_exceptions=True)
        assert [ending for ending in endings if isinstance(ending, Exception)] == []


@settings(max_examples=100, deadline=None)
@given(operations=operations)
async def test_the_queue_behaves_like_its_model_under_any_operations(operations: list[Operation]) -> None:
    pair = Pair()
    for operation in operations:
        await pair.do(operation)
    await pair.end()


@settings(max_examples=40, deadline=None)
@given(
    periods=st.lists(st.tuples(st.sampled_from(KEYS), st.integers(1, 5)), min_size=1, max_size=12),
    holds=st.lists(st.integers(0, 7), min_size=1, max_size=8),
    hands=st.integers(1, 4),
    restless=st.booleans(),
)
async def test_no_key_is_ever_in_two_hands_and_none_is_lost_among_busy_takers(
    periods: list[tuple[str, int]], holds: list[int], hands: int, *, restless: bool
) -> None:
    queue = DelayQueue(asyncio.get_running_loop().time, beat_s=BEAT_S)
    held: Counter[str] = Counter()
    taken: Counter[str] = Counter()

    async def work(number: int) -> None:
        """Takes, holds a while, makes the key due again, gives it back: sometimes in the other order."""
        turn = number
        while True:
            due = await queue.take()
            held[due.key] += 1
            assert held[due.key] == 1, "in two hands"
            taken[due.key] += 1
            turn += 1
            await asyncio.sleep(holds[turn % len(holds)])
            queue.add(due.key, now_s() + 1 + turn % 3)
            held[due.key] -= 1
            queue.done(due.key)

    for key, after_s in periods:
        queue.add(key, now_s() + after_s)
    workers = [asyncio.create_task(work(number)) for number in range(hands)]
    try:
        for second in range(60):
            await asyncio.sleep(1)
            if restless:
                queue.add(periods[second % len(periods)][0], now_s() + second % 2)
                # A taker that gives up at any moment must not take a wake-up with it.
                impatient = asyncio.create_task(queue.take())
                await asyncio.sleep(0)
                if not impatient.done():
                    impatient.cancel()
                    await asyncio.gather(impatient, return_exceptions=True)
                if impatient.done() and not impatient.cancelled():
                    key = impatient.result().key
                    taken[key] += 1
                    queue.done(key)
                    queue.add(key, now_s() + 1)
        assert [worker.exception() for worker in workers if worker.done()] == []
    finally:
        queue.close()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    # A key waits at most 5 s to become due and then for at most four keys that are held for 7 s each.
    assert set(taken) >= {key for key, _ in periods}
