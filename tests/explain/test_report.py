"""A sync in words: the sentence, each metric's arithmetic, the pods, the limits and the cost."""

import msgspec
import pytest
from hypothesis import given

from controller.decide.decision import conclude
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import ReadFailure, ResourceReading, ScaleFailure
from controller.decide.result import Write, WriteFailed, Written
from controller.decide.spec import MetricSpec
from controller.explain.changes import Moment
from controller.explain.report import explained
from controller.explain.sections import Explained
from controller.explain.wording import amount, amounts, duration
from tests.builders import (
    behavior,
    by_percent,
    by_pods,
    condition,
    cpu,
    event,
    external_metric,
    history,
    hpa,
    now,
    object_metric,
    observation,
    pod,
    pods,
    pods_metric,
    resource_metric,
    rules,
    samples,
    scale,
    series,
    settings,
    status,
    usage,
    value,
)
from tests.decide.strategies import World, profile, wild_worlds

PAST = history((3, -15))


def test_a_rescale_says_which_metric_asked_and_what_limited_it() -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(1600, 1600, 1600)), PAST, now())
    report = explained(moment, Written())
    assert report.summary == (
        "Scaled from 3 to 6 replicas: average CPU is 160 %, target 60 %, which asks for 8; "
        "the scale-up rate limit allows 6 for now."
    )
    [metric] = report.metrics
    assert metric.arithmetic == (
        "3 pods use 4.8 of 3 requested = 160 %; target 60 %: ratio 2.667",
        "ratio 2.667 × 3 ready pods = 8, rounded up → 8",
    )
    assert metric.binds
    assert metric.ages_s == (0.0, 0.0)
    assert report.windows == (
        "scale-down window 5 min: no recommendation above 8 in it",
        "without behavior at most twice the replicas or 4 at once: up to 6",
        "minReplicas 1, maxReplicas 10: 8 becomes 6 (ScaleUpLimit)",
    )
    assert report.requests.scale_writes == 1
    assert report.requests.metrics == 1


def test_a_window_is_named_with_the_recommendation_that_holds() -> None:
    past = history((9, -290), (4, -15))
    moment = Moment(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), past, now())
    assert explained(moment, None).summary == (
        "Left at 9 replicas: average CPU is 30 %, target 60 %, which asks for 5; held at 9 by the 5 min scale-down "
        "window until 12:00:10Z because of a recommendation of 9 at 11:55:10Z."
    )


def test_a_window_for_scaling_up_is_told_with_its_own_length() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(9), window_s=60)))
    moment = Moment(asked, observation(scale(3), usage(1600, 1600, 1600)), history((3, -20)), now())
    assert explained(moment, None).summary.endswith(
        "held at 3 by the 1 min scale-up window until 12:00:40Z because of a recommendation of 3 at 11:59:40Z."
    )


def test_without_behavior_a_recommendation_counts_at_the_very_end_of_the_window() -> None:
    """§10.1"""
    moment = Moment(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), history((9, -300)), now())
    report = explained(moment, None, search=False)
    assert "until 12:00:00Z because of a recommendation of 9 at 11:55:00Z" in report.summary
    assert report.windows[0] == (
        "scale-down window 5 min: highest recommendation 9 at 11:55:00Z, counts until 12:00:00Z"
    )


def test_of_recommendations_that_are_alike_the_last_one_holds() -> None:
    past = history(*((9, -300 + 15 * number) for number in range(20)))
    moment = Moment(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), past, now())
    report = explained(moment, None)
    assert "until 12:04:45Z because of a recommendation of 9 at 11:59:45Z" in report.summary
    assert "scale-down window 5 min: highest recommendation 9 at 11:59:45Z, counts until 12:04:45Z" in report.windows
    assert report.alternatives[0].says == "4 fewer replicas (9 → 5) from 12:04:46Z on, if nothing else changes"


def test_with_behavior_whatever_keeps_the_count_holds_not_only_the_highest() -> None:
    asked = hpa(cpu(60), behavior=behavior(down=rules(by_percent(100, 15), window_s=300)))
    moment = Moment(asked, observation(scale(10), usage(*[150] * 10)), history((30, -290), (12, -20)), now())
    report = explained(moment, None)
    assert "held at 10" in report.summary
    assert "until 12:04:40Z because of a recommendation of 12 at 11:59:40Z" in report.summary
    assert "scale-down window 5 min: highest recommendation 30 at 11:55:10Z, counts until 12:00:10Z" in report.windows


