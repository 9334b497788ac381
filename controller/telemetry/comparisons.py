"""What is known of other controllers at work: numbers, and `/shadow` as JSON."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypedDict

import msgspec
from aiohttp import web
from prometheus_client.core import Metric

from controller.company import Company
from controller.decide.instants import format_rfc3339_ms
from controller.explain.compared import Compared, Comparison, Difference, Differences
from controller.judgement import Kind
from controller.shadow import Difference as Found
from controller.shadow import Shadow
from controller.telemetry.families import counter, gauge
from controller.telemetry.instruments import OURS

_DIFFERENCES: Final[tuple[Kind, ...]] = ("input", "logic")


class _Counts(TypedDict):
    comparisons: int
    differences: Differences


def families(shadow: Shadow, company: Company) -> Iterable[Metric]:
    """How often other controllers decided as we would have, and how many HPAs are left to them."""
    counts = shadow.counts
    yield counter(
        f"{OURS}_shadow_comparisons",
        "Decisions of other controllers that were compared with ours.",
        [((), counts.total())],
    )
    yield counter(
        f"{OURS}_shadow_differences",
        "Decisions of other controllers that ours would not have made; input: it saw other data, logic: it did not.",
        [((kind,), counts[kind]) for kind in _DIFFERENCES],
        ("class",),
    )
    yield gauge(f"{OURS}_foreign_writers", "HPAs that are left to another controller.", [((), len(company.yielded))])
    yield gauge(
        f"{OURS}_twin_writers", "HPAs that another hpa-controller scales beside this one.", [((), len(company.twins))]
    )


def shadow_route(shadow: Shadow, company: Company) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The page: counts in all and per HPA, HPAs left to others, and the last differences, oldest first."""

    async def page(_: web.Request) -> web.StreamResponse:
        answer = Comparison(
            **_counts(shadow.counts),
            hpas=tuple(Compared(hpa=key, **_counts(counts)) for key, counts in sorted(shadow.by_key.items())),
            left_to_others=dict(company.yielded),
            latest=tuple(map(_told, shadow.latest)),
        )
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    return page


def _counts(counts: Counter[Kind]) -> _Counts:
    return {"comparisons": counts.total(), "differences": Differences(counts["input"], counts["logic"])}


def _told(difference: Found) -> Difference:
    judgement = difference.judgement
    return Difference(
        hpa=difference.key,
        writer=difference.manager,
        time=format_rfc3339_ms(difference.at_ns),
        because=judgement.because,
        kind=judgement.kind,
        fields=judgement.fields,
        theirs=difference.theirs,
        ours=difference.ours,
    )
