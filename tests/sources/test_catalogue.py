"""Rules applied to series that nobody has to send."""

import asyncio
from pathlib import Path
from typing import cast

import structlog

from controller.decide.observed import ExternalReading
from controller.sources.answering import Unknown
from controller.sources.complaints import Complaints
from controller.sources.prometheus.answers import Family
from controller.sources.prometheus.catalogue import FAMILIES_PER_ITERATION, Catalogue
from controller.sources.prometheus.mapper import Named, ResourceMapper, ResourceNames
from controller.sources.prometheus.rules import parse_rules
from controller.sources.prometheus.server import PrometheusServer
from tests.sources.asking import RULES, asking, external
from tests.sources.fake_prometheus import fake_prometheus, sample


class Listed:
    """In place of Prometheus and of the API server, each of which answers at once."""

    def __init__(self, count: int) -> None:
        self._families = tuple(Family(f"queue_{number}", frozenset({"namespace"})) for number in range(count))

    async def families(self, selector: str, start_s: float) -> tuple[Family, ...]:
        assert selector
        assert start_s < 0
        return self._families

    async def renewed(self) -> ResourceNames:
        return ResourceNames([Named("", "namespaces", "namespace")])


async def turns_to_list(count: int) -> int:
    """How often the loop turns while so many series are listed."""
    rules, listed = parse_rules(RULES, "rules.yaml"), Listed(count)
    catalogue = Catalogue(
        cast("PrometheusServer", listed),
        cast("ResourceMapper", listed),
        (),
        rules.external[:1],
        time_s=lambda: 0.0,
        wall_s=lambda: 0.0,
        relist_s=60.0,
        age_max_s=600.0,
        complaints=Complaints("Prometheus", lambda: 0.0),
    )
    listing = asyncio.create_task(catalogue.contents())
    turns = 0
    while not listing.done():
        turns += 1
        await asyncio.sleep(0)
    assert len((await listing).external) == count
    return turns


async def test_the_loop_turns_while_rules_are_applied_to_long_lists() -> None:
    assert await turns_to_list(10 * FAMILIES_PER_ITERATION) == await turns_to_list(1) + 9


async def test_a_name_that_would_read_another_namespace_gets_into_no_query(tmp_path: Path) -> None:
    """Prometheus 3 takes any name, and whoever is scraped chooses it; once a minute the log says so."""
    names = ('queue_x or secret{namespace="victim"}', "queue_a-secret", 'queue_{namespace="victim"} or secret')
    async with fake_prometheus() as fake, asking(fake, tmp_path) as source:
        fake.series = [{"__name__": name, "namespace": "default"} for name in ("queue_depth", *names)]
        with structlog.testing.capture_logs() as logs:
            for name in names:
                assert isinstance(await source.read(external(name.removeprefix("queue_"))), Unknown)
        assert fake.queries == []
        assert [line["event"] for line in logs] == ["a series is passed over for its name"]
        assert repr(names[1]) in logs[0]["error"], "the first in order"
        assert isinstance(await source.read(external("depth")), ExternalReading), "others are had as before"


async def test_a_name_with_dots_is_had_by_a_rule_that_quotes_it(tmp_path: Path) -> None:
    rules = """\
externalRules:
- seriesQuery: '{namespace!=""}'
  resources: {template: <<.Resource>>}
  metricsQuery: sum({"<<.Series>>",<<.LabelMatchers>>})
"""
    async with fake_prometheus() as fake, asking(fake, tmp_path, rules=rules) as source:
        fake.series = [{"__name__": "http.server.requests", "namespace": "default"}]
        fake.answers = {'sum({"http.server.requests",namespace="default"})': [sample("3")]}
        assert await source.read(external("http.server.requests")) == ExternalReading((3000,))
