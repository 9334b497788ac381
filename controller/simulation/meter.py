"""What metrics say of a load: every metric's answer at a moment, in the units of its own target."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS
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
    metric_type,
)
from controller.simulation.curve import Curve
from controller.simulation.workload import Workload, requests_of

CPU: Final = "cpu"
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
        start_up_ns: how long a new pod is not ready.
        start_up_usage: what a pod that is not ready uses of resources, in shares of the target.
        capacity: how many times the target a pod can carry, and use, at most; None: without an end.
        resolution_ns: how often metrics are measured. CPU is the mean since the measurement before, all else is what
            it is at that moment.
        noise: by which share each measured value differs from the load at most, from 0 to below 1.
    """

    loads: Mapping[str, Curve]
    start_up_ns: int = 30 * NANOSECONDS
    start_up_usage: float = 0.0
    capacity: float | None = None
    resolution_ns: int = 15 * NANOSECONDS
    noise: float = 0.0

    def load(self, metric: MetricSpec, t_ns: int) -> float:
        """The load that a metric shows when it is measured at that time."""
        name = name_of(metric)
        curve = self.loads[name if name in self.loads else ""]
        if name == CPU and isinstance(metric, ResourceMetric | ContainerResourceMetric):
            return curve.mean(t_ns - self.resolution_ns, t_ns)
        return curve.at(t_ns)

    def most(self, t_ns: int) -> float:
        """The largest of all loads: so many pods are needed."""
        return max(curve.at(t_ns) for curve in self.loads.values())

    @property
    def end_ns(self) -> int:
        """When every curve has been seen."""
        return max(curve.end_ns for curve in self.loads.values())


class Meter:
    """Measures a workload under a plan."""

    def __init__(
        self, metrics: tuple[MetricSpec, ...], plan: Plan, start_ns: int, uniform: Callable[[str], float]
    ) -> None:
        """`uniform` gives random numbers from 0 to 1, of which each metric has its own: by its type and its name."""
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

    def skip(self) -> None:
        """Pass over a measurement that nobody will read; the noise of those after it is as if it had been made."""
        for metric in self._metrics:
            self._noise(metric)

    def measure(self, workload: Workload, t_ns: int) -> tuple[Reading, ...]:
        """One answer for each metric, in their order."""
        return tuple(self._measured(metric, workload, t_ns) for metric in self._metrics)

    def _noise(self, metric: MetricSpec) -> float:
        """What a measurement is multiplied with."""
        return 1.0 + self._plan.noise * (2 * self._uniform(f"{metric_type(metric)}/{name_of(metric)}") - 1)

    def _measured(self, metric: MetricSpec, workload: Workload, t_ns: int) -> Reading:
        plan = self._plan
        load = plan.load(metric, t_ns) * self._noise(metric)
        at_ns, window_ns = self._start_ns + t_ns, plan.resolution_ns
        share = load / max(workload.ready(t_ns), 1)
        capacity = math.inf if plan.capacity is None else plan.capacity
        carried, starting = min(share, capacity), min(plan.start_up_usage, capacity)
        match metric:
            case ResourceMetric() | ContainerResourceMetric():
                containers = self._containers if isinstance(metric, ResourceMetric) else (metric.container,)
                whole = _resource_milli(metric.name, metric.target, len(containers))
                shares = _shares(workload, t_ns, carried, starting)
                return ResourceReading(
                    tuple(
                        PodUsage(pod, at_ns, window_ns, _used(containers, metric.name, whole * used))
                        for pod, used in shares
                    )
                )
            case PodsMetric():
                target = _average_milli(metric.target)
                shares = _shares(workload, t_ns, carried, 0.0)
                return PodsReading({pod: Sample(_whole(target * used), at_ns, window_ns) for pod, used in shares})
            case ObjectMetric():
                return ObjectReading(_total_milli(metric.target, load, share), at_ns)
            case ExternalMetric():
                return ExternalReading((_total_milli(metric.target, load, share),), at_ns)
            case _:
                return _UNKNOWN


def name_of(metric: MetricSpec) -> str:
    """The name under which a plan has its load; empty for a type that is not known."""
    match metric:
        case ResourceMetric(name=name) | ContainerResourceMetric(name=name):
            return name
        case PodsMetric(metric=identifier) | ObjectMetric(metric=identifier) | ExternalMetric(metric=identifier):
            return identifier.name
        case _:
            return ""


def _shares(workload: Workload, t_ns: int, carried: float, starting: float) -> Iterable[tuple[str, float]]:
    """What each pod uses, in shares of the target."""
    for pod, is_ready in workload.alive(t_ns):
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
    return CPU_REQUEST_MILLI if resource == CPU else OTHER_REQUEST_MILLI
