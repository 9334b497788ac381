"""What would have to change: the sentences, and that the promised outcome follows when it is decided on."""

from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import Observation, Pod, Reading, Scale, ScaleFailure
from controller.decide.result import Path, Written
from controller.decide.spec import Autoscaler, MetricSpec, ObjectMetric
from controller.explain.alternatives import Alternative, holds
from controller.explain.changes import (
    Change,
    MetricReads,
    Moment,
    PolicySelected,
    TargetHas,
    TimePasses,
    ToleranceIs,
    changed,
)
from controller.explain.search import alternatives
from tests.builders import (
    behavior,
    by_pods,
    cpu,
    event,
    external_metric,
    history,
    hpa,
    label_selector,
    now,
    object_metric,
    observation,
    pod,
    pods,
    pods_metric,
    rules,
    samples,
    scale,
    series,
    settings,
    status,
    usage,
    value,
)
from tests.decide.orderly import BEHAVIORS, HISTORIES, orderly_worlds
from tests.decide.strategies import World, profile, wild_worlds

REMEMBERED = history((3, -15))


def found(autoscaler: Autoscaler, seen: Observation, past: History = REMEMBERED) -> list[str]:
    moment = Moment(autoscaler, seen, past, now())
    return [one.says for one in alternatives(moment, moment.decided()).found]


def check(moment: Moment) -> list[Alternative]:
    """Every alternative of a moment, held against `decide` itself."""
    decision = moment.decided()
    result = alternatives(moment, decision).found
    for one in result:
        other = changed(moment, one.changes)
        decided = decide(other.autoscaler, other.observation, other.history, other.now)
        if one.desired is None:
            unmeasured = (Path.PAUSED, Path.ABOVE_MAX, Path.BELOW_MIN)
            assert decision.path in unmeasured, one
            assert decided.path not in unmeasured, one
            continue
        assert decided.desired == one.desired, one
        assert one.desired != decision.desired, one
        last = one.changes[-1]
        assert bool(one.unless) == (isinstance(last, MetricReads) or (isinstance(last, TimePasses) and last.by_ns > 0))
        assert (one.unchanged is None) == (not one.unless), one
        if one.unless:
            nearly = changed(moment, one.unless)
            short = decide(nearly.autoscaler, nearly.observation, nearly.history, nearly.now)
            assert short.desired == one.unchanged != one.desired, one
    return list(result)


# --- the sentences -------------------------------------------------------------------------------


def test_a_metric_near_its_target_says_both_edges() -> None:
    assert found(hpa(cpu(60)), observation(scale(3), usage(600, 600, 600))) == [
        "1 more replica (3 → 4) once average CPU passes 66 %",
        "1 fewer replica (3 → 2) once average CPU has been below 41 % for 5 min",
    ]


EDGES: Final[dict[str, tuple[MetricSpec, Reading, str, str, str]]] = {
    "average": (pods_metric(700), samples(700, 700, 700), "average requests per pod", "0.77", "0.467"),
    "average of a resource": (cpu(average_milli=500), usage(500, 500, 500), "average CPU", "550m", "334m"),
    "total of an object": (object_metric(value_milli=2000), value(2000), "hits of Service front", "2.2", "1.334"),
    "total for each replica": (object_metric(average_milli=2000), value(6000), "hits of Service front", "6.6", "4.001"),
    "external total": (external_metric(value_milli=2000), series(1500, 500), "external backlog", "2.2", "1.334"),
    "external total for each": (external_metric(average_milli=2000), series(6000), "external backlog", "6.6", "4.001"),
}


@pytest.mark.parametrize(("metric", "reading", "name", "over", "under"), EDGES.values(), ids=EDGES)
def test_edges_are_told_in_the_unit_of_the_metric(
    metric: MetricSpec, reading: Reading, name: str, over: str, under: str
) -> None:
    assert found(hpa(metric), observation(scale(3), reading)) == [
        f"1 more replica (3 → 4) once {name} passes {over}",
        f"1 fewer replica (3 → 2) once {name} has been below {under} for 5 min",
    ]


