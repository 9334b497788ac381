import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lab.behaviour.rollout import Bounds, Part, bounds, new_size, old_sizes, proportional_sizes, share


@pytest.mark.parametrize(
    ("desired", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", Bounds(3, 2)),
        (4, "25%", "25%", Bounds(1, 1)),
        (3, "25%", "25%", Bounds(1, 0)),
        (1, "25%", "25%", Bounds(1, 0)),
        (10, 0, 3, Bounds(0, 3)),
        (10, 5, 0, Bounds(5, 0)),
        (3, 0, "25%", Bounds(0, 1)),
        (2, 0, 5, Bounds(0, 2)),
        (0, "25%", "25%", Bounds(0, 0)),
        (10, "100%", "100%", Bounds(10, 10)),
    ],
)
def test_bounds(desired: int, surge: int | str, unavailable: int | str, expected: Bounds) -> None:
    assert bounds(desired, surge, unavailable) == expected


@pytest.mark.parametrize("text", ["", "%", "ten", "10", "-5%", "1.5%"])
def test_what_is_neither_number_nor_percentage_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="percentage"):
        share(text, 10, up=True)


@pytest.mark.parametrize(
    ("desired", "surge", "new", "old", "expected"),
    [
        # The first step of a rollout of ten with the usual bounds.
        (10, 3, 0, [10], 3),
        # Old ones have gone, there is room for as many.
        (10, 3, 3, [8], 5),
        (10, 3, 9, [1], 10),
        # Roll over: two old sets, no room at all.
        (10, 3, 0, [8, 5], 0),
        # More than there is room for, as another template was scaled up: nothing shrinks here.
        (10, 3, 5, [10], 5),
        # Scaled down while nothing rolls.
        (4, 1, 10, [], 4),
        (10, 0, 0, [10], 0),
        (5, 5, 0, [5], 5),
    ],
)
def test_how_the_new_set_grows(desired: int, surge: int, new: int, old: list[int], expected: int) -> None:
    part = Part("new", new, new, 9)
    parts = [part, *(Part(f"old{index}", size, size, index) for index, size in enumerate(old))]
    assert new_size(desired, Bounds(surge, 0), part, parts) == expected


@pytest.mark.parametrize(
    ("desired", "unavailable", "new", "old", "expected"),
    [
        # (size, available) of the new set and of the old ones, oldest first.
        (10, 2, (3, 0), [(10, 10)], {"old0": 8}),
        # The new ones are not available yet, so nothing more may go.
        (10, 2, (5, 0), [(8, 8)], {}),
        (10, 2, (5, 2), [(8, 8)], {"old0": 6}),
        (10, 0, (3, 3), [(10, 10)], {"old0": 7}),
        # Broken old pods go first, even where the available ones must stay.
        (10, 2, (3, 0), [(10, 7)], {"old0": 8}),
        (10, 0, (3, 3), [(4, 1), (6, 6)], {"old0": 1}),
        # The oldest set shrinks before a younger one.
        (10, 2, (3, 3), [(4, 4), (6, 6)], {"old0": 0, "old1": 5}),
        # Everything is up to date.
        (10, 2, (10, 10), [(3, 3)], {"old0": 0}),
        (10, 2, (10, 10), [], {}),
    ],
)
def test_how_old_sets_shrink(
    desired: int, unavailable: int, new: tuple[int, int], old: list[tuple[int, int]], expected: dict[str, int]
) -> None:
    parts = [Part(f"old{index}", *sizes, index) for index, sizes in enumerate(old)]
    assert old_sizes(desired, Bounds(3, unavailable), Part("new", *new, 9), parts) == expected


@pytest.mark.parametrize(
    ("desired", "surge", "sizes", "most", "expected"),
    [
        # The example of the Deployment documentation: ten pods in a rollout, scaled to fifteen.
        (15, 3, [8, 5], 13, [11, 7]),
        (5, 2, [8, 5], 13, [4, 3]),
        # Among equals the newer one grows first, and the older one shrinks first.
        (9, 0, [2, 2, 2], 6, [3, 3, 3]),
        (7, 0, [2, 2, 2], 6, [2, 2, 3]),
        (5, 0, [2, 2, 2], 6, [1, 2, 2]),
        (0, 1, [8, 5], 13, [0, 0]),
        (10, 3, [8, 5], 13, [8, 5]),
        # A set without the memory of an earlier size keeps it, and the largest takes the difference.
        (15, 0, [8, 2], 0, [13, 2]),
    ],
)
def test_scaling_during_a_rollout(desired: int, surge: int, sizes: list[int], most: int, expected: list[int]) -> None:
    parts = [Part(f"set{index}", size, size, index, most) for index, size in enumerate(sizes)]
    found = proportional_sizes(desired, Bounds(surge, 0), parts)
    assert [found[part.name] for part in parts] == expected


counts = st.integers(0, 40)


@given(
    desired=counts,
    surge=st.integers(0, 10),
    sizes=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    before=st.integers(1, 200),
)
def test_scaling_during_a_rollout_reaches_the_allowed_total(
    desired: int, surge: int, sizes: list[int], before: int
) -> None:
    parts = [Part(str(index), size, size, index, max(before, sum(sizes))) for index, size in enumerate(sizes)]
    found = proportional_sizes(desired, Bounds(surge, 0), parts)
    assert all(size >= 0 for size in found.values())
    if desired and desired + surge >= sum(sizes):
        assert sum(found.values()) == desired + surge


@given(desired=st.integers(1, 30), surge=st.integers(0, 10), unavailable=st.integers(0, 10), old=st.integers(0, 40))
def test_a_rollout_ends_within_its_bounds(desired: int, surge: int, unavailable: int, old: int) -> None:
    limits = bounds(desired, surge, unavailable)
    start = old = min(old, desired + limits.surge)
    new = available = 0
    for _ in range(4 * (desired + old) + 4):
        part, before = Part("new", new, available, 1), Part("old", old, old, 0)
        grown = new_size(desired, limits, part, [part, before])
        shrunk = old_sizes(desired, limits, part, [before]).get("old", old) if grown == new else old
        assert grown + shrunk <= max(desired + limits.surge, start)
        assert available + shrunk >= min(start, desired - limits.unavailable)
        # One more pod of those that were made becomes available with each step.
        available = min(grown, available + 1)
        new, old = grown, shrunk
    assert (new, old) == (desired, 0)
