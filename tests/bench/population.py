"""A large cluster's objects in the controller's own structures, filled the way the controller fills them."""

import random
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from controller.cache import Cache
from controller.decide import selectors
from controller.decide.decision import conclude, decide
from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.instants import Now
from controller.decide.observed import (
    Container,
    ContainerUsage,
    Observation,
    Pod,
    PodRequests,
    PodsReading,
    PodUsage,
    Readiness,
    ResourceReading,
    Sample,
    Scale,
)
from controller.decide.result import Decision
from controller.decide.spec import Autoscaler, Reference, ResourceMetric, Settings, Spec, Target
from controller.decide.status import Status
from controller.delay_queue import DelayQueue
from controller.kube.list_watch import decode_watched_autoscaler, decode_watched_pod
from controller.pod_cache import PodCache
from controller.ports import Sync, WatchedAutoscaler
from controller.rivals import Rivals
from controller.telemetry.top import Top
from controller.traces import Traces
from controller.wire.scales import NamedScale, decode_workload
from tests.bench import objects
from tests.bench.memory import AUTOSCALERS, PODS

PODS_EACH = PODS // AUTOSCALERS
NAMESPACES = 200
_DECISION = decide(
    Autoscaler("namespace", "app", Spec(Reference("Deployment", "app", "apps/v1"), 50, 1)),
    Observation(Scale(10, 10, "app=app")),
    History(),
    Now(0, 0),
)


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


def traces() -> Traces:
    """As many syncs of all HPAs as the budget holds, ten pods and two metrics each, with numbers that differ."""
    kept, dice = Traces(Settings()), random.Random(1)  # noqa: S311 - repeatable on purpose
    reference = Reference("Deployment", "app", "apps/v1")
    spec = Spec(reference, 50, 1, (ResourceMetric("cpu", Target("Utilization", average_utilization=50)),))
    while not kept.full:
        for _, namespace, name in _names():
            sync = _sync(WatchedAutoscaler(namespace, name, "uid", "1", spec, Status()), _DECISION, dice)
            kept(sync)
    return kept


def _sync(autoscaler: WatchedAutoscaler, decision: Decision, dice: random.Random) -> Sync:
    at_ns = dice.randrange(2**60)
    requests = PodRequests((Container("app", {"cpu": 10**8, "memory": 10**17}), Container("proxy", {"cpu": 10**7})))
    names = [f"{autoscaler.name}-6d4b75cb6d-{dice.randrange(36**5):05x}" for _ in range(PODS_EACH)]
    since = Readiness("True", at_ns)
    seen = tuple(Pod(name, {"app": name}, "Running", requests, started_ns=at_ns, ready=since) for name in names)
    usage = tuple(
        PodUsage(
            name,
            at_ns,
            15_000_000_000,
            (
                ContainerUsage("app", {"cpu": dice.randrange(500), "memory": dice.randrange(2**40)}),
                ContainerUsage("proxy", {"cpu": dice.randrange(20), "memory": dice.randrange(2**35)}),
            ),
        )
        for name in names
    )
    samples = {name: Sample(dice.randrange(10_000), at_ns, 60_000_000_000) for name in names}
    observation = Observation(
        Scale(10, 10, f"app={autoscaler.name}", autoscaler.uid, str(at_ns)),
        autoscaler.status,
        seen,
        (ResourceReading(usage), PodsReading(samples)),
        (autoscaler.key,),
    )
    history = History(tuple(Recommendation(5, at_ns + index) for index in range(21)))
    now = Now(at_ns, at_ns)
    conclusion = conclude(Autoscaler("namespace", "app", autoscaler.spec), autoscaler.status, decision, None, now)
    return Sync(autoscaler, observation, history, now, decision, None, conclusion, now)


def rows() -> Top:
    """A summary of the last sync of every HPA."""
    top, dice = Top(), random.Random(1)  # noqa: S311 - repeatable on purpose
    metric = ResourceMetric("cpu", Target("Utilization", average_utilization=50))
    spec = Spec(Reference("Deployment", "app", "apps/v1"), 50, 1, (metric,))
    for _, namespace, name in _names():
        watched = WatchedAutoscaler(namespace, name, "uid", "1", spec, Status())
        seen = _sync(watched, _DECISION, dice)
        decision = decide(Autoscaler(namespace, name, spec), seen.observation, seen.history, seen.now)
        top(replace(seen, decision=decision))
    return top


STEPS: list[tuple[str, Callable[[], object]]] = [
    ("with 100,000 pods", pods),
    ("and 10,000 HPAs", autoscalers),
    ("and their scales", scales),
    ("and histories, selectors, queue", memories),
    ("and traces", traces),
    ("and rows of top", rows),
]
