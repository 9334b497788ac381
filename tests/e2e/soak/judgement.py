"""What of a long run must not grow, and which HPAs must not be lost."""

from __future__ import annotations

import dataclasses
import statistics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MIB = 1024 * 1024
GROWTH_MAX_MIB = 1.0
"""What memory may grow by in ten minutes, once warm."""
TEN_MINUTES_S = 600.0


@dataclasses.dataclass(frozen=True)
class Sample:
    """What the controller takes at a moment, ``at_s`` since the start."""

    at_s: float
    memory_bytes: float
    descriptors: float
    tasks: float


def growth_mib(samples: Sequence[Sample]) -> float:
    """By how many MiB memory grows in ten minutes: the slope of the line through the samples. At least two."""
    times, sizes = [one.at_s for one in samples], [one.memory_bytes for one in samples]
    return statistics.linear_regression(times, sizes).slope * TEN_MINUTES_S / MIB


def grown(samples: Sequence[Sample]) -> list[str]:
    """What has grown over the samples, all taken at rest and after the warm-up; fewer than eight tell nothing."""
    if len(samples) < 8:
        return [f"{len(samples)} samples after the warm-up are too few to judge by"]
    growth = growth_mib(samples)
    return [f"memory grows by {growth:.2f} MiB in ten minutes"] if growth >= GROWTH_MAX_MIB else []


def left_open(before: Sequence[Sample], after: Sequence[Sample]) -> list[str]:
    """Of what there is more after the run than before it: tasks, descriptors.

    Both are some samples of a rest that was long enough for idle connections to be closed. The least of them counts:
    what is in hand at one moment is no leak.
    """
    found = []
    for name in ("descriptors", "tasks"):
        first, last = (min(getattr(one, name) for one in rest) for rest in (before, after))
        if last > first:
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
