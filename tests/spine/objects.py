"""Values for tests of the spine, so that a test states only what it is about."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

from controller.cache import Store
from controller.decide.observed import ContainerUsage, Pod, PodRequests, PodUsage, Readiness, ResourceReading, Scale
from controller.decide.spec import (
    Behavior,
    ExternalMetric,
    MetricIdentifier,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    Reference,
    ResourceMetric,
    Spec,
    Target,
)
from controller.decide.status import Status
from controller.pod_cache import WatchedPod
from controller.ports import WatchedAutoscaler

T = TypeVar("T")

NAMESPACE: Final = "shop"
KEY: Final = "shop/web"
WEB: Final = Reference("Deployment", "web", "apps/v1")
REQUESTS: Final = PodRequests(())

CPU: Final = ResourceMetric("cpu", Target("AverageValue", average_value_milli=100))
HITS: Final = ObjectMetric(MetricIdentifier("hits"), Reference("Service", "front"), Target("Value", value_milli=1000))
BACKLOG: Final = ExternalMetric(MetricIdentifier("backlog"), Target("AverageValue", average_value_milli=1000))
REQUESTS_PER_POD: Final = PodsMetric(MetricIdentifier("requests"), Target("AverageValue", average_value_milli=1000))


def autoscaler(
    *metrics: MetricSpec,
    name: str = "web",
    namespace: str = NAMESPACE,
    replicas_min: int | None = 1,
    replicas_max: int = 100,
    behavior: Behavior | None = None,
    status: Status | None = None,
    target: Reference | None = None,
    version: str = "1",
    uid: str = "",
    problem: str | None = None,
) -> WatchedAutoscaler:
    """An HPA of the Deployment of its own name; without metrics it has one on CPU: 100 milli-units per pod."""
    target = target or Reference("Deployment", name, "apps/v1")
    return WatchedAutoscaler(
        namespace,
        name,
        uid or f"uid-of-{name}",
        version,
        Spec(target, replicas_max, replicas_min, metrics or (CPU,), behavior),
        status or Status(),
        problem=problem,
    )


def scale(replicas: int, *, status: int | None = None, selector: str = "app=web", uid: str = "uid") -> Scale:
    """A scale whose status has caught up with its spec, if nothing else is said."""
    return Scale(replicas, replicas if status is None else status, selector, uid)


def pod(name: str, labels: Mapping[str, str] | None = None, *, phase: str = "Running") -> Pod:
    """A pod that has been ready for ever."""
    return Pod(
        name, {"app": "web"} if labels is None else labels, phase, REQUESTS, started_ns=0, ready=Readiness("True", 0)
    )


def watched_pod(
    name: str, labels: Mapping[str, str] | None = None, *, namespace: str = NAMESPACE, phase: str = "Running"
) -> WatchedPod:
    """The same, in a namespace."""
    return WatchedPod(namespace, pod(name, labels, phase=phase))


def pods_of(name: str, count: int) -> list[WatchedPod]:
    """So many ready pods of the Deployment of that name."""
    return [watched_pod(f"{name}-{number}", {"app": name}) for number in range(count)]


def usage(*milli: int, name: str = "web") -> ResourceReading:
    """What metrics.k8s.io says about the pods of a Deployment, in their order: CPU in milli-units."""
    return ResourceReading(
        tuple(
            PodUsage(f"{name}-{number}", 0, 30_000_000_000, (ContainerUsage("app", {"cpu": value}),))
            for number, value in enumerate(milli)
        )
    )


def list_anew(store: Store[T], items: Iterable[T]) -> None:
    """Have a store take a new list."""
    listing = store.listing()
    for item in items:
        listing.put(item)
    listing.complete()
