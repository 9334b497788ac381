"""Due keys become syncs: any number may wait for reads, few at a time decide and write, oldest due first."""

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from controller import precedence
from controller.delay_queue import DelayQueue, Due, QueueClosed
from controller.ports import SCALE_FIRST, Instruments, Turn
from controller.precedence import PER_ITERATION, Pace, Turns
from controller.schedule import Schedule

_log = structlog.get_logger(__name__)


READY_PER_TURN: Final = 8
"""How many syncs may wait for each turn before no further one begins: what it read would be old by its turn, and its
HPA's last status might not have come back yet."""

STATUSES_PER_TURN: Final = 12
"""How many status writes share a turn: most of their time is the wait for an answer, and nothing is decided in it. By
default so many go out together that an API server which collects its garbage always has work beside that."""

Reconcile = Callable[[Due, Turn], Awaitable[float | None]]
"""One sync of a key. Gives the loop time at which the key is due again, or None when its HPA is gone (§3.4)."""


class Workers:
    """Takes due keys, has them reconciled and makes them due again."""

    def __init__(
        self,
        queue: DelayQueue,
        reconcile: Reconcile,
        concurrency: int,
        *,
        schedule: Schedule,
        instruments: Instruments,
    ) -> None:
        """`concurrency`: syncs that decide and write at once; `schedule`: when keys are due whose syncs do not say it.

        Raises:
            ValueError: a concurrency below 1.
        """
        self._queue = queue
        self._reconcile = reconcile
        self._schedule = schedule
        self._instruments = instruments
        self._turns = Turns(concurrency, statuses_per_turn=STATUSES_PER_TURN)
        self._ready_max = READY_PER_TURN * concurrency
        self._pace = Pace(PER_ITERATION)
        self._syncs: set[asyncio.Task[None]] = set()
        self._owed_s: dict[str, float] = {}

    async def run(self) -> None:
        """Work until the queue is closed and every sync in hand has ended.

        Cancelling cancels the syncs, and returns only when they have ended: nothing is sent after that.
        """
        try:
            with contextlib.suppress(QueueClosed):
                while True:
                    await self._pace.step()
                    await self._turns.room(self._ready_max)
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
        # After a sync that took longer than a period the key is due "now"; it has been late since before that.
        owed_s = min(due.due_s, self._owed_s.pop(due.key, due.due_s))
        self._instruments.sync_started(due.key, max(0.0, began_s - owed_s))
        precedence.begin(owed_s)
        again_s: float | None = None
        try:
            again_s = await self._reconcile(due, functools.partial(self._turn, owed_s))
        except asyncio.CancelledError:
            again_s = self._schedule.next_due_s(due.key, began_s, loop.time())
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Nobody cancelled this sync: something it waited for was, a request it shares with others for instance.
            _log.exception("sync failed unexpectedly", hpa=due.key)
        except (GeneratorExit, KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001 - one HPA must not stop the others, and a library's panic is no Exception
            again_s = self._schedule.next_due_s(due.key, began_s, loop.time())
            _log.exception("sync failed unexpectedly", hpa=due.key)
        finally:
            # However it ended, a key that stays in a hand would never be synced again.
            self._instruments.sync_ended(due.key, loop.time() - began_s)
            if again_s is not None:
                following_s = began_s + self._schedule.period_s
                if loop.time() > following_s:
                    self._owed_s[due.key] = following_s
                self._queue.add(due.key, again_s)
            self._queue.done(due.key)

    def _turn(
        self, owed_s: float, urgency: int = SCALE_FIRST, *, yields: bool = False
    ) -> contextlib.AbstractAsyncContextManager[None]:
        """The turn of a sync that has been due since `owed_s`."""
        if yields:
            # It may have to wait for long; nobody is kept from beginning by that.
            yields_s = asyncio.get_running_loop().time() + self._schedule.period_s
            return self._turns.held(urgency, yields_s, counts=False)
        return self._turns.held(urgency, owed_s)
