"""A decision explains itself: its numbers follow from the reasons that it holds, and from nothing else but the spec."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from controller.decide import selectors
from controller.decide.instants import parse_rfc3339
from controller.decide.ratio import REPLICAS_MAX
from controller.decide.result import Decision, Evaluation, MetricFailure, Path, Proposal
from controller.decide.spec import MetricSpec, Spec, UnknownMetric
from controller.decide.working import GROUPS, Grouping, Limit, PodGroup, PodsWorking, Rule, Stabilization, TotalWorking
from controller.recording.observations import PodsSeen
from controller.wire.autoscalers import spec_from
from tests.recording.recorded import opened, replayed


@dataclass(frozen=True)
class Decided:
    """A recorded decision with the spec in force and the names of the pods that the scale selects."""

    place: str
    decision: Decision
    spec: Spec
    selected: set[str]


def decisions() -> Iterator[Decided]:
    for recording in opened():
        spec = spec_from(recording.header.hpa["spec"])
        pods = PodsSeen(parse_rfc3339(recording.header.start))
        for tick, _, decision in replayed(recording):
            spec = spec if tick.hpa_spec is None else spec_from(tick.hpa_spec)
            pods.update(tick.pods or {})
            try:
                selected = {pod.name for pod in pods.matching(selectors.parse(tick.scale.selector))}
            except selectors.SelectorError:
                selected = set()
            yield Decided(f"{recording.header.name} t={tick.t}", decision, spec, selected)


def rounded_up(count: float) -> int:
    return 0 if math.isnan(count) else math.ceil(max(min(count, REPLICAS_MAX), -REPLICAS_MAX))


# --- metrics (§6, §7) ----------------------------------------------------------------------------


def from_pods(working: PodsWorking, replicas: int, metric: MetricSpec, evaluation: Evaluation) -> int:
    """§7.1, §7.2, from sums and counts up."""
    target = target_of(metric, average=working.usage.requested_milli is None)
    for usage in filter(None, (working.usage, working.refilled)):
        if usage.requested_milli is None:
            assert usage.average_milli == int(usage.total_milli / usage.counted)
            assert usage.ratio == usage.average_milli / target
        else:
            assert usage.utilization == usage.total_milli * 100 // usage.requested_milli
            assert usage.ratio == usage.utilization / target
    if working.refilled is not None:
        assert working.refilled.total_milli == working.usage.total_milli + sum(working.filled_milli.values())
        assert set(working.filled_milli) <= {*working.grouping.missing, *working.grouping.unready}
    match working.rule:
        case Rule.RATIO_TIMES_READY:
            return rounded_up(working.usage.ratio * working.grouping.ready)
        case Rule.FILLED_RATIO_TIMES_SAMPLES:
            assert working.refilled is not None
            return rounded_up(working.refilled.ratio * working.samples)
        case Rule.WITHIN_TOLERANCE:
            assert evaluation.tolerance.holds(working.usage.ratio)
        case Rule.FILLED_WITHIN_TOLERANCE:
            assert working.refilled is not None
            assert evaluation.tolerance.holds(working.refilled.ratio)
        case rule:
            assert rule in (Rule.FILLED_FLIPPED, Rule.FILLED_AGAINST_DIRECTION)
    return replicas


def from_total(working: TotalWorking, replicas: int, metric: MetricSpec, evaluation: Evaluation) -> int:
    """§7.3, §7.4."""
    assert working.target_milli == target_of(metric, average=working.replicas is not None)
    whole = working.target_milli * (1 if working.replicas is None else working.replicas)
    if whole:
        assert working.ratio == working.usage_milli / whole
    match working.rule:
        case Rule.RATIO_TIMES_READY:
            assert working.pods_ready is not None
            return rounded_up(working.ratio * working.pods_ready)
        case Rule.RATIO_FROM_ZERO:
            assert replicas == 0
            return rounded_up(working.ratio)
        case Rule.USAGE_PER_REPLICA:
            return rounded_up(working.usage_milli / working.target_milli)
        case rule:
            assert rule is Rule.WITHIN_TOLERANCE
            assert evaluation.tolerance.holds(working.ratio)
            return replicas if working.replicas is None else working.replicas


def target_of(metric: MetricSpec, *, average: bool) -> int:
    assert not isinstance(metric, UnknownMetric)
    target = metric.target
    per_pod = target.average_value_milli if target.average_value_milli is not None and average else None
    found = next((value for value in (per_pod, target.average_utilization, target.value_milli) if value), None)
    assert found is not None
    return found


def combined(evaluation: Evaluation, replicas: int, metrics: tuple[MetricSpec, ...]) -> int | None:
    """§6.1."""
    proposals = []
    for metric, result in zip(metrics, evaluation.results, strict=True):
        if isinstance(result, MetricFailure):
            continue
        working = result.working
        if isinstance(working, PodsWorking):
            proposals.append(from_pods(working, replicas, metric, evaluation))
        else:
            proposals.append(from_total(working, replicas, metric, evaluation))
        assert result.replicas == proposals[-1]
    if not proposals or (len(proposals) < len(metrics) and max(proposals) < replicas):
        return None
    return max(proposals)


# --- from the proposal to the count (§10, §11, §12) ----------------------------------------------


def stabilized(reasons: Stabilization, replicas: int) -> int:
    lowest = reasons.desired if reasons.lowest is None else reasons.lowest.replicas
    highest = reasons.desired if reasons.highest is None else reasons.highest.replicas
    if reasons.up_window_ns is None:
        return max(reasons.desired, highest)
    return min(max(replicas, lowest), highest)


def limited(reasons: Limit, replicas: int, spec: Spec) -> int:
    match reasons.reason:
        case "DesiredWithinRange":
            return reasons.stabilized
        case "TooManyReplicas":
            return spec.replicas_max
        case "TooFewReplicas":
            return 1 if spec.replicas_min is None else spec.replicas_min
        case "ScaleUpLimit" | "ScaleDownLimit":
            assert reasons.rate_limit is not None
            assert reasons.rate_limit in {replicas, max(2 * replicas, 4), *(one.bound for one in reasons.policies)}
            return reasons.rate_limit
        case other:
            raise AssertionError(other)


def recomputed(found: Decided) -> int | None:
    """What is desired, from the reasons alone."""
    decision, spec = found.decision, found.spec
    replicas = decision.replicas
    match decision.path:
        case Path.SCALE_UNREADABLE:
            return None
        case Path.PAUSED:
            return 0
        case Path.ABOVE_MAX:
            return spec.replicas_max
        case Path.BELOW_MIN:
            return spec.replicas_min or 1
        case Path.SELECTOR_REFUSED:
            assert decision.selector_problem is not None
            return None
        case _:
            assert decision.evaluation is not None
            assert replicas is not None
            best = combined(decision.evaluation, replicas, spec.metrics)
            assert best == decision.evaluation.replicas
            if best is None:
                return None
    assert decision.stabilization is not None
    assert decision.limit is not None
    assert decision.stabilization.desired == max(best, 0)
    assert decision.stabilization.stabilized == stabilized(decision.stabilization, replicas)
    assert decision.limit.stabilized == decision.stabilization.stabilized
    assert decision.limit.limited == limited(decision.limit, replicas, spec)
    return spec.replicas_min if decision.lifted_to_min else decision.limit.limited


def check_grouping(grouping: Grouping, selected: set[str]) -> None:
    """§8: every listed pod has its verdict, and is in the group that this says."""
    assert set(grouping.verdicts) == selected
    groups = {group: {name for name, why in grouping.verdicts.items() if GROUPS[why] is group} for group in PodGroup}
    assert groups[PodGroup.UNREADY] == set(grouping.unready)
    assert groups[PodGroup.MISSING] == set(grouping.missing)
    assert groups[PodGroup.IGNORED] == set(grouping.ignored)
    assert len(groups[PodGroup.READY]) == grouping.ready


def groupings(decision: Decision) -> Iterator[Grouping]:
    for result in decision.evaluation.results if decision.evaluation is not None else ():
        if isinstance(result, Proposal) and isinstance(result.working, PodsWorking):
            yield result.working.grouping
        elif isinstance(result, MetricFailure) and result.grouping is not None:
            yield result.grouping


def test_every_number_follows_from_the_reasons() -> None:
    paths, grouped = set(), 0
    for found in decisions():
        paths.add(found.decision.path)
        assert recomputed(found) == found.decision.desired, found.place
        for grouping in groupings(found.decision):
            grouped += 1
            check_grouping(grouping, found.selected)
    # So that no path and no kind of working is passed over in silence.
    assert paths == set(Path)
    assert grouped > 1000
