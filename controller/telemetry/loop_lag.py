"""How long the event loop stands still: whatever computes for long delays every sync, and the Lease."""

import asyncio
from typing import Final

from prometheus_client import CollectorRegistry, Histogram

from controller.telemetry.instruments import OURS

LOOK_S: Final = 0.05
"""How often it is looked at: a standstill is seen unless it is shorter than this, and then in part."""

BUCKETS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class LoopLag:
    """Sleeps, and measures by how much too long."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._lag = Histogram(
            f"{OURS}_event_loop_lag_seconds",
            "How much later than it should the event loop turns to what is due.",
            buckets=BUCKETS,
            registry=registry,
        )

    async def run(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due_s = loop.time() + LOOK_S
            await asyncio.sleep(LOOK_S)
            self._lag.observe(max(0.0, loop.time() - due_s))
