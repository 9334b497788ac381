"""Numbers, times and metrics as people read them."""

from collections.abc import Sequence

from controller.decide.instants import NANOSECONDS, Now, format_rfc3339
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
    UnknownMetric,
)
from controller.decide.status import MetricStatus

_MILLI = 1000
_KIBI = 1024


def amount(milli: float, resource: str = "") -> str:
    """A number given in milli-units: `250m` of CPU, `1.5Gi` of memory, `33.001` of anything else."""
    if resource == "cpu":
        return f"{milli:g}m" if abs(milli) < _MILLI and milli else f"{milli / _MILLI:.10g}"
    if resource == "memory" or resource.startswith("hugepages"):
        value, unit = milli / _MILLI, ""
        for larger in ("Ki", "Mi", "Gi", "Ti"):
            if abs(value) < _KIBI:
                break
            value, unit = value / _KIBI, larger
        return f"{value:.4g}{unit}"
    whole, rest = divmod(abs(int(milli)), _MILLI)
    sign = "-" if milli < 0 else ""
    return f"{sign}{whole}" + (f".{rest:03}".rstrip("0") if rest else "")


def amounts(one_milli: int, other_milli: int, resource: str) -> tuple[str, str]:
    """Two numbers to be compared, both in the smaller unit: `745m` and `1000m` of CPU."""
    if resource == "cpu" and any(0 < abs(milli) < _MILLI for milli in (one_milli, other_milli)):
        return f"{one_milli}m", f"{other_milli}m"
    return amount(one_milli, resource), amount(other_milli, resource)


def duration(duration_ns: int) -> str:
    """A duration: `0.4 s`, `45 s`, `5 min`, `2 min 30 s`, `1 h 5 min`."""
    if duration_ns < 0:
        return f"-{duration(-duration_ns)}"
    if duration_ns < 10 * NANOSECONDS and duration_ns % NANOSECONDS:
        return f"{duration_ns / NANOSECONDS:.1f} s"
    minutes, seconds = divmod(round(duration_ns / NANOSECONDS), 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{value} {unit}" for value, unit in ((hours, "h"), (minutes, "min"), (seconds, "s")) if value]
    return " ".join(parts[:2]) or "0 s"


def clock(wall_ns: int) -> str:
    """The time of day in UTC: `14:03:10Z`, the second that it falls into, as the time of a sync is told."""
    try:
        return format_rfc3339(wall_ns)[11:]
    except ValueError:
        return "at no time of this calendar"


def clock_from(wall_ns: int) -> str:
    """The same of what begins then, rounded up to a whole second so that it is never told too early."""
    return clock(-(-wall_ns // NANOSECONDS) * NANOSECONDS)


def wall_of(monotonic_ns: int, now: Now) -> int:
    """The wall time of a moment on the monotonic clock."""
    return now.wall_ns - (now.monotonic_ns - monotonic_ns)


def replicas(count: int | None) -> str:
    """`1 replica`, `5 replicas`."""
    if count is None:
        return "an unknown number of replicas"
    return f"{count} replica" if count == 1 else f"{count} replicas"


def metric_name(metric: MetricSpec) -> str:
    """A metric as a sentence names it."""
    match metric:
        case ResourceMetric(name=name):
            return _resource(name)
        case ContainerResourceMetric(name=name, container=container):
            return f"{_resource(name)} of container {container}"
        case PodsMetric(metric=identifier):
            return f"{identifier.name} per pod"
        case ObjectMetric(metric=identifier, described=described):
            return f"{identifier.name} of {described.kind} {described.name}"
        case ExternalMetric(metric=identifier):
            return f"external {identifier.name}"
        case UnknownMetric(type=kind):
            return f"metric of unknown type {kind!r}"


def metrics_status(metrics: Sequence[MetricStatus]) -> str:
    """What a status says of its metrics: `CPU 74 % (185m), external backlog 30`; quantities are as it has them."""
    return ", ".join(map(_metric_status, metrics)) or "no metrics"


def _metric_status(metric: MetricStatus) -> str:
    name = "" if metric.metric is None else metric.metric.name
    match metric.type:
        case "":
            return "a metric that failed"
        case "Resource":
            named = _resource(metric.resource)
        case "ContainerResource":
            named = f"{_resource(metric.resource)} of container {metric.container}"
        case "Pods":
            named = f"{name} per pod"
        case "Object" if metric.described is not None:
            named = f"{name} of {metric.described.kind} {metric.described.name}"
        case "External":
            named = f"external {name}"
        case kind:
            return f"metric of unknown type {kind!r}"
    if metric.average_utilization is not None:
        average = "" if metric.average_value is None else f" ({metric.average_value})"
        return f"{named} {metric.average_utilization} %{average}"
    if metric.average_value is not None:
        each = "" if metric.type == "Pods" else " on average"
        return f"{named} {metric.average_value}{each}"
    return f"{named} {'without a value' if metric.value is None else metric.value}"


def _resource(name: str) -> str:
    return {"cpu": "CPU"}.get(name, name)


def resource_of(metric: MetricSpec) -> str:
    """The resource that a metric is about; empty where it is about none."""
    return metric.name if isinstance(metric, ResourceMetric | ContainerResourceMetric) else ""
