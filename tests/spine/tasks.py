"""Tasks that end with their test, and waiting in virtual time."""

import asyncio
import gc
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, Final

from controller.ports import SCALE_FIRST, Turn
from controller.precedence import Turns

MOMENT_S: Final = 1e-4
"""So short that nothing is due in between, and long enough that everything that can run has run."""


@asynccontextmanager
async def running(*coroutines: Coroutine[Any, Any, None]) -> AsyncIterator[list[asyncio.Task[None]]]:
    """Run these beside the block; they are cancelled at its end. What one of them has raised is raised there."""
    tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        endings = await asyncio.gather(*tasks, return_exceptions=True)
    for ending in endings:
        if isinstance(ending, Exception):
            raise ending


@contextmanager
def leaving_none(*kinds: type) -> Iterator[None]:
    """Of no kind may there be more objects after the block than before, though nothing is collected in it."""
    gc.collect()
    before = _there_are(kinds)
    gc.disable()
    try:
        yield
        after = _there_are(kinds)
        assert after == before, (before, after)
    finally:
        gc.enable()


def _there_are(kinds: tuple[type, ...]) -> Counter[str]:
    return Counter(type(found).__name__ for found in gc.get_objects() if isinstance(found, kinds))


async def settle() -> None:
    """Let everything run that need not wait for time."""
    await asyncio.sleep(MOMENT_S)


def now_s() -> float:
    """The loop's time."""
    return asyncio.get_running_loop().time()


def others() -> set[asyncio.Task[Any]]:
    """All tasks but the caller's."""
    return asyncio.all_tasks() - {asyncio.current_task()}


def turn_of(turns: Turns, due_s: float, yielded: list[bool]) -> Turn:
    """What a sync is given that became due at that time; `yielded` takes down whether it let others go first."""

    def turn(urgency: int = SCALE_FIRST, *, yields: bool = False) -> AbstractAsyncContextManager[None]:
        yielded.append(yields)
        return turns.held(urgency, due_s)

    return turn


class LoopIterations:
    """Counts the iterations of the loop while it is looked at."""

    def __init__(self) -> None:
        self.number = 0
        self._counting = asyncio.create_task(self._count())

    async def _count(self) -> None:
        while True:
            self.number += 1
            await asyncio.sleep(0)

    async def stop(self) -> None:
        self._counting.cancel()
        await asyncio.wait([self._counting])
