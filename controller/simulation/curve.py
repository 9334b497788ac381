"""Loads over time, as a command line or a file writes them."""

import bisect
import math
import re
from itertools import pairwise
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS, parse_rfc3339
from controller.wire.durations import parse_duration

WAVES_SHOWN: Final = 2
"""How many waves make a whole load."""

REST_NS: Final = 15 * 60 * NANOSECONDS
"""How long the last value of a line belongs to it: until what it leads to has settled."""

VALUE_MAX: Final = 10_000
"""The largest load, in replicas' worth."""

FORMS: Final = "4, 2~10/30m or 4@0s,4@5m,12@5m"

_CELLS: Final = re.compile(r"\s*,\s*|\s+")
_DATE: Final = re.compile(r"[0-9]{4}-")


class Wave(msgspec.Struct, frozen=True, gc=False):
    """A sine that goes from `low` to `high` and back in a period, over and over."""

    low: float
    high: float
    period_ns: int

    def at(self, t_ns: int) -> float:
        """The value at a time."""
        share = (1 - math.cos(2 * math.pi * t_ns / self.period_ns)) / 2
        return self.low + (self.high - self.low) * share

    def mean(self, begin_ns: int, end_ns: int) -> float:
        """The mean over a span of time that is longer than 0."""
        turns = 2 * math.pi / self.period_ns
        waved = (math.sin(turns * end_ns) - math.sin(turns * begin_ns)) / turns / (end_ns - begin_ns)
        return self.low + (self.high - self.low) * (1 - waved) / 2

    @property
    def end_ns(self) -> int:
        """When all of it has been seen."""
        return WAVES_SHOWN * self.period_ns


class Line(msgspec.Struct, frozen=True, gc=False):
    """Values at times, at least one, in their order, with straight lines between them.

    The first value is there from the beginning, the last one stays. Two values at one time are a jump.
    """

    points: tuple[tuple[int, float], ...]
    """Time in nanoseconds, and value."""

    def at(self, t_ns: int) -> float:
        """The value at a time; at a jump that after it."""
        after = bisect.bisect_right(self.points, t_ns, key=_time_ns)
        begin_ns, low = self.points[max(after - 1, 0)]
        if after in (0, len(self.points)):
            return low
        end_ns, high = self.points[after]
        return low + (high - low) * (t_ns - begin_ns) / (end_ns - begin_ns)

    def mean(self, begin_ns: int, end_ns: int) -> float:
        """The mean over a span of time that is longer than 0."""
        first = bisect.bisect_right(self.points, begin_ns, key=_time_ns)
        last = bisect.bisect_left(self.points, end_ns, key=_time_ns)
        # The value at the end is that before a jump which is there.
        before_end = (
            self.points[last][1] if last < len(self.points) and self.points[last][0] == end_ns else self.at(end_ns)
        )
        corners = [(begin_ns, self.at(begin_ns)), *self.points[first:last], (end_ns, before_end)]
        area = sum((low + high) / 2 * (to_ns - from_ns) for (from_ns, low), (to_ns, high) in pairwise(corners))
        return area / (end_ns - begin_ns)

    @property
    def end_ns(self) -> int:
        """When all of it has been seen."""
        return self.points[-1][0] + REST_NS


Curve = Wave | Line


def _time_ns(point: tuple[int, float]) -> int:
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
    return Line(((0, _value(text)),))


def parse_history(text: str) -> Line:
    """A load as it was: lines of a time and a value, between them a comma or blanks; the first time is 0 s.

    Times are seconds or RFC 3339. Empty lines, those that begin with `#`, and a first line of names are passed over.

    Raises:
        ValueError: a line is none of these, or there is none; the message names it.
    """
    points: list[tuple[int, float]] = []
    named = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip('"') for cell in _CELLS.split(line.strip())]
        if cells == [""] or line.startswith("#"):
            continue
        if not points and not named and not _begins_like_a_time(cells[0]):
            named = True
            continue
        try:
            points.append(_point(cells))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from error
        if len(points) > 1 and points[-1][0] < points[-2][0]:
            raise ValueError(f"line {number}: {cells[0]} is before the time of the line above")
    if not points:
        raise ValueError("there is no line of a time and a value in it")
    return Line(tuple((time_ns - points[0][0], value) for time_ns, value in points))


def _begins_like_a_time(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return _DATE.match(cell) is not None
    return True


def _point(cells: list[str]) -> tuple[int, float]:
    try:
        time, value = cells
    except ValueError:
        raise ValueError("a time (seconds, or RFC 3339) and a value are expected") from None
    try:
        time_s = float(time)
    except ValueError:
        return parse_rfc3339(time), _value(value)
    # From the earliest time to the latest it is twice as far.
    if not math.isfinite(2 * time_s * NANOSECONDS):
        raise ValueError(f"{time!r} is no time")
    return round(time_s * NANOSECONDS), _value(value)


def _wave(text: str) -> Wave:
    values, slash, period = text.partition("/")
    low, _, high = values.partition("~")
    if not slash:
        raise ValueError("it has no period; a wave is written 2~10/30m")
    period_ns = _duration_ns(period)
    if period_ns == 0:
        raise ValueError("the period of a wave must be longer than 0s")
    return Wave(_value(low), _value(high), period_ns)


def _line(text: str) -> Line:
    points = []
    for part in text.split(","):
        value, at, time = part.strip().partition("@")
        if not at:
            raise ValueError(f"{part.strip()!r} has no time; a point is written 12@5m")
        points.append((_duration_ns(time), _value(value)))
    times_ns = [time_ns for time_ns, _ in points]
    if times_ns != sorted(times_ns):
        raise ValueError("its points must be in the order of their times")
    return Line(tuple(points))


def _duration_ns(text: str) -> int:
    time_ns = parse_duration(text.strip())
    if time_ns < 0:
        raise ValueError(f"{text!r} is negative")
    return time_ns


def _value(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= VALUE_MAX:
        raise ValueError(f"{text.strip()!r} is no load from 0 to {VALUE_MAX} such as {FORMS}")
    return value
