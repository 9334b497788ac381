"""Values of the decision core with full defaults, so that a test states only what it is about.

    decide(hpa(cpu(50)), observation(scale(3), usage(600, 600, 600)), history(), now())

Amounts are milli-units unless they are named otherwise. Times are seconds relative to the moment that `now()` gives:
-60 is a minute ago. The two clocks of that moment differ, so that a rule that takes one for the other is noticed.
Pods are called web-0, web-1, … everywhere; what is read for pods belongs to them in that order.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict, Unpack

from controller.decide import observed, spec
from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.instants import NANOSECONDS, Now, parse_rfc3339
from controller.decide.observed import Container, Observation, Pod, PodRequests, Reading, Scale, ScaleFailure
from controller.decide.selectors import LabelSelector, LabelSelectorRequirement
from controller.decide.spec import Autoscaler, Behavior, MetricSpec, Policy, Rules, Settings
from controller.decide.status import Condition, MetricStatus, Status

KEY: Final = "default/web"
LABELS: Final[Mapping[str, str]] = {"app": "web"}
SELECTOR: Final = "app=web"

_NANO_PER_MILLI: Final = 10**6
_WALL_NS: Final = parse_rfc3339("2026-01-31T12:00:00Z")
_MONOTONIC_NS: Final = 5_000_000 * NANOSECONDS

# --- time ----------------------------------------------------------------------------------------


def now(after_s: float = 0) -> Now:
    """The moment of a sync, on both clocks."""
    return Now(wall_ns(after_s), monotonic_ns(after_s))


def wall_ns(at_s: float = 0) -> int:
    """That moment on the wall clock: pods, samples, conditions."""
    return _WALL_NS + round(at_s * NANOSECONDS)


def monotonic_ns(at_s: float = 0) -> int:
    """That moment on the monotonic clock: recommendations and scale events."""
    return _MONOTONIC_NS + round(at_s * NANOSECONDS)


# --- what a user asks for ------------------------------------------------------------------------


def settings(
    *,
    tolerance: float = 0.1,
    downscale_stabilization_s: float = 300,
    cpu_initialization_period_s: float = 300,
    initial_readiness_delay_s: float = 30,
    scale_to_zero: bool = False,
    configurable_tolerance: bool = True,
    pod_level_resources: bool = True,
) -> Settings:
    """The flags and gates, at their defaults."""
    return Settings(
        tolerance,
        round(downscale_stabilization_s * NANOSECONDS),
        round(cpu_initialization_period_s * NANOSECONDS),
        round(initial_readiness_delay_s * NANOSECONDS),
        spec.Gates(scale_to_zero, configurable_tolerance, pod_level_resources),
    )


DEFAULTS: Final = settings()


def hpa(
    *metrics: MetricSpec,
    replicas_min: int | None = 1,
    replicas_max: int = 10,
    behavior: Behavior | None = None,
    settings: Settings = DEFAULTS,
    namespace: str = "default",
    name: str = "web",
) -> Autoscaler:
    """An autoscaler of a Deployment of its own name; without metrics it has the default one (CPU at 80 %)."""
    target = spec.Reference("Deployment", name, "apps/v1")
    asked = spec.Spec(target, replicas_max, replicas_min, metrics or spec.DEFAULT_METRICS, behavior)
    return Autoscaler(namespace, name, asked, settings)


def resource_metric(
    name: str, utilization: int | None = None, *, average_milli: int | None = None
) -> spec.ResourceMetric:
    """A Resource metric with one of the two targets, or with none."""
    return spec.ResourceMetric(name, _per_pod_target(utilization, average_milli))


def cpu(utilization: int | None = None, *, average_milli: int | None = None) -> spec.ResourceMetric:
    """A Resource metric for CPU."""
    return resource_metric("cpu", utilization, average_milli=average_milli)


def container_metric(
    container: str, utilization: int | None = None, *, average_milli: int | None = None, name: str = "cpu"
) -> spec.ContainerResourceMetric:
    """A ContainerResource metric, for CPU if nothing else is said."""
    return spec.ContainerResourceMetric(name, container, _per_pod_target(utilization, average_milli))


def pods_metric(
    average_milli: int | None, *, name: str = "requests", selector: LabelSelector | None = None
) -> spec.PodsMetric:
    """A Pods metric."""
    return spec.PodsMetric(
        spec.MetricIdentifier(name, selector), spec.Target("AverageValue", average_value_milli=average_milli)
    )


def object_metric(
    *,
    value_milli: int | None = None,
    average_milli: int | None = None,
    target_type: str | None = None,
    name: str = "hits",
    selector: LabelSelector | None = None,
    described: tuple[str, str] = ("Service", "front"),
) -> spec.ObjectMetric:
    """An Object metric; its target's type follows from the field that is given, unless it is said."""
    target = _total_target(value_milli, average_milli, target_type)
    return spec.ObjectMetric(spec.MetricIdentifier(name, selector), spec.Reference(*described), target)


