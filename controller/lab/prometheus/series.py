"""What has been scraped in the last minutes, by series."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from controller.lab.prometheus.promql import Selector

KEPT_S: Final = 900.0
"""How long samples are kept."""

LOOK_BACK_S: Final = 300.0
"""How old the last sample of a series may be to count as its value now, as in Prometheus."""

Labels = frozenset[tuple[str, str]]


class Sample(msgspec.Struct, frozen=True):
    """A value at a Unix time; None marks that the series was no longer there."""

    at_s: float
    value: float | None


class Series(msgspec.Struct, frozen=True):
    """The labels of one series, with its name among them, and its samples, oldest first."""

    labels: Mapping[str, str]
    samples: deque[Sample]


class SeriesStore:
    """Samples of all series; one scrape at a time comes in."""

    def __init__(self) -> None:
        self._series: dict[Labels, Series] = {}
        self._present: set[Labels] = set()

    def scraped(self, at_s: float, found: Iterable[tuple[Mapping[str, str], float]]) -> None:
        """Take in all that one scrape has found; of two for one series the first counts.

        Series that were there before and are not now end.
        """
        present: set[Labels] = set()
        for labels, value in found:
            key = frozenset(labels.items())
            if key in present:
                continue
            series = self._series.get(key)
            if series is None:
                series = self._series[key] = Series(dict(labels), deque())
            series.samples.append(Sample(at_s, value))
            present.add(key)
        for key in self._present - present:
            self._series[key].samples.append(Sample(at_s, None))
        self._present = present
        self._forget(at_s - KEPT_S)

    def select(self, selector: Selector) -> Iterator[Series]:
        """All series that a selector matches, also those that have ended."""
        return (series for series in self._series.values() if selector.matches(series.labels))

    def everything(self) -> Iterator[Series]:
        """All series that are kept."""
        return iter(self._series.values())

    def _forget(self, before_s: float) -> None:
        for key, series in list(self._series.items()):
            while series.samples and series.samples[0].at_s < before_s:
                series.samples.popleft()
            if not series.samples:
                del self._series[key]
                self._present.discard(key)


def sample_at(series: Series, at_s: float) -> tuple[float, float] | None:
    """Time and value of a series' last sample until a time; None if the series has ended or the sample is too old."""
    for sample in reversed(series.samples):
        if sample.at_s <= at_s:
            return (
                (sample.at_s, sample.value) if sample.value is not None and sample.at_s > at_s - LOOK_BACK_S else None
            )
    return None


def values_within(series: Series, begin_s: float, end_s: float) -> list[tuple[float, float]]:
    """Times and values of a range, its begin excluded; marks of an end are left out."""
    return [
        (sample.at_s, sample.value)
        for sample in series.samples
        if sample.value is not None and begin_s < sample.at_s <= end_s
    ]


def seen_between(series: Series, begin_s: float, end_s: float) -> bool:
    """Whether a series has a value in a time."""
    return any(sample.value is not None and begin_s <= sample.at_s <= end_s for sample in series.samples)
