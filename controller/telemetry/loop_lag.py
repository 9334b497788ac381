"""How long the event loop stands still: whatever computes for long delays every sync, and the Lease."""

import asyncio
import time
from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from controller.beats import BEAT_S, beat_after
from controller.telemetry.instruments import OURS

LOOK_S: Final = BEAT_S
"""How often it is looked at, on beats: a standstill is seen unless it is shorter than this, and then in part."""

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class LoopLag:
    """Sleeps, and measures by how much too long, and how much of that the loop has computed.

    The rest is a machine that gave its cores to others.
    """

    def __init__(self, registry: CollectorRegistry, computed_s: Callable[[], float] = time.thread_time) -> None:
        """`computed_s`: the CPU time of the loop's thread so far."""
        self._computed_s = computed_s
        self._lag = Histogram(
            f"{OURS}_event_loop_lag_seconds",
            "How much later than it should the event loop turns to what is due.",
            buckets=BUCKETS,
            registry=registry,
        )
        self._held = Histogram(
            f"{OURS}_event_loop_held_seconds",
            "How much of that lag the event loop has spent computing, at most.",
            buckets=BUCKETS,
            registry=registry,
        )

    async def run(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s, computed_s = beat_after(loop.time(), LOOK_S), self._computed_s()
            await asyncio.sleep(due_s - loop.time())
            lag_s = max(0.0, loop.time() - due_s)
            self._lag.observe(lag_s)
            self._held.observe(min(lag_s, self._computed_s() - computed_s))
