"""What is said of a variant after many syncs."""

import pytest

from controller.decide.history import History
from controller.decide.result import Decision, Path
from controller.recording.course import Frame, Moment
from controller.recording.differing import Tally, row

Counts = tuple[int | None, int | None]
"""What was desired as recorded, and what the variant would have had; None: no count was decided."""


def tally(*syncs: Counts) -> Tally:
    """A tally that has taken these syncs."""
    found = Tally(0)
    for number, counts in enumerate(syncs):
        decisions = [Decision(Path.ABOVE_MAX, 4, desired, (), History()) for desired in counts]
        frame = Frame("shop/web", 15.0 * number, None, tuple(Moment(None, decision) for decision in decisions))
        found.take(row(frame), decisions[-1])
    return found


SPANS: dict[str, tuple[list[Counts], str]] = {
    "more each time": ([(4, 6), (4, 10), (4, 8)], "by +2 to +6 replicas, +4.00 on average over all 3 syncs"),
    "less each time": ([(4, 3), (4, 2), (4, 4)], "by -2 to -1 replicas, -1.00 on average over all 3 syncs"),
    "both": ([(4, 3), (4, 6)], "by -1 to +2 replicas, +0.50 on average over all 2 syncs"),
    "always as much": ([(4, 6), (4, 6), (4, 4), (4, 4)], "by +2 replicas, +1.00 on average over all 4 syncs"),
    "one that was not decided": (
        [(4, 6), (None, 6), (4, 4)],
        "by +2 replicas, +1.00 on average over the syncs that can be compared, 2 of 3",
    ),
    "only such": ([(None, 6), (4, None)], "by how many replicas cannot be told"),
    "only such that differ": ([(4, 4), (4, None)], "by how many replicas cannot be told"),
}


@pytest.mark.parametrize(("syncs", "said"), SPANS.values(), ids=SPANS)
def test_by_how_many_replicas_it_differs(syncs: list[Counts], said: str) -> None:
    assert tally(*syncs).span() == said


ALIKE: dict[str, tuple[list[Counts], str]] = {
    "the same": ([(4, 4), (None, None)], "the same replicas in the syncs that can be compared, 1 of 2"),
    "one sync": ([(4, 4)], "the same replicas in the only sync"),
    "no sync": ([], "the same replicas in all 0 syncs"),
    "no counts": (
        [(None, None), (None, None)],
        "whether it differs cannot be told: in none of 2 syncs is there a number of replicas",
    ),
}


@pytest.mark.parametrize(("syncs", "said"), ALIKE.values(), ids=ALIKE)
def test_what_does_not_differ_is_no_more_than_is_known(syncs: list[Counts], said: str) -> None:
    found = tally(*syncs)
    assert (found.first, found.alike()) == (None, said)
