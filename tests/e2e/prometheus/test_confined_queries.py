"""Prometheus itself judges what becomes of queries: they mean what was written, and reach no other namespace."""

from __future__ import annotations

import math
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import aiohttp
from hypothesis import HealthCheck, given, settings

from controller.promql.queries import confined, understood
from tests.e2e.prometheus.programs import Prometheus, make_blocks
from tests.promql.written import queries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NAMES = ("up", "http_requests_total", "job:rate:sum", "by", "offset_total", "_x", "namespace")
_AT_S = 1_700_000_000
_STEP_S = 30
_QUERIES = 400
_BY_HAND = (
    r'up{a="x\"} or up{b=\"y"}',
    r'up{job="\\"} or up{job!="\\"}',
    "up{job='x\"} or up{job!=\"y'}",
    "up{job!=`\\`} # , } or up",
    'up{job!="#"} + up',
    "up # {\n or by",
    "absent(up) or vector(time())",
    'count_values("namespace", up)',
    'label_replace(up, "namespace", "other", "job", ".*")',
    "sum(up offset 5m) by (pod) / on (pod) group_left sum by (pod) (max_over_time(up[5m:30s] offset 1m))",
    '{__name__=~".+"}',
    '{namespace=~".*"}',
    'topk(scalar(count(up)), up{namespace="shop"})',
    "-up ^ 2 ^ -0.5",
    "2 ^ 3 ^ 2 - 1 - 1 % 3 * -1",
)

Result = tuple[str, str, list[tuple[str, float]]]


def written() -> list[str]:
    """What the grammar gives, the same in each run, and what was thought of."""
    found: list[str] = []

    @settings(
        max_examples=_QUERIES, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(queries())
    def collect(query: str) -> None:
        found.append(query)

    collect()
    return [*_BY_HAND, *dict.fromkeys(found)]


def stored(names: Sequence[str]) -> str:
    """Half an hour of every name in two namespaces, in OpenMetrics."""
    lines = [
        f'{name}{{namespace="{namespace}",pod="web-{pod}",job="{job}",le="1"}} '
        f"{step * (pod + 1) * factor} {_AT_S - (60 - step) * _STEP_S}"
        for name in sorted(names)
        for namespace, factor in (("shop", 1), ("bank", 7))
        for pod in range(2)
        for job in ("a", "b")
        for step in range(61)
    ]
    return "\n".join([*lines, "# EOF", ""])


async def asked(session: aiohttp.ClientSession, url: str, query: str) -> Result:
    """What comes out: the type of result or of the error, and the series with their values, in order."""
    form = {"query": query, "time": str(_AT_S)}
    async with session.post(f"{url}/api/v1/query", data=form) as answer:
        body: dict[str, Any] = await answer.json()
    if body["status"] != "success":
        return "error", body["errorType"], []
    data = body["data"]
    if data["resultType"] == "scalar":
        return "scalar", "", [("", float(data["result"][1]))]
    return (
        data["resultType"],
        "",
        sorted((str(sorted(one["metric"].items())), float(one["value"][1])) for one in data["result"]),
    )


def same(one: Result, other: Result) -> bool:
    def equal(left: float, right: float) -> bool:
        return math.isclose(left, right, rel_tol=1e-9) or (math.isnan(left) and math.isnan(right))

    return (
        one[:2] == other[:2]
        and [labels for labels, _ in one[2]] == [labels for labels, _ in other[2]]
        and all(equal(left[1], right[1]) for left, right in zip(one[2], other[2], strict=True))
    )


async def test_queries_mean_what_was_written_and_reach_no_other_namespace(tmp_path: Path) -> None:
    full, other = tmp_path / "full", tmp_path / "other"
    full.mkdir()
    other.mkdir()
    await make_blocks(stored(_NAMES), full)
    # Not nothing at all: newer Prometheuses put matchers in another order where there is something to match, and
    # `absent` names its labels by the order.
    await make_blocks(stored(["of_no_query"]), other)
    async with AsyncExitStack() as stack:
        with_series = await stack.enter_async_context(Prometheus.start(full, tmp_path / "full.log"))
        without = await stack.enter_async_context(Prometheus.start(other, tmp_path / "other.log"))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        answered = refused = found = 0
        for query in written():
            meant = await asked(session, with_series.url, query)
            printed = await asked(session, with_series.url, understood(query).text)
            assert same(meant, printed), f"{query} is printed as {understood(query).text}"
            of_nobody = confined(query, "nobody").text
            # Whatever it computes for a namespace without series, it computes where there are none of these series.
            leaking = await asked(session, with_series.url, of_nobody)
            assert same(leaking, await asked(session, without.url, of_nobody)), f"{query} leaks as {of_nobody}"
            answered += meant[0] != "error"
            refused += meant[0] == "error"
            found += bool(meant[2])
        assert answered > refused, "most queries are ones that Prometheus answers"
        assert found > _QUERIES / 10, "many of them find series, so that a leak would show"
