"""§3.2–3.5: when an HPA is due."""

import heapq
import itertools
import math
import zlib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.beats import BEAT_S
from controller.schedule import HPAS_PER_MOMENT_MAX, SLEW, Schedule, due_beat_s, moments

PERIODS = st.sampled_from((1.0, 2.0, 15.0, 30.0, 300.0))
NAMESPACES = st.sampled_from(("default", "shop", "kube-system", "a", "b", "team-1", "team-2"))
SYNCS_TO_PHASE = 51
"""A period is the longest way, at 2 % of it per sync."""
TIMES = st.floats(0, 1e7, allow_nan=False)
HPAS = st.integers(0, 20_000)
FEW = 500


def phase_s(due_s: float, period_s: float) -> float:
    return due_s % period_s


def apart_s(first_s: float, second_s: float, period_s: float) -> float:
    """How far apart two phases are, around the clock face."""
    difference_s = abs(phase_s(first_s, period_s) - phase_s(second_s, period_s))
    return min(difference_s, period_s - difference_s)


def schedule(period_s: float, hpas: int = FEW) -> Schedule:
    return Schedule(period_s, lambda: hpas)


def followed(
    due_s: float, namespace: str, period_s: float, syncs: int, sync_s: float = 0.01, hpas: int = FEW
) -> list[float]:
    """The due times of an HPA whose syncs each take so long."""
    times_s, key = [due_s], f"{namespace}/web"
    for _ in range(syncs):
        times_s.append(schedule(period_s, hpas).next_due_s(key, times_s[-1], times_s[-1] + sync_s))
    return times_s


@given(TIMES, PERIODS)
def test_the_first_sync_is_one_period_after_the_hpa_was_seen(seen_s: float, period_s: float) -> None:
    assert schedule(period_s).first_due_s(seen_s) == seen_s + period_s


@given(TIMES, NAMESPACES, PERIODS, HPAS)
def test_an_hpa_that_was_there_before_is_first_due_within_a_period_and_in_phase(
    seen_s: float, namespace: str, period_s: float, hpas: int
) -> None:
    due_s = schedule(period_s, hpas).joins_due_s(f"{namespace}/web", seen_s)
    assert seen_s <= due_s < seen_s + period_s
    again_s = followed(due_s, namespace, period_s, 3, hpas=hpas)[-1]
    assert again_s - due_s == pytest.approx(3 * period_s, rel=1e-5)


def test_an_hpa_that_is_seen_a_hair_after_its_phase_is_due_within_a_period_whatever_is_rounded() -> None:
    kept = schedule(15.0)
    phase_s = kept.joins_due_s("shop/web", 0.0)
    for number in range(3_000):
        seen_s = math.nextafter(phase_s + number * 15.0, math.inf)
        assert seen_s <= kept.joins_due_s("shop/web", seen_s) < seen_s + 15.0


@pytest.mark.parametrize("names", ["space-{:06}", "team-{}", "ns-{:03}", "shop-{}-prod", "tenant{:04}-x", "{}"])
@pytest.mark.parametrize(("count", "most"), [(10, 3), (100, 15)])
def test_namespaces_whose_names_are_in_a_row_are_spread(names: str, count: int, most: int) -> None:
    spread = schedule(15.0)
    due = Counter(spread.joins_due_s(names.format(number) + "/web", 0.0) for number in range(count))
    assert max(due.values()) <= most


@given(TIMES, PERIODS, st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20))
def test_hpas_that_have_come_to_their_phase_are_due_at_the_very_same_time(
    seen_s: float, period_s: float, waits: list[float]
) -> None:
    """So they keep their order. With times that differ by rounding alone it would be another one each period."""
    kept = schedule(period_s)
    due_s = kept.joins_due_s("shop/web", seen_s)
    again_s = set()
    for number, wait in enumerate(waits):
        began_s = due_s + wait * SLEW * period_s
        again_s.add(kept.next_due_s(f"shop/web-{number}", began_s, began_s))
    assert len(again_s) == 1
    assert again_s.pop() == pytest.approx(due_s + period_s)


@given(TIMES, NAMESPACES, PERIODS, HPAS)
def test_intervals_are_up_to_two_per_cent_shorter_than_the_period_and_only_the_last_step_may_be_longer(
    due_s: float, namespace: str, period_s: float, hpas: int
) -> None:
    times_s = followed(due_s, namespace, period_s, SYNCS_TO_PHASE, hpas=hpas)
    steps_s = [after_s - before_s - period_s for before_s, after_s in itertools.pairwise(times_s)]
    assert all(abs(step_s) <= 0.02 * period_s + 1e-6 for step_s in steps_s)
    assert sum(step_s > 1e-6 for step_s in steps_s) <= 1
    assert SLEW == 0.02


