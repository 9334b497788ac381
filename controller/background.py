"""Tasks that run as long as the controller does."""

import asyncio
import contextvars
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Self


class Background:
    """Enter it to run them. As in asyncio.TaskGroup, one that fails ends the others and what is within."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Let tasks be spawned."""
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for all that still run.

        Raises:
            BaseExceptionGroup: of what failed.
        """
        await self._group.__aexit__(kind, error, trace)

    def spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        """The task that runs it; None, and it never runs, while everything ends."""
        try:
            # Not in the context of a sync that begins it: it is none.
            task = self._group.create_task(coroutine, context=contextvars.Context())
        except RuntimeError:
            coroutine.close()  # a sync wants a watch while everything ends
            return None
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def cancel(self) -> None:
        """Cancel all that run."""
        for task in self._running:
            task.cancel()
