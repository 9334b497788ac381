"""Usage of pods: from a list of each namespace, or of the whole cluster where that costs less (§18.1)."""

import asyncio
import heapq
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from structlog.testing import capture_logs

from controller.decide import selectors
from controller.decide.observed import ReadFailure, Reading, ResourceReading
from controller.ports import ResourceQuestion
from controller.schedule import next_due_s
from controller.sources.answering import Answer
from controller.sources.cluster_usage import SHARED_MAX_S, ClusterUsage, is_cheaper, lists_per_period
from controller.sources.resource import ResourceMetrics
from controller.sources.shared import fresh_s
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import Received, answer, serving

PERIOD_S: Final = 15.0
ALL: Final = "/apis/metrics.k8s.io/v1beta1/pods"


class Cluster:
    """A metrics API, how many pods there are, and the time; `refusal` is what it says to a list of everything."""

    def __init__(self, namespaces: int, hpas: int, pods_each: int) -> None:
        self.namespaces = [f"team-{number}" for number in range(namespaces)]
        self.names = [f"web-{number}" for number in range(hpas)]
        self.pods_each = pods_each
        self.now_s = 0.0
        self.refusal: bytes | None = None
        self.asked: list[str] = []
        self.labels = True
        self.spoiled: set[str] = set()
        self.milli = 100

    def __len__(self) -> int:
        return len(self.namespaces) * self.count("")

    def count(self, namespace: str) -> int:
        del namespace
        return len(self.names) * self.pods_each

    def items(self, namespace: str) -> list[dict[str, Any]]:
        return [
            {
                "metadata": {
                    "name": f"{name}-{index}",
                    "namespace": namespace,
                    **({"labels": {"app": name}} if self.labels else {}),
                },
                "timestamp": "2026-01-01T00:00:00Z" if namespace not in self.spoiled else "yesterday",
                "window": "15s",
                "containers": [{"name": "app", "usage": {"cpu": f"{self.milli}m"}}],
            }
            for name in self.names
            for index in range(self.pods_each)
        ]

    async def say(self, received: Received, writer: asyncio.StreamWriter) -> None:
        path, _, query = received.target.partition("?")
        self.asked.append(path)
        if path == ALL and self.refusal is not None:
            writer.write(self.refusal)
            return
        namespaces = self.namespaces if path == ALL else [path.split("/")[-2]]
        items = [item for namespace in namespaces for item in self.items(namespace)]
        if query:
            items = [item for item in items if query.endswith(item["metadata"]["name"].rpartition("-")[0])]
        writer.write(answer(json.dumps({"kind": "PodMetricsList", "items": items}).encode()))

    def taken(self) -> Counter[str]:
        """What was asked since this was last called: `cluster` or `namespace`."""
        asked, self.asked = self.asked, []
        return Counter("cluster" if path == ALL else "namespace" for path in asked)


class Asking:
    """The source before a cluster."""

    def __init__(self, cluster: Cluster, source: ResourceMetrics) -> None:
        self.cluster = cluster
        self._source = source

    async def ask(self, namespace: str, name: str) -> Answer:
        return await self._source.read(ResourceQuestion(namespace, selectors.parse(f"app={name}")))

    async def round(self, namespaces: Iterable[str] | None = None) -> list[Answer]:
        """Every HPA asks once, and a period passes."""
        asked = self.cluster.namespaces if namespaces is None else namespaces
        answers = await asyncio.gather(*(self.ask(one, name) for one in asked for name in self.cluster.names))
        self.cluster.now_s += PERIOD_S
        return list(answers)


@asynccontextmanager
async def asking(namespaces: int = 30, hpas: int = 2, pods_each: int = 2) -> AsyncIterator[Asking]:
    cluster = Cluster(namespaces, hpas, pods_each)

    def time_s() -> float:
        return cluster.now_s

    async with serving(cluster.say) as server, connected_to(server.url) as client:
        whole = ClusterUsage(client, time_s, PERIOD_S, cluster)
        yield Asking(cluster, ResourceMetrics(client, time_s, fresh_s(PERIOD_S), whole))


def used(reading: Reading | Answer) -> list[tuple[str, int]]:
    assert isinstance(reading, ResourceReading), reading
    return [(usage.pod, container.usage_milli["cpu"]) for usage in reading.items for container in usage.containers]


async def test_the_whole_cluster_answers_as_the_namespaces_do() -> None:
    async with asking() as source:
        first = await source.round()
        assert source.cluster.taken() == {"namespace": 30}
        assert await source.round() == first
        assert source.cluster.taken() == {"cluster": 1}
        assert used(first[0]) == [("web-0-0", 100), ("web-0-1", 100)]


async def test_few_large_namespaces_are_listed_one_by_one() -> None:
    async with asking(namespaces=2, hpas=100, pods_each=10) as source:
        for _ in range(3):
            await source.round()
            assert source.cluster.taken() == {"namespace": 2}


