"""When an HPA is due: every sync period, with namespaces spread over moments of the period (decision 0007)."""

import math
import zlib
from collections.abc import Callable
from typing import Final

from controller.beats import BEAT_S

SLEW: Final = 0.02
"""By how much of the period an interval may differ from it while an HPA moves to its namespace's phase."""

BEAT_LEAST_S: Final = 0.01

MOMENTS_LEAST: Final = 10
"""In how many moments of the period HPAs are due, however few they are."""

HPAS_PER_MOMENT_MAX: Final = 200
"""How many are due in one, on the average: two tenths of a second of work."""

HPAS_PER_MOMENT_LEAST: Final = 50
"""With fewer, where there are more moments than the least, there are half as many again. Then half of the namespaces go
around to later phases, for minutes, so a number that goes up and down must not have that happen."""

GOLDEN: Final = 2_654_435_769
"""2**32 by the golden ratio: numbers in a row, multiplied with it, lie evenly on a circle of 2**32, and so do Adler's
checksums of names that differ in a digit. Of ten namespaces in a row CRC put five, or all, into one of ten moments."""

ECHO_PERIODS: Final = 0.1
ECHO_MAX_S: Final = 1.0
"""How long the watch may take to tell of the status that a sync wrote (in periods, and at most): the next sync
would rest on the old one."""


def due_beat_s(period_s: float) -> float:
    """How far apart the beats are on which HPAs become due: what they wait for one is taken back by `SLEW`."""
    return min(BEAT_S, max(BEAT_LEAST_S, period_s * SLEW / 2.0))


def moments(hpas: int, before: int = MOMENTS_LEAST) -> int:
    """In how many moments of the period so many HPAs are due, so that those of one meet and share what they read.

    Twice as many as `before` at a time: then each HPA is due when it was, or sooner by half of what lies between two.
    """
    count = before
    while hpas > count * HPAS_PER_MOMENT_MAX:
        count *= 2
    while count > MOMENTS_LEAST and hpas < count * HPAS_PER_MOMENT_LEAST:
        count //= 2
    return count


class Schedule:
    """When each HPA is due, in loop time."""

    def __init__(self, period_s: float, count: Callable[[], int], epoch_s: float = 0.0) -> None:
        """`count` tells how many HPAs there are. `epoch_s` is the loop time from which phases are counted.

        With that of the wall clock's zero those who have the same time have the same phases: after a failover HPAs are
        synced a whole number of periods after their last sync, on whichever host.
        """
        self.period_s = period_s
        self._count = count
        self._epoch_s = epoch_s
        self._moments = MOMENTS_LEAST

    def first_due_s(self, seen_s: float) -> float:
        """A new HPA is first evaluated one period after it was seen (§3.2)."""
        return seen_s + self.period_s

    def joins_due_s(self, key: str, seen_s: float) -> float:
        """When an HPA is first due that was there a period before it was seen, as after a restart: within a period.

        That is at its namespace's phase: all that are seen at a start would be due together otherwise, for minutes.
        """
        if self.period_s <= 0:
            return seen_s
        phase_s = self._phase_s(key)
        due_s = phase_s + math.ceil((seen_s - phase_s) / self.period_s) * self.period_s
        # Seen a hair after its phase, it would be due a whole period later by rounding.
        return due_s if seen_s <= due_s < seen_s + self.period_s else seen_s

    def latest_due_s(self, heard_s: float) -> float:
        """When an HPA that was heard of again is due at the latest, should it not be queued (§3.2, §3.5).

        Later than any due time that a sync before `heard_s` can have given it: the queue keeps the earlier one, so
        hearing of an HPA, be it by its own status write, does not shorten an interval that was made longer for its
        phase.
        """
        return heard_s + self.period_s * (1.0 + SLEW)

    def next_due_s(self, key: str, began_s: float, now_s: float) -> float:
        """When an HPA is due again whose sync began at `began_s` and ended now.

        One period later, or up to 2 % of the period sooner on the way to the namespace's phase: HPAs that are seen
        together drift apart by namespace, and those of a namespace together, so that they share a read. Sooner only,
        since what is put off is late, and pushes in among others that were due then. Counted from the beginning and
        not from the due time: of thousands that were due in one moment each keeps its place among them, and its
        interval. The phase sees to it that waits do not add up. Syncs that were missed because one took longer than a
        period are not caught up on (§3.5); the next one comes as soon as its watch will have told of this one, never
        before `now_s`.
        """
        if self.period_s <= 0:
            return now_s
        following_s = began_s + self.period_s
        earliest_s = now_s + min(ECHO_PERIODS * self.period_s, ECHO_MAX_S)
        return max(earliest_s, self._towards_phase_s(key, following_s))

    def _phase_s(self, key: str) -> float:
        """When in the period HPAs are due: at the end of that part into which their namespace's place on it falls."""
        self._moments = moments(self._count(), self._moments)
        place = zlib.adler32(key.partition("/")[0].encode()) * GOLDEN % 2**32
        part = (place * self._moments >> 32) + 1
        return (self._epoch_s + part * self.period_s / self._moments) % self.period_s

    def _towards_phase_s(self, key: str, due_s: float) -> float:
        """That time, or one nearer to the HPA's phase by as much as an interval may be moved; later only to reach it.

        Those that have reached it are all due at the very same time: the queue then keeps their order, by key. Told
        apart by rounding alone they would change places, and their intervals with them, each time.
        """
        phase_s, limit_s = self._phase_s(key), SLEW * self.period_s
        moment_s = phase_s + math.floor((due_s + limit_s - phase_s) / self.period_s) * self.period_s
        return max(moment_s, due_s - limit_s)
