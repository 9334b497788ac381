"""Rules applied to series that nobody has to send."""

import asyncio
from typing import cast

from controller.sources.complaints import Complaints
from controller.sources.prometheus.answers import Family
from controller.sources.prometheus.catalogue import FAMILIES_PER_ITERATION, Catalogue
from controller.sources.prometheus.mapper import Named, ResourceMapper, ResourceNames
from controller.sources.prometheus.rules import parse_rules
from controller.sources.prometheus.server import PrometheusServer
from tests.sources.asking import RULES


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
