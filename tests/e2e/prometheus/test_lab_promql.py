"""The lab's Prometheus and the real one on the same samples: the same answers to what the lab knows."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
import pytest_asyncio

from controller.lab.prometheus.evaluation import evaluate
from controller.lab.prometheus.promql import NAME_LABEL, QueryError, parse
from controller.lab.prometheus.series import KEPT_S, SeriesStore
from tests.e2e.prometheus.programs import Prometheus, make_blocks
from tests.e2e.prometheus.stored_series import STEP_S, STEPS, open_metrics, stored_series

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NAMESPACE = "shop"
AFTER_S = 7.0
"""Between two scrapes, so that ends of ranges meet no sample: versions of Prometheus differ there."""

QUERIES = (
    "http_requests_total",
    'http_requests_total{namespace="shop",code=~"2.."}',
    'http_requests_total{namespace!="shop",code!~"5.*|4.*"}',
    '{__name__=~"container_.+",pod="web-1",container!="POD"}',
    'queue_depth{jobs_queue="api-jobs",nothing=""}',
    "temperature_difference",
    "sqs_messages_visible{queue_name='a.b-c'}",
    "rate(http_requests_total[1m])",
    "rate(http_requests_total[40s])",
    "rate(http_requests_total[16s])",
    "increase(istio_requests_total[5m])",
    "rate(temperature_difference[2m])",
    "rate(nginx_ingress_controller_requests[14m])",
    "sum(rate(http_requests_total[2m])) by (namespace,pod)",
    "sum by (namespace) (rate(http_requests_total{code='200'}[2m]))",
    "sum without (container, pod) (container_memory_working_set_bytes)",
    "avg(container_memory_working_set_bytes) by (pod,nothing)",
    "max(sum(rate(container_cpu_usage_seconds_total[1m])) by (pod))",
    "min(queue_depth)",
    "count(http_requests_total) by (code)",
    "timestamp(queue_depth)",
    "min by (namespace,pod) (timestamp(http_requests_total{code!='500'}))",
    "sum(does_not_exist)",
)
REFUSED_BY_BOTH = ("", "sum(", "{}", '{a=~".*"}', "rate(queue_depth)", "queue_depth{a=~'('}", "nothing(1)", "a b")


class Both:
    """One set of samples in the lab's store and in a Prometheus, and the moment at which they are asked."""

    def __init__(self, store: SeriesStore, session: aiohttp.ClientSession, at_s: float) -> None:
        self.store = store
        self.at_s = at_s
        self._session = session

    async def real(self, query: str) -> tuple[int, dict[str, Any]]:
        async with self._session.get("/api/v1/query", params={"query": query, "time": f"{self.at_s}"}) as answer:
            return answer.status, await answer.json()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def both(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    async with _both(tmp_path_factory) as found:
        yield found


@asynccontextmanager
async def _both(folders: pytest.TempPathFactory) -> AsyncIterator[Both]:
    folder = folders.mktemp("lab-promql")
    end_s = int(time.time()) - 60  # noqa: TID251 - samples are dated by the wall clock
    series = stored_series(NAMESPACE)
    await make_blocks(open_metrics(series, end_s), folder)
    store = SeriesStore()
    assert STEPS * STEP_S <= KEPT_S, "the lab forgets nothing of it"
    for step in range(STEPS + 1):
        found = [({NAME_LABEL: name, **labels}, at + by * step * STEP_S) for name, labels, at, by in series]
        store.scraped(end_s - (STEPS - step) * STEP_S, found)
    async with (
        Prometheus.start(folder, folder / "prometheus.log") as server,
        aiohttp.ClientSession(server.url) as session,
    ):
        yield Both(store, session, end_s + AFTER_S)


@pytest.mark.parametrize("query", QUERIES)
async def test_both_answer_alike(both: Both, query: str) -> None:
    status, body = await both.real(query)
    assert status == 200, body
    real = {_key(one["metric"]): float(one["value"][1]) for one in body["data"]["result"]}
    ours = {_key(one.labels): one.value for one in evaluate(parse(query), both.store, both.at_s)}
    assert ours == {key: pytest.approx(value, rel=1e-9) for key, value in real.items()}
    assert bool(real) is ("does_not_exist" not in query and "[16s]" not in query), "there is something to compare"


@pytest.mark.parametrize("query", REFUSED_BY_BOTH)
async def test_both_refuse_alike(both: Both, query: str) -> None:
    status, body = await both.real(query)
    assert (status, body["errorType"]) == (400, "bad_data")
    with pytest.raises(QueryError):
        parse(query)


def _key(labels: Any) -> frozenset[tuple[str, str]]:
    return frozenset(labels.items())
