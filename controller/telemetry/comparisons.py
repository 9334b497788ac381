"""What is known of other controllers at work: numbers, and `/shadow` as JSON."""

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from aiohttp import web
from prometheus_client.core import Metric

from controller.company import Company
from controller.decide.instants import NANOSECONDS
from controller.shadow import Difference, Shadow
from controller.telemetry.instruments import OURS, counter, gauge
from controller.verdict import Kind

PATH: Final = "/shadow"
_DIFFERENCES: Final[tuple[Kind, ...]] = ("input", "logic")


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


def shadow_route(shadow: Shadow, company: Company) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The page: counts in all and per HPA, HPAs left to others, and the last differences, oldest first."""

    async def page(_: web.Request) -> web.StreamResponse:
        body = {
            **_counts(shadow.counts),
            "hpas": [{"hpa": key, **_counts(counts)} for key, counts in sorted(shadow.by_key.items())],
            "leftToOthers": company.yielded,
            "latest": [_described(difference) for difference in shadow.latest],
        }
        return web.Response(body=msgspec.json.encode(body), content_type="application/json")

    return page


def _counts(counts: dict[Kind, int]) -> dict[str, Any]:
    return {
        "comparisons": sum(counts.values()),
        "differences": {kind: counts.get(kind, 0) for kind in _DIFFERENCES},
    }


def _described(difference: Difference) -> dict[str, Any]:
    at = datetime.fromtimestamp(difference.at_ns / NANOSECONDS, UTC)
    return {
        "hpa": difference.key,
        "writer": difference.manager,
        "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "class": difference.verdict.kind,
        "because": difference.verdict.because,
        "fields": difference.verdict.fields,
        "theirs": difference.theirs,
        "ours": difference.ours,
    }
