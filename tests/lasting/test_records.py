"""§2.5, §4.5: what is kept of a history decides as all of it would, and what may be missing only holds longer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from controller.decide import limits, stabilize
from controller.decide.history import History, ScaleEvent
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.spec import Autoscaler, Behavior, Policy
from controller.decide.status import Status
from controller.lasting.records import Record, fresh, recorded, relevant, resumed, unrecorded
from tests.builders import by_pods, cpu, event, history, hpa, monotonic_ns, now, rules, settings, wall_ns
from tests.decide.strategies import profile
from tests.lasting.past import HISTORIES, WINDOW_NS

PERIOD_NS = 15 * NANOSECONDS
# Another machine: its monotonic clock began elsewhere, long after the entries were made.
ELSEWHERE_NS = 1_000 * NANOSECONDS

WINDOWS_S = st.one_of(st.integers(0, 400), st.integers(0, 3_600))
POLICIES = st.builds(Policy, st.sampled_from(["Pods", "Percent"]), st.integers(1, 200), st.integers(1, 1_800))
RULES = st.builds(
    lambda policies, window_s, select: rules(*policies, window_s=window_s, select=select),
    st.lists(POLICIES, min_size=1, max_size=3),
    WINDOWS_S,
    st.sampled_from(["Max", "Min", "Disabled"]),
)
BEHAVIORS = st.builds(Behavior, RULES, RULES)


def elsewhere(after_s: float = 0) -> Now:
    """The moment of `now()` on another machine."""
    return Now(wall_ns(after_s), ELSEWHERE_NS + round(after_s * NANOSECONDS))


def decided(past: History, behavior: Behavior, replicas: int, desired: int, at_ns: int) -> tuple[int, int]:
    autoscaler = hpa(cpu(50), replicas_max=2**31 - 1, behavior=behavior)
    stabilized, _ = stabilize.with_behavior(desired, replicas, past, behavior, autoscaler.settings, at_ns)
    limit = limits.with_behavior(stabilized.stabilized, replicas, past, autoscaler, behavior, at_ns)
    return stabilized.stabilized, limit.limited


@profile(300)
@given(HISTORIES, BEHAVIORS, st.integers(0, 30), st.integers(0, 30), st.integers(0, 4_000))
def test_what_is_kept_decides_as_the_whole_history_whatever_windows_and_policies_become(
    past: History, behavior: Behavior, replicas: int, desired: int, later_s: int
) -> None:
    kept = relevant(past, monotonic_ns(), WINDOW_NS)
    at_ns = monotonic_ns(later_s)
    assert decided(kept, behavior, replicas, desired, at_ns) == decided(past, behavior, replicas, desired, at_ns)


@profile(200)
@given(HISTORIES, st.integers(0, 3_600), st.integers(0, 30), st.integers(0, 4_000))
def test_the_same_without_behavior(past: History, window_s: int, desired: int, later_s: int) -> None:
    flags = settings(downscale_stabilization_s=window_s)
    kept = relevant(past, monotonic_ns(), WINDOW_NS)
    at_ns = monotonic_ns(later_s)
    expected, _ = stabilize.without_behavior(desired, past, flags, at_ns)
    found, _ = stabilize.without_behavior(desired, kept, flags, at_ns)
    assert found.stabilized == expected.stabilized


def test_a_load_that_stands_still_leaves_one_recommendation() -> None:
    past = history(*((5, -15.0 * sync) for sync in range(20)))
    assert relevant(past, monotonic_ns(), WINDOW_NS).recommendations == history((5, 0)).recommendations


def test_what_was_neither_the_highest_nor_the_lowest_since_is_left_out_in_whatever_order_it_stands() -> None:
    past = history((7, -60), (5, 0), (9, -75), (6, -30), (3, -45), (8, -15), (4, -50))
    kept = relevant(past, monotonic_ns(), WINDOW_NS)
    assert kept.recommendations == history((5, 0), (9, -75), (3, -45), (8, -15)).recommendations


def test_a_load_that_falls_leaves_all() -> None:
    past = history(*((sync, -15.0 * sync) for sync in range(20)))
    assert relevant(past, monotonic_ns(), WINDOW_NS) == past


@profile(100)
@given(HISTORIES)
def test_a_record_taken_up_whole_on_another_machine_is_the_same_history_on_its_clock(past: History) -> None:
    kept = recorded(past, 5, monotonic_ns(-10), now(), WINDOW_NS)
    taken = taken_up(kept, whole=True, at=elsewhere())
    expected = relevant(past, monotonic_ns(), WINDOW_NS)
    by_ns = ELSEWHERE_NS - monotonic_ns()
    if not expected.recommendations:
        assert [entry.replicas for entry in taken.recommendations or ()] == [5], "§4.5"
        return
    assert [(entry.replicas, entry.at_ns - by_ns) for entry in taken.recommendations or ()] == [
        (entry.replicas, entry.at_ns) for entry in expected.recommendations
    ]
    assert [(each.change, each.at_ns - by_ns) for each in taken.scale_ups] == [
        (each.change, each.at_ns) for each in expected.scale_ups
    ]


def web() -> Autoscaler:
    four_a_minute = rules(by_pods(4, 60))
    return hpa(cpu(50), replicas_max=100, behavior=Behavior(four_a_minute, four_a_minute))


def taken_up(
    record: Record,
    *,
    whole: bool,
    at: Now,
    replicas: int = 5,
    status: Status | None = None,
    begun: History | None = None,
) -> History:
    return resumed(
        replace(record, partial=not whole),
        autoscaler=web(),
        status=status or Status(),
        replicas=replicas,
        begun=begun or History(),
        now=at,
        period_ns=PERIOD_NS,
    )


RECORD = recorded(history((9, -20.0), (5, -10.0), ups=[event(2, -40)]), 5, monotonic_ns(-10), now(), WINDOW_NS)


def test_a_whole_record_adds_nothing() -> None:
    taken = taken_up(RECORD, whole=True, at=elsewhere(), replicas=5)
    assert [entry.replicas for entry in taken.recommendations or ()] == [9, 5]


def test_where_syncs_may_be_missing_the_present_count_is_held_for_a_window_as_after_each_start() -> None:
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=5)
    assert [entry.replicas for entry in taken.recommendations or ()] == [9, 5, 5]
    assert taken.recommendations is not None
    assert taken.recommendations[-1].at_ns == ELSEWHERE_NS


def test_so_it_is_after_a_gap_of_four_periods() -> None:
    assert len(taken_up(RECORD, whole=True, at=elsewhere(50)).recommendations or ()) == 2
    assert len(taken_up(RECORD, whole=True, at=elsewhere(51)).recommendations or ()) == 3


def test_a_rescale_that_the_record_misses_is_known_from_the_status() -> None:
    status = Status(5, 9, last_scale_ns=wall_ns(-3))
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=9, status=status)
    # The status tells whole seconds; the rescale may have been up to one later.
    assert [(each.change, each.at_ns - ELSEWHERE_NS) for each in taken.scale_ups] == [
        (2, -40 * NANOSECONDS),
        (4, -2 * NANOSECONDS),
    ]


def test_several_missing_rescales_count_as_one_of_what_came_of_them() -> None:
    status = Status(9, 3, last_scale_ns=wall_ns(-3))
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=3, status=status)
    assert [each.change for each in taken.scale_downs] == [2]


def test_a_rescale_of_which_not_even_the_status_knows_counts_from_now() -> None:
    """The controller died between its two writes."""
    status = Status(5, 5, last_scale_ns=wall_ns(-40))
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=9, status=status)
    assert [(each.change, each.at_ns) for each in taken.scale_ups][1:] == [(4, ELSEWHERE_NS)]


@pytest.mark.parametrize("last_ns", [None, wall_ns(-40)])
def test_what_users_did_does_not_count(last_ns: int | None) -> None:
    """§11.6: a later sync has seen the count, and its status tells of no rescale."""
    status = Status(9, 9, last_scale_ns=last_ns)
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=9, status=status)
    assert [each.change for each in taken.scale_ups] == [2]


def test_rescales_of_another_controller_that_were_seen_meanwhile_count_once() -> None:
    status = Status(5, 9, last_scale_ns=wall_ns(-3))
    begun = History(None, (event(4, -3),), ())
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=9, status=status, begun=begun)
    assert sum(each.change for each in taken.scale_ups) == 6


def test_rescales_of_another_controller_that_the_record_has_do_not_count_again() -> None:
    older_ns, newer_ns = ELSEWHERE_NS - 120 * NANOSECONDS, ELSEWHERE_NS - 3 * NANOSECONDS
    begun = History(None, (ScaleEvent(7, older_ns), ScaleEvent(4, newer_ns)), (ScaleEvent(2, older_ns),))
    taken = taken_up(RECORD, whole=True, at=elsewhere(), replicas=9, status=Status(9, 9), begun=begun)
    assert [each.change for each in taken.scale_ups] == [2, 4]
    assert taken.scale_downs == ()


def test_without_a_record_the_status_tells_of_the_last_rescale() -> None:
    status = Status(5, 9, last_scale_ns=wall_ns(-3))
    found = unrecorded(web(), status, 9, History(), elsewhere())
    assert found.recommendations is None, "§4.5 comes later"
    assert [(each.change, each.at_ns - ELSEWHERE_NS) for each in found.scale_ups] == [(4, -2 * NANOSECONDS)]


@pytest.mark.parametrize("last_s", [None, -1_801])
def test_without_a_record_and_a_recent_rescale_nothing_is_known(last_s: int | None) -> None:
    status = Status(5, 5, last_scale_ns=None if last_s is None else wall_ns(last_s))
    assert unrecorded(web(), status, 9, History(), elsewhere()) == History()


@pytest.mark.parametrize(("age_s", "expected"), [(-31, False), (-30, True), (0, True), (3_600, True), (3_601, False)])
def test_a_record_counts_while_the_longest_window_reaches_back_to_it(age_s: int, *, expected: bool) -> None:
    record = Record(wall_ns(-age_s), 5, History(()))
    assert fresh(record, now(), WINDOW_NS) == expected


def test_entries_of_a_clock_that_is_a_little_ahead_are_taken_as_of_now() -> None:
    ahead = recorded(history((9, 0.0), ups=[event(2, 0)]), 5, monotonic_ns(), now(), WINDOW_NS)
    taken = taken_up(ahead, whole=True, at=elsewhere(-20))
    latest_ns = ELSEWHERE_NS - 20 * NANOSECONDS
    assert [entry.at_ns for entry in taken.recommendations or ()] == [latest_ns]
    assert [each.at_ns for each in taken.scale_ups] == [latest_ns]


def test_rescales_of_another_controller_around_the_last_sync_count_rather_twice_than_not_at_all() -> None:
    begun = History(None, (ScaleEvent(4, ELSEWHERE_NS - 40 * NANOSECONDS),), ())
    taken = taken_up(RECORD, whole=True, at=elsewhere(), replicas=9, status=Status(9, 9), begun=begun)
    assert [each.change for each in taken.scale_ups] == [2, 4]


def test_rescales_of_another_controller_count_in_either_direction() -> None:
    begun = History(None, (), (ScaleEvent(3, ELSEWHERE_NS - 3 * NANOSECONDS),))
    taken = taken_up(RECORD, whole=True, at=elsewhere(), replicas=2, status=Status(2, 2), begun=begun)
    assert [each.change for each in taken.scale_downs] == [3]
    # Of the four that are missing three are known, from what was seen meanwhile.
    status = Status(5, 1, last_scale_ns=wall_ns(-3))
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=1, status=status, begun=begun)
    assert [each.change for each in taken.scale_downs] == [3, 1]


def test_a_whole_record_misses_no_rescale_so_users_did_what_is_new() -> None:
    """§11.6: the status knows nothing of it, since nobody has decided since."""
    taken = taken_up(RECORD, whole=True, at=elsewhere(), replicas=9, status=Status(5, 5))
    assert [each.change for each in taken.scale_ups] == [2]


@pytest.mark.parametrize(("gap_s", "entries"), [(240, 2), (241, 3)])
def test_a_gap_is_longer_where_periods_are(gap_s: int, entries: int) -> None:
    taken = resumed(
        RECORD,
        autoscaler=web(),
        status=Status(),
        replicas=5,
        begun=History(),
        now=elsewhere(gap_s - 10),
        period_ns=60 * NANOSECONDS,
    )
    assert len(taken.recommendations or ()) == entries


def test_a_gap_is_a_minute_at_least() -> None:
    taken = resumed(
        RECORD,
        autoscaler=web(),
        status=Status(),
        replicas=5,
        begun=History(),
        now=elsewhere(49),
        period_ns=NANOSECONDS,
    )
    assert len(taken.recommendations or ()) == 2


@pytest.mark.parametrize(
    ("past", "kept"), [(history((9, -3_700.0)), ()), (History(), None)], ids=["all outdated", "never any"]
)
def test_where_a_record_has_no_recommendation_the_present_count_is_one(past: History, kept: tuple[()] | None) -> None:
    record = recorded(past, 9, monotonic_ns(-10), now(), WINDOW_NS)
    assert record.history.recommendations == kept
    taken = taken_up(record, whole=True, at=elsewhere(), replicas=9)
    assert [(entry.replicas, entry.at_ns) for entry in taken.recommendations or ()] == [(9, ELSEWHERE_NS)], "§4.5"


def test_without_a_record_a_rescale_that_was_seen_counts_once() -> None:
    begun = History(None, (ScaleEvent(4, ELSEWHERE_NS - 2 * NANOSECONDS),), ())
    assert unrecorded(web(), Status(5, 9, last_scale_ns=wall_ns(-3)), 9, begun, elsewhere()) == begun


def test_a_rescale_in_the_second_of_the_last_sync_counts() -> None:
    """The status tells whole seconds, so it may seem to be older than the record that misses it."""
    record = recorded(history((5, -11.0)), 5, monotonic_ns(-10.5), now(), WINDOW_NS)
    status = Status(5, 9, last_scale_ns=wall_ns(-11))
    taken = taken_up(record, whole=False, at=elsewhere(), replicas=9, status=status)
    assert [each.change for each in taken.scale_ups] == [4]
    status = Status(5, 9, last_scale_ns=wall_ns(-12))
    taken = taken_up(record, whole=False, at=elsewhere(), replicas=9, status=status)
    assert taken.scale_ups == (), "that is in the record"


@pytest.mark.parametrize(("replicas", "change"), [(9, 4), (6, 1)])
def test_a_rescale_of_this_second_is_not_in_the_future(replicas: int, change: int) -> None:
    status = Status(5, replicas, last_scale_ns=wall_ns())
    taken = taken_up(RECORD, whole=False, at=elsewhere(), replicas=replicas, status=status)
    assert [(each.change, each.at_ns) for each in taken.scale_ups][1:] == [(change, ELSEWHERE_NS)]


def test_rescales_beyond_the_longest_period_are_not_kept() -> None:
    past = history((5, 0.0), ups=[event(2, -1_801), event(3, -1_799)], downs=[event(4, -1_801)])
    kept = relevant(past, monotonic_ns(), WINDOW_NS)
    assert ([each.change for each in kept.scale_ups], kept.scale_downs) == ([3], ())