def test_only_one_metric_at_a_time_is_another() -> None:
    """The others stay as they are: one is enough for more, and for fewer none may ask for as many."""
    both = hpa(external_metric(average_milli=1000), cpu(60), external_metric(average_milli=500, name="mail"))
    seen = observation(scale(3), series(3000), usage(400, 400, 400), series(1000))
    assert found(both, seen) == [
        "1 more replica (3 → 4) once external backlog passes 3.3",
        "1 fewer replica (3 → 2) once external backlog has been below 2.001 for 5 min",
        "1 more replica (3 → 4) once average CPU passes 66 %",
        "1 more replica (3 → 4) once external mail passes 1.65",
    ]


def test_without_a_window_it_is_fewer_at_once() -> None:
    asked = hpa(cpu(60), settings=settings(downscale_stabilization_s=0))
    assert found(asked, observation(scale(3), usage(600, 600, 600))) == [
        "1 more replica (3 → 4) once average CPU passes 66 %",
        "1 fewer replica (3 → 2) once average CPU falls below 41 %",
    ]


def test_what_is_idle_says_how_far_it_is_from_more() -> None:
    past = history((1, -15))
    assert found(hpa(cpu(60)), observation(scale(1), usage(0)), past) == [
        "1 more replica (1 → 2) once average CPU passes 66 %"
    ]
    last = hpa(external_metric(average_milli=1000), replicas_min=0, settings=settings(scale_to_zero=True))
    assert "1 fewer replica (1 → 0) once external backlog has been below 0.001 for 5 min" in found(
        last, observation(scale(1), series(500)), past
    )


def test_an_edge_is_found_however_far_it_is() -> None:
    """The one pod that is measured has to use as much as all of them would at their target."""
    seen = observation(scale(10), usage(600), pods=pods(10))
    assert found(hpa(cpu(60), replicas_max=20), seen, history((10, -15)))[0] == (
        "2 more replicas (10 → 12) once average CPU passes 669 %"
    )


def test_a_window_says_when_it_lets_go() -> None:
    past = history((9, -290), (7, -200), (4, -15))
    assert found(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), past)[:2] == [
        "2 fewer replicas (9 → 7) from 12:00:11Z on, if nothing else changes",
        "then 2 fewer replicas (7 → 5) from 12:01:41Z on, if nothing else changes",
    ]


def test_of_recommendations_that_are_alike_the_newest_lets_go_in_whatever_order_they_are_kept() -> None:
    """A new one takes the place of an outdated one (§10.1)."""
    past = history((9, -15), (9, -290))
    assert found(hpa(cpu(60)), observation(scale(9), usage(*[300] * 9)), past)[0] == (
        "4 fewer replicas (9 → 5) from 12:04:46Z on, if nothing else changes"
    )


def test_a_pod_that_starts_counts_when_its_initialization_period_is_over() -> None:
    """§8.2: until then its sample is from before it was ready."""
    listed = (*pods(2), pod("web-2", started_s=-100, ready_since_s=-20), pod("web-3", started_s=None, phase="Pending"))
    seen = observation(scale(4), usage(1200, 1200, 1200), pods=listed)
    assert found(hpa(cpu(60)), seen, history((4, -15)))[0] == (
        "2 more replicas (4 → 6) from 12:03:20Z on, if nothing else changes"
    )


def test_later_steps_start_from_the_earlier_ones() -> None:
    """The first step down uses the policy up, so that the window's end is not enough for the second."""
    asked = hpa(cpu(60), behavior=behavior(down=rules(by_pods(2, 120), window_s=60)))
    past = history((9, -50), (4, -15))
    assert found(asked, observation(scale(9), usage(*[300] * 9)), past)[:2] == [
        "2 fewer replicas (9 → 7) from 12:00:10Z on, if nothing else changes",
        "then 2 fewer replicas (7 → 5) from 12:02:10Z on, if nothing else changes",
    ]


