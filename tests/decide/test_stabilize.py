"""§10.1, §11.2 and the second half of §25.8: what past recommendations make of a count, and which slot is reused."""

import pytest

from controller.decide import stabilize
from tests.builders import DEFAULTS, behavior, history, monotonic_ns, rules, settings

MINUTE = 60
Past = tuple[tuple[int, float], ...]

UNTIL_60 = settings(downscale_stabilization_s=60)

WITH: dict[str, tuple[int, int, Past, int, int, int, tuple[int, ...]]] = {
    # windows up and down, past, R, wanted; result, replicas of the list afterwards
    "25.8.10 no windows": (0, 0, ((10, -600), (9, -540)), 100, 3, 3, (10, 3)),
    "25.8.11 down": (0, 180, ((10, -600), (4, -60), (5, -120), (9, -540)), 100, 3, 5, (10, 4, 5, 3)),
    "25.8.12 up": (300, 0, ((4, -120), (5, -60)), 1, 7, 4, (4, 5, 7)),
    "25.8.13 up, first slot": (300, 0, ((10, -6000), (6, -60), (5, -120), (9, -180)), 1, 100, 5, (100, 6, 5, 9)),
    "25.8.14 not up although it was higher": (300, 300, ((2, -6000), (3, -180)), 2, 1, 2, (1, 3)),
    "25.8.14 not down although it was lower": (300, 300, ((2, -6000), (1, -180)), 2, 3, 2, (3, 1)),
    # §11.2: both edges are outside, and an entry at one is not replaced.
    "up edge": (60, 0, ((1, -60),), 5, 9, 9, (1, 9)),
    "inside the up edge": (60, 0, ((1, -59.999),), 5, 9, 5, (1, 9)),
    "outside the up edge": (60, 0, ((1, -60.001),), 5, 9, 9, (9,)),
    "down edge": (0, 60, ((9, -60),), 9, 1, 1, (9, 1)),
    "inside the down edge": (0, 60, ((9, -59.999),), 9, 1, 9, (9, 1)),
    "outside the down edge": (0, 60, ((9, -60.001),), 9, 1, 1, (1,)),
    "outdated for one window only": (300, 60, ((9, -120),), 9, 1, 1, (9, 1)),
    # Clamped to R, never beyond.
    "down halfway": (0, 300, ((6, -60),), 9, 1, 6, (6, 1)),
    "up halfway": (300, 0, ((6, -60),), 3, 9, 6, (6, 9)),
    "higher than R": (0, 300, ((20, -60),), 9, 1, 9, (20, 1)),
    "lower than R": (300, 0, ((1, -60),), 3, 9, 3, (1, 9)),
    "unchanged": (300, 300, ((1, -60), (20, -60)), 5, 5, 5, (1, 20, 5)),
    "unchanged, which no window moves": (300, 300, ((20, -60),), 5, 5, 5, (20, 5)),
}


@pytest.mark.parametrize("name", WITH)
def test_with_behavior(name: str) -> None:
    up_s, down_s, past, replicas, wanted, expected, stored = WITH[name]
    given = behavior(up=rules(window_s=up_s), down=rules(window_s=down_s))
    result, after = stabilize.with_behavior(wanted, replicas, history(*past), given, DEFAULTS, monotonic_ns())
    assert (result.desired, result.stabilized) == (wanted, expected)
    assert after.recommendations is not None
    assert tuple(entry.replicas for entry in after.recommendations) == stored
    if expected == wanted:
        assert result.change.reason == "ReadyForNewScale"
    else:
        assert result.change.reason == ("ScaleUpStabilized" if wanted >= replicas else "ScaleDownStabilized")


