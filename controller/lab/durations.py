"""Lengths of time as people write them in scenarios, annotations and on the command line."""

from __future__ import annotations

import re

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}

RULE = "a duration is a number with a unit (ms, s, m, h) or several of them, as 90s or 1m30s"


def parse_duration(text: object) -> float:
    """Seconds of a text such as `90s`, `1m30s`, `250ms` or `0`; raises ValueError that says how to write one."""
    if text in (0, "0"):
        return 0.0
    if not isinstance(text, str) or not re.fullmatch(rf"(?:{_PART.pattern})+", text):
        raise ValueError(f"{text!r}: {RULE}")
    return sum(float(amount) * _UNITS_S[unit] for amount, unit in _PART.findall(text))


def format_duration(seconds: float) -> str:
    """The shortest such text, as `1m30s`; below ten seconds with tenths where there are any."""
    if seconds < 10 and round(seconds, 1) != round(seconds):  # noqa: PLR2004 - as the docstring says
        return f"{seconds:.1f}s"
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    parts = [f"{amount}{unit}" for amount, unit in ((hours, "h"), (minutes, "m"), (left, "s")) if amount]
    return "".join(parts) or "0s"
