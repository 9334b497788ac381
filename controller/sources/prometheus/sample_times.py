"""When the samples behind a query's results were taken, which Prometheus tells only if asked for it (decision 0016)."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.promql.literals import PromqlError
from controller.promql.queries import Query, understood
from controller.promql.rendering import Selector
from controller.sources.complaints import Complaints
from controller.sources.prometheus.answers import PrometheusError, Vector
from controller.sources.prometheus.server import Asked

SELECTORS_MAX: Final = 8
"""Queries with more selectors are not dated: each one costs a query."""

_NS_PER_MILLI: Final = NANOSECONDS // 1000


class Times(msgspec.Struct, frozen=True):
    """The oldest samples by selector and values of `labels`; `oldest_ns` None: nobody knows."""

    labels: tuple[str, ...] = ()
    oldest_ns: tuple[tuple[Selector, Mapping[tuple[str, ...], int]], ...] | None = None

    def of(self, labels: Mapping[str, str], evaluated_ns: int) -> int | None:
        """When the oldest sample behind a result with these labels was taken; None where that is not known.

        A result that rests on no series is as old as its evaluation. A selector that finds nothing at the moment has
        given nothing, unless it looks back over a range, where older samples may be.
        """
        if self.oldest_ns is None:
            return None
        if not self.oldest_ns:
            return evaluated_ns
        key = tuple(labels.get(label, "") for label in self.labels)
        found: list[int] = []
        for selector, oldest_ns in self.oldest_ns:
            # Series without the labels belong to every result.
            at_ns = [oldest_ns[one] for one in {key, ("",) * len(key)} if one in oldest_ns]
            if not at_ns and selector.ranged:
                return None
            found += at_ns
        return min(found, default=None)


def oldest(times_ns: Sequence[int | None]) -> int | None:
    """The earliest of all; None where one is not known, or there is none."""
    known = [at_ns for at_ns in times_ns if at_ns is not None]
    return min(known) if known and len(known) == len(times_ns) else None


class SampleTimes:
    """Asks for the times of samples beside the query that uses them."""

    def __init__(self, ask: Callable[[Asked], Awaitable[Vector]], complaints: Complaints, *, enabled: bool) -> None:
        """`ask` shares queries that are the same."""
        self._ask = ask
        self._complaints = complaints
        self._enabled = enabled

    async def of(self, query: Query | str, labels: Sequence[str], kind: Hashable) -> Times:
        """The times by these labels; never fails, since a value is one even if its age is not known.

        `kind` is that of the query; see PrometheusServer.query.
        """
        if not self._enabled:
            return Times()
        try:
            selectors = (understood(query) if isinstance(query, str) else query).selectors
        except PromqlError as error:
            self._complaints.say("the age of samples is not known", str(error), "age parser")
            return Times()
        if selectors is None or len(selectors) > SELECTORS_MAX:
            return Times()
        grouping = f" by ({', '.join(labels)}) " if labels else ""
        try:
            vectors = await asyncio.gather(
                *(self._ask((f"min{grouping}(timestamp({selector.text}))", kind)) for selector in selectors)
            )
        except PrometheusError as error:
            self._complaints.say("the age of samples is not known", str(error), f"age {error.cause}")
            return Times()
        names = tuple(labels)
        return Times(names, tuple(zip(selectors, (_by_labels(one, names) for one in vectors), strict=True)))


def _by_labels(vector: Vector, labels: tuple[str, ...]) -> dict[tuple[str, ...], int]:
    return {
        tuple(point.labels.get(label, "") for label in labels): point.value_milli * _NS_PER_MILLI
        for point in vector.points
        if point.value_milli is not None
    }
