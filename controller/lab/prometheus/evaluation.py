"""What a query comes to at a moment."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from controller.lab.prometheus.promql import NAME_LABEL, Aggregation, QueryError, Rate, SampleTime, Selector
from controller.lab.prometheus.series import sample_at, values_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from controller.lab.prometheus.promql import Expression
    from controller.lab.prometheus.series import SeriesStore

_NEAR: Final = 1.1
"""So many usual distances between samples may be missing at an end of a range for its samples to reach that end."""

_RATE_SAMPLES_MIN: Final = 2


class Value(msgspec.Struct, frozen=True):
    """One series of a vector."""

    labels: Mapping[str, str]
    value: float


def evaluate(expression: Expression, store: SeriesStore, at_s: float) -> list[Value]:
    """The vector at a Unix time. Raises QueryError where two series would become one."""
    match expression:
        case Selector():
            return [
                Value(series.labels, sample[1])
                for series in store.select(expression)
                if (sample := sample_at(series, at_s)) is not None
            ]
        case SampleTime():
            return _unnamed(
                (series.labels, sample[0])
                for series in store.select(expression.selector)
                if (sample := sample_at(series, at_s)) is not None
            )
        case Rate():
            return _rates(expression, store, at_s)
        case Aggregation():
            return _aggregated(expression, evaluate(expression.inner, store, at_s))
        case _:
            assert_never(expression)


def growth(samples: list[tuple[float, float]], begin_s: float, end_s: float) -> float | None:
    """How much a counter has grown in a range, stretched to the ends of the range as Prometheus does.

    A fall is a counter that began anew. Where the samples come near an end, growth goes on to that end, else by half of
    the usual distance between samples; it never goes back beyond where the counter would have been zero. None for less
    than two samples.
    """
    if len(samples) < _RATE_SAMPLES_MIN:
        return None
    (first_s, first), (last_s, last) = samples[0], samples[-1]
    falls = [before for (_, before), (_, after) in itertools.pairwise(samples) if after < before]
    grown = last - first + math.fsum(falls)
    sampled_s = last_s - first_s
    usual_s = sampled_s / (len(samples) - 1)
    before_s, after_s = first_s - begin_s, end_s - last_s
    if before_s >= _NEAR * usual_s:
        before_s = usual_s / 2
    if grown > 0 and first >= 0:
        before_s = min(before_s, sampled_s * first / grown)
    if after_s >= _NEAR * usual_s:
        after_s = usual_s / 2
    return grown * (sampled_s + before_s + after_s) / sampled_s


def _rates(rate: Rate, store: SeriesStore, at_s: float) -> list[Value]:
    begin_s = at_s - rate.range_s
    over_s = rate.range_s if rate.per_second else 1.0
    return _unnamed(
        (series.labels, grown / over_s)
        for series in store.select(rate.selector)
        if (grown := growth(values_within(series, begin_s, at_s), begin_s, at_s)) is not None
    )


def _unnamed(found: Iterable[tuple[Mapping[str, str], float]]) -> list[Value]:
    """The values of series without their names. Raises QueryError where two are then the same."""
    values: dict[frozenset[tuple[str, str]], Value] = {}
    for named, value in found:
        labels = {label: text for label, text in named.items() if label != NAME_LABEL}
        key = frozenset(labels.items())
        if key in values:
            raise QueryError("vector cannot contain metrics with the same labelset")
        values[key] = Value(labels, value)
    return list(values.values())


def _aggregated(aggregation: Aggregation, vector: Iterable[Value]) -> list[Value]:
    groups: dict[frozenset[tuple[str, str]], list[float]] = {}
    for one in vector:
        if aggregation.without:
            dropped = (*aggregation.labels, NAME_LABEL)
            kept = {label: value for label, value in one.labels.items() if label not in dropped}
        else:
            kept = {label: one.labels[label] for label in aggregation.labels if one.labels.get(label)}
        groups.setdefault(frozenset(kept.items()), []).append(one.value)
    return [Value(dict(key), _of_all(aggregation.operation, values)) for key, values in groups.items()]


def _of_all(operation: str, values: list[float]) -> float:
    match operation:
        case "sum":
            return math.fsum(values)
        case "avg":
            return math.fsum(values) / len(values)
        case "min":
            return min(values)
        case "max":
            return max(values)
        case _:
            return float(len(values))
