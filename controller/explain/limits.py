"""Stabilization windows, policies and bounds of a decision, with the entries that bind."""

from collections.abc import Callable, Iterator
from typing import Literal

from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.instants import NANOSECONDS
from controller.decide.result import Decision
from controller.decide.spec import Policy
from controller.decide.working import Limit, PolicyWorking, Stabilization
from controller.explain.changes import Moment
from controller.explain.wording import clock, duration, wall_of


def windows_told(moment: Moment, decision: Decision) -> tuple[str, ...]:
    """Line by line in the order in which they took effect; empty where no count was proposed."""
    if decision.stabilization is None or decision.limit is None:
        return ()
    lines = (
        *_windows(moment, decision, decision.stabilization),
        *_policies(moment, decision, decision.limit),
        _bounds(moment, decision.limit),
    )
    if decision.lifted_to_min:
        return (*lines, f"lifted from zero to minReplicas {decision.desired}")
    return lines


def held(moment: Moment, decision: Decision) -> str:
    """Why stabilization holds the count, as a clause; empty when it does not."""
    stabilization = decision.stabilization
    if stabilization is None or stabilization.stabilized == stabilization.desired:
        return ""
    up = stabilization.change.reason == "ScaleUpStabilized"
    count, window_ns = stabilization.stabilized, stabilization.down_window_ns
    if up:
        window_ns = stabilization.up_window_ns or 0
    text = f"held at {count} by the {duration(window_ns)} scale-{'up' if up else 'down'} window"
    # Whichever lets go last: an HPA that was steady has many of the same.
    entry = _newest(decision, lambda past: past <= count if up else past >= count)
    if entry is None:
        return text
    until = clock(wall_of(entry.at_ns + window_ns, moment.now))
    if moment.history.recommendations is None:
        # §4.5: the only recommendation there is then is the count itself.
        return f"{text} until {until} because it was at {entry.replicas} when this controller first looked"
    at = clock(wall_of(entry.at_ns, moment.now))
    return f"{text} until {until} because of a recommendation of {entry.replicas} at {at}"


def limited(moment: Moment, decision: Decision) -> str:
    """What rate limits and bounds made of the stabilized count, as a clause; empty when nothing."""
    limit = decision.limit
    if limit is None or limit.reason == "DesiredWithinRange":
        return ""
    direction = disabled(moment, limit)
    if direction is not None:
        return f"selectPolicy Disabled of {direction} keeps it at {limit.limited}"
    what = {
        "TooManyReplicas": f"maxReplicas stops it at {limit.limited}",
        "TooFewReplicas": f"minReplicas keeps it at {limit.limited}",
        "ScaleUpLimit": f"the scale-up rate limit allows {limit.limited} for now",
        "ScaleDownLimit": f"the scale-down rate limit allows {limit.limited} for now",
    }
    return what.get(limit.reason, f"{limit.reason} at {limit.limited}")


def disabled(moment: Moment, limit: Limit) -> Literal["scaleUp", "scaleDown"] | None:
    """The direction that is switched off and therefore limits; None if none does."""
    behavior = moment.autoscaler.spec.behavior
    if behavior is None:
        return None
    if limit.reason == "ScaleUpLimit" and behavior.scale_up.select == "Disabled":
        return "scaleUp"
    if limit.reason == "ScaleDownLimit" and behavior.scale_down.select == "Disabled":
        return "scaleDown"
    return None


def _newest(decision: Decision, binds: Callable[[int], bool]) -> Recommendation | None:
    """The last recommendation that binds; where one in the window does, this one is in it, too."""
    binding = (entry for entry in decision.history.recommendations or () if binds(entry.replicas))
    return max(binding, key=lambda entry: entry.at_ns, default=None)


def _windows(moment: Moment, decision: Decision, stabilization: Stabilization) -> Iterator[str]:
    """The windows of both directions: without behavior there is none for scaling up."""
    proposed, highest, lowest = stabilization.desired, stabilization.highest, stabilization.lowest
    down_ns, up_ns = stabilization.down_window_ns, stabilization.up_window_ns
    down = f"scale-down window {duration(down_ns)}"
    entry = highest and _newest(decision, lambda past: past == highest.replicas)
    if entry is None:
        yield f"{down}: no recommendation above {proposed} in it"
    else:
        at, until = _times(moment, entry.at_ns, down_ns)
        yield f"{down}: highest recommendation {entry.replicas} at {at}, counts until {until}"
    if up_ns is None:
        return
    up = f"scale-up window {duration(up_ns)}"
    entry = lowest and _newest(decision, lambda past: past == lowest.replicas)
    if up_ns == 0:
        yield "scale-up window: none"
    elif entry is None:
        yield f"{up}: no recommendation below {proposed} in it"
    else:
        at, until = _times(moment, entry.at_ns, up_ns)
        yield f"{up}: lowest recommendation {entry.replicas} at {at}, counts until {until}"


def _policies(moment: Moment, decision: Decision, limit: Limit) -> Iterator[str]:
    behavior = moment.autoscaler.spec.behavior
    if behavior is None:
        yield f"without behavior at most twice the replicas or 4 at once: up to {limit.rate_limit}"
        return
    if not limit.policies:
        return
    upwards = limit.stabilized > (decision.replicas or 0)
    for working in limit.policies:
        yield f"policy {_policy(working)}{_spent(moment, working.policy, decision.history)}"
    select = (behavior.scale_up if upwards else behavior.scale_down).select
    yield f"selectPolicy {select}: the rate limit is {limit.rate_limit}"


def _policy(working: PolicyWorking) -> str:
    policy = working.policy
    unit = "%" if policy.type == "Percent" else "pod" if policy.value == 1 else "pods"
    return (
        f"{policy.value} {unit} per {duration(policy.period_s * NANOSECONDS)}: from {working.period_start_replicas} "
        f"at the period's start to {working.bound}"
    )


def _spent(moment: Moment, policy: Policy, history: History) -> str:
    """The rescales inside the policy's period."""
    cutoff_ns = moment.now.monotonic_ns - policy.period_s * NANOSECONDS

    def inside(events: tuple[ScaleEvent, ...], sign: str) -> Iterator[str]:
        for event in events:
            if event.at_ns > cutoff_ns:
                at, until = _times(moment, event.at_ns, policy.period_s * NANOSECONDS)
                yield f"{sign}{event.change} at {at} counts until {until}"

    told = [*inside(history.scale_ups, "+"), *inside(history.scale_downs, "-")]
    return f" ({'; '.join(told)})" if told else ""


def _bounds(moment: Moment, limit: Limit) -> str:
    minimum, maximum = moment.autoscaler.replicas_min, moment.autoscaler.spec.replicas_max
    bounds = f"minReplicas {minimum}, maxReplicas {maximum}"
    if limit.reason == "DesiredWithinRange":
        if limit.limited < minimum:  # §11.4, from zero replicas
            return f"{bounds}: {limit.limited} is below minReplicas, which holds on the way down only"
        return f"{bounds}: {limit.limited} is within"
    return f"{bounds}: {limit.stabilized} becomes {limit.limited} ({limit.reason})"


def _times(moment: Moment, at_ns: int, for_ns: int) -> tuple[str, str]:
    return clock(wall_of(at_ns, moment.now)), clock(wall_of(at_ns + for_ns, moment.now))
