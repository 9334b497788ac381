"""What a user asked for: the spec of an HPA (autoscaling/v2, defaulted), and the settings it is decided under."""

from typing import Final

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.decide.selectors import LabelSelector

DEFAULT_TOLERANCE: Final = 0.1
DEFAULT_SCALE_UP_WINDOW_S: Final = 0


class Gates(msgspec.Struct, frozen=True, gc=False):
    """The feature gates that change decisions, at their 1.36 defaults (§1.2)."""

    scale_to_zero: bool = False
    configurable_tolerance: bool = True
    pod_level_resources: bool = True


class Settings(msgspec.Struct, frozen=True, gc=False):
    """The flags that change decisions (§1.1). Durations may be 0; the tolerance is a ratio."""

    tolerance: float = DEFAULT_TOLERANCE
    downscale_stabilization_ns: int = 300 * NANOSECONDS
    cpu_initialization_period_ns: int = 300 * NANOSECONDS
    initial_readiness_delay_ns: int = 30 * NANOSECONDS
    gates: Gates = Gates()


class Reference(msgspec.Struct, frozen=True, gc=False):
    """An object in the HPA's namespace: the scale target, or the object a metric describes."""

    kind: str
    name: str
    api_version: str = ""


class MetricIdentifier(msgspec.Struct, frozen=True, gc=False):
    """A metric's name and the selector for its series; None selects all."""

    name: str
    selector: LabelSelector | None = None


class Target(msgspec.Struct, frozen=True, gc=False):
    """What a metric should be: absolute numbers in milli-units, utilization in percent of the request; None is not set.

    `type` decides for Object metrics only; elsewhere the fields do (§6.3).
    """

    type: str = ""
    value_milli: int | None = None
    average_value_milli: int | None = None
    average_utilization: int | None = None


class ResourceMetric(msgspec.Struct, frozen=True, tag="Resource", tag_field="kind", gc=False):
    """CPU, memory or another resource, summed over a pod's containers."""

    name: str
    target: Target


class ContainerResourceMetric(msgspec.Struct, frozen=True, tag="ContainerResource", tag_field="kind", gc=False):
    """A resource of one container in each pod."""

    name: str
    container: str
    target: Target


class PodsMetric(msgspec.Struct, frozen=True, tag="Pods", tag_field="kind", gc=False):
    """A custom metric that each pod has a value of."""

    metric: MetricIdentifier
    target: Target


class ObjectMetric(msgspec.Struct, frozen=True, tag="Object", tag_field="kind", gc=False):
    """A custom metric of one object."""

    metric: MetricIdentifier
    described: Reference
    target: Target


class ExternalMetric(msgspec.Struct, frozen=True, tag="External", tag_field="kind", gc=False):
    """A metric that belongs to no object in the cluster; several series are summed."""

    metric: MetricIdentifier
    target: Target


class UnknownMetric(msgspec.Struct, frozen=True, tag="Unknown", tag_field="kind", gc=False):
    """A metric of a type we do not know, or whose source is absent: it fails with InvalidMetricSourceType (§6.3)."""

    type: str


MetricSpec = ResourceMetric | ContainerResourceMetric | PodsMetric | ObjectMetric | ExternalMetric | UnknownMetric

METRIC_TYPES: Final[dict[type[MetricSpec], str]] = {
    ResourceMetric: "Resource",
    ContainerResourceMetric: "ContainerResource",
    PodsMetric: "Pods",
    ObjectMetric: "Object",
    ExternalMetric: "External",
}


def metric_type(metric: MetricSpec) -> str:
    """The type string as the spec has it (§17.2)."""
    return metric.type if isinstance(metric, UnknownMetric) else METRIC_TYPES[type(metric)]


class Policy(msgspec.Struct, frozen=True, gc=False):
    """At most `value` pods or percent per `period_s` seconds; other types than Pods and Percent are passed over."""

    type: str
    value: int
    period_s: int


class Rules(msgspec.Struct, frozen=True, gc=False):
    """One direction of `spec.behavior`, completed (§21.2).

    `window_s` None means the flag's window (scale down, §11.1). `select` is Max, Min or Disabled. `tolerance` None
    means the flag's.
    """

    window_s: int | None
    policies: tuple[Policy, ...]
    select: str = "Max"
    tolerance: float | None = None


class Behavior(msgspec.Struct, frozen=True, gc=False):
    """`spec.behavior`, completed; not having one at all is a different thing (§10, §11)."""

    scale_up: Rules
    scale_down: Rules


DEFAULT_RULES_UP: Final = Rules(DEFAULT_SCALE_UP_WINDOW_S, (Policy("Pods", 4, 15), Policy("Percent", 100, 15)))
DEFAULT_RULES_DOWN: Final = Rules(None, (Policy("Percent", 100, 15),))
DEFAULT_METRICS: Final[tuple[MetricSpec, ...]] = (ResourceMetric("cpu", Target("Utilization", average_utilization=80)),)


class Spec(msgspec.Struct, frozen=True, gc=False):
    """The spec of one HPA. `replicas_min` None counts as 1; no metrics count as the default one (§6.6)."""

    target: Reference
    replicas_max: int
    replicas_min: int | None = None
    metrics: tuple[MetricSpec, ...] = DEFAULT_METRICS
    behavior: Behavior | None = None


class Autoscaler(msgspec.Struct, frozen=True, gc=False):
    """One HPA as `decide` sees it: who it is, what it asks for, and the settings it is decided under."""

    namespace: str
    name: str
    spec: Spec
    settings: Settings = Settings()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def replicas_min(self) -> int:
        """§4.6."""
        return 1 if self.spec.replicas_min is None else self.spec.replicas_min

    @property
    def metrics(self) -> tuple[MetricSpec, ...]:
        """The metrics to evaluate, never empty (§6.6)."""
        return self.spec.metrics or DEFAULT_METRICS

    def has_object_or_external_metric(self) -> bool:
        """`hasObjExt` of §12.2."""
        return any(isinstance(metric, ObjectMetric | ExternalMetric) for metric in self.metrics)


class Tolerance(msgspec.Struct, frozen=True, gc=False):
    """How far a usage ratio may be from 1 without a reaction, per direction (§1.3)."""

    down: float
    up: float

    def holds(self, ratio: float) -> bool:
        """Whether the ratio is within tolerance, both ends included; NaN never is."""
        return 1.0 - self.down <= ratio <= 1.0 + self.up


def tolerance_of(autoscaler: Autoscaler) -> Tolerance:
    """The tolerances in force for an HPA (§1.3)."""
    settings, behavior = autoscaler.settings, autoscaler.spec.behavior
    down = up = settings.tolerance
    if behavior is not None and settings.gates.configurable_tolerance:
        if behavior.scale_down.tolerance is not None:
            down = behavior.scale_down.tolerance
        if behavior.scale_up.tolerance is not None:
            up = behavior.scale_up.tolerance
    return Tolerance(down, up)