def test_where_nothing_was_to_be_written_all_steps_are_told() -> None:
    past = history((9, -290), (7, -200), (4, -15))
    moment = Moment(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), past, now())
    assert [one.says[:9] for one in explained(moment, None).alternatives[:2]] == ["2 fewer r", "then 2 fe"]
    assert not any(one.says.startswith("then") for one in explained(moment, None, "frozen").alternatives)


def test_what_the_first_sync_has_found_lets_go_at_a_time_that_is_told() -> None:
    moment = Moment(hpa(cpu(60), replicas_max=9), observation(scale(9), usage(*[300] * 9)), History(), now())
    assert explained(moment, None).alternatives[0].says == (
        "4 fewer replicas (9 → 5) from 12:05:01Z on, if nothing else changes"
    )


def test_a_long_window_is_told_to_its_end() -> None:
    asked = hpa(cpu(60), behavior=behavior(down=rules(by_percent(100, 15), window_s=1800)))
    past = history(*((9, -1785 + 15 * number) for number in range(119)))
    report = explained(Moment(asked, observation(scale(9), usage(*[300] * 9)), past, now()), None)
    assert report.alternatives_complete
    assert report.alternatives[0].says == "4 fewer replicas (9 → 5) from 12:29:45Z on, if nothing else changes"


def test_a_direction_that_is_disabled_is_not_a_limit_that_passes() -> None:
    asked = hpa(cpu(60), behavior=behavior(down=rules(by_percent(100, 15), select="Disabled")))
    moment = Moment(asked, observation(scale(9), usage(*[300] * 9)), history((5, -15)), now())
    assert "selectPolicy Disabled of scaleDown keeps it at 9" in explained(moment, None).summary


def test_what_is_within_tolerance_of_the_count_says_no_more() -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(600, 600, 600)), PAST, now())
    report = explained(moment, None)
    assert report.summary == "Left at 3 replicas: average CPU is 60 %, target 60 %, which is within tolerance."
    assert (report.alternatives_complete, report.notes) == (True, ())
    unsearched = explained(moment, None, search=False)
    assert (unsearched.alternatives, unsearched.alternatives_complete, unsearched.notes) == ((), False, ())


def test_a_search_that_was_cut_short_is_noted() -> None:
    many = hpa(*(pods_metric(10**9, name=f"m{number}") for number in range(8)), replicas_max=9000)
    seen = observation(scale(2000), *[samples(*[10**9] * 2000)] * 8, pods=pods(2000))
    report = explained(Moment(many, seen, History(), now()), None)
    assert not report.alternatives_complete
    assert [note.partition(":")[0] for note in report.notes] == [
        "not everything that might change the outcome was tried"
    ]


def test_what_is_within_tolerance_of_another_count_says_of_which() -> None:
    asked = hpa(external_metric(average_milli=20_000), settings=settings(downscale_stabilization_s=0))
    moment = Moment(asked, observation(scale(10, status=8), series(160_000), pods=()), history((8, -15)), now())
    assert "which is within tolerance for the 8 of its status" in explained(moment, Written()).summary


def test_who_set_zero_replicas_is_not_guessed() -> None:
    queue, marked = external_metric(average_milli=1000), status(condition("ScaledToZero"))
    on, off = settings(scale_to_zero=True), settings()
    for asked, stored, words in (
        (hpa(queue, replicas_min=0, settings=on), status(), "without the condition ScaledToZero, which pauses it"),
        (hpa(queue, replicas_min=0, settings=off), status(), "the gate HPAScaleToZero is off here"),
        (hpa(cpu(60), replicas_min=0, settings=on), marked, "no metric of an object, and no external one"),
        (hpa(cpu(60)), status(), "without the condition ScaledToZero, which pauses it"),
        (hpa(queue, settings=off), marked, "the gate HPAScaleToZero is off here"),
        (hpa(queue, settings=on), status(condition("ScaledToZero", "False")), "without the condition ScaledToZero"),
    ):
        moment = Moment(asked, observation(scale(0), status=stored, pods=()), PAST, now())
        assert words in explained(moment, None).summary


