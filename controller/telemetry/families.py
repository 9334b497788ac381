"""Metric families whose values are read at the moment of a scrape."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, overload

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString

_SPECIAL: Final = re.compile(r'[\\"\n]')
_ESCAPES: Final = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
_in_go: Final[Callable[[float], str]] = floatToGoString
_AS_PYTHON_PRINTS_IT: Final = 10.0**6

Samples = Iterable[tuple[tuple[str, ...], float]]


def gauge(name: str, text: str, samples: Samples, labels: tuple[str, ...] = ()) -> Metric:
    """A gauge read at the moment of the scrape."""
    return _family(GaugeMetricFamily(name, text, labels=labels), name, samples, labels)


def counter(name: str, text: str, samples: Samples, labels: tuple[str, ...] = ()) -> Metric:
    """A counter read at the moment of the scrape; `name` without `_total`."""
    return _family(CounterMetricFamily(name, text, labels=labels), f"{name}_total", samples, labels)


def _family(family: Metric, name: str, samples: Samples, labels: tuple[str, ...]) -> Metric:
    family.samples = LazySamples(name, labels, list(samples))  # type: ignore[assignment]  # whoever renders only reads
    return family


class LazySamples(Sequence[Sample]):
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
            return LazySamples(self._name, self._labels, self._values[index])
        values, value = self._values[index]
        return Sample(self._name, dict(zip(self._labels, values, strict=True)), value)

    def text(self, start: int, stop: int) -> str:
        """Some of them as the library renders samples, which takes it six times as long. Names have to be plain."""
        return "".join([self._line(values, value) for values, value in self._values[start:stop]])

    def _line(self, values: tuple[str, ...], value: float) -> str:
        if not values:
            return f"{self._name} {_number(value)}\n"
        pairs = [f'{label}="{_escaped(text)}"' for label, text in sorted(zip(self._labels, values, strict=True))]
        return f"{self._name}{{{','.join(pairs)}}} {_number(value)}\n"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: _ESCAPES[found[0]], text)


def _number(value: float) -> str:
    return repr(float(value)) if 0 <= value < _AS_PYTHON_PRINTS_IT else _in_go(value)
