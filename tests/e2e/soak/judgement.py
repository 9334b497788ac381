"""What of a long run must not grow, and which HPAs must not be lost."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

MIB = 1024 * 1024
GROWTH_MAX_MIB = 1.0
"""What memory may grow by in ten minutes, once warm."""
TEN_MINUTES_S = 600.0
POOLED_MAX = 64
"""By how many sockets the pools of connections may differ, as bursts have filled them: one lane's worth. One socket
left behind with each watch that is cut is hundreds."""


@dataclasses.dataclass(frozen=True)
class Sample:
    """What the controller takes at a moment, ``at_s`` since the start; files are all descriptors but sockets."""

    at_s: float
    memory_bytes: float
    sockets: float
    files: float
    tasks: float


def growth_mib(samples: Sequence[Sample]) -> float:
    """By how many MiB memory grows in ten minutes: the slope of the line through the samples. At least two."""
    times, sizes = [one.at_s for one in samples], [one.memory_bytes for one in samples]
    return statistics.linear_regression(times, sizes).slope * TEN_MINUTES_S / MIB


def grown(samples: Sequence[Sample]) -> list[str]:
    """What has grown over the samples, all taken at rest and after the warm-up; fewer than eight tell nothing.

    Tasks, files and sockets are held at their least in the first and the last quarter: what is in hand at one moment is
    no leak.
    """
    if len(samples) < 8:  # two for each quarter
        return [f"{len(samples)} samples after the warm-up are too few to judge by"]
    found = []
    growth = growth_mib(samples)
    if growth >= GROWTH_MAX_MIB:
        found.append(f"memory grows by {growth:.2f} MiB in ten minutes")
    quarter = len(samples) // 4
    for name, spread in (("sockets", POOLED_MAX), ("files", 0), ("tasks", 0)):
        first, last = (min(getattr(one, name) for one in part) for part in (samples[:quarter], samples[-quarter:]))
        if last > first + spread:
            found.append(f"{name} went from {first:.0f} to {last:.0f}")
    return found


def lost(rows: Sequence[Mapping[str, Any]], there: Collection[str], oldest_s: float) -> list[str]:
    """Of the HPAs that are there those that the controller does not know or has not synced for so long; and the
    ones that it still knows but are gone. rows are those of ``/top``."""
    known = {str(row["name"]): row.get("syncedS") for row in rows}
    found = [f"{name} is not known" for name in there if name not in known]
    found += [f"{name} is gone and still known" for name in known if name not in there]
    for name, synced_s in known.items():
        if name in there and (synced_s is None or synced_s > oldest_s):
            found.append(f"{name} was synced {'never' if synced_s is None else f'{synced_s:.1f} s ago'}")
    return found


async def lost_for_good(
    look: Callable[[], Awaitable[list[str]]], pause: Callable[[], Awaitable[object]], pauses: int
) -> list[str]:
    """What a look at the world at rest still finds to be lost after so many pauses; empty as soon as one finds nothing.

    An HPA that was made just before the rest is on its way, and on a busy machine it takes a while.
    """
    for _ in range(pauses):
        if not await look():
            return []
        await pause()
    return await look()
