"""Each metric's arithmetic with the real numbers, and what became of each pod."""

import math
from collections.abc import Mapping
from typing import Final

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import PodsReading, ReadFailure, Reading, ResourceReading, dated
from controller.decide.ratio import REPLICAS_MAX, ratio_of
from controller.decide.result import Decision, MetricFailure, Proposal
from controller.decide.spec import MetricSpec, Tolerance, metric_type
from controller.decide.working import GROUPS, Grouping, PodGroup, PodsWorking, Rule, TotalWorking, Usage, Verdict
from controller.explain.changes import Moment
from controller.explain.levels import level_of, told
from controller.explain.remedies import remedy
from controller.explain.sections import MetricTold, PodTold
from controller.explain.wording import amount, amounts, metric_name, resource_of

_NOT_READ: Final = ReadFailure("")


def metrics_told(moment: Moment, decision: Decision) -> tuple[MetricTold, ...]:
    """All metrics in the order of the spec; none where they were not looked at."""
    if decision.evaluation is None:
        return ()
    binding = binding_index(decision)
    return tuple(
        _told(moment, decision, index, binds=index == binding) for index in range(len(moment.autoscaler.metrics))
    )


def binding_index(decision: Decision) -> int | None:
    """Which metric's count was gone on with; None where there is none."""
    evaluation = decision.evaluation
    if evaluation is None:
        return None
    for index, result in enumerate(evaluation.results):
        if isinstance(result, Proposal) and result.replicas == evaluation.replicas and result.name == evaluation.name:
            return index
    return None


def ages_s(reading: Reading, wall_ns: int) -> tuple[float, float] | None:
    """How old the youngest and the oldest sample are in seconds, of those that say so; None when none does."""
    stamps, _ = dated(reading)
    if not stamps:
        return None
    return tuple(round((wall_ns - stamp) / NANOSECONDS, 1) for stamp in (max(stamps), min(stamps)))  # type: ignore[return-value]


def _told(moment: Moment, decision: Decision, index: int, *, binds: bool) -> MetricTold:
    evaluation, metric = decision.evaluation, moment.autoscaler.metrics[index]
    assert evaluation is not None  # noqa: S101 - the caller has looked
    result = evaluation.results[index]
    readings = moment.observation.readings
    reading = readings[index] if index < len(readings) else _NOT_READ
    aged, origin, left_out = ages_s(reading, moment.now.wall_ns), reading.origin, _left_out(reading)
    name, kind = metric_name(metric), metric_type(metric)
    if isinstance(result, MetricFailure):
        used, pods = _pods(result.grouping, metric, None, left_out)
        return MetricTold(
            name,
            kind,
            error=result.error,
            pods_used=used,
            pods=pods,
            ages_s=aged,
            origin=origin,
            remedy=remedy(metric, result.error, origin),
        )
    level, working = level_of(moment, decision, index), result.working
    current = told(level, metric, level.level) if level is not None else ""
    target = told(level, metric, level.target) if level is not None else ""
    if isinstance(working, PodsWorking):
        used, pods = _pods(working.grouping, metric, working, left_out)
        lines, ratio = _of_pods(working, metric, evaluation.tolerance, target, result.replicas), working.usage.ratio
    else:
        used, pods = None, ()
        lines, ratio = _of_total(working, metric, evaluation.tolerance, result.replicas), working.ratio
    assumed = _assumed(working.refilled, metric) if isinstance(working, PodsWorking) else ""
    return MetricTold(
        name,
        kind,
        current,
        target,
        assumed,
        ratio if math.isfinite(ratio) else None,
        result.replicas,
        binds,
        lines,
        pods_used=used,
        pods=pods,
        ages_s=aged,
        origin=origin,
    )


def _left_out(reading: Reading) -> Mapping[str, str]:
    return reading.left_out if isinstance(reading, ResourceReading | PodsReading) else {}


# --- arithmetic ----------------------------------------------------------------------------------


def _of_pods(
    working: PodsWorking, metric: MetricSpec, tolerance: Tolerance, target: str, replicas: int
) -> tuple[str, ...]:
    resource = resource_of(metric)
    lines = [f"{_usage(working.usage, resource)}; target {target}: ratio {_ratio(working.usage.ratio)}"]
    ratio = working.usage.ratio
    if working.refilled is not None:
        ratio = working.refilled.ratio
        lines.append(f"with assumptions {_usage(working.refilled, resource)}: ratio {_ratio(ratio)}")
    match working.rule:
        case Rule.WITHIN_TOLERANCE | Rule.FILLED_WITHIN_TOLERANCE:
            lines.append(f"{_within(ratio, tolerance)} → {replicas} as it is")
        case Rule.RATIO_TIMES_READY:
            lines.append(_product(ratio, working.grouping.ready, "ready", replicas))
        case Rule.FILLED_RATIO_TIMES_SAMPLES:
            lines.append(_product(ratio, working.samples, "counted", replicas))
        case rule:
            lines.append(f"{rule.value} → {replicas} as it is")
    return tuple(lines)


