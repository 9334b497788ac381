"""From usage to replicas (§7): the per-pod rule with its guards, and the rules for one number."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from controller.decide.quantity import INT64_MAX, INT64_MIN
from controller.decide.ratio import ratio_of, replicas_of
from controller.decide.spec import Tolerance
from controller.decide.working import Grouping, PodsWorking, Rule, TotalWorking, Usage

_INT64_LIMIT: Final = float(2**63)


class PodsProposal(msgspec.Struct, frozen=True, gc=False):
    """Replicas from a metric that every pod has, with the working."""

    replicas: int
    working: PodsWorking


def replicas_from_pods(
    replicas: int,
    values_milli: Mapping[str, int],
    grouping: Grouping,
    tolerance: Tolerance,
    usage_of: Callable[[Mapping[str, int]], Usage | None],
    assumed_below_milli: Callable[[str], int],
) -> PodsProposal | None:
    """Steps 5 to 9 of §7.1, which §7.2 shares; None when no sample belongs to a known pod.

    `replicas` is R; `values_milli` are the usable samples (ready pods and superfluous ones); `assumed_below_milli` is
    what a missing pod is taken to use when the others are below target.
    """
    usage = usage_of(values_milli)
    if usage is None:
        return None
    scale_up_with_unready = bool(grouping.unready) and usage.ratio > 1.0
    if not scale_up_with_unready and not grouping.missing:
        if tolerance.holds(usage.ratio):
            return PodsProposal(replicas, PodsWorking(grouping, usage, Rule.WITHIN_TOLERANCE))
        proposed = replicas_of(usage.ratio * grouping.ready)
        return PodsProposal(proposed, PodsWorking(grouping, usage, Rule.RATIO_TIMES_READY))
    filled_milli = _filled(grouping, usage.ratio, assumed_below_milli)
    samples = {**values_milli, **filled_milli}
    refilled = usage_of(samples)
    if refilled is None:
        return None
    proposed, rule = _guarded(replicas, usage.ratio, refilled.ratio, len(samples), tolerance)
    return PodsProposal(proposed, PodsWorking(grouping, usage, rule, filled_milli, refilled, len(samples)))


def _filled(grouping: Grouping, ratio: float, assumed_below_milli: Callable[[str], int]) -> dict[str, int]:
    """What pods without a usable sample are assumed to use: always against the direction of the ratio (§7.1 step 7)."""
    filled: dict[str, int] = {}
    if ratio < 1.0:
        filled = {name: assumed_below_milli(name) for name in grouping.missing}
    elif ratio > 1.0:
        filled = dict.fromkeys((*grouping.missing, *grouping.unready), 0)
    return filled


def _guarded(replicas: int, ratio: float, refilled: float, samples: int, tolerance: Tolerance) -> tuple[int, Rule]:
    """§7.1 steps 8 and 9: assumptions may slow a change down, never turn it around."""
    if tolerance.holds(refilled):
        return replicas, Rule.FILLED_WITHIN_TOLERANCE
    if (ratio < 1.0 < refilled) or (ratio > 1.0 > refilled):
        return replicas, Rule.FILLED_FLIPPED
    proposed = replicas_of(refilled * samples)
    if (refilled < 1.0 and proposed > replicas) or (refilled > 1.0 and proposed < replicas):
        return replicas, Rule.FILLED_AGAINST_DIRECTION
    return proposed, Rule.FILLED_RATIO_TIMES_SAMPLES


def replicas_from_total(
    replicas: int, usage_milli: int, target_milli: int, tolerance: Tolerance, pods_ready: int | None
) -> tuple[int, TotalWorking] | None:
    """§7.3: one number against a target for the whole. None when pods have to be counted and there are none."""
    ratio = ratio_of(float(usage_milli), float(target_milli))
    if replicas == 0:
        return replicas_of(ratio), TotalWorking(usage_milli, target_milli, ratio, Rule.RATIO_FROM_ZERO)
    if tolerance.holds(ratio):
        return replicas, TotalWorking(usage_milli, target_milli, ratio, Rule.WITHIN_TOLERANCE)
    if pods_ready is None:
        return None
    working = TotalWorking(usage_milli, target_milli, ratio, Rule.RATIO_TIMES_READY, pods_ready=pods_ready)
    return replicas_of(ratio * pods_ready), working


def replicas_from_average(
    status_replicas: int, usage_milli: int, target_milli: int, tolerance: Tolerance, *, summed: bool
) -> tuple[int, int, TotalWorking]:
    """§7.4: replicas, the reported average in milli-units, and the working.

    `status_replicas` is S. `summed`: the usage is a sum of External series, which may have been saturated.
    """
    ratio = ratio_of(float(usage_milli), float(target_milli) * float(status_replicas))
    if tolerance.holds(ratio):
        proposed, rule = status_replicas, Rule.WITHIN_TOLERANCE
    else:
        proposed, rule = (
            replicas_of(ratio_of(float(usage_milli), float(target_milli))),
            Rule.USAGE_PER_REPLICA,
        )
    working = TotalWorking(usage_milli, target_milli, ratio, rule, replicas=status_replicas)
    saturated = summed and float(usage_milli) >= _INT64_LIMIT
    return proposed, INT64_MAX if saturated else _reported_average(usage_milli, status_replicas), working


def _reported_average(usage_milli: int, status_replicas: int) -> int:
    """Rounded up, unlike the averages of §7.1. Over no replicas it is 0 (the original reports a random number)."""
    if status_replicas == 0:
        return 0
    # The quotient of doubles, not of integers: the original divides after the conversion.
    return min(_ceiling(float(usage_milli) / float(status_replicas)), INT64_MAX)


def _ceiling(value: float) -> int:
    whole = int(value)
    return whole + 1 if value > whole else whole


def sum_of_series(values_milli: Iterable[int]) -> int:
    """The sum of External Value series; on overflow it stays at the largest or the smallest int64 (§7, §7.3)."""
    total = 0
    for value_milli in values_milli:
        total += value_milli
        if not INT64_MIN <= total <= INT64_MAX:
            return INT64_MIN if total < 0 else INT64_MAX
    return total


def sum_of_series_per_pod(values_milli: Iterable[int]) -> int:
    """The sum of External AverageValue series: a running sum that turns negative saturates, too (§7.4)."""
    total = 0
    for value_milli in values_milli:
        total += value_milli
        if total > INT64_MAX or total < 0:
            return INT64_MAX
    return total
