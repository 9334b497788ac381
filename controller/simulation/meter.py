"""What metrics say of a load: every metric's answer at a moment, in the units of its own target."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from controller.decide.observed import (
    ContainerUsage,
    ExternalReading,
    ObjectReading,
    PodRequests,
    PodsReading,
    PodUsage,
    ReadFailure,
    Reading,
    ResourceReading,
    Sample,
)
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
    Target,
)
from controller.simulation.curve import Curve
from controller.simulation.workload import Workload, instant_ns, requests_of

CPU_REQUEST_MILLI: Final = 1_000
OTHER_REQUEST_MILLI: Final = 2**30 * 1_000
"""What each container requests of anything but CPU: a gibibyte, of memory."""

_CONTAINER: Final = "app"
_UNKNOWN: Final = ReadFailure("a metric of a type that is not known cannot be simulated")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How a simulated target and its metrics behave.

    Attributes:
        loads: a curve by the name of a metric, that of all others under the empty name. Each is in replicas' worth: 4
            is what four ready pods carry at exactly the target.
        start_up_s: how long a new pod is not ready.
        start_up_usage: what a pod that is not ready uses of resources, in shares of the target.
        capacity: how many times the target a pod can carry at most; None: without an end.
        resolution_s: how often metrics are measured, and over which window.
        noise: by which share each measured value differs from the load at most, from 0 to below 1.
    """

    loads: Mapping[str, Curve]
    start_up_s: float = 30.0
    start_up_usage: float = 0.0
    capacity: float | None = None
    resolution_s: float = 15.0
    noise: float = 0.0

    def load(self, name: str, t_s: float) -> float:
        """The load that a metric shows."""
        return self.loads[name if name in self.loads else ""].at(t_s)

    def most(self, t_s: float) -> float:
        """The largest of all loads: so many pods are needed."""
        return max(curve.at(t_s) for curve in self.loads.values())

    @property
    def end_s(self) -> float:
        """When every curve has been seen."""
        return max(curve.end_s for curve in self.loads.values())


class Meter:
    """Measures a workload under a plan."""

    def __init__(
        self, metrics: tuple[MetricSpec, ...], plan: Plan, start_ns: int, uniform: Callable[[], float]
    ) -> None:
        """`uniform` gives random numbers from 0 to 1; it is asked once for every metric measured."""
        self._metrics = metrics
        self._plan = plan
        self._start_ns = start_ns
        self._uniform = uniform
        named = [metric.container for metric in metrics if isinstance(metric, ContainerResourceMetric)]
        self._containers = tuple(dict.fromkeys(named)) or (_CONTAINER,)

    def requests(self) -> PodRequests:
        """What pods have to request for these metrics."""
        resources = [
            metric.name for metric in self._metrics if isinstance(metric, ResourceMetric | ContainerResourceMetric)
        ]
        return requests_of(self._containers, {resource: _request_milli(resource) for resource in resources})

    def measure(self, workload: Workload, t_s: float) -> tuple[Reading, ...]:
        """One answer for each metric, in their order."""
        return tuple(self._measured(metric, workload, t_s) for metric in self._metrics)

    def _measured(self, metric: MetricSpec, workload: Workload, t_s: float) -> Reading:
        noise = 1.0 + self._plan.noise * (2 * self._uniform() - 1)
        load = self._plan.load(name_of(metric), t_s) * noise
        at_ns, window_ns = self._nanoseconds(t_s)
        share = _share(load, workload.ready(t_s))
        carried = share if self._plan.capacity is None else min(share, self._plan.capacity)
        match metric:
            case ResourceMetric() | ContainerResourceMetric():
                containers = self._containers if isinstance(metric, ResourceMetric) else (metric.container,)
                whole = _resource_milli(metric.name, metric.target, len(containers))
                shares = _shares(workload, t_s, carried, self._plan.start_up_usage)
                return ResourceReading(
                    tuple(
                        PodUsage(pod, at_ns, window_ns, _used(containers, metric.name, whole * used))
                        for pod, used in shares
                    )
                )
            case PodsMetric():
                target = _average_milli(metric.target)
                shares = _shares(workload, t_s, carried, 0.0)
                return PodsReading({pod: Sample(_whole(target * used), at_ns, window_ns) for pod, used in shares})
            case ObjectMetric():
                return ObjectReading(_total_milli(metric.target, load, share), at_ns)
            case ExternalMetric():
                return ExternalReading((_total_milli(metric.target, load, share),), at_ns)
            case _:
                return _UNKNOWN

    def _nanoseconds(self, t_s: float) -> tuple[int, int]:
        return instant_ns(self._start_ns, t_s), instant_ns(0, self._plan.resolution_s)


def name_of(metric: MetricSpec) -> str:
    """The name under which a plan has its load; empty for a type that is not known."""
    match metric:
        case ResourceMetric(name=name) | ContainerResourceMetric(name=name):
            return name
        case PodsMetric(metric=identifier) | ObjectMetric(metric=identifier) | ExternalMetric(metric=identifier):
            return identifier.name
        case _:
            return ""


def _share(load: float, ready: int) -> float:
    """What each ready pod gets of a load; where none is ready, all that is asked for."""
    return load / max(ready, 1)


def _shares(workload: Workload, t_s: float, carried: float, starting: float) -> Iterable[tuple[str, float]]:
    """What each pod uses, in shares of the target."""
    for pod, is_ready in workload.alive(t_s):
        yield pod, carried if is_ready else starting


def _used(containers: tuple[str, ...], resource: str, milli: float) -> tuple[ContainerUsage, ...]:
    each = _whole(milli / len(containers))
    return tuple(ContainerUsage(name, {resource: each}) for name in containers)


def _resource_milli(resource: str, target: Target, containers: int) -> float:
    """What a pod uses of a resource at exactly the target, in so many of its containers."""
    if target.average_utilization is not None:
        return _request_milli(resource) * containers * target.average_utilization / 100
    return _average_milli(target)


def _average_milli(target: Target) -> float:
    return float(target.average_value_milli or 0)


def _total_milli(target: Target, load: float, share: float) -> int:
    """One number for the whole target: an average one grows with the load, a value with each pod's share of it."""
    if target.average_value_milli is not None:
        return _whole(target.average_value_milli * load)
    return _whole((target.value_milli or 0) * share)


def _whole(milli: float) -> int:
    """Rounded down, since counts are rounded up: at 167 of 250 three pods are 2.004 replicas' worth, which is three."""
    return math.floor(milli)


def _request_milli(resource: str) -> int:
    return CPU_REQUEST_MILLI if resource == "cpu" else OTHER_REQUEST_MILLI
