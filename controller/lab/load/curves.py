"""Numbers over time, as a scenario writes them."""

from __future__ import annotations

import itertools
import math

import msgspec

from controller.lab.chance import spread
from controller.lab.durations import parse_duration


class Wave(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sine that begins at its lowest point; `period` is a duration."""

    low: float
    high: float
    period: str


class Point(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A value at a time after the beginning."""

    at: str
    value: float


class Curve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A wave, or points with straight lines between them; the last point's value stays, unless `repeat` is set.

    `noise` is the share by which each second's value differs at most from the curve.
    """

    wave: Wave | None = None
    points: tuple[Point, ...] = ()
    repeat: bool = False
    noise: float = 0.0

    def __post_init__(self) -> None:
        """Raises ValueError that says what is wrong with it."""
        if (self.wave is None) == (not self.points):
            raise ValueError("a curve is either a wave or points")
        if self.wave is not None and parse_duration(self.wave.period) <= 0:
            raise ValueError("the period of a wave must be longer than 0s")
        times = [parse_duration(point.at) for point in self.points]
        if times != sorted(times):
            raise ValueError("the points of a curve must be in the order of their times")
        if self.repeat and (not times or times[-1] <= 0):
            raise ValueError("only points that end after 0s can be repeated")
        ends = (self.wave.low, self.wave.high) if self.wave is not None else (point.value for point in self.points)
        if not all(map(math.isfinite, ends)):
            raise ValueError("the values of a curve must be finite numbers")
        if not 0 <= self.noise < 1:
            raise ValueError("noise is a share from 0 to below 1")

    def value(self, at_s: float, *names: object) -> float:
        """The value after so many seconds, never below 0; `names` tell the noise of one curve from another's."""
        plain = self._wave(at_s, self.wave) if self.wave is not None else self._line(at_s)
        return max(0.0, spread(plain, self.noise, *names, int(at_s)) if self.noise else plain)

    def _wave(self, at_s: float, wave: Wave) -> float:
        share = (1 - math.cos(2 * math.pi * at_s / parse_duration(wave.period))) / 2
        return wave.low + (wave.high - wave.low) * share

    def _line(self, at_s: float) -> float:
        known = [(parse_duration(point.at), point.value) for point in self.points]
        if self.repeat:
            at_s %= known[-1][0]
        if at_s <= known[0][0]:
            return known[0][1]
        for (begin_s, low), (end_s, high) in itertools.pairwise(known):
            if begin_s <= at_s < end_s:
                return low + (high - low) * (at_s - begin_s) / (end_s - begin_s)
        return known[-1][1]
