"""The status of a HorizontalPodAutoscaler as values that compare the way the API server's users see them (§14.4)."""

import msgspec

from controller.decide.quantity import Quantity
from controller.decide.spec import MetricIdentifier, Reference


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One entry of `status.conditions`; `changed_ns` is lastTransitionTime: when `status` last changed (§15.1)."""

    type: str
    status: str
    reason: str
    message: str
    changed_ns: int


class MetricStatus(msgspec.Struct, frozen=True, gc=False):
    """One entry of `status.currentMetrics` (§6.4). Quantities are equal by value, whatever their format.

    `type` empty is the place of a metric that failed (§6.5). Of the other fields those of its type are set: `resource`
    (Resource, ContainerResource), `container`, `metric` (Pods, Object, External), `described` (Object), and the current
    numbers that the target asked for.
    """

    type: str = ""
    resource: str = ""
    container: str = ""
    metric: MetricIdentifier | None = None
    described: Reference | None = None
    value: Quantity | None = None
    average_value: Quantity | None = None
    average_utilization: int | None = None


class Status(msgspec.Struct, frozen=True, gc=False):
    """`status`: equal to another one iff writing it would change nothing (§14.4).

    No metrics stand for both null and an empty list. `observed_generation` is read, never written (§14.1).
    """

    replicas_current: int = 0
    replicas_desired: int = 0
    last_scale_ns: int | None = None
    metrics: tuple[MetricStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()
    observed_generation: int | None = None

    def condition(self, condition_type: str) -> Condition | None:
        """The condition of that type, or None."""
        for condition in self.conditions:
            if condition.type == condition_type:
                return condition
        return None
