"""The lab's Prometheus: what it scrapes, the queries that it knows, and those that it refuses."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from controller.lab.clock import DEFAULT_START, LabClock
from controller.lab.lab import BUILT_IN
from controller.lab.prometheus.evaluation import evaluate, growth
from controller.lab.prometheus.promql import QueryError, parse, parse_selector
from controller.lab.prometheus.series import KEPT_S, LOOK_BACK_S, SeriesStore
from controller.lab.prometheus.server import LabPrometheus
from tests.lab.hands import Hands
from tests.lab.test_lab import in_virtual_time, moving

BEGIN_S = DEFAULT_START.timestamp()


def counted(**rates: float) -> SeriesStore:
    """A minute of a counter for each pod, with its growth per second, and a gauge, every five seconds."""
    store = SeriesStore()
    for step in range(13):
        counters = [
            ({"__name__": "served_total", "pod": pod, "zone": pod[0]}, rate * step * 5) for pod, rate in rates.items()
        ]
        store.scraped(BEGIN_S + step * 5, [*counters, ({"__name__": "depth", "queue": "a.b"}, 7.5)])
    return store


def asked(query: str, store: SeriesStore, after_s: float = 60.0) -> dict[str, float]:
    """The values by their labels as text."""
    found = evaluate(parse(query), store, BEGIN_S + after_s)
    return {",".join(f"{key}={one.labels[key]}" for key in sorted(one.labels)): round(one.value, 6) for one in found}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("depth", {"__name__=depth,queue=a.b": 7.5}),
        ('{__name__=~"dep.*",queue="a.b",queue!="b",none="",queue!~"b|c"}', {"__name__=depth,queue=a.b": 7.5}),
        ('depth{queue="a\\u002eb"}', {"__name__=depth,queue=a.b": 7.5}),
        ("depth{queue=`a.b`,}", {"__name__=depth,queue=a.b": 7.5}),
        ('depth{queue=~"a"}', {}),
        ('depth{queue!~".+"}', {}),
        ("served_total", {f"__name__=served_total,pod={pod},zone={pod[0]}": value for pod, value in
                          (("a1", 60.0), ("a2", 120.0), ("b1", 240.0))}),
        ("rate(served_total[20s])", {"pod=a1,zone=a": 1.0, "pod=a2,zone=a": 2.0, "pod=b1,zone=b": 4.0}),
        ("increase(served_total{pod='a2'}[ 30s ])", {"pod=a2,zone=a": 60.0}),
        ("sum(rate(served_total[20s])) by (zone)", {"zone=a": 3.0, "zone=b": 4.0}),
        ("SUM BY (zone, nothing) (rate(served_total[20s]))", {"zone=a": 3.0, "zone=b": 4.0}),
        ("sum without (pod) (rate(served_total[20s]))", {"zone=a": 3.0, "zone=b": 4.0}),
        ("max(sum(rate(served_total[20s])) by (zone))", {"": 4.0}),
        ("avg((rate(served_total[20s])))", {"": round(7 / 3, 6)}),
        ("min(served_total) by ()", {"": 60.0}),
        ("count(served_total) by (zone)", {"zone=a": 2.0, "zone=b": 1.0}),
        ("timestamp(depth)", {"queue=a.b": BEGIN_S + 60}),
        ("min by (zone) (timestamp(served_total))", {"zone=a": BEGIN_S + 60, "zone=b": BEGIN_S + 60}),
        ("sum(nothing)", {}),
    ],
)  # fmt: skip
def test_what_queries_give(query: str, expected: dict[str, float]) -> None:
    assert asked(query, counted(a1=1.0, a2=2.0, b1=4.0)) == expected


@pytest.mark.parametrize(
    ("query", "place", "part"),
    [
        ("histogram_quantile(0.9, served_total)", 1, "histogram_quantile() is not known here"),
        ("sum(served_total) / 2", 19, "'/' is not known here"),
        ("2", 1, "'2' is not known here"),
        ("", 1, "the end is not known here"),
        ("served_total[5m]", 13, "'[5m]' is not known here"),
        ("rate(served_total)", 18, "rate needs a range"),
        ("rate(sum(served_total)[5m])", 9, "rate needs a range"),
        ("rate(served_total[5m:1m])", 25, "subqueries are not known"),
        ("rate(served_total[0s])", 22, "longer than 0s"),
        ("sum(served_total", 17, "')' is needed, not the end"),
        ("timestamp(sum(depth))", 14, "')' is needed"),
        ("topk(2, served_total)", 1, "topk() is not known here"),
        ("{}", 3, "a matcher that the empty text does not match"),
        ('{a=~".*"}', 10, "a matcher that the empty text does not match"),
        ('depth{queue=~"("}', 17, "cannot be used"),
        ('depth{queue="\\d"}', 17, "is no escape"),
        ("depth{queue=a}", 14, "a text in quotes is needed"),
        ("depth{queue<'a'}", 12, "one of = != =~ !~ is needed"),
        ("depth offset 5m", 7, "'offset' is not known here"),
        ("(" * 60 + "depth" + ")" * 60, 51, "more than 50 expressions"),
    ],
)
def test_what_is_not_known_is_refused_with_its_place(query: str, place: int, part: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(query)
    assert str(caught.value).startswith(f"1:{place}: parse error: ")
    assert part in str(caught.value)


def test_a_listing_takes_selectors_only() -> None:
    assert parse_selector("depth").matches({"__name__": "depth"})
    with pytest.raises(QueryError):
        parse_selector("sum(depth)")


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        ([], None),
        ([(5.0, 1.0)], None),
        # Ten in ten seconds, and both ends of the half minute are too far away: half a distance at each.
        ([(10.0, 100.0), (15.0, 105.0), (20.0, 110.0)], 15.0),
        # The counter was zero shortly before.
        ([(10.0, 1.0), (15.0, 6.0), (20.0, 11.0)], 13.5),
        # A restart of the counter: what it had before counts.
        ([(2.0, 100.0), (11.0, 109.0), (20.0, 5.0), (29.0, 14.0)], 23.0 * 30 / 27),
        ([(2.0, 4.0), (28.0, 4.0)], 0.0),
    ],
)
def test_growth_is_stretched_to_the_range(samples: list[tuple[float, float]], expected: float | None) -> None:
    assert growth(samples, 0.0, 30.0) == (None if expected is None else pytest.approx(expected))


def test_series_end_at_once_when_they_are_gone_and_after_a_while_when_nothing_comes() -> None:
    store = counted(a1=1.0)
    assert len(asked("depth", store, 60.0 + LOOK_BACK_S - 1)) == 1
    assert asked("depth", store, 60.0 + LOOK_BACK_S) == {}
    store.scraped(BEGIN_S + 65, [({"__name__": "served_total", "pod": "a1", "zone": "a"}, 65.0)])
    assert asked("depth", store, 66.0) == {}
    assert len(asked("depth", store, 64.0)) == 1
    assert len(asked("served_total", store, 66.0)) == 1
    store.scraped(BEGIN_S + 66 + KEPT_S, [])
    assert [series.labels["__name__"] for series in store.everything()] == ["served_total"]


def test_two_names_with_the_same_labels_have_no_rate() -> None:
    store = SeriesStore()
    for step in range(3):
        store.scraped(
            BEGIN_S + step, [({"__name__": name, "pod": "a"}, float(step)) for name in ("x_total", "y_total")]
        )
    with pytest.raises(QueryError, match="same labelset"):
        asked('rate({pod="a"}[10s])', store, 2.0)


class Asking:
    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def get(self, path: str, **parameters: str | list[str]) -> tuple[int, Any]:
        pairs = [(key, one) for key, many in parameters.items() for one in ([many] if isinstance(many, str) else many)]
        async with self._session.get(path, params=pairs) as found:
            return found.status, await found.json()

    async def post(self, path: str, **parameters: str) -> tuple[int, Any]:
        async with self._session.post(path, data=parameters) as found:
            return found.status, await found.json()


@asynccontextmanager
async def served(store: SeriesStore) -> AsyncIterator[Asking]:
    """A server one minute after the beginning."""
    hands = Hands()
    clock = LabClock(hands)
    hands.now_s += 60.0
    prometheus = LabPrometheus(clock, store)
    await prometheus.start()
    try:
        async with aiohttp.ClientSession(prometheus.url) as session:
            yield Asking(session)
    finally:
        await prometheus.stop()


async def test_queries_over_http() -> None:
    async with served(counted(a1=1.0, b1=2.0)) as asking:
        result = {"resultType": "vector", "result": [{"metric": {"zone": "a"}, "value": [BEGIN_S + 60, "60"]}]}
        query = 'sum(served_total{zone="a"}) by (zone)'
        for status, body in (
            await asking.get("/api/v1/query", query=query),
            await asking.post("/api/v1/query", query=query),
            await asking.get("/api/v1/query", query=query, time=f"{BEGIN_S + 60}"),
            await asking.get("/api/v1/query", query=query, time="2026-01-01T00:01:00Z"),
        ):
            assert (status, body) == (200, {"status": "success", "data": result})


async def test_what_there_is_over_http() -> None:
    async with served(counted(a1=1.0, b1=2.0)) as asking:
        match = {"match[]": ['served_total{zone="a"}', "depth"]}
        _, series = await asking.get("/api/v1/series", **match)
        assert series["data"] == [
            {"__name__": "served_total", "pod": "a1", "zone": "a"},
            {"__name__": "depth", "queue": "a.b"},
        ]
        assert (await asking.get("/api/v1/series", start=f"{BEGIN_S + 61}", **match))[1]["data"] == []
        assert (await asking.get("/api/v1/labels"))[1]["data"] == ["__name__", "pod", "queue", "zone"]
        assert (await asking.get("/api/v1/label/zone/values"))[1]["data"] == ["a", "b"]


@pytest.mark.parametrize(
    ("path", "parameters", "status", "kind", "part"),
    [
        ("/api/v1/query", {"query": "topk(1, depth)"}, 400, "bad_data", "1:1: parse error: topk() is not known"),
        ("/api/v1/query", {}, 400, "bad_data", "parse error"),
        ("/api/v1/query", {"query": "depth", "time": "soon"}, 400, "bad_data", "cannot parse 'soon'"),
        ("/api/v1/query", {"query": "depth", "time": "inf"}, 400, "bad_data", "is no time"),
        ("/api/v1/series", {}, 400, "bad_data", "match[]"),
        ("/api/v1/query_range", {"query": "depth"}, 404, "not_found", "the lab's Prometheus has query, series"),
        ("/metrics", {}, 404, "not_found", "/metrics is not served"),
    ],
)
async def test_refusals_are_those_of_a_prometheus(
    path: str, parameters: dict[str, str], status: int, kind: str, part: str
) -> None:
    async with served(counted(a1=1.0)) as asking:
        got, body = await asking.get(path, **parameters)
        assert (got, body["status"], body["errorType"]) == (status, "error", kind)
        assert part in body["error"]


def test_it_scrapes_what_the_load_does(tmp_path: Path) -> None:
    """In the built-in scenario: requests and CPU by counters, the queue's backlog, and what kubectl would be told."""

    async def story() -> None:
        async with moving(BUILT_IN, tmp_path) as lab:
            await asyncio.sleep(20)
            store, at_s = lab.prometheus.store, lab.cluster.clock.now().timestamp()

            def vector(query: str) -> dict[str, float]:
                return {one.labels.get("pod", ""): one.value for one in evaluate(parse(query), store, at_s)}

            of_api = vector('sum(rate(http_requests_total{namespace="shop",service="api"}[9s])) by (pod)')
            pods = {pod["metadata"]["name"] for pod in lab.cluster.list("pods", "shop", label_selector="app=api")}
            assert of_api.keys() == pods
            assert sum(of_api.values()) == pytest.approx(20, rel=0.1), "the load at this time"
            gauges = vector('http_requests_per_second{namespace="shop"}')
            assert {pod: value for pod, value in gauges.items() if pod in pods} == {
                pod: pytest.approx(value, rel=0.1) for pod, value in of_api.items()
            }
            cores = vector('sum(rate(container_cpu_usage_seconds_total{container="app"}[9s])) by (pod)')
            assert {pod: value for pod, value in cores.items() if pod in pods} == {
                pod: pytest.approx(0.01 + 0.003 * value, rel=0.1) for pod, value in of_api.items()
            }
            memory = vector('container_memory_working_set_bytes{service=""}')
            assert {memory[pod] for pod in pods} == {128 * 2**20}
            [backlog] = vector('queue_messages_ready{namespace="shop",queue="orders"}').values()
            assert backlog > 0

    in_virtual_time(story)
