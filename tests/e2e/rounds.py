"""Work on one part of the world that is done again whenever something there has changed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING

from tests.e2e.api_client import CONNECTION_ERRORS, ApiClient, ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

EXPECTED_ERRORS = (ApiError, *CONNECTION_ERRORS)
"""What may go wrong in a round or a watch while servers come and go; it is tried again."""

_RETRY_PERIOD_S = 0.2
# Watches only wake; should one miss something, this brings it back.
_RESYNC_PERIOD_S = 2.0


class Rounds:
    """Plays a round at first and after each change of what is watched, from ``start`` to ``stop``.

    ``watched`` are the queries of watches by their paths. ``last_failure`` is the last error that broke off a round.
    """

    def __init__(
        self, client: ApiClient, watched: Mapping[str, Mapping[str, str]], play: Callable[[], Awaitable[None]]
    ) -> None:
        self.last_failure: Exception | None = None
        self._client = client
        self._watched = watched
        self._play = play
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begins, in a task of its own."""
        self._task = asyncio.create_task(self._run(), name=f"rounds on {', '.join(self._watched)}")

    async def stop(self) -> None:
        """Ends, and leaves all as it is. Raises what broke the rounds for good, if anything did."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            _raise_failure(task)

    def check(self) -> None:
        """Raises what has broken the rounds for good, if anything has."""
        if self._task is not None and self._task.done():
            _raise_failure(self._task)

    async def _run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for path, query in self._watched.items():
                group.create_task(self._watch(path, query))
            group.create_task(self._play_when_woken())

    async def _watch(self, path: str, query: Mapping[str, str]) -> None:
        while True:
            with suppress(*EXPECTED_ERRORS):
                async with aclosing(self._client.watch(path, query)) as events:
                    async for _ in events:
                        self._wake.set()
            await asyncio.sleep(_RETRY_PERIOD_S)

    async def _play_when_woken(self) -> None:
        while True:
            self._wake.clear()
            try:
                await self._play()
            except EXPECTED_ERRORS as error:
                self.last_failure = error
                await asyncio.sleep(_RETRY_PERIOD_S)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(_RESYNC_PERIOD_S):
                    await self._wake.wait()


def _raise_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (failure := task.exception()) is not None:
        raise failure
