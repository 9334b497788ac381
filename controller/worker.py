"""Due keys become syncs: any number may wait for reads, few at a time decide and write, oldest due first."""

import asyncio
import contextlib
import heapq
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from controller.delay_queue import DelayQueue, Due, QueueClosed
from controller.ports import SCALE_FIRST, Instruments, Turn

_log = structlog.get_logger(__name__)


Reconcile = Callable[[Due, Turn], Awaitable[float | None]]
"""One sync of a key. Gives the loop time at which the key is due again, or None when its HPA is gone (§3.4)."""


class Turns:
    """A semaphore whose waiters are served by urgency and age instead of arrival."""

    def __init__(self, count: int) -> None:
        """`count`: how many may hold a turn at once, at least 1.

        Raises:
            ValueError: less than 1 (§1.1).
        """
        if count < 1:
            raise ValueError(f"{count} concurrent syncs: at least 1 is needed")
        self._free = count
        self._waiters: list[tuple[int, float, int, asyncio.Future[None]]] = []
        self._arrival = itertools.count()

    @asynccontextmanager
    async def held(self, urgency: int, due_s: float) -> AsyncIterator[None]:
        """Hold a turn for the block."""
        await self._acquire(urgency, due_s)
        try:
            yield
        finally:
            self._release()

    async def _acquire(self, urgency: int, due_s: float) -> None:
        if self._free > 0:
            self._free -= 1
            return
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiters, (urgency, due_s, next(self._arrival), granted))
        try:
            await granted
        except asyncio.CancelledError:
            if granted.done() and not granted.cancelled():
                self._release()  # granted in the moment of cancellation: pass it on
            raise

    def _release(self) -> None:
        while self._waiters:
            *_, granted = heapq.heappop(self._waiters)
            if not granted.done():
                granted.set_result(None)
                return
        self._free += 1


class Workers:
    """Takes due keys, has them reconciled and makes them due again."""

    def __init__(
        self,
        queue: DelayQueue,
        reconcile: Reconcile,
        concurrency: int,
        *,
        retry_due_s: Callable[[Due], float],
        instruments: Instruments,
    ) -> None:
        """`concurrency`: syncs that decide and write at once. `retry_due_s`: when a key is due after an exception.

        Raises:
            ValueError: a concurrency below 1.
        """
        self._queue = queue
        self._reconcile = reconcile
        self._retry_due_s = retry_due_s
        self._instruments = instruments
        self._turns = Turns(concurrency)
        self._syncs: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Work until the queue is closed and every sync in hand has ended.

        Cancelling cancels the syncs, and returns only when they have ended: nothing is sent after that.
        """
        try:
            with contextlib.suppress(QueueClosed):
                while True:
                    due = await self._queue.take()
                    sync = asyncio.create_task(self._sync(due), name=f"sync {due.key}")
                    self._syncs.add(sync)
                    sync.add_done_callback(self._syncs.discard)
            if self._syncs:
                await asyncio.wait(self._syncs)
        finally:
            for sync in self._syncs:
                sync.cancel()
            if self._syncs:
                await asyncio.wait(self._syncs)

    async def _sync(self, due: Due) -> None:
        """One sync; whatever it raises is logged and the key is due again at the next period (§3.4)."""
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        self._instruments.sync_started(due.key, max(0.0, began_s - due.due_s))
        again_s: float | None = None
        try:
            again_s = await self._reconcile(due, lambda urgency=SCALE_FIRST: self._turns.held(urgency, due.due_s))
        except Exception:  # noqa: BLE001 - one HPA must not stop the others
            again_s = self._retry_due_s(due)
            _log.exception("sync failed unexpectedly", hpa=due.key)
        except asyncio.CancelledError:
            again_s = self._retry_due_s(due)
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancelled this sync: something it waited for was, a request it shares with others for instance.
            _log.exception("sync failed unexpectedly", hpa=due.key)
        finally:
            # However it ended, a key that stays in a hand would never be synced again.
            self._instruments.sync_ended(due.key, loop.time() - began_s)
            if again_s is not None:
                self._queue.add(due.key, again_s)
            self._queue.done(due.key)
