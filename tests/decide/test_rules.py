"""§7: every rule of the arithmetic with its working, one line per case; 3 replicas unless a case says otherwise."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from controller.decide.observed import Pod, Reading
from controller.decide.quantity import INT64_MAX, INT64_MIN, of_milli
from controller.decide.ratio import REPLICAS_MAX
from controller.decide.spec import MetricSpec
from controller.decide.working import PodsWorking, Rule, TotalWorking
from tests.builders import (
    container,
    container_metric,
    cpu,
    external_metric,
    object_metric,
    pods,
    pods_metric,
    requests,
    samples,
    series,
    usage,
    value,
)
from tests.decide.syncs import failure, proposal

PENDING = pods(1, first=2, phase="Pending")
TWO_AND_A_PENDING = (*pods(2), *PENDING)


@dataclass(frozen=True)
class Case:
    """A metric that every pod has: the rule, the proposal, what was filled in, and the number of samples at the end."""

    metric: MetricSpec
    reading: Reading
    rule: Rule
    proposed: int
    filled: Mapping[str, int] = field(default_factory=dict)
    samples: int = 0
    replicas: int = 3
    listed: tuple[Pod, ...] | None = None


T = pods_metric(1000)
CPU_50 = cpu(50)

PER_POD = {
    # §7.1 step 6, §7.5: both ends of the tolerance are inside.
    "ratio 1.1": Case(T, samples(1100, 1100, 1100), Rule.WITHIN_TOLERANCE, 3),
    "ratio above 1.1": Case(T, samples(1101, 1101, 1101), Rule.RATIO_TIMES_READY, 4),
    "ratio 0.9": Case(T, samples(900, 900, 900), Rule.WITHIN_TOLERANCE, 3),
    "ratio below 0.9": Case(T, samples(899, 899, 899), Rule.RATIO_TIMES_READY, 3),
    "average is truncated into tolerance": Case(T, samples(1100, 1100, 1102), Rule.WITHIN_TOLERANCE, 3),
    "percentage is truncated into tolerance": Case(CPU_50, usage(559, 559, 559), Rule.WITHIN_TOLERANCE, 3),
    "percentage is truncated out of tolerance": Case(CPU_50, usage(449, 449, 449), Rule.RATIO_TIMES_READY, 3),
    # Ready pods are multiplied, not R.
    "few ready pods above": Case(T, samples(2000, 2000), Rule.RATIO_TIMES_READY, 4, replicas=10, listed=pods(2)),
    "many ready pods below": Case(T, samples(*[800] * 5), Rule.RATIO_TIMES_READY, 4, replicas=3, listed=pods(5)),
    "unready pods are left out below": Case(
        T, samples(500, 500, 9000), Rule.RATIO_TIMES_READY, 1, listed=TWO_AND_A_PENDING
    ),
    "unready pods are left out at target": Case(
        T, samples(1000, 1000, 9000), Rule.WITHIN_TOLERANCE, 3, listed=TWO_AND_A_PENDING
    ),
    # Step 7: always against the direction of the ratio.
    "missing below: at target each": Case(T, samples(100, 100), Rule.FILLED_RATIO_TIMES_SAMPLES, 2, {"web-2": 1000}, 3),
    "missing above: 0 each": Case(T, samples(3000, 3000), Rule.FILLED_RATIO_TIMES_SAMPLES, 6, {"web-2": 0}, 3),
    "missing at exactly 1: nothing": Case(T, samples(1000, 1000), Rule.FILLED_WITHIN_TOLERANCE, 3, {}, 2),
    "missing within tolerance still fills": Case(
        T, samples(1050, 1050, None, None), Rule.FILLED_FLIPPED, 4, {"web-2": 0, "web-3": 0}, 4, replicas=4
    ),
    "unready above: 0 each": Case(
        T, samples(3000, 3000, 9000), Rule.FILLED_RATIO_TIMES_SAMPLES, 6, {"web-2": 0}, 3, listed=TWO_AND_A_PENDING
    ),
    "unready and missing above": Case(
        T,
        samples(9000, None, 9000),
        Rule.FILLED_RATIO_TIMES_SAMPLES,
        9,
        {"web-1": 0, "web-2": 0},
        3,
        listed=TWO_AND_A_PENDING,
    ),
    "unready and missing below: only missing": Case(
        T, samples(100, None, 9000), Rule.FILLED_RATIO_TIMES_SAMPLES, 2, {"web-1": 1000}, 2, listed=TWO_AND_A_PENDING
    ),
    "missing below by utilization: at request": Case(
        CPU_50, usage(100, 100), Rule.FILLED_RATIO_TIMES_SAMPLES, 3, {"web-2": 1000}, 3
    ),
    "missing below by utilization: at target above 100 %": Case(
        cpu(250), usage(100, 100), Rule.FILLED_RATIO_TIMES_SAMPLES, 2, {"web-2": 2500}, 3
    ),
    # Step 8 and 9: what is filled in never turns a change around.
    "filled into tolerance": Case(T, samples(1500, 1500), Rule.FILLED_WITHIN_TOLERANCE, 3, {"web-2": 0}, 3),
    "flipped from above": Case(T, samples(1200, 1200), Rule.FILLED_FLIPPED, 3, {"web-2": 0}, 3),
    "flipped from below": Case(CPU_50, usage(400, 400), Rule.FILLED_FLIPPED, 3, {"web-2": 1000}, 3),
    "down would raise": Case(
        T, samples(100, 100), Rule.FILLED_AGAINST_DIRECTION, 1, {"web-2": 1000}, 3, replicas=1, listed=pods(3)
    ),
    "up would lower": Case(
        T, samples(4000), Rule.FILLED_AGAINST_DIRECTION, 9, {"web-1": 0}, 2, replicas=9, listed=pods(2)
    ),
    "down to R exactly": Case(
        T, samples(100, 100), Rule.FILLED_RATIO_TIMES_SAMPLES, 2, {"web-2": 1000}, 3, replicas=2, listed=pods(3)
    ),
    "up to R exactly": Case(
        T, samples(4000), Rule.FILLED_RATIO_TIMES_SAMPLES, 4, {"web-1": 0}, 2, replicas=4, listed=pods(2)
    ),
    # §8.3: samples of unknown pods.
    "unknown pods enter an average": Case(
        T, samples(1000, 1000, 1000, others={"ghost": 9000}), Rule.RATIO_TIMES_READY, 9
    ),
    "unknown pods enter no utilization": Case(
        CPU_50, usage(500, 500, 500, others={"ghost": 9000}), Rule.WITHIN_TOLERANCE, 3
    ),
    "unknown pods count as samples": Case(
        CPU_50, usage(2000, 2000, None, others={"ghost": 9000}), Rule.FILLED_RATIO_TIMES_SAMPLES, 11, {"web-2": 0}, 4
    ),
    # §8.1: pods being deleted and failed pods are as if they were not there.
    "ignored pods are left out": Case(
        T, samples(2000, 2000, 9000), Rule.RATIO_TIMES_READY, 4, listed=(*pods(2), *pods(1, first=2, deleted=True))
    ),
    # A target or usage that the API server refuses ends at a bound (§28.5).
    "target 0": Case(pods_metric(0), samples(1, 1, 1), Rule.RATIO_TIMES_READY, REPLICAS_MAX),
    "utilization target 0": Case(cpu(0), usage(1000, 1000, 1000), Rule.RATIO_TIMES_READY, REPLICAS_MAX),
    "target 0, usage 0": Case(pods_metric(0), samples(0, 0, 0), Rule.RATIO_TIMES_READY, 0),
    "negative average rounds towards zero": Case(T, samples(-1, 0, 0), Rule.RATIO_TIMES_READY, 0),
    "huge average": Case(pods_metric(1), samples(*[INT64_MAX] * 3), Rule.RATIO_TIMES_READY, REPLICAS_MAX),
}


@pytest.mark.parametrize("case", PER_POD.values(), ids=PER_POD)
def test_per_pod_rule(case: Case) -> None:
    result = proposal(case.metric, case.reading, replicas=case.replicas, listed=case.listed)
    working = result.working
    assert isinstance(working, PodsWorking)
    assert (result.replicas, working.rule) == (case.proposed, case.rule)
    assert dict(working.filled_milli) == case.filled
    assert working.samples == case.samples
    assert (working.refilled is None) == (working.samples == 0)


@dataclass(frozen=True)
class Total:
    """One number for the whole target: rule, proposal, and the ratio if it is finite."""

    metric: MetricSpec
    reading: Reading
    rule: Rule
    proposed: int
    ratio: float | None = None
    replicas: int = 3
    status_replicas: int | None = None
    listed: tuple[Pod, ...] | None = None
    reported: int | None = None


OBJECT, EXTERNAL = object_metric(value_milli=1000), external_metric(value_milli=1000)
OBJECT_EACH, EXTERNAL_EACH = object_metric(average_milli=1000), external_metric(average_milli=1000)
UNREADY = pods(3, ready="False")

TOTALS = {
    # §7.3.
    "Value within tolerance": Total(OBJECT, value(1100), Rule.WITHIN_TOLERANCE, 3, 1.1),
    "Value within tolerance needs no pods": Total(OBJECT, value(1000), Rule.WITHIN_TOLERANCE, 3, 1.0, listed=()),
    "Value above": Total(OBJECT, value(2000), Rule.RATIO_TIMES_READY, 6, 2.0),
    "Value below": Total(OBJECT, value(500), Rule.RATIO_TIMES_READY, 2, 0.5),
    "Value, all pods unready": Total(OBJECT, value(9000), Rule.RATIO_TIMES_READY, 0, 9.0, listed=UNREADY),
    "Value, pods being deleted count": Total(
        OBJECT, value(2000), Rule.RATIO_TIMES_READY, 6, 2.0, listed=pods(3, deleted=True)
    ),
    "Value compares with R, not S": Total(OBJECT, value(1000), Rule.WITHIN_TOLERANCE, 3, 1.0, status_replicas=7),
    "External Value sums all series": Total(
        EXTERNAL, series(500, 500, 1000), Rule.RATIO_TIMES_READY, 6, 2.0, reported=2000
    ),
    "External Value, negative series": Total(
        EXTERNAL, series(-500, 2500), Rule.RATIO_TIMES_READY, 6, 2.0, reported=2000
    ),
    "Value from zero ignores tolerance": Total(OBJECT, value(1001), Rule.RATIO_FROM_ZERO, 2, 1.001, 0, listed=()),
    "Value from zero at target": Total(OBJECT, value(1000), Rule.RATIO_FROM_ZERO, 1, 1.0, 0, listed=()),
    "Value from zero with 0": Total(OBJECT, value(0), Rule.RATIO_FROM_ZERO, 0, 0.0, 0, listed=()),
    "External Value from zero is capped": Total(
        external_metric(value_milli=1), series(INT64_MAX), Rule.RATIO_FROM_ZERO, REPLICAS_MAX, None, 0, listed=()
    ),
    "Value target 0": Total(object_metric(value_milli=0), value(1), Rule.RATIO_TIMES_READY, REPLICAS_MAX, math.inf),
    # §7.4.
    "average within tolerance: S": Total(
        OBJECT_EACH, value(5000), Rule.WITHIN_TOLERANCE, 5, 1.0, status_replicas=5, reported=1000
    ),
    "average needs no pods": Total(OBJECT_EACH, value(6000), Rule.USAGE_PER_REPLICA, 6, 2.0, listed=(), reported=2000),
    "average above": Total(OBJECT_EACH, value(6001), Rule.USAGE_PER_REPLICA, 7, reported=2001),
    "average below": Total(OBJECT_EACH, value(1001), Rule.USAGE_PER_REPLICA, 2, reported=334),
    "External average sums all series": Total(
        EXTERNAL_EACH, series(3000, 3000), Rule.USAGE_PER_REPLICA, 6, 2.0, reported=2000
    ),
    "External Value saturates on overflow": Total(
        EXTERNAL, series(INT64_MAX, 1), Rule.RATIO_TIMES_READY, REPLICAS_MAX, reported=INT64_MAX
    ),
    "External Value saturates on negative overflow": Total(
        EXTERNAL, series(INT64_MIN, INT64_MIN), Rule.RATIO_TIMES_READY, -REPLICAS_MAX, reported=INT64_MIN
    ),
    "External Value stays saturated whatever follows": Total(
        EXTERNAL, series(INT64_MAX, 1, -INT64_MAX), Rule.RATIO_TIMES_READY, REPLICAS_MAX, reported=INT64_MAX
    ),
    "External Value goes on from the largest sum": Total(
        EXTERNAL, series(INT64_MAX, 2000 - INT64_MAX), Rule.RATIO_TIMES_READY, 6, 2.0, reported=2000
    ),
    "External Value goes on from the smallest sum": Total(
        EXTERNAL, series(INT64_MIN, INT64_MAX, 2001), Rule.RATIO_TIMES_READY, 6, 2.0, reported=2000
    ),
    "External average saturates when the sum turns negative": Total(
        EXTERNAL_EACH, series(-1, 5000), Rule.USAGE_PER_REPLICA, REPLICAS_MAX, reported=INT64_MAX
    ),
    "External average saturates on overflow": Total(
        EXTERNAL_EACH, series(INT64_MAX, 1), Rule.USAGE_PER_REPLICA, REPLICAS_MAX, reported=INT64_MAX
    ),
    "External average goes on from the largest sum": Total(
        EXTERNAL_EACH, series(INT64_MAX, 6000 - INT64_MAX), Rule.USAGE_PER_REPLICA, 6, 2.0, reported=2000
    ),
    "External average goes on from a sum of 0": Total(
        EXTERNAL_EACH, series(0, 500, -500, 6000), Rule.USAGE_PER_REPLICA, 6, 2.0, reported=2000
    ),
    "Object average is capped and reported divided": Total(
        object_metric(average_milli=1),
        value(INT64_MAX),
        Rule.USAGE_PER_REPLICA,
        REPLICAS_MAX,
        reported=3_074_457_345_618_258_432,
    ),
    "S = 0 with usage": Total(OBJECT_EACH, value(1500), Rule.USAGE_PER_REPLICA, 2, math.inf, status_replicas=0),
    "S = 0 without usage": Total(OBJECT_EACH, value(0), Rule.USAGE_PER_REPLICA, 0, status_replicas=0),
    "negative average rounds up": Total(OBJECT_EACH, value(-1000), Rule.USAGE_PER_REPLICA, -1, reported=-333),
}


@pytest.mark.parametrize("case", TOTALS.values(), ids=TOTALS)
def test_total_rule(case: Total) -> None:
    result = proposal(
        case.metric,
        case.reading,
        replicas=case.replicas,
        status_replicas=case.status_replicas,
        listed=case.listed,
    )
    working = result.working
    assert isinstance(working, TotalWorking)
    assert (result.replicas, working.rule) == (case.proposed, case.rule)
    if case.ratio is not None:
        assert working.ratio == case.ratio
    status_replicas = case.replicas if case.status_replicas is None else case.status_replicas
    assert working.replicas == (status_replicas if result.status.value is None else None)
    assert (working.pods_ready is not None) is (working.rule is Rule.RATIO_TIMES_READY)
    if case.reported is not None:
        reported = result.status.average_value if result.status.value is None else result.status.value
        # Equal as quantities: the milli-units of one would be saturated, and hide a sum that was not.
        assert reported == of_milli(case.reported)


def test_an_average_over_no_replicas_is_reported_always_the_same() -> None:
    """§7.4: so that a parked target causes no status writes."""
    reported = {
        proposal(metric, reading, replicas=0, status_replicas=0, listed=()).status.average_value
        for metric, reading in (
            (OBJECT_EACH, value(0)),
            (OBJECT_EACH, value(1)),
            (EXTERNAL_EACH, series(0)),
            (EXTERNAL_EACH, series(7, 8)),
        )
    }
    assert reported == {of_milli(0)}


def test_every_rule_is_in_a_table() -> None:
    assert {case.rule for case in PER_POD.values()} | {case.rule for case in TOTALS.values()} == set(Rule)


NO_PODS = "the selector of the target matches no pods"
NO_USABLE = "did not receive metrics for targeted pods (pods might be unready)"
NO_KNOWN = "no metrics returned matched known pods"

FAILURES: dict[str, tuple[MetricSpec, Reading, tuple[Pod, ...], str]] = {
    "no pods": (T, samples(100), (), NO_PODS),
    "no pods, utilization": (CPU_50, usage(100), (), f"failed to get cpu utilization: {NO_PODS}"),
    "no pods, usage": (cpu(average_milli=1), usage(100), (), f"failed to get cpu usage: {NO_PODS}"),
    "no pods to count": (OBJECT, value(5000), (), f"unable to count the ready pods: {NO_PODS}"),
    "no pods to count, External": (EXTERNAL, series(5000), (), f"unable to count the ready pods: {NO_PODS}"),
    "all samples are of unready pods": (T, samples(None, None, 5), TWO_AND_A_PENDING, NO_USABLE),
    "all samples are of failed pods": (T, samples(5), pods(1, phase="Failed"), NO_USABLE),
    "no item is usable": (CPU_50, usage(5, resource="memory"), pods(1), f"failed to get cpu utilization: {NO_USABLE}"),
    "all samples are of failed pods, container": (
        container_metric("app", 50),
        usage(5),
        pods(1, phase="Failed"),
        f"failed to get cpu utilization: {NO_USABLE}",
    ),
    "all requests are 0": (
        CPU_50,
        usage(5),
        pods(1, requests=requests(container("app", {"cpu": 0}))),
        f"failed to get cpu utilization: {NO_KNOWN}",
    ),
    "requests are looked at after samples": (
        CPU_50,
        usage(5, resource="memory"),
        pods(1, requests=requests(container("app", {}))),
        f"failed to get cpu utilization: {NO_USABLE}",
    ),
    "requests of failed pods count, too": (
        CPU_50,
        usage(5),
        (*pods(1), *pods(1, first=1, phase="Failed", requests=requests(container("app", {})))),
        "failed to get cpu utilization: missing request for cpu in container app of Pod web-1",
    ),
}


@pytest.mark.parametrize(("metric", "reading", "listed", "error"), FAILURES.values(), ids=FAILURES)
def test_failure(metric: MetricSpec, reading: Reading, listed: tuple[Pod, ...], error: str) -> None:
    result = failure(metric, reading, listed=listed)
    assert result.error == error
    # How pods had been grouped is told with the failure, wherever there were any to group.
    assert (result.grouping is None) is error.endswith(NO_PODS)


def test_average_targets_never_look_at_requests() -> None:
    """§9.4."""
    bare = pods(3, requests=requests(container("app", {})))
    assert proposal(cpu(average_milli=100), usage(200, 200, 200), listed=bare).replicas == 6