def test_what_this_sync_has_recommended_holds_the_next_ones() -> None:
    """Here what it recommends is above (or below) all that it remembers."""
    steady = observation(scale(9), usage(*[600] * 9))
    slow = hpa(cpu(60), behavior=behavior(down=rules(by_pods(9), window_s=60)))
    down = "1 fewer replica (9 → 8) once average CPU has been below 54 % for 1 min"
    assert down in found(slow, steady, history((5, -45), (5, -30), (5, -15)))
    careful = hpa(cpu(60), replicas_max=20, behavior=behavior(up=rules(by_pods(9), window_s=60)))
    up = "2 more replicas (9 → 11) once average CPU has been above 66 % for 1 min"
    assert up in found(careful, steady, history((12, -15)))


def test_pods_that_begin_to_count_lower_it_when_the_window_of_what_is_recommended_now_is_over() -> None:
    """Three pods are within tolerance; the idle one counts when its CPU initialization period is over."""
    listed = (*pods(3), pod("web-3", started_s=-100, ready_since_s=-20))
    seen = observation(scale(4), usage(580, 580, 580, 0, at_s=-5), pods=listed)
    assert "1 fewer replica (4 → 3) from 12:05:01Z on, if nothing else changes" in found(hpa(cpu(60)), seen)


def test_only_the_window_for_scaling_down_has_to_pass() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(4), window_s=600), down=rules(by_pods(4), window_s=60)))
    assert "1 fewer replica (3 → 2) once average CPU has been below 41 % for 1 min" in found(
        asked, observation(scale(3), usage(600, 600, 600))
    )


def test_a_policy_says_when_it_allows_more() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(2))))
    busy = observation(scale(3), usage(1600, 1600, 1600))
    first, *others = found(asked, busy)
    assert first == "2 more replicas (5 → 7) from 12:01:00Z on, if nothing else changes"
    assert not any("then" in says for says in others), "what the pods that come now will use is not known"
    spent = history((3, -15), ups=(event(2, -45),))
    assert found(asked, busy, spent)[0] == "2 more replicas (3 → 5) from 12:00:15Z on, if nothing else changes"


def test_a_total_is_shared_by_all_that_there_are_after_a_rescale() -> None:
    asked = hpa(external_metric(average_milli=1_000), replicas_max=20)
    remembered = history((12, -290), (11, -200), (10, -15))
    first, *others = found(asked, observation(scale(12), series(10_000)), remembered)
    assert first.startswith("1 fewer replica (12 → 11) from ")
    assert not any(says.startswith("then ") for says in others), "10 of 11 is within the tolerance"


def test_the_built_in_limit_lets_go_on_at_the_next_sync() -> None:
    busy = observation(scale(3), usage(1600, 1600, 1600))
    assert found(hpa(cpu(60)), busy)[0] == "2 more replicas (6 → 8) at the next sync, if nothing else changes"


def test_after_a_rescale_it_says_what_would_have_been() -> None:
    assert found(hpa(cpu(60)), observation(scale(3), usage(900, 900, 900)))[-2:] == [
        "6 instead of 5 had average CPU been above 100 %",
        "4 instead of 5 had average CPU been below 81 %",
    ]


def test_after_a_rescale_nothing_is_said_of_what_would_come_later() -> None:
    """The recommendation of 7 would hold it for a while, whatever the metric."""
    assert found(hpa(cpu(60)), observation(scale(9), usage(*[440] * 9)), history((7, -200))) == [
        "8 instead of 7 had average CPU been above 46 %"
    ]


def test_a_rescale_that_was_not_written_is_not_gone_on_from() -> None:
    busy = observation(scale(3), usage(1600, 1600, 1600))
    moment = Moment(hpa(cpu(60)), busy, REMEMBERED, now())
    found = alternatives(moment, moment.decided(), written=False).found
    assert not any("next sync" in one.says for one in found), found


