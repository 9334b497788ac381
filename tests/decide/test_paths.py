"""§4, §5: every path of a sync, with everything that it leaves behind."""

from dataclasses import dataclass, field

import pytest

from controller.decide.decision import ABOVE_MAX, BELOW_MIN, path_before_metrics
from controller.decide.history import History
from controller.decide.observed import Observation, Scale, ScaleFailure
from controller.decide.result import Action, Path
from controller.decide.spec import Autoscaler, Behavior
from controller.decide.status import MetricStatus, Status
from tests.builders import (
    behavior,
    by_percent,
    condition,
    cpu,
    external_metric,
    history,
    hpa,
    object_metric,
    observation,
    rules,
    scale,
    series,
    settings,
    status,
    usage,
    value,
    wall_ns,
)
from tests.decide.syncs import sync

BEFORE = status(
    condition("AbleToScale", reason="ReadyForNewScale"),
    condition("ScalingActive", reason="ValidMetricFound"),
    condition("ScalingLimited", "False", reason="DesiredWithinRange"),
    current=7,
    desired=8,
    last_scale_s=-900,
    metrics=(MetricStatus("Resource", resource="cpu", average_utilization=50),),
    observed_generation=4,
)
PAST = history((4, -30))
ABLE = {"AbleToScale": ("True", "SucceededGetScale")}
KEPT = {
    "ScalingActive": ("True", "ValidMetricFound"),
    "ScalingLimited": ("False", "DesiredWithinRange"),
}


@dataclass(frozen=True)
class Case:
    """An autoscaler and what it saw; then the decision and what is left of it."""

    autoscaler: Autoscaler
    seen: Observation
    path: Path
    desired: int | None
    reasons: dict[str, tuple[str, str]]
    rescale_reason: str = ""
    events: list[str] = field(default_factory=list)
    metrics: int = 0
    error: str | None = None
    cause: str = "none"
    status_desired: int = 8
    remembered: History = PAST
    action: Action = "none"


TARGET_FAILED = {"AbleToScale": ("False", "FailedGetScale")}
RESCALED = {"AbleToScale": ("True", "SucceededRescale")}
CPU = hpa(cpu(50))

