"""The real clocks, read nowhere else."""

import time
from typing import Final

from controller.decide.instants import Now

# Counts time during which the machine was suspended, where the system has such a clock: a Lease runs out meanwhile.
_MONOTONIC: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The port `Clock` of the machine."""

    def now(self) -> Now:
        """See ports.Clock."""
        return Now(time.time_ns(), time.clock_gettime_ns(_MONOTONIC))
