"""Counters and histograms of what happens in every sync.

Ten numbers move with each sync. The library's own take a lock and half a dozen calls each time, which was 7 % of all
that a sync executes (decision 0022); these add. They are moved and read in the loop's thread only.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import Final, Generic, TypeVar

from prometheus_client import CollectorRegistry
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from controller.telemetry.families import counter

_INFINITY: Final = "+Inf"


class Count:
    """How often something has happened."""

    __slots__ = ("total",)

    def __init__(self) -> None:
        self.total = 0

    def add(self) -> None:
        """It has happened once more."""
        self.total += 1


class Distribution:
    """How often a value was at most each of some bounds, and the sum of all values."""

    __slots__ = ("_bounds", "_counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are ascending."""
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """One more value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.total += value

    @property
    def number(self) -> int:
        """How many values there were."""
        return sum(self._counts)

    def cumulative(self) -> list[tuple[str, int]]:
        """How many values were at most each bound, the last of which is infinite; bounds as a scrape shows them."""
        names = [*map(floatToGoString, self._bounds), _INFINITY]
        return list(zip(names, accumulate(self._counts), strict=True))


_Tally = TypeVar("_Tally", Count, Distribution)


class _Tallies(Collector, Generic[_Tally]):
    """Tallies of one name, one for each combination of values of its labels that there has been."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...], make: Callable[[], _Tally]) -> None:
        self._name = name
        self._text = text
        self._labels = labels
        self._make: Callable[[], _Tally] = make
        self._by_values: dict[tuple[str, ...], _Tally] = {}
        self.of: Callable[..., _Tally] = cache(self._begin)
        """The tally of these values of the labels, in their order; what there has been none of yet begins at zero."""
        if not labels:
            self.of()

    def _begin(self, *values: str) -> _Tally:
        return self._by_values.setdefault(values, self._make())


class Counts(_Tallies[Count]):
    """A counter; `name` is without `_total`."""

    def __init__(self, name: str, text: str, labels: tuple[str, ...] = (), *, registry: CollectorRegistry) -> None:
        """It is shown by the registry from now on."""
        super().__init__(name, text, labels, Count)
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """See the library's Collector."""
        totals = [(values, count.total) for values, count in self._by_values.items()]
        yield counter(self._name, self._text, totals, self._labels)


class Distributions(_Tallies[Distribution]):
    """A histogram."""

    def __init__(
        self,
        name: str,
        text: str,
        labels: tuple[str, ...] = (),
        *,
        buckets: tuple[float, ...],
        registry: CollectorRegistry,
        counted_as: tuple[str, str] | None = None,
    ) -> None:
        """It is shown by the registry from now on; `buckets`: upper bounds, ascending, without the infinite one.

        `counted_as`: name, without `_total`, and text of a counter that tells how many values there were, too.
        """
        super().__init__(name, text, labels, lambda: Distribution(buckets))
        self._counted_as = counted_as
        registry.register(self)

    def collect(self) -> Iterable[Metric]:
        """See the library's Collector."""
        if self._counted_as is not None:
            totals = [(values, distribution.number) for values, distribution in self._by_values.items()]
            yield counter(*self._counted_as, totals, self._labels)
        family = HistogramMetricFamily(self._name, self._text, labels=self._labels)
        for values, distribution in self._by_values.items():
            family.add_metric(values, distribution.cumulative(), distribution.total)
        yield family
