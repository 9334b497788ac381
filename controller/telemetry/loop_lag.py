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

BUSY_SHARE: Final = 0.25
BUSY_LOOK_S: Final = LOOK_S / 2
"""How often while the loop computes for so much of the time: what it computed before a look was due is taken for part
of what held it, so that has to be little; and a loop that is awake need not be woken for it."""

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
        look_s = LOOK_S
        while True:
            began_s, computed_s = loop.time(), self._computed_s()
            due_s = beat_after(began_s, look_s)
            await asyncio.sleep(due_s - began_s)
            ended_s, computed_s = loop.time(), self._computed_s() - computed_s
            lag_s = max(0.0, ended_s - due_s)
            self._lag.observe(lag_s)
            self._held.observe(min(lag_s, computed_s))
            look_s = BUSY_LOOK_S if computed_s > BUSY_SHARE * (ended_s - began_s) else LOOK_S
