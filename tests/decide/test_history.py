"""What is remembered between syncs: slots that are reused in place (§4.5, §10.1, §11.2, §11.6)."""

import pytest

from controller.decide.history import History, Recommendation, ScaleEvent, changed
from tests.builders import event, history, monotonic_ns

MINUTE = 60


def test_a_list_begins_with_the_current_replicas() -> None:
    """§4.5."""
    assert history().begun(5, monotonic_ns()) == history((5, 0))


def test_a_list_begins_once() -> None:
    begun = history((3, -15), ups=[event(1, -15)])
    assert begun.begun(5, monotonic_ns()) == begun


def test_beginning_keeps_scale_events() -> None:
    """§3.6: scale events may be older than the recommendations."""
    assert history(downs=[event(2, -15)]).begun(5, monotonic_ns()) == history((5, 0), downs=[event(2, -15)])


@pytest.mark.parametrize(
    ("slot", "expected"),
    [
        (None, history((1, -30), (2, -20), (3, -10), (9, 0))),
        (0, history((9, 0), (2, -20), (3, -10))),
        (1, history((1, -30), (9, 0), (3, -10))),
        (2, history((1, -30), (2, -20), (9, 0))),
    ],
)
def test_a_recommendation_takes_its_slot(slot: int | None, expected: History) -> None:
    past = history((1, -30), (2, -20), (3, -10))
    assert past.recommended(Recommendation(9, monotonic_ns()), slot) == expected


UPS = [event(1, -10 * MINUTE), event(2, -9 * MINUTE), event(3, -1 * MINUTE)]

SCALED: dict[str, tuple[list[ScaleEvent], int, list[ScaleEvent]]] = {
    "first": ([], 60, [event(7, 0)]),
    "all are recent": (UPS[2:], 60, [UPS[2], event(7, 0)]),
    "25.8.9 the last outdated one is replaced, the other is marked": (
        UPS,
        5 * MINUTE,
        [event(1, -10 * MINUTE, outdated=True), event(7, 0), UPS[2]],
    ),
    "at the edge is recent": (
        [event(1, -60), event(2, -60.001)],
        60,
        [event(1, -60), event(7, 0)],
    ),
    "a mark stays although the period got longer": (
        [event(1, -10, outdated=True), event(2, -5)],
        1800,
        [event(7, 0), event(2, -5)],
    ),
    "without policies everything is outdated": (UPS[2:], 0, [event(7, 0)]),
}


@pytest.mark.parametrize(("events", "longest_s", "expected"), SCALED.values(), ids=SCALED)
@pytest.mark.parametrize("change", [7, -7], ids=["up", "down"])
def test_a_scale_event_takes_its_slot(
    change: int, events: list[ScaleEvent], longest_s: int, expected: list[ScaleEvent]
) -> None:
    """§11.6: only the list of its direction changes; the stored change is positive."""
    other = [event(5, -3600)]
    if change > 0:
        past, after = history((3, -15), ups=events, downs=other), history((3, -15), ups=expected, downs=other)
    else:
        past, after = history((3, -15), ups=other, downs=events), history((3, -15), ups=other, downs=expected)
    assert past.scaled(change, monotonic_ns(), longest_s) == after


def test_the_smallest_changes() -> None:
    assert history().scaled(1, monotonic_ns(), 60) == history(ups=[event(1, 0)])
    assert history().scaled(-1, monotonic_ns(), 60) == history(downs=[event(1, 0)])


@pytest.mark.parametrize(
    ("period_s", "expected"),
    [(0, 0), (1, 0), (30, 0), (31, 3), (60, 3), (61, 5), (540, 5), (541, 5), (601, 6), (100_000, 6)],
)
def test_changes_of_a_period(period_s: int, expected: int) -> None:
    """§11.5: strictly younger than the period; marks do not matter."""
    events = (event(1, -600, outdated=True), event(2, -60), event(3, -30))
    assert changed(events, period_s, monotonic_ns()) == expected
