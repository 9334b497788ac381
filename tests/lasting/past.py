"""Histories for Hypothesis: entries of up to two hours, in any order, as slots that are used again leave them."""

from typing import Final

from hypothesis import strategies as st

from controller.decide.history import History, Recommendation, ScaleEvent
from controller.decide.instants import NANOSECONDS
from controller.lasting.records import Record
from tests.builders import monotonic_ns, wall_ns

WINDOW_NS: Final = 3_600 * NANOSECONDS

_AGES_S = st.one_of(st.integers(0, 400), st.integers(0, 7_200))
_COUNTS = st.one_of(st.integers(0, 12), st.integers(0, 2**31 - 1))


def _recommendations() -> st.SearchStrategy[tuple[Recommendation, ...]]:
    each = st.builds(lambda count, age_s: Recommendation(count, monotonic_ns(-age_s)), _COUNTS, _AGES_S)
    return st.lists(each, min_size=1, max_size=40).map(tuple)


def _events() -> st.SearchStrategy[tuple[ScaleEvent, ...]]:
    counts = st.one_of(st.integers(1, 12), st.integers(1, 2**31 - 1))
    each = st.builds(
        lambda count, age_s, outdated: ScaleEvent(count, monotonic_ns(-age_s), outdated), counts, _AGES_S, st.booleans()
    )
    return st.lists(each, max_size=20).map(tuple)


HISTORIES: Final = st.builds(History, _recommendations(), _events(), _events())

_AHEAD_NS = wall_ns() - monotonic_ns()


def on_the_wall(history: History) -> History:
    """The same history with wall times."""
    return History(
        tuple(Recommendation(entry.replicas, entry.at_ns + _AHEAD_NS) for entry in history.recommendations or ()),
        tuple(ScaleEvent(event.change, event.at_ns + _AHEAD_NS, event.outdated) for event in history.scale_ups),
        tuple(ScaleEvent(event.change, event.at_ns + _AHEAD_NS, event.outdated) for event in history.scale_downs),
    )


RECORDS: Final = st.builds(
    lambda age_s, count, history, partial: Record(wall_ns(-age_s), count, on_the_wall(history), partial),
    _AGES_S,
    _COUNTS,
    HISTORIES,
    st.booleans(),
)
