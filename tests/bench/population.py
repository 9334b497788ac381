"""A large cluster's objects in the controller's own structures, filled the way the controller fills them."""

from collections.abc import Callable, Iterator

from controller.cache import Cache
from controller.decide import selectors
from controller.decide.history import History, Recommendation, ScaleEvent
from controller.delay_queue import DelayQueue
from controller.kube.list_watch import decode_watched_autoscaler, decode_watched_pod
from controller.pod_cache import PodCache
from controller.ports import WatchedAutoscaler
from controller.rivals import Rivals
from controller.wire.scales import NamedScale, decode_workload
from tests.bench import objects
from tests.bench.memory import AUTOSCALERS, PODS

PODS_EACH = PODS // AUTOSCALERS
NAMESPACES = 200


def _names() -> Iterator[tuple[int, str, str]]:
    for number in range(AUTOSCALERS):
        yield number, f"namespace-{number % NAMESPACES}", f"app-{number}"


def pods() -> PodCache:
    """100,000 pods, ten of each application."""
    cache = PodCache()
    for number, namespace, name in _names():
        for index in range(PODS_EACH):
            item, _ = decode_watched_pod(objects.pod(namespace, name, number * PODS_EACH + index))
            cache.put(item)
    return cache


def autoscalers() -> Cache[WatchedAutoscaler]:
    """10,000 HPAs."""
    cache: Cache[WatchedAutoscaler] = Cache(lambda item: item.key)
    for number, namespace, name in _names():
        item, _ = decode_watched_autoscaler(objects.autoscaler(namespace, name, number))
        cache.put(item)
    return cache


def scales() -> Cache[NamedScale]:
    """The scales of 10,000 Deployments."""
    cache: Cache[NamedScale] = Cache(lambda item: f"{item.namespace}/{item.name}")
    for number, namespace, name in _names():
        body = (
            f'{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{number:036d}","resourceVersion":"{number}"}},'
            f'"spec":{{"replicas":10,"selector":{{"matchLabels":{{"app":"{name}"}}}}}},"status":{{"replicas":10}}}}'
        )
        cache.put(decode_workload(body.encode(), "Deployment"))
    return cache


def memories() -> tuple[dict[str, History], Rivals, DelayQueue]:
    """Histories with full windows of five minutes, registered selectors and the queue."""
    histories: dict[str, History] = {}
    rivals, queue = Rivals(), DelayQueue(lambda: 0.0)
    for number, namespace, name in _names():
        instants_ns = [(number + index * 15_000_000_007) * 1_000 for index in range(21)]
        histories[f"{namespace}/{name}"] = History(
            tuple(Recommendation(5 + index % 3, at_ns) for index, at_ns in enumerate(instants_ns)),
            tuple(ScaleEvent(1, at_ns) for at_ns in instants_ns[:2]),
            tuple(ScaleEvent(1, at_ns) for at_ns in instants_ns[:2]),
        )
        rivals.register(namespace, name)
        rivals.store(namespace, name, selectors.parse(f"app={name}"))
        queue._waiting[f"{namespace}/{name}"] = float(number)
    return histories, rivals, queue


STEPS: list[tuple[str, Callable[[], object]]] = [
    ("with 100,000 pods", pods),
    ("and 10,000 HPAs", autoscalers),
    ("and their scales", scales),
    ("and histories, selectors, queue", memories),
]
