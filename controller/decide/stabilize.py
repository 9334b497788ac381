"""What past recommendations make of a desired count (§10.1, §11.2)."""

from controller.decide import conditions
from controller.decide.history import History, Recommendation
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Behavior, Settings
from controller.decide.working import Stabilization


def without_behavior(
    desired: int, history: History, settings: Settings, monotonic_ns: int
) -> tuple[Stabilization, History]:
    """The highest recommendation of the scale-down window, and the history with this one stored (§10.1).

    An entry exactly at the edge of the window still counts, and the result may be above the current replicas (§10.5).
    """
    window_ns = settings.downscale_stabilization_ns
    cutoff_ns = monotonic_ns - window_ns
    slot: int | None = None
    highest: Recommendation | None = None
    stabilized = desired
    for index, past in enumerate(history.recommendations or ()):
        if past.at_ns < cutoff_ns:
            slot = index
        elif past.replicas > stabilized:
            stabilized, highest = past.replicas, past
    change = conditions.SCALE_DOWN_STABILIZED if stabilized != desired else conditions.READY_FOR_NEW_SCALE
    result = Stabilization(desired, stabilized, change, window_ns, highest=highest)
    return result, history.recommended(Recommendation(desired, monotonic_ns), slot)


def with_behavior(
    desired: int, replicas: int, history: History, behavior: Behavior, settings: Settings, monotonic_ns: int
) -> tuple[Stabilization, History]:
    """The current count moved as far as both windows allow, and the history with this one stored (§11.2).

    An entry exactly at an edge neither counts nor is replaced. The result never leaves the span between R and desired.
    """
    up_window_ns, down_window_ns = windows_ns(behavior, settings)
    up_cutoff_ns, down_cutoff_ns = monotonic_ns - up_window_ns, monotonic_ns - down_window_ns
    slot: int | None = None
    highest: Recommendation | None = None
    lowest: Recommendation | None = None
    up_recommendation = down_recommendation = desired
    for index, past in enumerate(history.recommendations or ()):
        if past.at_ns > up_cutoff_ns and past.replicas < up_recommendation:
            up_recommendation, lowest = past.replicas, past
        if past.at_ns > down_cutoff_ns and past.replicas > down_recommendation:
            down_recommendation, highest = past.replicas, past
        if past.at_ns < up_cutoff_ns and past.at_ns < down_cutoff_ns:
            slot = index
    stabilized = min(max(replicas, up_recommendation), down_recommendation)
    if stabilized == desired:
        change = conditions.READY_FOR_NEW_SCALE
    else:
        change = conditions.SCALE_UP_STABILIZED if desired >= replicas else conditions.SCALE_DOWN_STABILIZED
    result = Stabilization(desired, stabilized, change, down_window_ns, up_window_ns, highest, lowest)
    return result, history.recommended(Recommendation(desired, monotonic_ns), slot)


def windows_ns(behavior: Behavior, settings: Settings) -> tuple[int, int]:
    """The scale-up and scale-down windows in force (§11.1)."""
    up_s, down_s = behavior.scale_up.window_s, behavior.scale_down.window_s
    if down_s is None:
        down_s = settings.downscale_stabilization_ns // NANOSECONDS
    return (up_s or 0) * NANOSECONDS, down_s * NANOSECONDS