def test_what_makes_it_one_more_is_shown_however_little_it_is() -> None:
    strict = hpa(cpu(100), replicas_max=200, settings=settings(tolerance=0.05))
    moment = Moment(strict, observation(scale(100), usage(*[1100] * 100)), history((100, -15)), now())
    [metric] = explained(moment, Written()).metrics
    assert metric.arithmetic[-1] == "ratio 1.1 × 100 ready pods = 110.00000000000001, rounded up → 111"


def test_times_are_those_of_the_second_that_they_fall_into() -> None:
    """A sync is told with the second that it is in, too: a recommendation must not look later than its sync."""
    moment = Moment(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), history((9, -14.6), (4, -15)), now(0.9))
    report = explained(moment, None)
    assert "until 12:04:45Z because of a recommendation of 9 at 11:59:45Z" in report.summary
    assert "4 fewer replicas (9 → 5) from 12:04:46Z on" in report.alternatives[0].says, "never too early"


def test_the_first_sync_holds_what_it_has_found() -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), History(), now())
    assert explained(moment, None).summary.endswith(
        "held at 9 by the 5 min scale-down window until 12:05:00Z because it was at 9 when this controller first "
        "looked."
    )


def test_pods_that_do_not_count_are_named_with_the_reason_and_the_assumption() -> None:
    listed = (
        pod("web-0"),
        pod("web-1"),
        pod("web-2", phase="Failed"),
        pod("web-3", started_s=-30, ready="False"),
        pod("web-4"),
    )
    moment = Moment(hpa(cpu(60)), observation(scale(5), usage(900, 900, 900, 900), pods=listed), PAST, now())
    report = explained(moment, None)
    assert "average CPU is 90 % (45 % with assumptions about the pods that do not count)" in report.summary
    [metric] = report.metrics
    assert metric.pods_used == 2
    assert [(one.name, one.group, one.why, one.assumed) for one in metric.pods] == [
        ("web-4", "missing", "there is no metric for it", "counted as 0"),
        ("web-3", "unready", "it is not ready within its CPU initialization period", "counted as 0"),
        ("web-2", "ignored", "it has failed", ""),
    ]
    assert metric.arithmetic[1] == "with assumptions 4 pods use 1.8 of 4 requested = 45 %: ratio 0.75"


def test_with_assumptions_all_pods_that_were_counted_are_multiplied() -> None:
    listed = (pod("web-0"), pod("web-1"), pod("web-2", started_s=-30, ready="False"))
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(1900, 1900, 1900), pods=listed), PAST, now())
    [metric] = explained(moment, None, search=False).metrics
    assert metric.arithmetic == (
        "2 pods use 3.8 of 2 requested = 190 %; target 60 %: ratio 3.167",
        "with assumptions 3 pods use 3.8 of 3 requested = 126 %: ratio 2.1",
        "ratio 2.1 × 3 counted pods = 6.3, rounded up → 7",
    )


def test_policies_are_named_with_the_rescales_that_used_them_up() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(2), by_percent(10, 120), select="Min")))
    spent = history((3, -15), ups=(event(1, -45),))
    moment = Moment(asked, observation(scale(3), usage(1600, 1600, 1600)), spent, now())
    assert explained(moment, None).windows[2:] == (
        "policy 2 pods per 1 min: from 2 at the period's start to 4 (+1 at 11:59:15Z counts until 12:00:15Z)",
        "policy 10 % per 2 min: from 2 at the period's start to 3 (+1 at 11:59:15Z counts until 12:01:15Z)",
        "selectPolicy Min: the rate limit is 3",
        "minReplicas 1, maxReplicas 10: 8 becomes 3 (ScaleUpLimit)",
    )


def test_a_rescale_that_is_a_whole_period_old_uses_nothing_up() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(2))))
    moment = Moment(
        asked, observation(scale(3), usage(1600, 1600, 1600)), history((3, -15), ups=(event(1, -60),)), now()
    )
    assert "policy 2 pods per 1 min: from 3 at the period's start to 5" in explained(moment, None).windows