def test_bounds_say_what_they_hold_back() -> None:
    queue = hpa(external_metric(average_milli=1000), replicas_max=6)
    assert "6 more replicas (6 → 12) with maxReplicas 14 (it is 6)" in found(
        queue, observation(scale(6), series(14_000))
    )
    least = hpa(external_metric(average_milli=1000), replicas_min=4)
    past = history((2, -15))
    assert "2 fewer replicas (4 → 2) with minReplicas 2 (it is 4)" in found(
        least, observation(scale(4), series(2000)), past
    )
    nothing = found(least, observation(scale(4), series(0)), history((0, -15)))
    assert not any("minReplicas" in says for says in nothing), "zero is no minimum that is proposed"


def test_a_tolerance_that_would_let_the_ratio_through() -> None:
    near = observation(scale(10), usage(*[650] * 10))
    assert "1 more replica (10 → 11) with a tolerance of 0.08 (it is 0.1)" in found(hpa(cpu(60), replicas_max=20), near)
    loose = hpa(cpu(60), replicas_max=20, settings=settings(tolerance=0.3))
    quarter = observation(scale(10), usage(*[750] * 10))
    assert "3 more replicas (10 → 13) with a tolerance of 0.24 (it is 0.3)" in found(loose, quarter)


@pytest.mark.parametrize(
    ("total_milli", "tolerance"),
    [
        (1_055_000, "0.05"),
        (1_050_000, "0.04"),
        (1_070_000, "0.06"),
        (1_010_000, "0.009"),
        (1_005_500, "0.005"),
        (1_001_000, "0.0009"),
        (1_000_400, "0.0003"),
        (1_000_050, "0"),
    ],
)
def test_a_tolerance_leaves_the_ratio_out_with_as_many_digits_as_it_takes(total_milli: int, tolerance: str) -> None:
    """§1.3: a ratio at its very edge is within it."""
    asked = hpa(external_metric(value_milli=1_000_000), replicas_max=20)
    assert found(asked, observation(scale(10), series(total_milli)), history((10, -15)))[-1] == (
        f"1 more replica (10 → 11) with a tolerance of {tolerance} (it is 0.1)"
    )


def test_a_ratio_of_one_needs_no_tolerance() -> None:
    assert not any("tolerance" in says for says in found(hpa(cpu(60)), observation(scale(3), usage(600, 600, 600))))


def test_one_tolerance_is_enough_and_is_that_of_the_ratio_that_was_gone_on_with() -> None:
    both = hpa(cpu(60), external_metric(value_milli=1000), replicas_max=20)
    seen = observation(scale(10), usage(*[720] * 9), series(1080), pods=pods(10))
    said = [says for says in found(both, seen, history((10, -15))) if "tolerance" in says]
    assert said == ["1 more replica (10 → 11) with a tolerance of 0.06 (it is 0.1)"]


def test_without_the_gate_the_flag_is_the_tolerance_of_both_directions() -> None:
    """§1.3"""
    asked = hpa(
        cpu(60),
        behavior=behavior(up=rules(by_pods(4), tolerance=0.2)),
        settings=settings(configurable_tolerance=False),
        replicas_max=20,
    )
    assert "1 more replica (10 → 11) with a tolerance of 0.08 (it is 0.1)" in found(
        asked, observation(scale(10), usage(*[650] * 10)), history((10, -15))
    )


