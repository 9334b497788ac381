"""From proposal to final count: stabilise, then limit; with and without behavior (§10, §11)."""

from controller.decide import limits, stabilize
from controller.decide.history import History
from controller.decide.spec import Autoscaler
from controller.decide.working import Limit, Stabilization


def normalize(
    desired: int, replicas: int, autoscaler: Autoscaler, history: History, monotonic_ns: int
) -> tuple[Stabilization, Limit, History]:
    """The stabilization, the limit whose `limited` is the final count, and the history with the recommendation."""
    behavior, settings = autoscaler.spec.behavior, autoscaler.settings
    if behavior is None:
        stabilized, history = stabilize.without_behavior(desired, history, settings, monotonic_ns)
        return stabilized, limits.without_behavior(stabilized.stabilized, replicas, autoscaler), history
    stabilized, history = stabilize.with_behavior(desired, replicas, history, behavior, settings, monotonic_ns)
    limit = limits.with_behavior(stabilized.stabilized, replicas, history, autoscaler, behavior, monotonic_ns)
    return stabilized, limit, history
