"""What happens when an HPA appears, changes or goes (§3.2, §3.6, §3.8)."""

import asyncio
from collections.abc import Callable

from controller.decide.instants import NANOSECONDS
from controller.delay_queue import DUE_PER_ITERATION, DelayQueue
from controller.ports import Clock, Instruments, WatchedAutoscaler
from controller.rivals import Rivals
from controller.schedule import Schedule
from controller.wire.objects import created_ns


class Arrivals:
    """Observes the cache of HPAs: new ones are registered and become due, deleted ones stop being rivals.

    A change never makes an HPA due earlier than it was: users rely on the period (§28.9); what another controller
    writes does, by way of the company. The key of a deleted HPA stays queued; its sync finds nothing and forgets its
    history.
    """

    def __init__(
        self,
        queue: DelayQueue,
        rivals: Rivals,
        instruments: Instruments,
        clock: Clock,
        time_s: Callable[[], float],
        schedule: Schedule,
    ) -> None:
        self._queue = queue
        self._rivals = rivals
        self._instruments = instruments
        self._clock = clock
        self._time_s = time_s
        self._schedule = schedule

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """See cache.Observer."""
        if new is not None:
            if self._rivals.register(new.namespace, new.name):
                self._instruments.autoscalers_counted(1)
            if old is None:
                self._queue.add(new.key, self._first_due_s(new))
            elif not self._queue.holds(new.key):  # who has it makes it due again, knowing how long that sync took
                self._queue.add(new.key, self._schedule.latest_due_s(self._time_s()))
        elif old is not None:
            self._rivals.unregister(old.namespace, old.name)
            self._instruments.autoscalers_counted(-1)

    async def begin(self) -> None:
        """To be called before anybody takes keys: those that became due while caches were filling wait for their phase.

        All of them at once would be late, and take minutes to come to their phases.
        """
        for number in range(self._queue.depth):
            due = await self._queue.take()
            self._queue.add(due.key, self._schedule.joins_due_s(due.key, self._time_s()))
            self._queue.done(due.key)
            if number % DUE_PER_ITERATION == 0:
                await asyncio.sleep(0)

    def _first_due_s(self, new: WatchedAutoscaler) -> float:
        """A period from now, or sooner if the HPA has been there for a period: whoever saw it then has synced it."""
        seen_s, created = self._time_s(), created_ns(new.metadata)
        if created is None or self._clock.now().wall_ns - created < self._schedule.period_s * NANOSECONDS:
            return self._schedule.first_due_s(seen_s)
        return self._schedule.joins_due_s(new.key, seen_s)
