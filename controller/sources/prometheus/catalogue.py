"""Which metrics there are: the rules applied to the series that Prometheus has, listed now and then.

A listing that fails leaves what its selector gave before. Until a selector has been listed once, nobody can say that a
metric is unknown.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Final

import msgspec

from controller.sources.complaints import Complaints
from controller.sources.prometheus.answers import Family, PrometheusError, shown
from controller.sources.prometheus.labels import LabelMapping, MappingError
from controller.sources.prometheus.mapper import ResourceMapper, ResourceNames
from controller.sources.prometheus.rules import GroupResource, Rule
from controller.sources.prometheus.server import PrometheusServer
from controller.sources.renewed import Renewed

RETRY_S: Final = 5.0
FAMILIES_PER_ITERATION: Final = 200
_IN_QUERIES: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:.]*")
"""What a series has to be called: its name stands in queries as it is, and whoever is scraped chooses it.

Since Prometheus 3 it may select of another namespace. A dot, as OpenTelemetry has it, is an error outside of quotes.
"""

_UNREACHABLE_BY_HPAS: Final = {GroupResource("", "nodes"), GroupResource("", "persistentvolumes")}
"""The adapter has these without a namespace only, and an HPA always asks with one."""


class Offer(msgspec.Struct, frozen=True):
    """How a metric is had: which series, by which rule."""

    series: str
    rule: Rule
    mapping: LabelMapping


class Problem(msgspec.Struct, frozen=True):
    """Why a part of the metrics is not known; see PrometheusError."""

    message: str
    cause: str


class Contents(msgspec.Struct, frozen=True):
    """What there is; `unlisted` says why some of it is not known yet, None when all is."""

    custom: Mapping[tuple[GroupResource, str], Offer]
    external: Mapping[str, Offer]
    names: ResourceNames
    unlisted: Problem | None = None


class Catalogue:
    """Lists series when asked for contents that are too old; only for the first listing anybody waits."""

    def __init__(
        self,
        server: PrometheusServer,
        mapper: ResourceMapper,
        custom: Iterable[Rule],
        external: Iterable[Rule],
        *,
        time_s: Callable[[], float],
        wall_s: Callable[[], float],
        relist_s: float,
        age_max_s: float,
        complaints: Complaints,
    ) -> None:
        """`time_s` counts up; `wall_s` is Unix time; a series counts for `age_max_s` after its last sample."""
        self._server = server
        self._mapper = mapper
        self._custom = tuple(custom)
        self._external = tuple(external)
        self._wall_s = wall_s
        self._relist_s = relist_s
        self._age_max_s = age_max_s
        self._complaints = complaints
        self._listed: dict[str, tuple[Family, ...]] = {}
        self._kept = Renewed(self._list, time_s=time_s, retry_s=RETRY_S, failed=self._not_renewed)

    async def contents(self) -> Contents:
        """What there is. Raises ApiError when the names of resources could never be read."""
        return await self._kept.value()

    async def close(self) -> None:
        """End a listing that is under way."""
        await self._kept.close()

    def _not_renewed(self, error: Exception) -> None:
        self._complaints.say("the list of metrics cannot be renewed", str(error), type(error).__name__)

    async def _list(self) -> tuple[Contents, float]:
        """What there is now, and for how long that is good enough."""
        names = await self._mapper.renewed()
        selectors = list(dict.fromkeys(rule.series_query for rule in (*self._custom, *self._external)))
        start_s = self._wall_s() - self._age_max_s
        problems = [
            problem
            for problem in await asyncio.gather(*(self._list_one(selector, start_s) for selector in selectors))
            if problem is not None
        ]
        missing = [selector for selector in selectors if selector not in self._listed]
        custom: dict[tuple[GroupResource, str], Offer] = {}
        unusable: list[Problem] = []
        # Of two rules for one metric the later one wins.
        async for name, offer, resources in self._offers(self._custom, names, unusable):
            custom.update(((resource, name), offer) for resource in resources - _UNREACHABLE_BY_HPAS)
        external = {name: offer async for name, offer, _ in self._offers(self._external, names, unusable)}
        contents = Contents(custom, external, names, next(iter(problems if missing else unusable), None))
        return contents, min(RETRY_S, self._relist_s) if problems else self._relist_s

    async def _list_one(self, selector: str, start_s: float) -> Problem | None:
        """Why the series of a selector could not be listed; None if they were."""
        try:
            self._listed[selector] = await self._server.families(selector, start_s)
        except PrometheusError as error:
            self._complaints.say("series cannot be listed", str(error), error.cause, seriesQuery=selector)
            return Problem(str(error), error.cause)
        return None

    async def _offers(
        self, rules: Iterable[Rule], names: ResourceNames, unusable: list[Problem]
    ) -> AsyncIterator[tuple[str, Offer, set[GroupResource]]]:
        """Names, how they are had, and the resources they are about, with the loop turning in between.

        Rules that cannot be used are added to `unusable`.
        """
        for rule in rules:
            try:
                mapping = LabelMapping(rule.mapping, names)
            except MappingError as error:
                problem = Problem(f"the rule in line {rule.line} cannot be used: {error}", f"rule {rule.line}")
                self._complaints.say("a rule cannot be used", problem.message, problem.cause)
                unusable.append(problem)
                continue
            for index, family in enumerate(self._listed.get(rule.series_query, ())):
                if index % FAMILIES_PER_ITERATION == 0:
                    await asyncio.sleep(0)
                name = rule.metric_name(family.name)
                if not name:
                    continue
                if not _IN_QUERIES.fullmatch(family.name):
                    said = f"{shown(repr(family.name))} may not stand in a query"
                    self._complaints.say("a series is passed over for its name", said, "names of series")
                    continue
                yield name, Offer(family.name, rule, mapping), mapping.resources_of(family.labels)
