"""Wall time for the lab, derived from the time of an event loop.

Everything in the lab that carries a timestamp asks a `LabClock`. Its only source is a monotonic function,
normally `loop.time`, so that a loop that runs faster than real time makes the whole lab older at the same
rate.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_START = datetime(2026, 1, 1, tzinfo=UTC)
"""The wall time at which a lab starts when nobody says otherwise: fixed, so that runs repeat."""


class LabClock:
    """Wall time that advances with a monotonic source.

    Args:
        monotonic_s: Seconds that never go back; `asyncio.get_running_loop().time` in a running lab.
        start: Wall time at the moment of construction; must know its time zone.

    """

    def __init__(self, monotonic_s: Callable[[], float], start: datetime = DEFAULT_START) -> None:
        if start.tzinfo is None:
            raise ValueError(f"the start of a lab clock needs a time zone, {start.isoformat()} has none")
        self._monotonic_s = monotonic_s
        self._origin_s = monotonic_s()
        self._start = start.astimezone(UTC)

    def monotonic_s(self) -> float:
        """Seconds of the underlying source, for differences only."""
        return self._monotonic_s()

    def now(self) -> datetime:
        """Wall time in UTC, with fractions of a second."""
        return self._start + timedelta(seconds=self._monotonic_s() - self._origin_s)

    def timestamp(self) -> str:
        """Wall time as objects carry it: RFC 3339, whole seconds, truncated."""
        return format_timestamp(self.now())

    def microtimestamp(self) -> str:
        """Wall time as Events and Leases carry it: RFC 3339 with six digits after the point."""
        return self.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def format_timestamp(moment: datetime) -> str:
    """RFC 3339 in UTC with whole seconds, as Kubernetes writes `creationTimestamp`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_timestamp(text: str) -> datetime:
    """The moment an RFC 3339 text names, in UTC; raises ValueError when it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"the time {text!r} lacks a time zone")
    return moment.astimezone(UTC)