def _of_total(working: TotalWorking, metric: MetricSpec, tolerance: Tolerance, replicas: int) -> tuple[str, ...]:
    resource = resource_of(metric)
    usage, target = amount(working.usage_milli, resource), amount(working.target_milli, resource)
    if working.replicas is None:
        first = f"{usage}; target {target}: ratio {_ratio(working.ratio)}"
    else:
        first = f"{usage}; target {target} for each of {working.replicas}"
        if math.isfinite(working.ratio):  # of no replicas there is none
            first += f": ratio {_ratio(working.ratio)}"
    match working.rule:
        case Rule.WITHIN_TOLERANCE:
            second = f"{_within(working.ratio, tolerance)} → {replicas} as it is"
        case Rule.RATIO_TIMES_READY:
            second = _product(working.ratio, working.pods_ready or 0, "ready", replicas)
        case Rule.USAGE_PER_REPLICA:
            quotient = ratio_of(float(working.usage_milli), float(working.target_milli))
            second = f"{usage} / {target}, rounded up → {_capped(quotient, replicas)}"
        case rule:
            second = f"{rule.value} → {_capped(working.ratio, replicas)}"
    return first, second


def _assumed(refilled: Usage | None, metric: MetricSpec) -> str:
    if refilled is None:
        return ""
    if refilled.utilization is not None:
        return f"{refilled.utilization} %"
    return amount(refilled.average_milli, resource_of(metric))


def _usage(usage: Usage, resource: str) -> str:
    one = usage.counted == 1
    pods = "1 pod" if one else f"{usage.counted} pods"
    if usage.requested_milli is not None:
        used, requested = amounts(usage.total_milli, usage.requested_milli, resource)
        return f"{pods} {'uses' if one else 'use'} {used} of {requested} requested = {usage.utilization} %"
    total, average = amount(usage.total_milli, resource), amount(usage.average_milli, resource)
    return f"{pods} {'has' if one else 'have'} {total}, {average} on average"


def _product(ratio: float, count: int, which: str, replicas: int) -> str:
    noun, product = "pod" if count == 1 else "pods", ratio * count
    shown = f"{product:.5g}"
    if math.isfinite(product) and ("e" in shown or math.ceil(float(shown)) != replicas):
        shown = f"{product:.17g}"  # what makes it one more may be as small as a double can tell
    return f"ratio {_ratio(ratio)} × {count} {which} {noun} = {shown}, rounded up → {_capped(product, replicas)}"


def _capped(count: float, replicas: int) -> str:
    """What a count comes to, and where that is not the count rounded up, why (§7)."""
    if abs(count) <= REPLICAS_MAX or math.isnan(count):
        return str(replicas)
    return f"{replicas}, the {'most' if count > 0 else 'least'} there can be"


def _within(ratio: float, tolerance: Tolerance) -> str:
    allowed = tolerance.up if ratio > 1.0 else tolerance.down
    return f"{abs(ratio - 1.0):.3g} away from 1, within the tolerance of {allowed:g}"


def _ratio(ratio: float) -> str:
    return f"{ratio:.4g}"


# --- pods ----------------------------------------------------------------------------------------


def _pods(
    grouping: Grouping | None, metric: MetricSpec, working: PodsWorking | None, left_out: Mapping[str, str]
) -> tuple[int | None, tuple[PodTold, ...]]:
    """How many pods count as they are, and the others with the reason, by group."""
    if grouping is None:
        return None, ()
    filled = working.filled_milli if working is not None else {}
    resource = resource_of(metric)
    told_pods = [
        PodTold(
            pod,
            GROUPS[verdict].value,
            left_out.get(pod, verdict.value) if verdict is Verdict.NO_SAMPLE else verdict.value,
            f"counted as {amount(filled[pod], resource)}" if pod in filled else "",
        )
        for pod, verdict in grouping.verdicts.items()
        if verdict is not Verdict.READY
    ]
    order = [group.value for group in (PodGroup.MISSING, PodGroup.UNREADY, PodGroup.IGNORED)]
    told_pods.sort(key=lambda pod: (order.index(pod.group), pod.name))
    return grouping.ready, tuple(told_pods)
