"""Whether another controller decided as ours would have: what its status tells, held against what ours saw."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from controller.decide import quantity
from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import Observation, Reading
from controller.decide.result import Written
from controller.decide.spec import Autoscaler
from controller.decide.status import Status
from controller.judgement import Candidate, Judgement, alike, differing, judge, memory_ns, still
from tests.builders import (
    behavior,
    by_pods,
    condition,
    cpu,
    external_metric,
    history,
    hpa,
    now,
    observation,
    pods,
    rules,
    samples,
    scale,
    series,
    settings,
    status,
    usage,
    value,
)

SLACK_S = 15
BEFORE = status(current=2, desired=2)
WEB = hpa(cpu(average_milli=100), replicas_max=100)
REST = history((2, -15))


def look(
    *milli: int, at_s: float = 0, past: History = REST, replicas: int = 2, autoscaler: Autoscaler = WEB
) -> Candidate:
    """Ours before two pods that use so much; `replicas` is what the other has written meanwhile."""
    seen = observation(scale(replicas, status=2), usage(*(milli or (100, 100))), pods=pods(2))
    return Candidate(autoscaler, seen, past, now(at_s))


def written(by: Candidate) -> Status:
    """The status that another controller writes which sees and remembers that."""
    decision = decide(by.autoscaler, replace(by.observation, status=BEFORE), by.history, by.now)
    return conclude(by.autoscaler, BEFORE, decision, Written() if decision.rescales else None, by.now).status


def judged(after: Status, *candidates: Candidate, remembered: bool = True, bracketed: bool = True) -> Judgement:
    slack_ns = SLACK_S * NANOSECONDS
    return judge(BEFORE, after, candidates, slack_ns=slack_ns, remembered=remembered, bracketed=bracketed)


def test_a_rescale_that_ours_would_have_made_agrees_although_the_count_is_another_by_now() -> None:
    after = written(look(200, 200))
    assert (after.replicas_current, after.replicas_desired) == (2, 4)
    assert judged(after, look(200, 200), look(200, 200, replicas=4)) == Judgement("agree")
    assert judged(after, look(200, 200, replicas=4)) == Judgement("agree")


@pytest.mark.parametrize("seen_at", [0, 1, 2])
def test_it_agrees_if_any_look_around_the_write_saw_what_it_saw(seen_at: int) -> None:
    looks = [look(150, 150), look(150, 150), look(150, 150)]
    looks[seen_at] = look(200, 200)
    assert judged(written(look(200, 200)), *looks).kind == "agree"


@pytest.mark.parametrize(("recommended_s", "theirs_s"), [(-295, 15), (-305, -15)], ids=["ahead", "behind"])
def test_clocks_may_tick_a_period_apart(recommended_s: float, theirs_s: float) -> None:
    """At the edge of a window one of them remembers what the other has forgotten."""
    past = history((9, recommended_s))
    after = written(look(50, 50, at_s=theirs_s, past=past))
    assert after.replicas_desired != written(look(50, 50, past=past)).replicas_desired
    assert judged(after, look(50, 50, past=past), look(50, 50, past=past)).kind == "agree"
    assert judged(written(look(50, 50, at_s=2.1 * theirs_s, past=past)), look(50, 50, past=past)).kind == "agree"


def test_another_outcome_on_the_same_grounds_is_logic_with_the_fields_that_differ() -> None:
    after = replace(written(look()), replicas_desired=3)
    judgement = judged(after, look(), look())
    assert judgement.kind == "logic"
    assert [(field.name, field.theirs, field.ours) for field in judgement.fields] == [("desiredReplicas", "3", "2")]


def test_what_is_shown_is_the_look_that_differs_least() -> None:
    after = replace(written(look()), replicas_desired=3)
    judgement = judged(after, look(300, 300), look(), look(300, 300))
    assert [field.name for field in judgement.fields] == ["desiredReplicas"]


def test_a_write_of_the_scale_that_failed_is_not_ours_to_decide() -> None:
    failed = condition("AbleToScale", "False", reason="FailedUpdateScale")
    judgement = judged(replace(written(look(200, 200)), conditions=(failed,)), look(200, 200), look(200, 200))
    assert (judgement.kind, judgement.because) == ("input", "its write of the scale failed")


def test_what_was_not_seen_from_before_and_after_is_input() -> None:
    after = replace(written(look()), replicas_desired=3)
    judgement = judged(after, look(), look(), bracketed=False)
    assert (judgement.kind, judgement.because) == ("input", "the pods, the spec or the target changed around its write")


def seeing(change: Callable[[Observation], Observation]) -> Candidate:
    return replace(look(), observation=change(look().observation))


MOVED = {
    "spec": look(autoscaler=hpa(cpu(average_milli=100), replicas_max=99)),
    "pods": seeing(lambda seen: replace(seen, pods=pods(2, ready="False"))),
    "target": seeing(lambda seen: replace(seen, scale=replace(scale(2), uid="another"))),
    "status of the target": seeing(lambda seen: replace(seen, scale=scale(2, status=3))),
    "selector": seeing(lambda seen: replace(seen, scale=scale(2, selector="app=other"))),
    "overlapping": seeing(lambda seen: replace(seen, overlapping=("default/a", "default/web"))),
    "a pod without numbers": seeing(lambda seen: replace(seen, readings=(usage(100, None),))),
}


@pytest.mark.parametrize("moved", MOVED.values(), ids=MOVED)
def test_a_world_that_changed_around_the_write_is_input(moved: Candidate) -> None:
    after = replace(written(look()), replicas_desired=7)
    assert judged(after, look(), look()).kind == "logic"
    for looks in ((look(), moved), (moved, look())):
        judgement = judged(after, *looks)
        assert (judgement.kind, judgement.because) == (
            "input",
            "the pods, the spec or the target changed around its write",
        )
        assert not alike(*looks)
        assert not still(*looks)


def test_the_count_which_the_other_writes_changes_nothing() -> None:
    assert alike(look(), look(replicas=7))
    assert still(look(), look(replicas=7))
    after = replace(written(look()), replicas_desired=7)
    assert judged(after, look(), look(replicas=7)).kind == "logic"


def test_other_numbers_are_input_unless_nothing_moved_for_three_looks() -> None:
    after = written(look(130, 170))
    assert judged(after, look(), look()).because == "it computed from other numbers"
    assert judged(after, look(), look(), look()).kind == "logic"
    assert judged(after, look(), look(), look(110, 100)).because == "it computed from other numbers"


@pytest.mark.parametrize("order", [1, -1])
def test_its_numbers_may_be_those_of_either_look(order: int) -> None:
    after = replace(written(look(120, 120)), replicas_desired=7)
    assert judged(after, *[look(120, 120), look(140, 140)][::order]).kind == "logic"


def test_what_it_may_remember_from_before_is_input() -> None:
    judgement = judged(replace(written(look()), replicas_desired=3), look(), look(), remembered=False)
    assert judgement.kind == "input"
    assert "before we watched" in judgement.because


SAME = status(condition("AbleToScale"), current=2, desired=2, metrics=written(look()).metrics)


@pytest.mark.parametrize(
    ("theirs", "names"),
    [
        (SAME, []),
        (replace(SAME, replicas_current=3), ["currentReplicas", "currentMetrics"]),
        (replace(SAME, replicas_desired=3), ["desiredReplicas"]),
        (replace(SAME, metrics=()), ["currentMetrics"]),
        (replace(SAME, conditions=(condition("AbleToScale", "False"),)), ["conditions"]),
        (replace(SAME, conditions=(condition("AbleToScale", reason="Other"),)), ["conditions"]),
        (replace(SAME, conditions=(condition("AbleToScale", message="in other words", since_s=-5),)), []),
        (replace(SAME, last_scale_ns=5, observed_generation=7), []),
    ],
)
def test_what_two_statuses_do_not_share(theirs: Status, names: list[str]) -> None:
    assert [field.name for field in differing(theirs, SAME)] == names


@pytest.mark.parametrize(
    ("read", "other", "later"),
    [
        (usage(100, 100), usage(100, 101), usage(100, 100, at_s=30)),
        (samples(5, 6), samples(5, 7), samples(5, 6, at_s=30)),
        (value(5), value(6), value(5)),
        (series(5, 6), series(5, 7), series(5, 6)),
    ],
)
def test_numbers_that_change_are_no_standstill_when_they_were_taken_does_not_matter(
    read: Reading, other: Reading, later: Reading
) -> None:
    first, second, third = (replace(look(), observation=observation(scale(2), one)) for one in (read, other, later))
    assert alike(first, second)
    assert not still(first, second)
    assert still(first, third)


def test_series_in_another_order_are_the_same() -> None:
    one, other = (replace(look(), observation=observation(scale(2), each)) for each in (series(5, 6), series(6, 5)))
    assert still(one, other)
    assert not alike(one, replace(look(), observation=observation(scale(2), series(5, 6, 7))))


@pytest.mark.parametrize(
    ("autoscaler", "expected_s"),
    [
        (hpa(cpu(50), settings=settings(downscale_stabilization_s=77)), 77),
        (hpa(cpu(50), behavior=behavior(up=rules(by_pods(1, 60)), down=rules(by_pods(1, 60), window_s=120))), 120),
        (hpa(cpu(50), behavior=behavior(up=rules(by_pods(1, 60), window_s=90), down=rules(by_pods(1, 60)))), 90),
        (hpa(cpu(50), behavior=behavior(up=rules(by_pods(1, 600)), down=rules(by_pods(1, 60), window_s=120))), 600),
        (hpa(cpu(50), behavior=behavior(up=rules(by_pods(1, 60)), down=rules(by_pods(1, 700), window_s=120))), 700),
    ],
)
def test_a_decision_looks_back_as_far_as_its_longest_window_or_period(autoscaler: Autoscaler, expected_s: int) -> None:
    assert memory_ns(autoscaler) == expected_s * NANOSECONDS


def test_a_scale_write_that_failed_is_told_from_one_of_several_conditions() -> None:
    after = written(look(200, 200))
    failed = condition("AbleToScale", "False", reason="FailedUpdateScale")
    assert len(after.conditions) > 1
    found = judged(replace(after, conditions=(failed, *after.conditions[1:])), look(200, 200), look(200, 200))
    assert found.because == "its write of the scale failed"


QUEUE = hpa(
    external_metric(average_milli=30_000), replicas_min=0, replicas_max=9, settings=settings(scale_to_zero=True)
)
ASLEEP = status(condition("ScaledToZero"))


def asleep(items: int) -> Candidate:
    """Ours before a target without pods, which wakes up for what waits."""
    return Candidate(QUEUE, observation(scale(0), series(items * 1_000), status=ASLEEP, pods=()), history(), now())


def woken(by: Candidate) -> Status:
    decision = decide(by.autoscaler, by.observation, by.history, by.now)
    return conclude(by.autoscaler, ASLEEP, decision, Written() if decision.rescales else None, by.now).status


def judged_asleep(after: Status, *candidates: Candidate) -> Judgement:
    return judge(ASLEEP, after, candidates, slack_ns=SLACK_S * NANOSECONDS, remembered=True, bracketed=True)


def test_an_average_over_no_pods_tells_nothing_of_what_was_seen() -> None:
    after = woken(asleep(3))
    assert (after.replicas_current, after.replicas_desired, len(after.metrics)) == (0, 1, 1)
    assert judged_asleep(after, asleep(0), asleep(0)).kind == "input"
    assert judged_asleep(after, asleep(0), asleep(3)) == Judgement("agree")


def test_an_average_over_no_pods_need_not_be_the_same_nonsense() -> None:
    after = woken(asleep(0))
    [metric] = after.metrics
    assert metric.average_value is not None
    nonsense = replace(after, metrics=(replace(metric, average_value=quantity.parse("-9223372036854775808m")),))
    assert judged_asleep(nonsense, asleep(0), asleep(0)) == Judgement("agree")
