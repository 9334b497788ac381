"""Waits that a stop ends."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def before(stop: asyncio.Event, awaited: Coroutine[Any, Any, T]) -> T | None:
    """What is awaited; None if `stop` is set before, and then it is cancelled. Raises what it raises."""
    task, stopped = asyncio.create_task(awaited), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
        return None if stop.is_set() else await task
    finally:
        task.cancel()
        stopped.cancel()
        await asyncio.gather(task, stopped, return_exceptions=True)
