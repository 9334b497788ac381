"""Long lists of pods' usage: what they cost, and how long the loop stands still for them."""

import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from controller.allocator import keep_large_apart
from controller.kube.client import PART_BYTES_MAX
from controller.kube.traffic import Traffic
from controller.precedence import PER_ITERATION
from controller.sources.pod_usage import Usages, list_across, list_in, pieces_across, usages_in
from controller.sources.shared import SharedReads
from tests.bench.calibration import REPEATS, json_loads_us
from tests.bench.loop_held import loop_held
from tests.bench.measured import Figure
from tests.bench.memory import PODS

PODS_EACH: Final = 30
PASSED_GOAL: Final = 0.2

LARGE_PODS: Final = 50_000
LARGE_REPLICAS: Final = 5
IN_GOAL: Final = 0.3
MAPPED_GOAL: Final = 3_000.0


def figures() -> list[Figure]:
    """Each in a loop of its own."""
    return [*asyncio.run(_across()), *asyncio.run(_in_one())]


class _Parts:
    """Gives an answer in parts, as the client does."""

    def __init__(self, items: list[dict[str, object]]) -> None:
        self._body = json.dumps({"kind": "PodMetricsList", "items": items}, separators=(",", ":")).encode()

    async def get_in_parts(
        self, path: str, traffic: Traffic, take: Callable[[memoryview], None], *, query: Mapping[str, str] | None = None
    ) -> None:
        del path, traffic, query
        for at in range(0, len(self._body), PART_BYTES_MAX):
            take(memoryview(self._body)[at : at + PART_BYTES_MAX])
            await asyncio.sleep(0)


async def _across() -> list[Figure]:
    """A list of the whole cluster of which two fifths are wanted: those who ask before it is stale."""
    namespaces = PODS // PODS_EACH
    client = _Parts([_pod_metrics(number, f"team-{number // PODS_EACH}", number // 10) for number in range(PODS)])

    def list_some(share: float) -> Awaitable[Mapping[str, Usages]]:
        return list_across(client, "", frozenset(f"team-{number}" for number in range(round(namespaces * share))))

    # What frees a list a little at a time.
    reads = SharedReads(list_some, asyncio.get_running_loop().time, 0.0, pieces=pieces_across)

    async def read(share: float) -> None:
        for number, one in enumerate((await reads.get(share)).values()):
            await usages_in(one.all())
            if number % PER_ITERATION == 0:
                await asyncio.sleep(0)

    figure = await loop_held(f"usage of {PODS:,} pods, 40 % wanted", lambda: read(0.4))
    passed_us = await _least_us(lambda: read(0.0), PODS)
    taken_us = await _least_us(lambda: read(1.0), PODS, repeats=2)
    return [
        figure,
        Figure("take the usage of a pod out of a list", taken_us, "µs"),
        Figure("pass over it", passed_us, "µs", "times taking it", passed_us / taken_us, PASSED_GOAL),
    ]


async def _in_one() -> list[Figure]:
    """Lists of one large namespace, as a controller has them: each is freed when the next one is there."""
    keep_large_apart()
    client = _Parts([_pod_metrics(number, "team", number // LARGE_REPLICAS) for number in range(LARGE_PODS)])
    usages = Usages()

    async def read() -> None:
        nonlocal usages
        coming = usages.successor()
        await list_in(client, "", coming)
        usages = coming

    first_us = await _least_us(read, LARGE_PODS, repeats=1)
    figure = await loop_held(f"usage of {LARGE_PODS:,} pods in one namespace", read)
    next_us = await _least_us(read, LARGE_PODS)
    pages = float(min([await _pages_mapped(read) for _ in range(REPEATS)]))
    loads_us = json_loads_us()
    return [
        figure,
        Figure("take a pod in, of the first list", first_us, "µs"),
        Figure(
            "take a pod in, of the next one", next_us, "µs", "times json.loads of 1 kB", next_us / loads_us, IN_GOAL
        ),
        Figure("pages mapped for the next one", pages, "", goal=MAPPED_GOAL),
    ]


async def _least_us(read: Callable[[], Awaitable[object]], pods: int, repeats: int = REPEATS) -> float:
    """CPU microseconds a pod, the best of a few lists."""
    best_s = float("inf")
    for _ in range(repeats):
        began_s = time.process_time()
        await read()
        best_s = min(best_s, time.process_time() - began_s)
    return best_s / pods * 1e6


async def _pages_mapped(read: Callable[[], Awaitable[object]]) -> int:
    """How often the kernel had to find a page, for which it takes as long as a pod does."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    await read()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def _pod_metrics(number: int, namespace: str, application_number: int) -> dict[str, object]:
    application = f"app-{application_number}"
    labels = {
        "app": application,
        "app.kubernetes.io/part-of": "shop",
        "pod-template-hash": "6f9d8c7b5",
        "security.istio.io/tlsMode": "istio",
    }
    return {
        "metadata": {
            "name": f"{application}-6f9d8c7b5-{number:06d}",
            "namespace": namespace,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": labels,
        },
        "timestamp": f"2026-01-01T00:00:{number % 60:02d}Z",
        "window": "15.123s",
        "containers": [
            {"name": "app", "usage": {"cpu": f"{number}2345n", "memory": f"{number}Ki"}},
            {"name": "proxy", "usage": {"cpu": f"{number}234n", "memory": "12345Ki"}},
        ],
    }
