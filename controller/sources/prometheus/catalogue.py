"""Which metrics there are: the rules applied to the series that Prometheus has, listed now and then.

A listing that fails leaves what its selector gave before. Until a selector has been listed once, nobody can say that a
metric is unknown.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from controller.sources.complaints import Complaints
from controller.sources.prometheus.answers import Family, PrometheusError
from controller.sources.prometheus.labels import LabelMapping, MappingError
from controller.sources.prometheus.mapper import ResourceMapper, ResourceNames
from controller.sources.prometheus.rules import GroupResource, Rule
from controller.sources.prometheus.server import PrometheusServer
from controller.sources.renewed import Renewed

RETRY_S: Final = 5.0
FAMILIES_PER_ITERATION: Final = 200
_UNREACHABLE_BY_HPAS: Final = (GroupResource("", "nodes"), GroupResource("", "persistentvolumes"))
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
        self._listed: dict[str, frozenset[Family]] = {}
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
        custom, mapping_problems = await self._offers(self._custom, names)
        external, more = await self._offers(self._external, names)
        unlisted = next(iter(problems if missing else (*mapping_problems, *more)), None)
        contents = Contents(
            {
                (resource, name): offer
                for name, offer, resources in custom
                for resource in resources
                if resource not in _UNREACHABLE_BY_HPAS
            },
            {name: offer for name, offer, _ in external},
            names,
            unlisted,
        )
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
        self, rules: Iterable[Rule], names: ResourceNames
    ) -> tuple[list[tuple[str, Offer, set[GroupResource]]], list[Problem]]:
        """Names, how they are had, and the resources they are about; of two rules for one metric the later one wins."""
        found: list[tuple[str, Offer, set[GroupResource]]] = []
        problems = []
        for rule in rules:
            try:
                mapping = LabelMapping(rule.mapping, names)
            except MappingError as error:
                problem = Problem(f"the rule in line {rule.line} cannot be used: {error}", f"rule {rule.line}")
                self._complaints.say("a rule cannot be used", problem.message, problem.cause)
                problems.append(problem)
                continue
            for index, family in enumerate(sorted(self._listed.get(rule.series_query, ()), key=_order)):
                if index % FAMILIES_PER_ITERATION == FAMILIES_PER_ITERATION - 1:
                    await asyncio.sleep(0)
                name = rule.metric_name(family.name)
                if name:
                    found.append((name, Offer(family.name, rule, mapping), mapping.resources_of(family.labels)))
        return found, problems


def _order(family: Family) -> tuple[str, list[str]]:
    return family.name, sorted(family.labels)
