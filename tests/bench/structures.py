"""The queue at 10,000 keys and the pod index at 100,000 pods, against chains of dict accesses."""

import asyncio

from controller.decide import selectors
from controller.decide.observed import Pod, PodRequests
from controller.delay_queue import DelayQueue
from controller.pod_cache import PodCache, WatchedPod
from controller.rivals import Rivals
from tests.bench.calibration import dict_access_us, per_call_us
from tests.bench.measured import Figure

KEYS = 10_000
PODS = 100_000
PODS_EACH = 10
GOAL = 10.0
_CHAIN = "times namespace → name → spec → replicas in dicts of 100,000"


def figures() -> list[Figure]:
    """Queue operations per key; selecting the ten pods of an HPA, in many namespaces and in one."""
    chain_us = dict_access_us()
    found = [Figure("a chain of four dict accesses", chain_us, "µs")]
    for name, cost_us in asyncio.run(_queue()):
        found.append(Figure(name, cost_us, "µs", _CHAIN, cost_us / chain_us, GOAL))
    for where, namespaces in (("1,000 namespaces", 1_000), ("one namespace", 1)):
        cost_us = _selection_us(namespaces)
        yardstick_us = chain_us * PODS_EACH
        found.append(
            Figure(
                f"select {PODS_EACH} of {PODS:,} pods in {where}",
                cost_us,
                "µs",
                f"{_CHAIN}, once per pod found",
                cost_us / yardstick_us,
                GOAL,
            )
        )
    return found


async def _queue() -> list[tuple[str, float]]:
    """Costs of putting a key in, and of taking it out and giving it back, with 10,000 keys around."""
    now_s = 0.0
    queue = DelayQueue(lambda: now_s)
    keys = [f"namespace-{number % 100}/hpa-{number}" for number in range(KEYS)]

    def add_all() -> None:
        for index, key in enumerate(keys):
            queue.add(key, now_s + 15.0 + index * 0.001)

    add_us = per_call_us(add_all, 1) / KEYS
    loop = asyncio.get_running_loop()

    async def round_trip() -> float:
        nonlocal now_s
        now_s += 1_000.0
        queue._ring()
        began = loop.time()
        for _ in keys:
            due = await queue.take()
            queue.done(due.key)
        return (loop.time() - began) / KEYS * 1e6

    best_us = float("inf")
    for _ in range(5):
        best_us = min(best_us, await round_trip())
        add_all()
    queue.close()
    return [("add a key to the delay queue", add_us), ("take a key and give it back", best_us)]


def _selection_us(namespaces: int) -> float:
    """Finding an HPA's pods and who else wants them, as each sync does."""
    cache, rivals = PodCache(), Rivals()
    requests = PodRequests(())
    per_namespace = PODS // PODS_EACH // namespaces
    for number in range(PODS // PODS_EACH):
        namespace, application = f"namespace-{number // per_namespace}", f"app-{number}"
        labels = {"app": application, "part-of": "shop", "pod-template-hash": f"{number:x}"}
        for index in range(PODS_EACH):
            cache.put(WatchedPod(namespace, Pod(f"{application}-{index}", labels, "Running", requests)))
        rivals.register(namespace, application)
        rivals.store(namespace, application, selectors.parse(f"app={application}"))
    cases = [
        (f"namespace-{number // per_namespace}", selectors.parse(f"app=app-{number}"))
        for number in range(0, PODS // PODS_EACH, 97)
    ]

    def select_all() -> None:
        for namespace, selector in cases:
            cache.matching(namespace, selector)
            rivals.sharing(namespace, cache.labels_matching(namespace, selector))

    return per_call_us(select_all, 3) / len(cases)