async def test_no_answer_is_older_than_a_third_of_a_period_and_every_sync_sees_a_newer_one() -> None:
    async with asking() as source:
        await source.round()
        await source.round()
        for milli in range(200, 230):
            source.cluster.milli = milli
            source.cluster.now_s += SHARED_MAX_S + 0.001
            readings = await asyncio.gather(*(source.ask(one, "web-0") for one in source.cluster.namespaces))
            assert {value for reading in readings for _, value in used(reading)} == {milli}
    assert lists_per_period(PERIOD_S) == 3


@pytest.mark.parametrize(("namespaces", "hpas", "most"), [(150, 2, 0.2), (200, 1, 0.2), (80, 3, 0.2), (4, 100, 0.1)])
async def test_reads_per_sync(namespaces: int, hpas: int, most: float) -> None:
    """The built-in controller makes two to three: a scale and each resource metric of each HPA.

    HPAs are seen at any time, drift to the phases of their namespaces, and are then spread over the period.
    """
    async with asking(namespaces, hpas, pods_each=1) as source:
        cluster = source.cluster
        keys = [(namespace, name) for namespace in cluster.namespaces for name in cluster.names]
        due = [(number * 7.123 % PERIOD_S, *key) for number, key in enumerate(keys)]
        heapq.heapify(due)
        syncs, warm_s, end_s = 0, 2 * PERIOD_S, 16 * PERIOD_S
        while due[0][0] < end_s:
            cluster.now_s, namespace, name = due[0]
            if syncs == 0 and cluster.now_s >= warm_s:
                cluster.taken()
            syncs += cluster.now_s >= warm_s
            assert used(await source.ask(namespace, name))
            heapq.heapreplace(due, (next_due_s(cluster.now_s, cluster.now_s, namespace, PERIOD_S), namespace, name))
        assert syncs >= 13 * len(keys)
        taken = cluster.taken()
        assert taken.total() / syncs <= most


@pytest.mark.parametrize("status", ["403 Forbidden", "503 Service Unavailable"])
async def test_where_the_cluster_cannot_be_listed_namespaces_are_and_nobody_notices(status: str) -> None:
    async with asking() as source:
        cluster = source.cluster
        cluster.refusal = answer(b'{"message":"no"}', status=status)
        with capture_logs() as logs:
            first = await source.round()
            cluster.taken()
            assert await source.round() == first
            assert cluster.taken() == {"cluster": 1, "namespace": 30}
            cluster.refusal = None
            for _ in range(7):
                assert await source.round() == first
            assert cluster.taken() == {"namespace": 7 * 30}
        warnings = [line["how_long"] for line in logs if line["log_level"] == "warning"]
        assert warnings == ["from now on" if "403" in status else "120 s"], "said once, not by everybody who waited"
        for _ in range(2):
            await source.round()
        assert ("cluster" in cluster.taken()) == ("503" in status)


async def test_an_api_without_labels_is_never_asked_for_the_whole_cluster_again() -> None:
    async with asking(namespaces=30, hpas=1) as source:
        source.cluster.labels = False
        for _ in range(4):
            for reading in await source.round():
                assert used(reading) == [("web-0-0", 100), ("web-0-1", 100)]
        assert source.cluster.taken()["cluster"] == 1


async def test_a_malformed_item_harms_only_those_whose_pod_it_is() -> None:
    async with asking() as source:
        source.cluster.spoiled = {"team-7"}
        await source.round()
        source.cluster.taken()
        answers = await source.round()
        assert source.cluster.taken() == {"cluster": 1}
        failed = [isinstance(reading, ReadFailure) for reading in answers]
        assert failed == [number // 2 == 7 for number in range(60)]


async def test_a_namespace_that_nobody_was_expected_to_ask_about_is_listed_by_itself() -> None:
    async with asking() as source:
        await source.round()
        source.cluster.namespaces.append("new")
        source.cluster.taken()
        answers = await source.round()
        assert source.cluster.taken() == {"cluster": 1, "namespace": 1}
        assert used(answers[-1]) == used(answers[1])
        await source.round()
        assert source.cluster.taken() == {"cluster": 1}


async def test_once_few_ask_namespaces_are_listed_again() -> None:
    async with asking(pods_each=20) as source:
        for _ in range(3):
            await source.round()
        assert source.cluster.taken()["cluster"] == 2
        few = source.cluster.namespaces[:3]
        for _ in range(3):
            await source.round(few)
        source.cluster.taken()
        await source.round(few)
        assert source.cluster.taken() == {"namespace": 3}


def test_what_is_cheaper() -> None:
    lists = lists_per_period(PERIOD_S)
    # Ten thousand HPAs of ten pods each: in namespaces of one, two, three and a hundred.
    verdicts = [is_cheaper(lists, 100_000, 10_000 // size, 100_000) for size in (1, 2, 3, 100)]
    assert verdicts == [True, True, True, False]
    assert not is_cheaper(lists, 100_000, 100, 1_000), "a large cluster with few HPAs"
    assert not is_cheaper(lists_per_period(0), 1, 1, 1)
