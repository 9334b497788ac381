"""How often the controllers of a scene sync, and how soon one may take over from another."""

from __future__ import annotations

import dataclasses

# For a process that is late because the machine is busy with others.
MACHINE_S = 4.0


@dataclasses.dataclass(frozen=True)
class Pace:
    """All in seconds: the sync period, and the three times of leader election."""

    period_s: float
    lease_s: float
    renew_s: float
    retry_s: float

    @property
    def flags(self) -> tuple[str, ...]:
        """As the program takes them."""
        return (
            f"--horizontal-pod-autoscaler-sync-period={self.period_s:g}s",
            f"--leader-elect-lease-duration={self.lease_s:g}s",
            f"--leader-elect-renew-deadline={self.renew_s:g}s",
            f"--leader-elect-retry-period={self.retry_s:g}s",
        )

    @property
    def led_within_s(self) -> float:
        """When somebody leads again at the latest, once nothing keeps the controllers from it.

        The Lease of the last leader runs out, as those see it who wait for it, and is tried for at a retry's distance.
        """
        return self.lease_s + 2 * self.retry_s + MACHINE_S

    def synced_within_s(self, calm_s: float) -> float:
        """Two periods, or twice calm_s, a time between two syncs without faults, where that is longer."""
        return 2 * max(self.period_s, calm_s) + MACHINE_S


STEADY = Pace(period_s=2.0, lease_s=4.0, renew_s=3.0, retry_s=0.5)
# For controllers that die often: their successors need not wait long.
BRISK = Pace(period_s=1.0, lease_s=2.0, renew_s=1.5, retry_s=0.3)