@given(TIMES, TIMES, NAMESPACES, PERIODS)
def test_the_hpas_of_a_namespace_come_to_be_due_together(
    one_s: float, other_s: float, namespace: str, period_s: float
) -> None:
    one, other = (followed(seen_s, namespace, period_s, SYNCS_TO_PHASE) for seen_s in (one_s, other_s))
    assert apart_s(one[-1], other[-1], period_s) <= 1e-5 * period_s


@given(TIMES, TIMES, st.floats(-1e7, 1e7), NAMESPACES, PERIODS, HPAS)
def test_whoever_leads_is_due_in_the_same_moments(
    one_s: float, other_s: float, later_s: float, namespace: str, period_s: float, hpas: int
) -> None:
    """Two hosts were booted at different times, so their loops' times differ, and those of the wall clock's zero."""
    key, wall_s = f"{namespace}/web", 1.8e9
    one = Schedule(period_s, lambda: hpas, one_s - wall_s)
    other = Schedule(period_s, lambda: hpas, one_s + later_s - wall_s)
    last_s = one.joins_due_s(key, one_s)
    again_s = other.joins_due_s(key, other_s + later_s) - later_s
    assert apart_s(last_s, again_s, period_s) <= 1e-5


@given(TIMES, NAMESPACES, PERIODS)
def test_an_hpa_in_phase_stays_there_and_keeps_the_period_exactly(
    due_s: float, namespace: str, period_s: float
) -> None:
    times_s = followed(due_s, namespace, period_s, 2 * SYNCS_TO_PHASE)[-20:]
    assert all(
        after_s - before_s == pytest.approx(period_s, rel=1e-5) for before_s, after_s in itertools.pairwise(times_s)
    )


@given(period_s=st.floats(1.0, 300.0))
def test_what_waits_for_a_beat_is_taken_back_by_the_next_interval(period_s: float) -> None:
    assert 1.1 * due_beat_s(period_s) < SLEW * period_s


def test_beats_are_common_unless_the_period_is_short() -> None:
    assert [due_beat_s(period_s) for period_s in (0.1, 1.0, 2.0, 15.0)] == [0.01, 0.01, 0.02, BEAT_S]


@pytest.mark.parametrize(("hpas", "apart_s"), [(1, 1.5), (2_000, 1.5), (2_001, 0.75), (7_000, 0.375), (10_000, 0.1875)])
def test_namespaces_spread_evenly_over_moments_of_the_period(hpas: int, apart_s: float) -> None:
    """So that those who share a list come when it is new, and a loop with little to do is seldom woken."""
    period_s, count = 15.0, 12_000
    keys = [f"namespace-{number}/web" for number in range(count)]
    spread = Counter(schedule(period_s, hpas).joins_due_s(key, 0.0) % period_s / apart_s for key in keys)
    assert all(moment == round(moment) for moment in spread)
    assert len(spread) == moments(hpas) == period_s / apart_s
    assert min(spread.values()) > 0.6 * count / len(spread)
    assert max(spread.values()) < 1.4 * count / len(spread)


@given(HPAS)
def test_in_a_moment_two_hundred_are_due_at_most_on_the_average(hpas: int) -> None:
    assert hpas / moments(hpas) <= 200
    assert moments(hpas) == 10 or hpas / moments(hpas) > 100


@given(st.lists(HPAS, min_size=1))
def test_there_are_as_many_moments_as_the_most_hpas_needed_until_half_of_these_are_gone(numbers: list[int]) -> None:
    count, most = 10, 0
    for hpas in numbers:
        count, before = moments(hpas, count), count
        most = max(most, hpas)
        if count < before:
            least = before * HPAS_PER_MOMENT_MAX / 2  # whoever needed that many moments had more
            assert hpas < least / 2
            most = hpas
        assert moments(most) <= count
        assert count == 10 or hpas / count >= 50


def test_a_number_of_hpas_that_goes_up_and_down_moves_nobody() -> None:
    count = 2_001
    many = Schedule(15.0, lambda: count)
    phases_s = set()
    for number in range(100):
        count = 2_001 if number % 2 == 0 else 1_500
        phases_s.add(many.joins_due_s("team-f/web", 0.0))
    assert len(phases_s) == 1
    count = 900
    assert many.joins_due_s("team-f/web", 0.0) == schedule(15.0).joins_due_s("team-f/web", 0.0)


