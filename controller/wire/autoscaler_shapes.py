"""What an HPA's JSON looks like (autoscaling/v2): the fields of its spec and status, as they came."""

from controller.wire.shapes import Camel, Int32, QuantityText, Selector


class Identifier(Camel):
    """A MetricIdentifier."""

    name: str = ""
    selector: Selector | None = None


class Reference(Camel):
    """A CrossVersionObjectReference."""

    kind: str = ""
    name: str = ""
    api_version: str | None = None


class Target(Camel):
    """A MetricTarget of a spec, or a MetricValueStatus."""

    type: str | None = None
    value: QuantityText | None = None
    average_value: QuantityText | None = None
    average_utilization: Int32 | None = None


class Source(Camel):
    """Any of the five metric sources, of a spec (`target`) or of a status (`current`)."""

    name: str = ""
    container: str = ""
    metric: Identifier | None = None
    described_object: Reference | None = None
    target: Target | None = None
    current: Target | None = None


class Metric(Camel):
    """A MetricSpec, or a MetricStatus."""

    type: str = ""
    resource: Source | None = None
    container_resource: Source | None = None
    pods: Source | None = None
    object: Source | None = None
    external: Source | None = None

    def source(self) -> Source | None:
        """The source that belongs to the type; None where it is absent, or the type unknown."""
        match self.type:
            case "Resource":
                return self.resource
            case "ContainerResource":
                return self.container_resource
            case "Pods":
                return self.pods
            case "Object":
                return self.object
            case "External":
                return self.external
            case _:
                return None


class Policy(Camel):
    """An HPAScalingPolicy."""

    type: str = ""
    value: Int32 = 0
    period_seconds: Int32 = 0


class Rules(Camel):
    """HPAScalingRules of one direction; what is None is completed by their defaults (§21.2)."""

    stabilization_window_seconds: Int32 | None = None
    select_policy: str | None = None
    policies: list[Policy] | None = None
    tolerance: QuantityText | None = None


class Behavior(Camel):
    """A HorizontalPodAutoscalerBehavior."""

    scale_up: Rules | None = None
    scale_down: Rules | None = None


class Spec(Camel):
    """A HorizontalPodAutoscalerSpec."""

    scale_target_ref: Reference
    max_replicas: Int32
    min_replicas: Int32 | None = None
    metrics: list[Metric] | None = None
    behavior: Behavior | None = None


class Condition(Camel):
    """A HorizontalPodAutoscalerCondition."""

    type: str
    status: str
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


class Status(Camel):
    """A HorizontalPodAutoscalerStatus."""

    observed_generation: int | None = None
    last_scale_time: str | None = None
    current_replicas: Int32 | None = None
    desired_replicas: Int32 | None = None
    current_metrics: list[Metric] | None = None
    conditions: list[Condition] | None = None