def test_the_metric_that_binds_is_the_one_whose_name_was_gone_on_with() -> None:
    """§6.1: of several that ask for nothing it is the last one."""
    asked = hpa(
        external_metric(average_milli=1000, name="mail"),
        external_metric(average_milli=1000, name="jobs"),
        replicas_min=0,
        settings=settings(scale_to_zero=True),
    )
    moment = Moment(asked, observation(scale(1), series(0), series(0)), history((0, -15)), now())
    report = explained(moment, None, search=False)
    assert [(one.name, one.binds) for one in report.metrics] == [("external mail", False), ("external jobs", True)]
    assert "external jobs is 0, target 1, which asks for 0" in report.summary


@pytest.mark.parametrize(
    ("metric", "target"), [(external_metric(average_milli=1000), "3"), (external_metric(value_milli=1000), "1")]
)
def test_a_total_is_held_against_what_all_replicas_may_have(metric: MetricSpec, target: str) -> None:
    moment = Moment(hpa(metric), observation(scale(3), series(3100)), history((3, -15)), now())
    [told] = explained(moment, None, search=False).metrics
    assert (told.current, told.target) == ("3.1", target)


def test_what_is_lifted_from_zero_is_said_in_the_sentence_and_after_the_bounds() -> None:
    asked = hpa(
        external_metric(average_milli=1000),
        replicas_min=2,
        behavior=behavior(up=rules(by_percent(100))),
        settings=settings(scale_to_zero=True),
    )
    seen = observation(scale(0), series(5000), status=status(condition("ScaledToZero")))
    report = explained(Moment(asked, seen, history((5, -15)), now()), None, search=False)
    assert report.summary.endswith("the scale-up rate limit allows 0 for now; lifted from zero to minReplicas 2.")
    assert report.windows[-1] == "lifted from zero to minReplicas 2"


def test_one_of_something_is_told_in_the_singular_and_two_numbers_in_one_unit() -> None:
    asked = hpa(cpu(60), pods_metric(1000), behavior=behavior(up=rules(by_pods(1, 6))))
    seen = observation(scale(1), usage(745), samples(2000))
    report = explained(Moment(asked, seen, history((1, -15)), now()), None, search=False)
    assert report.metrics[0].arithmetic[0] == ("1 pod uses 745m of 1000m requested = 74 %; target 60 %: ratio 1.233")
    assert report.metrics[1].arithmetic[0].startswith("1 pod has 2, 2 on average")
    assert report.windows[2] == "policy 1 pod per 6 s: from 1 at the period's start to 2"


def test_of_no_replicas_there_is_no_ratio() -> None:
    asked = hpa(external_metric(average_milli=30_000), replicas_min=0, settings=settings(scale_to_zero=True))
    seen = observation(scale(0), series(0), status=status(condition("ScaledToZero")))
    [metric] = explained(Moment(asked, seen, PAST, now()), None).metrics
    assert (metric.ratio, metric.arithmetic[0]) == (None, "0; target 30 for each of 0")


def test_what_failed_is_said() -> None:
    asked = hpa(cpu(60), external_metric(average_milli=1000))
    seen = observation(scale(8), ReadFailure("it is down"), series())
    report = explained(Moment(asked, seen, PAST, now()), None)
    assert report.summary.startswith(
        "Left at 8 replicas: failing metrics forbid a decision: invalid metrics (2 invalid"
    )
    assert "it is down" in report.metrics[0].error
    assert report.metrics[1].replicas is None
    gone = Moment(asked, observation(ScaleFailure("no such target")), PAST, now())
    assert explained(gone, None).summary.startswith("Nothing was decided: the scale of the target cannot be read: ")
    assert "no such target" in explained(gone, None).summary


def test_a_metric_that_fails_keeps_the_others_from_scaling_down() -> None:
    """§6.1: of that no number in the status tells."""
    asked = hpa(cpu(60), external_metric(average_milli=1000))
    seen = observation(scale(8), usage(*[300] * 8), ReadFailure("it is down"))
    report = explained(Moment(asked, seen, PAST, now()), None)
    assert report.summary.startswith(
        "Left at 8 replicas: CPU asks for 4, but nothing is scaled down while a metric fails; external backlog failed: "
    )
    assert report.summary.endswith("it is down.")
    more = observation(scale(3), usage(*[1600] * 3), ReadFailure("it is down"))
    assert explained(Moment(asked, more, PAST, now()), Written()).summary == (
        "Scaled from 3 to 6 replicas: average CPU is 160 %, target 60 %, which asks for 8; external backlog failed: "
        "unable to get external metric backlog with selector nil: external metrics API: it is down; the scale-up rate "
        "limit allows 6 for now."
    )