@given(TIMES, NAMESPACES, PERIODS, HPAS, HPAS)
def test_with_more_hpas_nobody_has_far_to_go(
    seen_s: float, namespace: str, period_s: float, one: int, other: int
) -> None:
    """They are due in the same moment or a little sooner, not all the way around the period."""
    few, many = sorted((one, other))
    phase_of_few_s, phase_of_many_s = (
        schedule(period_s, hpas).joins_due_s(f"{namespace}/web", seen_s) for hpas in (few, many)
    )
    rounding_s = 1e-7 * period_s
    sooner_s = (phase_of_few_s - phase_of_many_s + rounding_s) % period_s
    assert sooner_s < period_s / moments(few)


@given(st.text(st.characters(codec="utf-8", exclude_characters="/"), min_size=1, max_size=20), TIMES, PERIODS, HPAS)
def test_the_phase_of_a_namespace_depends_on_nothing_but_its_name_and_how_many_hpas_there_are(
    namespace: str, due_s: float, period_s: float, hpas: int
) -> None:
    """A restarted controller comes back to the same phases: Python's own hash would not."""
    count = moments(hpas)
    place = zlib.adler32(namespace.encode()) * 2_654_435_769 % 2**32
    expected_s = math.ceil(place / 2**32 * count) / count * period_s
    last_s = followed(due_s, namespace, period_s, SYNCS_TO_PHASE, hpas=hpas)[-1]
    assert apart_s(last_s, expected_s, period_s) <= 1e-5 * period_s


@pytest.mark.parametrize(
    ("count", "in_each", "load"),
    [pytest.param(100, 1, 0.75, id="a busy machine"), pytest.param(500, 50, 0.2, id="a few large namespaces")],
)
def test_of_many_that_are_due_in_one_moment_each_keeps_its_interval(count: int, in_each: int, load: float) -> None:
    """One after the other is served, which takes so much of a period, as at a start with thousands."""
    period_s = 15.0
    takes_s = load * period_s / count
    due = [(period_s, number) for number in range(count)]
    began_s: dict[int, list[float]] = {number: [] for number in range(count)}
    now_s = period_s
    while now_s < 60 * period_s:
        due_s, number = heapq.heappop(due)
        now_s = max(now_s, due_s)
        began_s[number].append(now_s)
        again_s = schedule(period_s, count).next_due_s(f"namespace-{number // in_each}/web", now_s, now_s + takes_s)
        heapq.heappush(due, (again_s, number))
        now_s += takes_s
    intervals_s = [
        after_s - before_s for times_s in began_s.values() for before_s, after_s in itertools.pairwise(times_s)
    ]
    assert min(map(len, began_s.values())) >= 57
    assert max(intervals_s) <= 1.03 * period_s


@given(TIMES, st.floats(0, 1000, allow_nan=False), NAMESPACES, PERIODS)
def test_syncs_missed_during_an_overrun_are_not_caught_up_on(
    due_s: float, overrun_s: float, namespace: str, period_s: float
) -> None:
    ended_s = due_s + period_s + overrun_s
    key = f"{namespace}/web"
    again_s = schedule(period_s).next_due_s(key, due_s, ended_s)
    assert again_s >= ended_s, "one sync at once, none for the past"
    after_s = schedule(period_s).next_due_s(key, again_s, again_s)
    assert after_s - again_s >= 0.98 * period_s - 1e-6, "and from then on the period again"


@given(TIMES, st.floats(0, 100, allow_nan=False), NAMESPACES, PERIODS)
def test_before_the_next_sync_the_watch_has_time_to_tell_of_the_status(
    began_s: float, sync_s: float, namespace: str, period_s: float
) -> None:
    now_s = began_s + sync_s
    assert schedule(period_s).next_due_s(f"{namespace}/web", began_s, now_s) >= now_s + min(0.1 * period_s, 1.0)


@given(TIMES, st.floats(0, 1000, allow_nan=False), NAMESPACES, PERIODS)
def test_after_an_overrun_the_watch_has_a_second_at_most(
    began_s: float, overrun_s: float, namespace: str, period_s: float
) -> None:
    now_s = began_s + (1 + SLEW) * period_s + overrun_s
    again_s = schedule(period_s).next_due_s(f"{namespace}/web", began_s, now_s)
    assert again_s - now_s == pytest.approx(min(0.1 * period_s, 1.0), abs=1e-6)


@given(TIMES, st.floats(0, 100, allow_nan=False), NAMESPACES, st.sampled_from((-1.0, 0.0, 1.0, 15.0)))
def test_no_due_time_is_in_the_past(due_s: float, sync_s: float, namespace: str, period_s: float) -> None:
    now_s = due_s + sync_s
    key = f"{namespace}/web"
    assert schedule(period_s).next_due_s(key, due_s, now_s) >= now_s
    assert schedule(period_s).joins_due_s(key, now_s) >= now_s
