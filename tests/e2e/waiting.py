"""Bounded waiting for a state of the world, and work that goes on meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

_Value = TypeVar("_Value")


@asynccontextmanager
async def alongside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Does the work beside the context, and ends it with that. Raises what has broken the work off."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def wait_until(
    check: Callable[[], Awaitable[_Value]],
    what: str,
    *,
    timeout_s: float = 20.0,
    poll_s: float = 0.05,
    ignoring: tuple[type[Exception], ...] = (),
) -> _Value:
    """The first true value that check returns.

    Exceptions of the types in ignoring count as a false value. Raises TimeoutError after timeout_s seconds,
    which says what was waited for and the last value or exception.
    """
    clock = asyncio.get_running_loop().time
    deadline = clock() + timeout_s
    last: object = None
    while True:
        try:
            async with asyncio.timeout_at(deadline):
                value = await check()
        except TimeoutError as error:
            if clock() < deadline and not isinstance(error, ignoring):
                raise
            last = last or error
        except ignoring as error:
            last = error
        else:
            if value:
                return value
            last = value
        if clock() + poll_s > deadline:
            raise TimeoutError(f"waited {timeout_s:.0f} s for {what}; last seen: {last!r}")
        await asyncio.sleep(poll_s)
