"""The decision code in a closed loop: what it decides is what it finds."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from controller.decide.result import Path
from controller.decide.spec import Autoscaler, MetricSpec
from controller.simulation.curve import parse_curve
from controller.simulation.loop import START_NS, Simulation, Step
from controller.simulation.meter import Plan
from controller.simulation.tally import Summary, Tally
from tests.builders import (
    behavior,
    by_percent,
    by_pods,
    container_metric,
    cpu,
    external_metric,
    hpa,
    object_metric,
    pods_metric,
    resource_metric,
    rules,
    settings,
    unknown_metric,
)

KINDS: dict[str, MetricSpec] = {
    "cpu, utilization": cpu(60),
    "cpu, average value": cpu(average_milli=250),
    "memory": resource_metric("memory", 70),
    "container": container_metric("app", 60),
    "pods": pods_metric(10_000),
    "object, value": object_metric(value_milli=100),
    "object, average value": object_metric(average_milli=5_000),
    "external, value": external_metric(value_milli=100),
    "external, average value": external_metric(average_milli=30_000),
}


SECOND_NS = 10**9


def seeded(seed: int) -> Callable[[str], float]:
    """The same numbers each time."""
    numbers = random.Random(seed)  # noqa: S311 - noise is no secret
    return lambda _: numbers.random()


def always(_: str) -> float:
    """Noise in the middle of its range is none."""
    return 0.5


def ns(time_s: float) -> int:
    """Seconds as the simulation counts them."""
    return round(time_s * SECOND_NS)


def played(
    autoscaler: Autoscaler,
    load: str,
    duration_s: float = 1_800,
    *,
    replicas: int = 4,
    sync_period_s: float = 15,
    uniform: Callable[[str], float] = always,
    **plan: Any,
) -> list[Step]:
    """All steps of a simulation; times of `plan` in seconds."""
    times = {f"{name[:-2]}_ns": ns(plan.pop(name)) for name in ("start_up_s", "resolution_s") if name in plan}
    simulation = Simulation(autoscaler, Plan(loads={"": parse_curve(load)}, **times, **plan), replicas, uniform)
    return list(simulation.steps(ns(duration_s), ns(sync_period_s)))


def scalings(steps: list[Step]) -> list[tuple[float, int]]:
    """When it was scaled, and to what."""
    return [
        (step.t_ns / SECOND_NS, step.conclusion.scaled_to) for step in steps if step.conclusion.scaled_to is not None
    ]


def summed(steps: list[Step]) -> Summary:
    """What they come to."""
    tally = Tally()
    for step in steps:
        tally.take(step)
    return tally.summary()


@pytest.mark.parametrize("metric", KINDS.values(), ids=KINDS)
@hypothesis_settings(max_examples=20)
@given(load=st.integers(1, 20), replicas=st.integers(1, 20))
def test_a_load_is_worth_as_many_replicas_by_any_metric(metric: MetricSpec, load: int, replicas: int) -> None:
    steps = played(hpa(metric, replicas_max=20), str(load), replicas=replicas)
    *_, last = steps
    assert last.conclusion.scaled_to is None
    assert last.decision.replicas is not None
    # A utilization is whole percents, rounded down: 66.7 of 60 is still within tolerance (§7.1).
    assert 0.9 <= load / last.decision.replicas <= 1.1 + 1 / 60 or last.decision.replicas == load
    changes = [scaled_to for _, scaled_to in scalings(steps)]
    assert changes in (sorted(changes), sorted(changes, reverse=True)), "it goes there without turning back"


@given(
    wave=st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 40)),
    bounds=st.tuples(st.integers(1, 10), st.integers(0, 10)),
    noise=st.floats(0, 0.5),
    start_up_s=st.floats(0, 400),
    seed=st.integers(0, 9),
)
def test_bounds_hold_and_seconds_add_up(
    wave: tuple[int, int, int], bounds: tuple[int, int], noise: float, start_up_s: float, seed: int
) -> None:
    low, high, minutes = wave
    least, more = bounds
    steps = played(
        hpa(cpu(60), replicas_min=least, replicas_max=least + more),
        f"{low}~{high}/{minutes}m",
        1_000,
        replicas=least,
        uniform=seeded(seed),
        noise=noise,
        start_up_s=start_up_s,
        capacity=2.0,
    )
    summary = summed(steps)
    assert least <= summary.replicas_least <= summary.replicas_mean <= summary.replicas_most <= least + more
    assert summary.duration_s == pytest.approx(1_000)
    assert summary.scale_ups + summary.scale_downs == len(scalings(steps))
    assert 0 <= summary.lost <= 1
    assert 0 <= summary.short_s <= 1_000


def test_a_jump_is_followed_as_fast_as_the_limits_let_it() -> None:
    steps = played(hpa(cpu(60), replicas_max=20), "4@0s,4@5m,12@5m,12@20m,3@20m", 2_100)
    assert scalings(steps) == [(315, 8), (330, 12), (1_515, 3)], (
        "twice as many at most (§10.3), down after five minutes"
    )
    assert steps[-1].conclusion.status.last_scale_ns == START_NS + ns(1_515)
    assert summed(steps).short_s == 60, "from the jump until what the second sync has started is ready"


def test_policies_of_the_hpa_are_its_limits() -> None:
    slow = behavior(up=rules(by_pods(1, 60)), down=rules(by_pods(1, 60), window_s=0))
    steps = played(hpa(pods_metric(10_000), replicas_max=20, behavior=slow), "7@0s,7@5m,5@5m", 600)
    assert scalings(steps) == [(0, 5), (60, 6), (120, 7), (300, 6), (360, 5)]


def test_cpu_is_the_mean_since_the_last_measurement_and_all_else_what_it_is() -> None:
    jump = "4@0s,4@60s,8@60s"
    assert scalings(played(hpa(cpu(60), replicas_max=20), jump, 180))[0] == (75, 8)
    assert scalings(played(hpa(pods_metric(10_000), replicas_max=20), jump, 180))[0] == (60, 8)
    half = played(hpa(cpu(60), replicas_max=20), "4@0s,4@90s,8@90s", 180, resolution_s=60)
    assert scalings(half) == [(120, 6)], "half of the minute before had twice the load"


def test_pods_that_start_are_not_counted_on() -> None:
    steps = played(hpa(cpu(60)), "8", 120, start_up_s=60)
    assert [step.ready for step in steps] == [4, 4, 4, 4, 8, 8, 8, 8]
    assert scalings(steps) == [(0, 8)], "those that are not ready count as if they used nothing (§8.2, §7.2)"


@pytest.mark.parametrize("metric", [cpu(60), pods_metric(10_000)])
def test_what_a_pod_can_carry_hides_the_rest_of_the_load(metric: MetricSpec) -> None:
    free = played(hpa(metric, replicas_max=20), "12", 120, replicas=2)
    bound = played(hpa(metric, replicas_max=20), "12", 120, replicas=2, capacity=1.5)
    assert scalings(free)[0] == (0, 4)
    assert scalings(bound)[0] == (0, 3), "2 pods at 150 %"
    assert summed(free).lost == 0
    assert summed(bound).lost > 0.4
    assert summed(bound).worst == 6


def test_what_pods_use_while_they_start_is_left_out_of_cpu_until_they_are_ready() -> None:
    def by(metric: MetricSpec, **plan: Any) -> int:
        steps = played(hpa(metric, replicas_max=20), "8", 300, start_up_s=60, start_up_usage=5.0, **plan)
        return summed(steps).replicas_most

    assert by(cpu(60)) == 8
    assert by(resource_metric("memory", 60)) == 20, "of memory it counts (§8.1)"
    assert by(resource_metric("memory", 60), capacity=1.0) == 4, "and is no more than a pod can use"


def test_metrics_are_as_old_as_their_resolution() -> None:
    steps = played(hpa(pods_metric(10_000)), "4@0s,4@70s,8@70s", 300, resolution_s=60)
    assert scalings(steps)[0] == (120, 8), "measured at 60 s and at 120 s"


@pytest.mark.parametrize(
    "metric", [resource_metric("memory", average_milli=250), pods_metric(10_000), external_metric(average_milli=30_000)]
)
def test_samples_of_pods_that_have_gone_are_not_counted_and_all_others_are(metric: MetricSpec) -> None:
    at_once = behavior(down=rules(by_percent(100, 15), window_s=0))
    autoscaler = hpa(metric, behavior=at_once)
    steps = played(autoscaler, "8@0s,8@30s,4@30s", 360, start_up_s=300, resolution_s=60)
    assert scalings(steps)[-1] == (60, 4), "what was measured at 60 s holds for the pods that are left, until 120 s"
    assert [step.decision.error for step in steps if step.decision.error is not None] == []


def test_containers_share_what_a_pod_uses() -> None:
    metrics = (cpu(60), container_metric("app", 60), container_metric("sidecar", 60))
    assert scalings(played(hpa(*metrics), "4", 120)) == []


def test_what_was_measured_is_what_it_was_until_the_next_measurement() -> None:
    one = hpa(pods_metric(10_000), replicas_min=4, replicas_max=4)
    steps = played(one, "4", 360, uniform=seeded(1), noise=0.4, resolution_s=60)
    shown = [step.decision.metrics for step in steps]
    assert shown == [shown[at // 4 * 4] for at in range(len(shown))]
    every_other = played(one, "4", 360, uniform=seeded(1), noise=0.4, resolution_s=60, sync_period_s=120)
    assert [step.decision.metrics for step in every_other] == shown[::8], "whoever reads it how often"


@pytest.mark.parametrize(
    ("sync_period_s", "resolution_s", "duration_s", "syncs"), [(0.7, 0.7, 21, 30), (0.3, 0.1, 3, 10), (7, 13, 100, 15)]
)
def test_times_that_do_not_go_evenly_into_each_other_are_met(
    sync_period_s: float, resolution_s: float, duration_s: float, syncs: int
) -> None:
    autoscaler = hpa(pods_metric(10_000), replicas_max=20)
    at_s = 3 * sync_period_s
    load = f"2@0s,2@{at_s:g}s,8@{at_s:g}s"
    plan: dict[str, Any] = {
        "sync_period_s": sync_period_s,
        "resolution_s": resolution_s,
        "start_up_s": 2 * sync_period_s,
    }
    steps = played(autoscaler, load, duration_s, replicas=2, **plan)
    assert len(steps) == syncs
    measured_ns = -(-ns(at_s) // ns(resolution_s)) * ns(resolution_s)
    first, _ = scalings(steps)[0]
    assert ns(first) == -(-measured_ns // ns(sync_period_s)) * ns(sync_period_s)
    [new] = [step for step in steps if step.t_ns == ns(first) + ns(2 * sync_period_s)]
    assert new.ready == 4, "ready at the very sync"
    assert summed(steps).duration_s == pytest.approx(duration_s)


def test_ten_in_a_hundred_above_the_target_are_not_too_few_and_more_are() -> None:
    within = summed(played(hpa(cpu(100), replicas_max=20), "11", 60, replicas=10))
    assert (within.short_s, within.scale_ups) == (0, 0)
    beyond = summed(played(hpa(cpu(100), replicas_max=20), "11.5", 60, replicas=10))
    assert (beyond.short_s, beyond.scale_ups) == (30, 1)


def test_what_happens_between_syncs_is_seen() -> None:
    steps = played(hpa(cpu(60)), "2@0s,2@5s,8@7s,2@9s", 15, replicas=2)
    assert summed(steps).worst == 4
    odd = summed(played(hpa(cpu(60), replicas_max=1), "4", 3, replicas=1, sync_period_s=1.5, capacity=1.5))
    assert (odd.short_s, odd.duration_s, odd.lost) == (3, 3, 2.5 / 4)


def test_what_pods_could_carry_beyond_the_load_makes_up_for_nothing() -> None:
    summary = summed(played(hpa(cpu(60), replicas_max=1), "1@0s,1@10s,3@10s", 20, replicas=1, capacity=1.5))
    assert summary.lost == pytest.approx(1.5 * 10 / (1 * 10 + 3 * 10))


def test_no_load_and_no_pods_are_enough() -> None:
    summary = summed(played(hpa(cpu(60)), "0", 60, replicas=0))
    assert (summary.worst, summary.short_s, summary.lost, summary.replicas_most) == (0, 0, 0, 0)


def test_a_summary_knows_the_pods_at_first_and_at_the_end() -> None:
    summary = summed(played(hpa(pods_metric(10_000)), "4@0s,4@50s,8@50s", 62))
    assert (summary.replicas_least, summary.replicas_most) == (4, 8), "the last sync is at 60 s"
    assert summary.replicas_mean == pytest.approx((60 * 4 + 2 * 8) / 62)


def test_to_zero_and_back() -> None:
    autoscaler = hpa(external_metric(average_milli=30_000), replicas_min=0, settings=settings(scale_to_zero=True))
    steps = played(autoscaler, "3@0s,3@1m,0@1m,0@10m,2@10m", 900, replicas=3)
    assert scalings(steps) == [(360, 0), (600, 2)]
    assert summed(steps).worst is None, "for a while there is load and no pod is ready"
    by_value = hpa(external_metric(value_milli=100), replicas_min=0, settings=settings(scale_to_zero=True))
    assert scalings(played(by_value, "3@0s,3@1m,0@1m,0@10m,2@10m", 900, replicas=3)) == [(360, 0), (600, 2)]


def test_zero_replicas_are_a_pause_where_nobody_has_scaled_to_zero() -> None:
    steps = played(hpa(cpu(60)), "3", 60, replicas=0)
    assert {step.decision.path for step in steps} == {Path.PAUSED}


def test_a_metric_of_an_unknown_type_fails_and_the_others_decide() -> None:
    steps = played(hpa(cpu(60), unknown_metric()), "8", 60)
    assert scalings(steps) == [(0, 8)]


def test_where_nothing_can_be_decided_the_status_has_what_there_was() -> None:
    steps = played(hpa(unknown_metric()), "8", 60, replicas=3)
    assert {step.conclusion.status.replicas_desired for step in steps} == {3}


def test_each_metric_may_have_a_load_of_its_own() -> None:
    plan = Plan(loads={"": parse_curve("3"), "memory": parse_curve("6")})
    simulation = Simulation(hpa(cpu(60), resource_metric("memory", 60)), plan, 3, always)
    steps = list(simulation.steps(ns(60), ns(15)))
    assert scalings(steps) == [(0, 6)]
    assert {step.load for step in steps} == {6}


def test_the_same_seed_is_the_same_noise_and_another_one_is_not() -> None:
    def noisy(seed: int) -> list[tuple[float, int]]:
        return scalings(played(hpa(cpu(60)), "4", uniform=seeded(seed), noise=0.4))

    assert noisy(1) == noisy(1)
    assert len({tuple(noisy(seed)) for seed in range(5)}) > 1


def test_reversals_are_changes_of_direction() -> None:
    steps = played(hpa(cpu(60), settings=settings(downscale_stabilization_s=0)), "2~8/10m", 1_200, replicas=2)
    summary = summed(steps)
    assert summary.reversals == 3, "up, down, up, down"
    assert summary.pod_hours == pytest.approx(summary.replicas_mean / 3)