def test_a_tolerance_of_its_own_is_that_of_one_direction() -> None:
    """The flag, or the other direction, is another change."""
    asked = hpa(cpu(60), external_metric(average_milli=1000), behavior=behavior(up=rules(by_pods(4), tolerance=0.01)))
    near = observation(scale(10), usage(*[550] * 10), series(9_500))
    assert not any("tolerance" in says for says in found(asked, near, history((10, -15))))
    mixed = observation(scale(5), usage(*[550] * 5), series(5_150))
    wide = hpa(
        cpu(60),
        external_metric(average_milli=1000),
        behavior=behavior(up=rules(by_pods(4), tolerance=0.01), down=rules(by_pods(4), tolerance=0.5)),
    )
    assert not any("tolerance" in says for says in found(wide, mixed, history((5, -15))))
    loose = hpa(cpu(60), behavior=behavior(up=rules(by_pods(4), tolerance=0.2)), replicas_max=20)
    assert "1 more replica (10 → 11) with a tolerance of 0.08 for scaleUp (it is 0.2)" in found(
        loose, observation(scale(10), usage(*[650] * 10))
    )
    calm = hpa(cpu(60), behavior=behavior(up=rules(by_pods(4), tolerance=0.3), down=rules(by_pods(4), tolerance=0.2)))
    assert "1 fewer replica (10 → 9) with a tolerance of 0.14 for scaleDown (it is 0.2)" in found(
        calm, observation(scale(10), usage(*[510] * 10)), history((9, -15))
    )


def test_what_is_not_measured_promises_only_that_it_will_be() -> None:
    assert found(hpa(replicas_max=5), observation(scale(9), pods=())) == ["metrics decide with maxReplicas 9 (it is 5)"]
    assert found(hpa(replicas_min=3), observation(scale(2), pods=())) == ["metrics decide with minReplicas 2 (it is 3)"]
    assert found(hpa(replicas_min=2), observation(scale(0), pods=())) == [
        "metrics decide once somebody scales the target to 2 replicas"
    ]
    assert found(hpa(external_metric(average_milli=1000), replicas_min=0), observation(scale(0), pods=())) == [
        "metrics decide once somebody scales the target to 1 replica"
    ]


def test_failed_metrics_say_what_the_others_want() -> None:
    asked = hpa(cpu(60), external_metric(average_milli=1000))
    seen = observation(scale(8), usage(*[300] * 8), series())
    assert found(asked, seen, history((4, -15))) == ["4 replicas if external backlog were not asked for"]
    other_way_round = hpa(*reversed(asked.metrics))
    seen = replace(seen, readings=tuple(reversed(seen.readings)))
    assert found(other_way_round, seen, history((4, -15))) == ["4 replicas if external backlog were not asked for"]


def test_a_policy_that_is_disabled() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(2), select="Disabled")))
    assert "2 more replicas (3 → 5) with selectPolicy Max for scaleUp (it is Disabled)" in found(
        asked, observation(scale(3), usage(1600, 1600, 1600))
    )
    asked = hpa(cpu(60), behavior=behavior(down=rules(by_pods(2), select="Disabled")))
    assert "2 fewer replicas (9 → 7) with selectPolicy Max for scaleDown (it is Disabled)" in found(
        asked, observation(scale(9), usage(*[300] * 9)), history((5, -15))
    )


@pytest.mark.parametrize(
    "change",
    [
        MetricReads(1, 1000),
        TargetHas(3),
        ToleranceIs(0.5, "scaleUp"),
        ToleranceIs(0.5, "scaleDown"),
        PolicySelected("scaleUp"),
        PolicySelected("scaleDown"),
    ],
)
def test_what_a_change_does_not_fit_is_left_as_it_is(change: Change) -> None:
    moment = Moment(hpa(cpu(60), cpu(70)), observation(scale(3), usage(600, 600, 600)), REMEMBERED, now())
    assert changed(moment, (change,)) == moment
    unread = replace(moment, observation=observation(ScaleFailure("no such target")))
    assert changed(unread, (TargetHas(5), MetricReads(0, 1000))) == unread


