"""How much the loop's thread computes before it looks at anything else."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import Final

from tests.bench.measured import Figure

HELD_GOAL_MS: Final = 50.0
TICK_S: Final = 0.001
ROUNDS: Final = 3


async def loop_held(name: str, ask: Callable[[], Awaitable[object]]) -> Figure:
    """The most that this thread computes between two iterations of the loop, the best of a few rounds.

    CPU time: on a machine that is shared, being stopped from outside is what wall time would show.
    """
    gc.collect()
    gc.freeze()
    longest_s = min([await _longest_s(ask) for _ in range(ROUNDS)])
    gc.unfreeze()
    return Figure(f"loop held by {name}", longest_s * 1000, "ms", goal=HELD_GOAL_MS)


async def _longest_s(ask: Callable[[], Awaitable[object]]) -> float:
    longest_s, done = 0.0, False

    async def tick() -> None:
        nonlocal longest_s
        while not done:
            began_s = time.thread_time()
            await asyncio.sleep(TICK_S)
            longest_s = max(longest_s, time.thread_time() - began_s)

    ticking = asyncio.create_task(tick())
    await ask()
    done = True
    await ticking
    return longest_s