def external_metric(
    *,
    value_milli: int | None = None,
    average_milli: int | None = None,
    target_type: str | None = None,
    name: str = "backlog",
    selector: LabelSelector | None = None,
) -> spec.ExternalMetric:
    """An External metric; its target's type follows from the field that is given, unless it is said."""
    return spec.ExternalMetric(
        spec.MetricIdentifier(name, selector), _total_target(value_milli, average_milli, target_type)
    )


def unknown_metric(metric_type: str = "Sunspots") -> spec.UnknownMetric:
    """A metric of a type that does not exist."""
    return spec.UnknownMetric(metric_type)


def label_selector(
    match_labels: Mapping[str, str] | None = None, *expressions: tuple[str, str, Sequence[str]]
) -> LabelSelector:
    """A metric's selector from labels and (key, operator, values)."""
    return LabelSelector(
        tuple(sorted((match_labels or {}).items())),
        tuple(LabelSelectorRequirement(key, operator, tuple(values)) for key, operator, values in expressions),
    )


def behavior(*, up: Rules = spec.DEFAULT_RULES_UP, down: Rules = spec.DEFAULT_RULES_DOWN) -> Behavior:
    """`spec.behavior`, each direction at the API server's defaults."""
    return Behavior(up, down)


def rules(*policies: Policy, window_s: int | None = 0, select: str = "Max", tolerance: float | None = None) -> Rules:
    """One direction of a behavior: its policies, and no stabilization if nothing else is said."""
    return Rules(window_s, policies, select, tolerance)


def by_pods(value: int, period_s: int = 60) -> Policy:
    """A policy of so many pods per period."""
    return Policy("Pods", value, period_s)


def by_percent(value: int, period_s: int = 60) -> Policy:
    """A policy of so many percent per period."""
    return Policy("Percent", value, period_s)


# --- what a sync sees ----------------------------------------------------------------------------


def scale(replicas: int, *, status: int | None = None, selector: str = SELECTOR) -> Scale:
    """The target's scale; its status has the spec's count if nothing else is said."""
    return Scale(replicas, replicas if status is None else status, selector, uid="uid-of-web", version="1000")


def container(
    name: str = "app", requests_milli: Mapping[str, int] | None = None, *, restartable: bool = False
) -> Container:
    """A container that requests one CPU and one unit of memory if nothing else is said; {} requests nothing."""
    requests_milli = {"cpu": 1000, "memory": 1000} if requests_milli is None else requests_milli
    return Container(name, _nano(requests_milli), restartable)


def requests(
    *containers: Container,
    init: tuple[Container, ...] = (),
    pod_level_milli: Mapping[str, int] | None = None,
    overhead_milli: Mapping[str, int] | None = None,
) -> PodRequests:
    """What a pod requests: one container if none is said."""
    return PodRequests(containers or (container(),), init, _nano(pod_level_milli or {}), _nano(overhead_milli or {}))


class PodFields(TypedDict, total=False):
    """What may be said of a pod; see `pod`."""

    phase: str
    ready: str | None
    ready_since_s: float
    started_s: float | None
    deleted: bool
    requests: PodRequests
    labels: Mapping[str, str]


def pod(name: str = "web-0", **fields: Unpack[PodFields]) -> Pod:
    """A pod that has been running and ready for most of an hour.

    `ready` is the Ready condition's status, None for no such condition. A pod that is not ready has been so since its
    start if nothing else is said. `started_s` None means that it has no start time.
    """
    started_s, ready = fields.get("started_s", -3600.0), fields.get("ready", "True")
    since_s = fields.get("ready_since_s", (started_s or 0) + (10 if ready == "True" else 0))
    return Pod(
        name=name,
        labels=fields.get("labels", LABELS),
        phase=fields.get("phase", "Running"),
        requests=fields.get("requests", requests()),
        deleted=fields.get("deleted", False),
        started_ns=None if started_s is None else wall_ns(started_s),
        ready=None if ready is None else observed.Readiness(ready, wall_ns(since_s)),
    )


def pods(count: int, *, first: int = 0, **fields: Unpack[PodFields]) -> tuple[Pod, ...]:
    """So many pods that are alike: web-0, web-1, …, or from `first` on."""
    return tuple(pod(name, **fields) for name in _names(count, first))


def usage(
    *each_milli: int | None,
    resource: str = "cpu",
    containers: Iterable[str] = ("app",),
    others: Mapping[str, int] | None = None,
    at_s: float = 0,
    window_s: float = 60,
) -> observed.ResourceReading:
    """What metrics.k8s.io answers: each container of each pod used so much; None leaves a pod out.

    `others` are further pods by name.
    """
    used = _by_pod(each_milli, others)
    return observed.ResourceReading(
        tuple(
            usage_item(name, {container: {resource: milli} for container in containers}, at_s=at_s, window_s=window_s)
            for name, milli in used.items()
        )
    )