def test_a_long_memory_cuts_nothing_short_before_something_is_found() -> None:
    asked = hpa(cpu(60), behavior=behavior(up=rules(by_pods(2), by_pods(1, 1800)), down=rules(by_pods(1, 900))))
    spent = history((3, -15), ups=tuple(event(1, -7 * number - 0.5) for number in range(120)))
    moment = Moment(asked, observation(scale(3), usage(1600, 1600, 1600)), spent, now())
    assert alternatives(moment, moment.decided()).complete


def test_many_pods_cost_a_bounded_number_of_decisions_and_it_is_said() -> None:
    autoscaler = hpa(*(pods_metric(10**9, name=f"m{number}") for number in range(8)), replicas_max=9000)
    reading = samples(*[10**9] * 2000)
    moment = Moment(autoscaler, observation(scale(2000), *[reading] * 8, pods=pods(2000)), History(), now())
    assert not alternatives(moment, moment.decided()).complete


# --- life goes on ---------------------------------------------------------------------------------


def goes_on(moment: Moment, *, after_s: float) -> Moment:
    """The next sync, as the controller makes it: after the write, with what was concluded."""
    decision = moment.decided()
    write = Written() if decision.rescales else None
    concluded = conclude(moment.autoscaler, moment.observation.status, decision, write, moment.now)
    seen = replace(moment.observation, status=concluded.status)
    if isinstance(seen.scale, Scale) and concluded.scaled_to is not None:
        has = concluded.scaled_to
        seen = replace(seen, scale=replace(seen.scale, replicas=has, status_replicas=has))
    at = Now(*(clock_ns + round(after_s * NANOSECONDS) for clock_ns in (moment.now.wall_ns, moment.now.monotonic_ns)))
    return Moment(moment.autoscaler, seen, concluded.history, at)


def check_as_life_goes_on(moment: Moment) -> None:
    """What is to happen later, held against syncs that follow on each other."""
    decision = moment.decided()
    soon = goes_on(moment, after_s=1e-9)
    steady = soon.decided().desired == decision.desired
    when_ns: int | None = None
    for one in alternatives(moment, decision).found:
        kinds, first, last = [type(change) for change in one.changes], one.changes[0], one.changes[-1]
        if not decision.rescales and isinstance(first, TimePasses) and kinds == [TimePasses, MetricReads]:
            # What is told of a while begins at the next sync, and is held up to its end.
            moved = changed(soon, (last,))
            if first.by_ns > 1:
                assert moved.decided().desired == decision.desired, one
                moved = goes_on(moved, after_s=first.by_ns / NANOSECONDS)
            assert moved.decided().desired == one.desired, one
            assert changed(soon, one.unless[1:]).decided().desired == decision.desired, one
        elif when_ns is None and isinstance(last, TimePasses) and kinds in ([TimePasses], [TargetHas, TimePasses]):
            when_ns = last.by_ns
    if decision.path is not Path.METRICS or not steady:
        return
    # Nothing happens sooner than it is told, or at all where nothing is told.
    for _ in range(80):
        if when_ns is not None and soon.now.wall_ns - moment.now.wall_ns >= when_ns:
            break
        assert soon.decided().desired == decision.desired, (when_ns, soon.now.wall_ns - moment.now.wall_ns)
        soon = goes_on(soon, after_s=15)


# --- properties ----------------------------------------------------------------------------------

_METRICS: Final[st.SearchStrategy[MetricSpec]] = st.sampled_from(
    (
        cpu(60),
        cpu(average_milli=500),
        pods_metric(700),
        object_metric(value_milli=2000),
        object_metric(average_milli=300),
        external_metric(value_milli=4000, selector=label_selector({"queue": "mail"})),
        external_metric(average_milli=1000),
    )
)
_PODS = st.builds(
    lambda age_s, ready, phase: {"started_s": -age_s, "ready": ready, "phase": phase},
    st.sampled_from((20.0, 200.0, 3600.0)),
    st.sampled_from(("True", "True", "True", "False")),
    st.sampled_from(("Running", "Running", "Running", "Pending", "Failed")),
)


