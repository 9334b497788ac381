"""Ages as `kubectl get` shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.clock import parse_timestamp

if TYPE_CHECKING:
    from datetime import datetime

_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86_400
_YEAR_DAYS = 365
_SKEW_S = -1

# (below this many seconds, unit in seconds, its letter, smaller unit in seconds, its letter or "" to leave it
# out)
_STEPS = (
    (2 * _MINUTE_S, 1, "s", 1, ""),
    (10 * _MINUTE_S, _MINUTE_S, "m", 1, "s"),
    (3 * _HOUR_S, _MINUTE_S, "m", 1, ""),
    (8 * _HOUR_S, _HOUR_S, "h", _MINUTE_S, "m"),
    (2 * _DAY_S, _HOUR_S, "h", 1, ""),
    (8 * _DAY_S, _DAY_S, "d", _HOUR_S, "h"),
    (2 * _YEAR_DAYS * _DAY_S, _DAY_S, "d", 1, ""),
    (8 * _YEAR_DAYS * _DAY_S, _YEAR_DAYS * _DAY_S, "y", _DAY_S, "d"),
)


def human_duration(seconds: float) -> str:
    """A duration with two or three significant figures: `45s`, `2m5s`, `4h`, `3d7h`."""
    whole = int(seconds)
    if whole < _SKEW_S:
        return "<invalid>"
    if whole < 0:
        return "0s"
    for below, unit, letter, smaller, smaller_letter in _STEPS:
        if whole < below:
            rest = whole % unit // smaller
            return f"{whole // unit}{letter}" + (f"{rest}{smaller_letter}" if smaller_letter and rest else "")
    return f"{whole // (_YEAR_DAYS * _DAY_S)}y"


def age(timestamp: str | None, now: datetime) -> str:
    """How long ago a timestamp was; `<unknown>` without one."""
    if not timestamp:
        return "<unknown>"
    return human_duration((now - parse_timestamp(timestamp)).total_seconds())