def test_what_withholds_after_the_scale_was_written_keeps_the_status_and_what_follows_it() -> None:
    rescaling = Moment(hpa(cpu(60)), observation(scale(3), usage(1600, 1600, 1600)), history((3, -15)), now())
    written = explained(rescaling, Written(), "another controller writes it", search=False).requests
    assert (written.scale_writes, written.status_writes, written.events) == (1, 0, 1)


def test_what_was_not_written_is_said() -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(1600, 1600, 1600)), PAST, now())
    assert explained(moment, None, "another controller writes it").summary.startswith("Would be scaled from 3 to 6")
    assert explained(moment, WriteFailed("409 again")).summary.startswith(
        "Could not be scaled from 3 to 6 replicas (409 again)"
    )
    assert explained(moment, None).summary.startswith("To be scaled from 3 to 6 replicas, but nothing was written: ")
    shadowed = explained(moment, None, "another controller writes it").requests
    assert (shadowed.scale_writes, shadowed.status_writes, shadowed.events) == (0, 0, 0)


@pytest.mark.parametrize(
    ("write", "not_written", "said"),
    [
        (Written(), "", ["2 more replicas (6 → 8) at the next sync, if nothing else changes"]),
        (
            Written(),
            "another controller writes it",
            ["2 more replicas (6 → 8) at the next sync, if nothing else changes"],
        ),
        (WriteFailed("409 again"), "", []),
        (None, "it runs with --shadow", []),
        (None, "", []),
    ],
)
def test_only_from_what_was_written_the_next_sync_goes_on(
    write: Write | None, not_written: str, said: list[str]
) -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(1600, 1600, 1600)), PAST, now())
    found = [one.says for one in explained(moment, write, not_written).alternatives]
    assert [says for says in found if "next sync" in says] == said


def test_metrics_of_the_same_pods_cost_one_question() -> None:
    asked = hpa(cpu(60), resource_metric("memory", 50), external_metric(average_milli=1000))
    reading = usage(600, 600, 600)
    moment = Moment(asked, observation(scale(3), reading, reading, series(3000)), PAST, now())
    assert explained(moment, None, search=False).requests.metrics == 2


def test_metrics_of_different_objects_cost_a_question_each() -> None:
    asked = hpa(object_metric(value_milli=1000), object_metric(value_milli=1000, described=("Service", "back")))
    moment = Moment(asked, observation(scale(3), value(1000), value(1000)), PAST, now())
    assert explained(moment, None, search=False).requests.metrics == 2


def test_events_that_follow_the_status_are_counted_too() -> None:
    """Of a metric that fails there is one before it, and one after."""
    moment = Moment(hpa(cpu(60)), observation(scale(8), ReadFailure("it is down")), PAST, now())
    assert explained(moment, None, search=False).requests.events == 2
    frozen = explained(moment, None, "it is frozen", search=False).requests
    assert (frozen.status_writes, frozen.events) == (0, 0)


def test_a_status_that_stays_as_it_is_costs_nothing() -> None:
    """§14.4"""
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(600, 600, 600)), PAST, now())
    assert explained(moment, None, search=False).requests.status_writes == 1
    stored = conclude(moment.autoscaler, status(), moment.decided(), None, moment.now).status
    again = msgspec.structs.replace(moment, observation=msgspec.structs.replace(moment.observation, status=stored))
    assert explained(again, None, search=False).requests.status_writes == 0


def test_what_was_done_is_told_even_where_another_controller_has_come_in_between() -> None:
    moment = Moment(hpa(cpu(60)), observation(scale(3), usage(1600, 1600, 1600)), PAST, now())
    requests = explained(moment, Written(), "another controller writes it", search=False).requests
    assert (requests.scale_writes, requests.events) == (1, 1)


@profile(100)
@given(wild_worlds())
def test_anything_can_be_explained_and_encoded(world: World) -> None:
    report = explained(Moment(world.autoscaler, world.observation, world.history, now()), None, search=False)
    assert report.summary.endswith(".")
    encoded = msgspec.json.encode(report)
    assert msgspec.json.decode(encoded, type=Explained).summary == report.summary