CASES = {
    "4.4 scale unreadable": Case(
        CPU,
        observation(ScaleFailure("no such deployment"), status=BEFORE),
        Path.SCALE_UNREADABLE,
        None,
        TARGET_FAILED | KEPT,
        events=["FailedGetScale"],
        metrics=1,
        error="no such deployment",
        cause="internal",
    ),
    "4.1 apiVersion unparsable": Case(
        CPU,
        observation(ScaleFailure("unexpected GroupVersion string: a/b/c", cause="spec"), status=BEFORE),
        Path.SCALE_UNREADABLE,
        None,
        TARGET_FAILED | KEPT,
        events=["FailedGetScale"],
        metrics=1,
        error="unexpected GroupVersion string: a/b/c",
        cause="spec",
    ),
    "4.7a paused": Case(
        CPU,
        observation(scale(0), status=BEFORE),
        Path.PAUSED,
        0,
        ABLE | KEPT | {"ScalingActive": ("False", "ScalingDisabled")},
        status_desired=0,
    ),
    "4.7c above the maximum": Case(
        CPU,
        observation(scale(11), status=BEFORE),
        Path.ABOVE_MAX,
        10,
        RESCALED | KEPT,
        rescale_reason=ABOVE_MAX,
        events=["SuccessfulRescale"],
        status_desired=10,
        action="scale_down",
    ),
    "4.7d below the minimum": Case(
        hpa(cpu(50), replicas_min=4),
        observation(scale(3), status=BEFORE),
        Path.BELOW_MIN,
        4,
        RESCALED | KEPT,
        rescale_reason=BELOW_MIN,
        events=["SuccessfulRescale"],
        status_desired=4,
        action="scale_up",
    ),
    "5 selector refused": Case(
        CPU,
        observation(scale(3, selector=""), usage(500, 500, 500), status=BEFORE),
        Path.SELECTOR_REFUSED,
        None,
        ABLE | KEPT | {"ScalingActive": ("False", "InvalidSelector")},
        events=["SelectorRequired", "FailedComputeMetricsReplicas"],
        error="selector is required",
        cause="internal",
    ),
    "4.8.2 undecided": Case(
        CPU,
        observation(scale(3), status=BEFORE),
        Path.UNDECIDED,
        None,
        ABLE | KEPT | {"ScalingActive": ("False", "FailedGetResourceMetric")},
        events=["FailedGetResourceMetric", "FailedComputeMetricsReplicas"],
        metrics=1,
        error=(
            "invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: "
            "failed to get cpu utilization: unable to get metrics for resource cpu: "
            "resource metrics API: the metric was not read"
        ),
        cause="internal",
    ),
    "4.8 metrics decide to stay": Case(
        CPU,
        observation(scale(4), usage(500, 500, 500, 500), status=BEFORE),
        Path.METRICS,
        4,
        {"AbleToScale": ("True", "ReadyForNewScale")} | KEPT,
        metrics=1,
        status_desired=4,
        remembered=history((4, -30), (4, 0)),
    ),
    "4.8 metrics decide to scale": Case(
        CPU,
        observation(scale(4), usage(900, 900, 900, 900), status=BEFORE),
        Path.METRICS,
        8,
        RESCALED | KEPT,
        rescale_reason="cpu resource utilization (percentage of request) above target",
        events=["SuccessfulRescale"],
        metrics=1,
        status_desired=8,
        remembered=history((4, -30), (8, 0)),
        action="scale_up",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_path(case: Case) -> None:
    outcome = sync(case.autoscaler, case.seen, PAST)
    decision, conclusion = outcome.decision, outcome.conclusion
    assert (decision.path, decision.desired, decision.rescale_reason) == (case.path, case.desired, case.rescale_reason)
    assert outcome.reasons() == case.reasons
    assert outcome.events() == case.events
    assert len(outcome.status.metrics) == case.metrics
    assert (conclusion.error, conclusion.cause) == (case.error, case.cause)
    assert outcome.status.replicas_desired == case.status_desired
    assert conclusion.history == case.remembered
    readable = isinstance(case.seen.scale, Scale)
    # §14.1: a status that is rebuilt drops observedGeneration; §4.4 leaves everything but the condition.
    assert outcome.status.observed_generation == (None if readable else 4)
    assert outcome.status.replicas_current == (case.seen.scale.replicas if isinstance(case.seen.scale, Scale) else 7)
    # §17.3: the label of the reconcile says which way the written count goes.
    assert conclusion.action == case.action
    # §4.10, §17.5: the gauge and a failing status write count only where the end is reached.
    assert conclusion.replicas_desired == case.desired
    assert conclusion.status_failure_counts is (case.desired is not None)
    assert outcome.status.last_scale_ns == (wall_ns() if conclusion.scaled_to is not None else wall_ns(-900))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_decision_tells_what_its_path_has_looked_at(case: Case) -> None:
    """§4.7, §4.8: and nothing else."""
    decision = sync(case.autoscaler, case.seen, PAST).decision
    assert (decision.selector_problem is not None) is (case.path is Path.SELECTOR_REFUSED)
    assert (decision.evaluation is not None) is (case.path in (Path.METRICS, Path.UNDECIDED))
    assert (decision.stabilization is not None) is (case.path is Path.METRICS)
    assert (decision.limit is not None) is (case.path is Path.METRICS)
    if decision.limit is not None:
        assert decision.limit.limited == case.desired
    assert decision.rescales is (case.desired is not None and case.desired != decision.replicas)


def test_every_path_is_in_the_table() -> None:
    assert {case.path for case in CASES.values()} == set(Path)


ZEROED = status(condition("ScaledToZero"))
ZERO_OBJECT = hpa(object_metric(value_milli=5), replicas_min=0, replicas_max=5, settings=settings(scale_to_zero=True))

BRANCHES: dict[str, tuple[Autoscaler, Scale, Status, Path | None]] = {
    "zero comes first, even below the minimum": (hpa(replicas_min=3), scale(0), status(), Path.PAUSED),
    "zero that it set itself": (ZERO_OBJECT, scale(0), ZEROED, None),
    "the maximum comes before the minimum": (hpa(replicas_min=5, replicas_max=2), scale(3), status(), Path.ABOVE_MAX),
    "at the maximum": (hpa(replicas_max=3), scale(3), status(), None),
    "at the minimum": (hpa(replicas_min=3), scale(3), status(), None),
    "no minimum is 1": (hpa(replicas_min=None), scale(1), status(), None),
    "status replicas do not matter": (hpa(replicas_max=3), scale(3, status=9), status(), None),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_branch(name: str) -> None:
    """§4.7 in its order."""
    autoscaler, seen, stored, expected = BRANCHES[name]
    assert path_before_metrics(autoscaler, seen, stored) is expected


@pytest.mark.parametrize("seen", [scale(0), scale(11), scale(3), scale(3, selector=""), ScaleFailure("gone")])
def test_the_first_sync_remembers_the_current_size(seen: Scale | ScaleFailure) -> None:
    """§4.5: on every path that has read the scale."""
    outcome = sync(CPU, observation(seen))
    begun = history((seen.replicas, 0)) if isinstance(seen, Scale) else history()
    assert outcome.conclusion.history == begun


@pytest.mark.parametrize("asked", [None, behavior(down=rules(by_percent(100)))], ids=["no behavior", "behavior"])
def test_what_the_first_sync_begins_with_is_out_of_a_window_of_0(asked: Behavior | None) -> None:
    """§4.5, §10.1, §11.2: the scale was read a moment before the decision."""
    at_once = hpa(cpu(50), behavior=asked, settings=settings(downscale_stabilization_s=0))
    outcome = sync(at_once, observation(scale(5), usage(*[300] * 5), read_s=-0.001))
    assert outcome.conclusion.scaled_to == 3
    assert outcome.conclusion.history.recommendations == history((3, 0)).recommendations


def test_a_rescale_may_have_a_stale_reason() -> None:
    """§4.11: a recommendation within the window raises the count, whatever the metrics say now."""
    stale = sync(CPU, observation(scale(3), usage(300, 300, 300)), history((5, -60)))
    assert stale.conclusion.scaled_to == 5
    assert stale.conclusion.events[-1].message == "New size: 5; reason: All metrics below target"
    empty = sync(CPU, observation(scale(3), usage(500, 500, 500)), history((5, -60)))
    assert empty.conclusion.scaled_to == 5
    assert empty.conclusion.events[-1].message == "New size: 5; reason: "


def test_a_partial_failure_is_the_error_of_a_sync_that_scales() -> None:
    """§4.8 step 3."""
    both = hpa(external_metric(value_milli=1000), object_metric(value_milli=1000))
    outcome = sync(both, observation(scale(2), series(2000)))
    assert outcome.conclusion.scaled_to == 4
    assert outcome.conclusion.error is not None
    assert outcome.conclusion.error.startswith("invalid metrics (1 invalid out of 2), first error is: ")
    assert (outcome.conclusion.action, outcome.conclusion.cause) == ("scale_up", "internal")
    assert outcome.events() == ["FailedGetObjectMetric", "SuccessfulRescale"]
    assert outcome.conclusion.events_after_status == ()


def test_negative_proposals_end_at_zero() -> None:
    """§4.8 step 4."""
    outcome = sync(hpa(object_metric(value_milli=1000), replicas_min=0), observation(scale(3), value(-9000)), PAST)
    assert outcome.decision.stabilization is not None
    assert outcome.decision.stabilization.desired == 0
    # §6.1: it replaces the 0 that the best one starts from, name and all.
    assert outcome.decision.evaluation is not None
    assert (outcome.decision.evaluation.replicas, outcome.decision.evaluation.name) == (-27, "Service metric hits")
