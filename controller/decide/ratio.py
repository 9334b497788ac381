"""Usage against target, in the double arithmetic of the original (§7, §28.3)."""

import math
from collections.abc import Collection, Mapping
from typing import Final

from controller.decide.working import Usage

REPLICAS_MAX: Final = 2**31 - 1


def ratio_of(usage: float, target: float) -> float:
    """`usage / target` as IEEE 754 has it: a target of 0 gives an infinity or NaN instead of an exception."""
    if target != 0:
        return usage / target
    if usage == 0 or math.isnan(usage):
        return math.nan
    return math.copysign(math.inf, usage)


def replicas_of(count: float) -> int:
    """The count rounded up to an int32; infinite counts end at its bounds, NaN at 0 (§7)."""
    if math.isnan(count):
        return 0
    if count >= REPLICAS_MAX:
        return REPLICAS_MAX
    if count <= -REPLICAS_MAX:
        return -REPLICAS_MAX
    return math.ceil(count)


def truncated_quotient(dividend: int, divisor: int) -> int:
    """Integer division towards zero (§28.1)."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def utilization(usage_milli: Mapping[str, int], requests_milli: Mapping[str, int], target_percent: int) -> Usage | None:
    """Usage in percent of the requests of the pods that have one; None when these request nothing (§7.1, step 5)."""
    total_milli = requested_milli = counted = 0
    for pod, value_milli in usage_milli.items():
        request_milli = requests_milli.get(pod)
        if request_milli is not None:
            total_milli += value_milli
            requested_milli += request_milli
            counted += 1
    if requested_milli == 0:
        return None
    percent = max(-REPLICAS_MAX, min(truncated_quotient(total_milli * 100, requested_milli), REPLICAS_MAX))
    return Usage(
        total_milli=total_milli,
        counted=counted,
        average_milli=truncated_quotient(total_milli, counted),
        ratio=ratio_of(float(percent), float(target_percent)),
        requested_milli=requested_milli,
        utilization=percent,
    )


def average(values_milli: Collection[int], target_milli: int) -> Usage:
    """The average of all values, which must not be empty (§7.2)."""
    total_milli = sum(values_milli)
    average_milli = truncated_quotient(total_milli, len(values_milli))
    return Usage(
        total_milli=total_milli,
        counted=len(values_milli),
        average_milli=average_milli,
        ratio=ratio_of(float(average_milli), float(target_milli)),
    )