def test_where_a_metric_came_from_and_what_was_too_old_is_told() -> None:
    old = "its sample is 5m0s old, and --max-sample-age is 2m0s"
    reading = msgspec.structs.replace(
        samples(20_000, 20_000), origin="prometheus", undated=("web-0",), left_out={"web-2": old}
    )
    moment = Moment(hpa(pods_metric(10_000)), observation(scale(3), reading), PAST, now(30))
    [told] = explained(moment, None).metrics
    assert told.origin == "prometheus"
    assert told.ages_s == (30.0, 30.0), "the time of the one that is not dated says nothing"
    assert [(one.name, one.group, one.why) for one in told.pods] == [("web-2", "missing", old)]


def test_why_a_pod_is_ignored_goes_before_why_its_sample_was_left_out() -> None:
    reading = msgspec.structs.replace(samples(20_000, 20_000), left_out={"web-2": "its sample is 5m0s old"})
    listed = (pod("web-0"), pod("web-1"), pod("web-2", phase="Failed"))
    moment = Moment(hpa(pods_metric(10_000)), observation(scale(3), reading, pods=listed), PAST, now())
    [told] = explained(moment, None, search=False).metrics
    assert [(one.name, one.group, one.why) for one in told.pods] == [("web-2", "ignored", "it has failed")]


def test_ages_are_those_of_the_youngest_and_the_oldest_sample() -> None:
    reading = ResourceReading((*usage(600, 600, at_s=-10).items, *usage(600, at_s=-40).items))
    moment = Moment(hpa(cpu(60)), observation(scale(3), reading), PAST, now())
    [told] = explained(moment, None, search=False).metrics
    assert told.ages_s == (10.0, 40.0)


@pytest.mark.parametrize(
    ("milli", "resource", "said"),
    [
        (-1500, "", "-1.5"),
        (33_001, "", "33.001"),
        (-1, "", "-0.001"),
        (0, "", "0"),
        (250, "cpu", "250m"),
        (-1500, "cpu", "-1.5"),
        (1000, "cpu", "1"),
        (0, "cpu", "0"),
        (-1536 * 1024**2 * 1000, "memory", "-1.5Gi"),
        (1024 * 1000, "memory", "1Ki"),
        (1536 * 1024**2 * 1000, "memory", "1.5Gi"),
        (3 * 1024**4 * 1000, "memory", "3Ti"),
        (4 * 1024**2 * 1000, "hugepages-2Mi", "4Mi"),
    ],
)
def test_amounts_are_told_in_the_unit_that_people_read(milli: int, resource: str, said: str) -> None:
    assert amount(milli, resource) == said


@pytest.mark.parametrize(
    ("one_milli", "other_milli", "resource", "said"),
    [
        (745, 1000, "cpu", ("745m", "1000m")),
        (2000, 5, "cpu", ("2000m", "5m")),
        (0, 3000, "cpu", ("0", "3")),
        (1000, 3000, "cpu", ("1", "3")),
        (500, 1024 * 1000, "memory", ("0.5", "1Ki")),
    ],
)
def test_two_amounts_are_told_in_the_smaller_unit(
    one_milli: int, other_milli: int, resource: str, said: tuple[str, str]
) -> None:
    assert amounts(one_milli, other_milli, resource) == said


@pytest.mark.parametrize(
    ("duration_s", "said"),
    [
        (0, "0 s"),
        (0.4, "0.4 s"),
        (-0.4, "-0.4 s"),
        (9.5, "9.5 s"),
        (10, "10 s"),
        (10.4, "10 s"),
        (12.5, "12 s"),
        (59.6, "1 min"),
        (150, "2 min 30 s"),
        (-150, "-2 min 30 s"),
        (3903, "1 h 5 min"),
    ],
)
def test_durations_have_two_units_at_most(duration_s: float, said: str) -> None:
    assert duration(round(duration_s * NANOSECONDS)) == said


def test_a_metric_whose_age_nobody_knows_has_none() -> None:
    reading = msgspec.structs.replace(series(3000), timestamp_ns=None)
    moment = Moment(hpa(external_metric(average_milli=1000)), observation(scale(3), reading), PAST, now())
    [told] = explained(moment, None).metrics
    assert (told.ages_s, told.origin) == (None, "")
