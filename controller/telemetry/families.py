"""Metric families whose values are read at the moment of a scrape."""

from collections.abc import Iterable, Sequence
from typing import overload

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.samples import Sample

Samples = Iterable[tuple[tuple[str, ...], float]]


def gauge(name: str, text: str, samples: Samples, labels: tuple[str, ...] = ()) -> Metric:
    """A gauge read at the moment of the scrape."""
    return _family(GaugeMetricFamily(name, text, labels=labels), name, samples, labels)


def counter(name: str, text: str, samples: Samples, labels: tuple[str, ...] = ()) -> Metric:
    """A counter read at the moment of the scrape; `name` without `_total`."""
    return _family(CounterMetricFamily(name, text, labels=labels), f"{name}_total", samples, labels)


def _family(family: Metric, name: str, samples: Samples, labels: tuple[str, ...]) -> Metric:
    family.samples = _Lazy(name, labels, list(samples))  # type: ignore[assignment]  # whoever renders only reads
    return family


class _Lazy(Sequence[Sample]):
    """Samples that are made when they are looked at, so that ten thousand are not made all at once."""

    def __init__(self, name: str, labels: tuple[str, ...], values: list[tuple[tuple[str, ...], float]]) -> None:
        self._name, self._labels, self._values = name, labels, values

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, index: int) -> Sample: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...

    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return _Lazy(self._name, self._labels, self._values[index])
        values, value = self._values[index]
        return Sample(self._name, dict(zip(self._labels, values, strict=True)), value)