def usage_item(
    name: str, used_milli: Mapping[str, Mapping[str, int]], *, at_s: float = 0, window_s: float = 60
) -> observed.PodUsage:
    """One pod of such an answer: milli-units by container and resource, over a window that ended at `at_s`."""
    return observed.PodUsage(
        name,
        wall_ns(at_s),
        round(window_s * NANOSECONDS),
        tuple(observed.ContainerUsage(container, usage_milli) for container, usage_milli in used_milli.items()),
    )


def samples(
    *each_milli: int | None, others: Mapping[str, int] | None = None, at_s: float = 0, window_s: float = 60
) -> observed.PodsReading:
    """What custom.metrics.k8s.io answers for pods: one number each; None leaves a pod out.

    `others` are further pods by name.
    """
    window_ns = round(window_s * NANOSECONDS)
    used = _by_pod(each_milli, others)
    return observed.PodsReading(
        {name: observed.Sample(milli, wall_ns(at_s), window_ns) for name, milli in used.items()}
    )


def value(value_milli: int) -> observed.ObjectReading:
    """What custom.metrics.k8s.io answers for an object."""
    return observed.ObjectReading(value_milli, wall_ns())


def series(*values_milli: int) -> observed.ExternalReading:
    """What external.metrics.k8s.io answers: the values of all series."""
    return observed.ExternalReading(values_milli, wall_ns())


def observation(
    seen: Scale | ScaleFailure,
    *readings: Reading,
    pods: tuple[Pod, ...] | None = None,
    status: Status | None = None,
    overlapping: tuple[str, ...] = (KEY,),
    read_s: float | None = None,
) -> Observation:
    """Everything a sync saw: as many ready pods as the scale has replicas (at most 1000) if nothing else is said.

    `read_s` is when the scale was read.
    """
    if pods is None:
        pods = _ready_pods(seen.replicas) if isinstance(seen, Scale) else ()
    read_ns = None if read_s is None else monotonic_ns(read_s)
    return Observation(seen, Status() if status is None else status, pods, readings, overlapping, read_ns)


# --- what is remembered --------------------------------------------------------------------------


def history(
    *recommendations: tuple[int, float], ups: Iterable[ScaleEvent] = (), downs: Iterable[ScaleEvent] = ()
) -> History:
    """Recommendations as (replicas, seconds), and scale events; without recommendations no sync has been yet."""
    past = tuple(Recommendation(replicas, monotonic_ns(at_s)) for replicas, at_s in recommendations)
    return History(past or None, tuple(ups), tuple(downs))


def event(change: int, at_s: float, *, outdated: bool = False) -> ScaleEvent:
    """A rescale by so many replicas."""
    return ScaleEvent(change, monotonic_ns(at_s), outdated)


def condition(
    condition_type: str, status: str = "True", *, reason: str = "Recorded", message: str = "", since_s: float = -3600
) -> Condition:
    """A condition of the stored status."""
    return Condition(condition_type, status, reason, message, wall_ns(since_s))


def status(
    *conditions: Condition,
    current: int = 0,
    desired: int = 0,
    last_scale_s: float | None = None,
    metrics: tuple[MetricStatus, ...] = (),
    observed_generation: int | None = None,
) -> Status:
    """The status as the last sync stored it."""
    last_scale_ns = None if last_scale_s is None else wall_ns(last_scale_s)
    return Status(current, desired, last_scale_ns, metrics, conditions, observed_generation)


def _per_pod_target(utilization: int | None, average_milli: int | None) -> spec.Target:
    target_type = "Utilization" if average_milli is None else "AverageValue"
    return spec.Target(target_type, average_value_milli=average_milli, average_utilization=utilization)


def _total_target(value_milli: int | None, average_milli: int | None, target_type: str | None) -> spec.Target:
    if target_type is None:
        target_type = "Value" if average_milli is None else "AverageValue"
    return spec.Target(target_type, value_milli=value_milli, average_value_milli=average_milli)


def _nano(milli: Mapping[str, int]) -> dict[str, int]:
    return {resource: amount * _NANO_PER_MILLI for resource, amount in milli.items()}


def _names(count: int, first: int = 0) -> list[str]:
    return [f"web-{index}" for index in range(first, first + count)]


def _ready_pods(replicas: int) -> tuple[Pod, ...]:
    # A scale of two billion is a fact a test may state; so many pods are not.
    return pods(min(replicas, 1000))


def _by_pod(each_milli: tuple[int | None, ...], others: Mapping[str, int] | None) -> dict[str, int]:
    named = zip(_names(len(each_milli)), each_milli, strict=True)
    return {name: milli for name, milli in named if milli is not None} | dict(others or {})