@st.composite
def busy_worlds(draw: st.DrawFn) -> World:
    """Pods in every state, all kinds of metrics around their targets, with any past."""
    count = draw(st.integers(1, 8))
    listed: tuple[Pod, ...] = tuple(pod(f"web-{index}", **draw(_PODS)) for index in range(count))
    metrics: list[MetricSpec] = draw(st.lists(_METRICS, min_size=1, max_size=2))
    readings: list[Reading] = []
    for metric in metrics:
        # Often all are alike and near a target, where tolerances matter.
        near = draw(st.none() | st.sampled_from((430, 460, 500, 540, 565, 600, 630, 655, 690, 750)))
        each = [near if near is not None else draw(st.none() | st.integers(0, 2000)) for _ in range(count)]
        if metric in (cpu(60), cpu(average_milli=500)):
            readings.append(usage(*each))
        elif metric == pods_metric(700):
            readings.append(samples(*each))
        else:
            total = draw(st.integers(0, 12_000) | st.sampled_from((1850, 2150, 3800, 4200)))
            readings.append(value(total) if isinstance(metric, ObjectMetric) else series(total, 7))
    autoscaler = hpa(
        *metrics,
        replicas_max=draw(st.sampled_from((5, 20))),
        replicas_min=draw(st.sampled_from((1, 3))),
        behavior=draw(st.none() | BEHAVIORS),
        settings=settings(tolerance=draw(st.sampled_from((0.0, 0.1, 0.3)))),
    )
    return World(autoscaler, observation(scale(count), *readings, pods=listed, status=status()), draw(HISTORIES))


_SAID: set[str] = set()


@profile(250)
@given(busy_worlds())
def test_the_promised_outcome_follows_for_ordinary_targets(world: World) -> None:
    for one in check(Moment(world.autoscaler, world.observation, world.history, now())):
        _SAID.update(type(change).__name__ for change in one.changes)


@profile(250)
@given(orderly_worlds())
def test_the_promised_outcome_follows_whatever_metrics_ask_for(world: World) -> None:
    for one in check(Moment(world.autoscaler, world.observation, world.history, now())):
        _SAID.update(type(change).__name__ for change in one.changes)


@profile(250)
@given(busy_worlds())
def test_nothing_happens_sooner_than_it_is_told_to_ordinary_targets(world: World) -> None:
    check_as_life_goes_on(Moment(world.autoscaler, world.observation, world.history, now()))


@profile(250)
@given(orderly_worlds())
def test_nothing_happens_sooner_than_it_is_told_whatever_metrics_ask_for(world: World) -> None:
    check_as_life_goes_on(Moment(world.autoscaler, world.observation, world.history, now()))


@profile(100)
@given(wild_worlds())
def test_the_promised_outcome_follows_in_wild_worlds_too(world: World) -> None:
    check(Moment(world.autoscaler, world.observation, world.history, now()))


@pytest.mark.parametrize(
    "kind",
    ["MetricReads", "TimePasses", "TargetHas", "MaxReplicasIs", "MinReplicasIs", "ToleranceIs", "MetricsAre"],
)
def test_the_worlds_reach_every_kind_of_change(kind: str) -> None:
    if kind not in _SAID:  # those before may have run in another process, or not at all
        test_the_promised_outcome_follows_for_ordinary_targets()
        test_the_promised_outcome_follows_whatever_metrics_ask_for()
    assert kind in _SAID


@profile(100)
@given(busy_worlds())
def test_a_promise_that_is_wrong_is_never_told(world: World) -> None:
    moment = Moment(world.autoscaler, world.observation, world.history, now())
    for one in alternatives(moment, moment.decided()).found:
        assert holds(moment, one)
        if one.desired is not None:
            assert not holds(moment, replace(one, desired=one.desired + 1))
        if one.unless:
            assert not holds(moment, replace(one, unless=one.changes)), "less of it must change nothing"
