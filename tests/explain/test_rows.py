"""A row per HPA: what is kept of a sync, and how it is shown later."""

import pytest
from hypothesis import given

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import Observation, ReadFailure, ResourceReading, ScaleFailure
from controller.decide.spec import Autoscaler
from controller.explain.rows import Row, row, summarised
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
    pod,
    rules,
    scale,
    series,
    settings,
    status,
    usage,
    wall_ns,
)
from tests.decide.strategies import World, profile, wild_worlds
from tests.decide.syncs import sync

PERIOD_S = 15.0


def shown(autoscaler: Autoscaler, seen: Observation, *, later_s: float = 0.0, gap_s: float = 15.0) -> Row:
    came = sync(autoscaler, seen, history((9, -20)))
    kept = summarised(
        seen,
        autoscaler.metrics,
        came.decision,
        now(),
        gap_s=gap_s,
        last_scale_ns=came.status.last_scale_ns,
        not_written="frozen",
    )
    return row("default", "web", kept, wall_ns(later_s), PERIOD_S)


def test_the_binding_metric_is_shown_against_its_target() -> None:
    both = hpa(cpu(60), external_metric(average_milli=1000), replicas_max=30)
    seen = observation(scale(9), usage(*[540] * 9, at_s=-20), series(18_000))
    found = shown(both, seen)
    assert (found.metric, found.current, found.target, found.ratio) == ("external backlog", "2", "1", 2.0), (
        "for each replica"
    )
    found = shown(hpa(cpu(60)), observation(scale(9), usage(*[540] * 9, at_s=-20)))
    assert (found.metric, found.current, found.target, found.ratio) == ("CPU", "54%", "60%", 0.9)
    assert found.data_age_s == 20


def test_an_average_is_shown_against_an_average() -> None:
    found = shown(hpa(cpu(average_milli=600)), observation(scale(9), usage(*[540] * 9)))
    assert (found.metric, found.current, found.target, found.ratio) == ("CPU", "540m", "600m", 0.9)


def test_replicas_are_those_that_were_found_and_those_that_were_decided() -> None:
    found = shown(hpa(cpu(60)), observation(scale(7), usage(*[750] * 7)))
    assert (found.replicas, found.desired, found.ratio, found.not_written) == (7, 9, 1.25, "frozen")
    third = shown(hpa(cpu(60)), observation(scale(9), usage(*[400] * 9)))
    assert (third.ratio, third.current) == (0.6667, "40%")


def test_of_no_replicas_there_is_no_ratio_but_the_total() -> None:
    """§7.4: only that something is there."""
    asked = hpa(external_metric(average_milli=2000), replicas_min=0, settings=settings(scale_to_zero=True))
    seen = observation(scale(0), series(5000), status=status(condition("ScaledToZero")))
    found = shown(asked, seen)
    assert (found.current, found.target, found.ratio) == ("5", "2", None)


def test_where_no_metric_binds_none_is_shown() -> None:
    found = shown(hpa(cpu(60)), observation(scale(9), ReadFailure("it is down")))
    assert (found.metric, found.current, found.target, found.ratio, found.data_age_s) == ("", "", "", None, None)
    assert "it is down" in found.error


def test_what_is_had_for_each_replica_is_rounded_up() -> None:
    found = shown(hpa(external_metric(average_milli=1000)), observation(scale(9), series(18_001)))
    assert (found.current, found.target) == ("2.001", "1")


def test_the_ratio_is_that_which_was_gone_on_with() -> None:
    """With assumptions about the pods that do not count."""
    listed = (pod("web-0"), pod("web-1"), pod("web-2", started_s=-30, ready="False"))
    found = shown(hpa(cpu(60)), observation(scale(3), usage(1900, 1900, 1900), pods=listed))
    assert (found.current, found.ratio) == ("190%", 2.1)


def test_data_is_as_old_as_its_oldest_sample() -> None:
    reading = ResourceReading((*usage(540, 540, at_s=-10).items, *usage(540, at_s=-40).items))
    assert shown(hpa(cpu(60)), observation(scale(3), reading)).data_age_s == 40


def test_ages_grow_until_the_next_sync() -> None:
    found = shown(hpa(cpu(60)), observation(scale(9), usage(*[900] * 9, at_s=-20)), later_s=40)
    assert (found.synced_s, found.data_age_s, found.last_scale_s, found.lag_s) == (40, 60, 40, 25)
    assert found.last_scale == "2026-01-31T12:00:00Z"
    found = shown(hpa(cpu(60)), observation(scale(9), usage(*[900] * 9, at_s=-20)), later_s=40.26)
    assert (found.synced_s, found.data_age_s, found.last_scale_s, found.lag_s) == (40.3, 60.3, 40.3, 25.3)


@pytest.mark.parametrize(("gap_s", "lag_s"), [(0.0, 0.0), (14.6, 0.0), (15.0, 0.0), (18.5, 3.5)])
def test_a_sync_that_came_late_is_a_lag(gap_s: float, lag_s: float) -> None:
    assert shown(hpa(cpu(60)), observation(scale(9), usage(*[540] * 9)), gap_s=gap_s).lag_s == lag_s


@pytest.mark.parametrize(
    ("autoscaler", "seen", "limit"),
    [
        (hpa(cpu(60)), observation(scale(9), usage(*[540] * 9)), ""),
        (hpa(cpu(60)), observation(scale(9), usage(*[1200] * 9)), "max"),
        (hpa(cpu(60), replicas_max=99), observation(scale(9), usage(*[1900] * 9)), "rate"),
        (hpa(cpu(60)), observation(scale(9), usage(*[100] * 9)), "window"),
        (
            hpa(cpu(60), behavior=behavior(down=rules(by_pods(1)))),
            observation(scale(9), usage(*[100] * 9)),
            "rate",
        ),
        (hpa(external_metric(average_milli=1), replicas_max=5), observation(scale(9), pods=()), "max"),
        (hpa(cpu(60), replicas_min=2), observation(scale(0), pods=()), "paused"),
        (hpa(external_metric(average_milli=1)), observation(scale(9), series()), "failed"),
        (hpa(cpu(60)), observation(ScaleFailure("no such target")), "error"),
        (hpa(cpu(60)), observation(scale(9), overlapping=("default/web", "default/api")), "error"),
    ],
)
def test_what_limits_is_a_word(autoscaler: Autoscaler, seen: Observation, limit: str) -> None:
    assert shown(autoscaler, seen).limited_by == limit


def test_one_that_was_not_synced_yet_has_only_a_name() -> None:
    assert row("shop", "web", None, 10 * NANOSECONDS, PERIOD_S) == Row("shop", "web")


@profile(100)
@given(wild_worlds())
def test_any_sync_has_a_row(world: World) -> None:
    found = shown(world.autoscaler, world.observation)
    assert (found.error != "") == (
        sync(world.autoscaler, world.observation, history((9, -20))).decision.error not in (None, "")
    )
