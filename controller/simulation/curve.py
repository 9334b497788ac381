"""Loads over time, as a command line or a file writes them."""

import bisect
import math
import re
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS, parse_rfc3339
from controller.wire.durations import parse_duration

WAVES_SHOWN: Final = 2
"""How many waves make a whole load."""

REST_S: Final = 15 * 60.0
"""How long the last value of a line belongs to it: until what it leads to has settled."""

VALUE_MAX: Final = 10_000
"""The largest load, in replicas' worth."""

FORMS: Final = "4, 2~10/30m or 4@0s,4@5m,12@5m"


_CELLS: Final = re.compile(r"\s*,\s*|\s+")
_HEAD: Final = re.compile(r"[^0-9]*")


class Wave(msgspec.Struct, frozen=True, gc=False):
    """A sine that begins at its lowest point."""

    low: float
    high: float
    period_s: float

    def at(self, t_s: float) -> float:
        """The value at a time."""
        share = (1 - math.cos(2 * math.pi * t_s / self.period_s)) / 2
        return self.low + (self.high - self.low) * share

    @property
    def end_s(self) -> float:
        """When all of it has been seen."""
        return WAVES_SHOWN * self.period_s


class Line(msgspec.Struct, frozen=True, gc=False):
    """Values at times, at least one, in their order, with straight lines between them.

    The first value is there from the beginning, the last one stays. Two values at one time are a jump.
    """

    points: tuple[tuple[float, float], ...]
    """Time in seconds, and value."""

    def at(self, t_s: float) -> float:
        """The value at a time; at a jump that after it."""
        after = bisect.bisect_right(self.points, t_s, key=_time_s)
        begin_s, low = self.points[max(after - 1, 0)]
        if after in (0, len(self.points)):
            return low
        end_s, high = self.points[after]
        return low + (high - low) * (t_s - begin_s) / (end_s - begin_s)

    @property
    def end_s(self) -> float:
        """When all of it has been seen."""
        return self.points[-1][0] + REST_S


Curve = Wave | Line


def _time_s(point: tuple[float, float]) -> float:
    return point[0]


def parse_curve(text: str) -> Curve:
    """The curve that a text stands for: a number, `LOW~HIGH/PERIOD`, or `VALUE@TIME,…`.

    Raises:
        ValueError: it is none of these; the message says what is wrong with it.
    """
    if "~" in text:
        return _wave(text)
    if "@" in text:
        return _line(text)
    return Line(((0.0, _value(text)),))


def parse_history(text: str) -> Line:
    """A load as it was: lines of a time and a value, between them a comma or blanks; the first time is 0 s.

    Times are seconds or RFC 3339. Empty lines, those that begin with `#`, and a first line without a number are passed
    over.

    Raises:
        ValueError: a line is none of these, or there is none; the message names it.
    """
    points: list[tuple[float, float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = _CELLS.split(line.strip())
        if cells == [""] or line.startswith("#") or (number == 1 and _HEAD.fullmatch(cells[-1])):
            continue
        try:
            time, value = cells
            points.append((_time(time), _value(value)))
        except ValueError as error:
            why = str(error) if len(cells) == len(("time", "value")) else "a time and a value are expected"
            raise ValueError(f"line {number}: {why}") from error
        if len(points) > 1 and points[-1][0] < points[-2][0]:
            raise ValueError(f"line {number}: {time} is before the time of the line above")
    if not points:
        raise ValueError("there is no line of a time and a value in it")
    return Line(tuple((time_s - points[0][0], value) for time_s, value in points))


def _wave(text: str) -> Wave:
    values, slash, period = text.partition("/")
    low, _, high = values.partition("~")
    if not slash:
        raise ValueError("it has no period; a wave is written 2~10/30m")
    period_s = _seconds(period)
    if period_s == 0:
        raise ValueError("the period of a wave must be longer than 0s")
    return Wave(_value(low), _value(high), period_s)


def _line(text: str) -> Line:
    points = []
    for part in text.split(","):
        value, at, time = part.strip().partition("@")
        if not at:
            raise ValueError(f"{part.strip()!r} has no time; a point is written 12@5m")
        points.append((_seconds(time), _value(value)))
    times = [time_s for time_s, _ in points]
    if times != sorted(times):
        raise ValueError("its points must be in the order of their times")
    return Line(tuple(points))


def _time(text: str) -> float:
    try:
        time_s = float(text)
    except ValueError:
        return parse_rfc3339(text) / NANOSECONDS
    if not math.isfinite(time_s):
        raise ValueError(f"{text!r} is no time")
    return time_s


def _seconds(text: str) -> float:
    time_s = parse_duration(text.strip()) / NANOSECONDS
    if time_s < 0:
        raise ValueError(f"{text!r} is negative")
    return time_s


def _value(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= VALUE_MAX:
        raise ValueError(f"{text.strip()!r} is no load from 0 to {VALUE_MAX} such as {FORMS}")
    return value
