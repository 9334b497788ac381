"""Durations as Go writes them: `30s`, `1m30s`, `1m0.5s`, `100ms`."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Final

_UNITS_NS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"([+-]?)((?:{_PART.pattern})+)")
_TEXT_MAX: Final = 100
_NS_MAX: Final = 2**63 - 1


@lru_cache(maxsize=256)  # of windows and periods there are few, in ever so many objects
def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration; `0` needs no unit.

    Raises:
        ValueError: not a duration, or longer than Go's (about 292 years).
    """
    if text in ("0", "+0", "-0"):
        return 0
    matched = _WHOLE.fullmatch(text) if len(text) <= _TEXT_MAX else None
    if matched is None:
        raise ValueError(f"{text[:_TEXT_MAX]!r} is not a duration such as 30s, 1m30s or 500ms")
    total_ns = sum(int(Fraction(part[1]) * _UNITS_NS[part[2]]) for part in _PART.finditer(matched[2]))
    if total_ns > _NS_MAX:
        raise ValueError(f"{text!r} is longer than a duration can be")
    return -total_ns if matched[1] == "-" else total_ns


def format_duration(duration_ns: int) -> str:
    """The duration as Go prints it from a second up: `15s`, `5m0s`, `1h0m0s`; below, in the largest whole unit."""
    sign, rest_ns = ("-", -duration_ns) if duration_ns < 0 else ("", duration_ns)
    if 0 < rest_ns < _UNITS_NS["s"]:
        unit = next(unit for unit in ("ms", "us", "ns") if rest_ns % _UNITS_NS[unit] == 0)
        return f"{sign}{rest_ns // _UNITS_NS[unit]}{unit}"
    minutes, rest_ns = divmod(rest_ns, _UNITS_NS["m"])
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest_ns / _UNITS_NS['s']:.9f}".rstrip("0").rstrip(".")
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}s"
    return f"{sign}{minutes}m{seconds}s" if minutes else f"{sign}{seconds}s"
