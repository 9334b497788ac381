"""How far a stabilized count may go at once: rate limits, then minimum and maximum (§10.3, §11.4)."""

import math
from collections.abc import Callable

from controller.decide.history import History, changed
from controller.decide.ratio import REPLICAS_MAX, replicas_of
from controller.decide.spec import Autoscaler, Behavior, Policy, Rules
from controller.decide.working import Limit, PolicyWorking

_GROWTH_FACTOR = 2.0
_GROWTH_FREE = 4.0

_Bound = Callable[[int, Policy], int]


def without_behavior(stabilized: int, replicas: int, autoscaler: Autoscaler) -> Limit:
    """At most twice the current replicas, or 4, and never out of bounds; downwards there is no rate limit (§10.3)."""
    rate_limit = min(int(max(_GROWTH_FACTOR * replicas, _GROWTH_FREE)), REPLICAS_MAX)
    maximum, minimum = autoscaler.spec.replicas_max, autoscaler.replicas_min
    allowed, reason = (rate_limit, "ScaleUpLimit") if maximum > rate_limit else (maximum, "TooManyReplicas")
    if stabilized < minimum:
        return Limit(stabilized, minimum, "TooFewReplicas", rate_limit)
    if stabilized > allowed:
        return Limit(stabilized, allowed, reason, rate_limit)
    return Limit(stabilized, stabilized, "DesiredWithinRange", rate_limit)


def with_behavior(
    stabilized: int,
    replicas: int,
    history: History,
    autoscaler: Autoscaler,
    behavior: Behavior,
    monotonic_ns: int,
) -> Limit:
    """As far as the policies of the direction allow; the minimum is not enforced on the way up (§11.4)."""
    if stabilized > replicas:
        policies = _workings(behavior.scale_up, replicas, history, monotonic_ns, _bound_up)
        rate_limit = max(_selected(behavior.scale_up, policies, replicas, upwards=True), replicas)
        maximum = autoscaler.spec.replicas_max
        allowed, reason = (rate_limit, "ScaleUpLimit") if maximum > rate_limit else (maximum, "TooManyReplicas")
        if stabilized > allowed:
            return Limit(stabilized, allowed, reason, rate_limit, policies)
        return Limit(stabilized, stabilized, "DesiredWithinRange", rate_limit, policies)
    if stabilized < replicas:
        policies = _workings(behavior.scale_down, replicas, history, monotonic_ns, _bound_down)
        rate_limit = min(_selected(behavior.scale_down, policies, replicas, upwards=False), replicas)
        minimum = autoscaler.replicas_min
        allowed, reason = (rate_limit, "ScaleDownLimit") if minimum < rate_limit else (minimum, "TooFewReplicas")
        if stabilized < allowed:
            return Limit(stabilized, allowed, reason, rate_limit, policies)
        return Limit(stabilized, stabilized, "DesiredWithinRange", rate_limit, policies)
    return Limit(stabilized, stabilized, "DesiredWithinRange")


def longest_period_s(rules: Rules) -> int:
    """The longest policy period of a direction (§11.6)."""
    return max((policy.period_s for policy in rules.policies), default=0)


def _workings(
    rules: Rules, replicas: int, history: History, monotonic_ns: int, bound: _Bound
) -> tuple[PolicyWorking, ...]:
    """§11.5: events of both directions count, whatever the direction of the policy."""
    workings = []
    for policy in rules.policies:
        if policy.type not in ("Pods", "Percent"):
            continue
        added = changed(history.scale_ups, policy.period_s, monotonic_ns)
        removed = changed(history.scale_downs, policy.period_s, monotonic_ns)
        start = replicas - added + removed
        workings.append(PolicyWorking(policy, start, bound(start, policy)))
    return tuple(workings)


def _selected(rules: Rules, workings: tuple[PolicyWorking, ...], replicas: int, *, upwards: bool) -> int:
    """The bound of the policy that selectPolicy picks: Max is the one that allows the largest change (§11.5)."""
    if rules.select == "Disabled" or not workings:
        return replicas
    bounds = [working.bound for working in workings]
    return max(bounds) if (rules.select == "Min") != upwards else min(bounds)


def _bound_up(start: int, policy: Policy) -> int:
    if policy.type == "Pods":
        return min(start + policy.value, REPLICAS_MAX)
    # Binary rounding is visible: 10 % on top of 100 gives 111 (§11.5).
    return replicas_of(start * (1 + policy.value / 100))


def _bound_down(start: int, policy: Policy) -> int:
    if policy.type == "Pods":
        return max(start - policy.value, -REPLICAS_MAX)
    return max(min(math.trunc(start * (1 - policy.value / 100)), REPLICAS_MAX), -REPLICAS_MAX)
