"""A metrics API of pods, and HPAs that ask about them."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import parse_qs

from controller.decide import selectors
from controller.decide.observed import Reading, ResourceReading
from controller.ports import ResourceQuestion
from controller.sources.answering import Answer
from controller.sources.cluster_usage import ClusterUsage
from controller.sources.expected import Expected
from controller.sources.resource import ResourceMetrics
from controller.sources.shared import fresh_s
from tests.adapters.parts import connected_to
from tests.adapters.raw_server import Received, answer, serving

PERIOD_S: Final = 15.0
ALL: Final = "/apis/metrics.k8s.io/v1beta1/pods"


def kind(target: str) -> str:
    path, _, query = target.partition("?")
    return "selected" if query else "cluster" if path == ALL else "namespace"


class Cluster:
    """A metrics API, how many pods there are, and the time.

    Requests are of three kinds: of the cluster, of a namespace, and of what is selected there. `refusals` are what it
    says to those of a kind. `pods_counted`: how many pods a namespace has, most of which the API leaves out.
    """

    def __init__(self, namespaces: int, hpas: int, pods_each: int) -> None:
        self.namespaces = [f"team-{number}" for number in range(namespaces)]
        self.names = [f"web-{number}" for number in range(hpas)]
        self.pods_each = pods_each
        self.pods_counted: int | None = None
        self.now_s = 0.0
        self.refusals: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.items_sent = 0
        self.labels = True
        self.unlabelled: set[str] = set()
        self.namespaced = True
        self.spoiled: set[str] = set()
        self.nameless: set[str] = set()
        self.milli = 100

    def __len__(self) -> int:
        return len(self.namespaces) * self.count("")

    def count(self, namespace: str) -> int:
        del namespace
        return len(self.names) * self.pods_each if self.pods_counted is None else self.pods_counted

    def items(self, namespace: str) -> list[dict[str, Any]]:
        return [
            {
                "metadata": {
                    "name": "" if namespace in self.nameless else f"{name}-{index}",
                    **({"namespace": namespace} if self.namespaced else {}),
                    **({"labels": {"app": name}} if self.labels and namespace not in self.unlabelled else {}),
                },
                "timestamp": "yesterday" if {namespace, name} & self.spoiled else "2026-01-01T00:00:00Z",
                "window": "15s",
                "containers": [{"name": "app", "usage": {"cpu": f"{self.milli}m"}}],
            }
            for name in self.names
            for index in range(self.pods_each)
        ]

    async def say(self, received: Received, writer: asyncio.StreamWriter) -> None:
        path, _, query = received.target.partition("?")
        self.asked.append(received.target)
        refusal = self.refusals.get(kind(received.target))
        if refusal is not None:
            writer.write(refusal)
            return
        namespaces = self.namespaces if path == ALL else [path.split("/")[-2]]
        items = [item for namespace in namespaces for item in self.items(namespace)]
        if query:
            asked = selectors.parse(parse_qs(query)["labelSelector"][0])
            items = [item for item in items if asked.matches({"app": item["metadata"]["name"].rpartition("-")[0]})]
        self.items_sent += len(items)
        writer.write(answer(json.dumps({"kind": "PodMetricsList", "items": items}).encode()))

    def taken(self) -> Counter[str]:
        """What was asked since this was last called, by kind."""
        asked, self.asked = self.asked, []
        return Counter(map(kind, asked))


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
        expected, fresh = Expected(PERIOD_S), fresh_s(PERIOD_S)
        whole = ClusterUsage(client, time_s, PERIOD_S, cluster, expected, fresh)
        yield Asking(cluster, ResourceMetrics(client, time_s, fresh, expected, cluster, whole, period_s=PERIOD_S))


def used(reading: Reading | Answer) -> list[tuple[str, int]]:
    assert isinstance(reading, ResourceReading), reading
    return [(usage.pod, container.usage_milli["cpu"]) for usage in reading.items for container in usage.containers]