WITHOUT: dict[str, tuple[Past, int, int, tuple[int, ...]]] = {
    # past, wanted; result, replicas of the list afterwards; the window is a minute
    "within the window": (((4, -40), (5, -20)), 3, 5, (4, 5, 3)),
    "outdated": (((10, -120), (9, -100)), 3, 3, (10, 3)),
    # §10.1: an entry at the edge counts.
    "edge": (((9, -60),), 1, 9, (9, 1)),
    "outside the edge": (((9, -60.001),), 1, 1, (1,)),
    "the last outdated slot, wherever it is": (((7, -100), (2, -10), (9, -90), (3, -5)), 1, 3, (7, 2, 1, 3)),
    "higher wins over wanted": (((5, -10),), 3, 5, (5, 3)),
    "lower does not": (((2, -10),), 3, 3, (2, 3)),
    "one slot per sync": (((9, -100), (8, -90), (7, -80)), 1, 1, (9, 8, 1)),
}


@pytest.mark.parametrize("name", WITHOUT)
def test_without_behavior(name: str) -> None:
    past, wanted, expected, stored = WITHOUT[name]
    result, after = stabilize.without_behavior(wanted, history(*past), UNTIL_60, monotonic_ns())
    assert (result.desired, result.stabilized) == (wanted, expected)
    assert after.recommendations is not None
    assert tuple(entry.replicas for entry in after.recommendations) == stored
    assert result.change.reason == ("ReadyForNewScale" if expected == wanted else "ScaleDownStabilized")


def test_25_8_15_with_the_default_window() -> None:
    result, after = stabilize.without_behavior(3, history((4, -120), (5, -60)), DEFAULTS, monotonic_ns())
    assert result.stabilized == 5
    assert after == history((4, -120), (5, -60), (3, 0))
    result, after = stabilize.without_behavior(3, history((10, -600), (9, -540)), DEFAULTS, monotonic_ns())
    assert result.stabilized == 3
    assert after == history((10, -600), (3, 0))


def test_the_recommendation_that_binds_is_told() -> None:
    """The first of the highest and the first of the lowest; none where only the new one counts."""
    past = history((9, -50), (9, -40), (1, -30), (1, -20))
    both = behavior(up=rules(window_s=60), down=rules(window_s=60))
    result, _ = stabilize.with_behavior(5, 5, past, both, DEFAULTS, monotonic_ns())
    assert past.recommendations is not None
    assert (result.highest, result.lowest) == (past.recommendations[0], past.recommendations[2])
    result, _ = stabilize.without_behavior(5, past, UNTIL_60, monotonic_ns())
    assert (result.highest, result.lowest) == (past.recommendations[0], None)
    result, _ = stabilize.without_behavior(9, past, UNTIL_60, monotonic_ns())
    assert result.highest is None


@pytest.mark.parametrize(
    ("up_s", "down_s", "flag_s", "expected_s"),
    [
        (0, 60, 300, (0, 60)),
        (30, None, 300, (30, 300)),
        (30, 0, 300, (30, 0)),
        (0, None, 0, (0, 0)),
        (0, None, 90.9, (0, 90)),
        (None, None, 300, (0, 300)),
    ],
)
def test_windows(up_s: int | None, down_s: int | None, flag_s: float, expected_s: tuple[int, int]) -> None:
    """§11.1: the flag stands in for the scale-down window, truncated to whole seconds."""
    given = behavior(up=rules(window_s=up_s), down=rules(window_s=down_s))
    windows_ns = stabilize.windows_ns(given, settings(downscale_stabilization_s=flag_s))
    assert windows_ns == (expected_s[0] * 10**9, expected_s[1] * 10**9)


def test_the_flag_is_not_truncated_without_behavior() -> None:
    """§10.1."""
    exact = settings(downscale_stabilization_s=90.9)
    result, _ = stabilize.without_behavior(1, history((9, -90.5)), exact, monotonic_ns())
    assert result.stabilized == 9
    given = behavior(down=rules(window_s=None))
    result, _ = stabilize.with_behavior(1, 9, history((9, -90.5)), given, exact, monotonic_ns())
    assert result.stabilized == 1
