"""The judge of the soak: what it must see, and what it must let pass."""

from __future__ import annotations

import pytest

from tests.e2e.soak.judgement import MIB, POOLED_MAX, Sample, grown, growth_mib, lost, lost_for_good


def samples(per_ten_minutes_mib: float = 0.0, wobble_mib: float = 0.0, **last: float) -> list[Sample]:
    """Half an hour of them; `last` are values of the last quarter."""
    made = []
    for index in range(40):
        at_s = 45.0 * index
        memory = (100 + per_ten_minutes_mib * at_s / 600 + wobble_mib * (index % 2)) * MIB
        late = last if index >= 30 else {}
        sockets, files = late.get("sockets", 60.0) + index % 3, late.get("files", 20.0) + index % 4
        made.append(Sample(at_s, memory, sockets, files, late.get("tasks", 12.0) + index % 2))
    return made


def test_what_stays_level_passes() -> None:
    assert grown(samples(0.5, wobble_mib=4.0)) == []


def test_memory_that_grows_is_seen_through_a_wobble() -> None:
    assert growth_mib(samples(1.5)) == pytest.approx(1.5)
    (found,) = grown(samples(3.0, wobble_mib=4.0))
    assert found.startswith("memory grows by ")


@pytest.mark.parametrize(
    ("name", "before", "after"), [("tasks", 12, 13), ("files", 20, 21), ("sockets", 60, 60 + POOLED_MAX + 1)]
)
def test_what_is_left_behind_is_seen(name: str, before: int, after: int) -> None:
    assert grown(samples(**{name: after})) == [f"{name} went from {before} to {after}"]
    assert grown(samples(**{name: before - 1})) == []


def test_a_pool_that_a_burst_has_filled_is_no_leak() -> None:
    assert grown(samples(sockets=60.0 + POOLED_MAX)) == []


def test_too_few_samples_are_no_proof() -> None:
    assert grown(samples()[:7]) == ["7 samples after the warm-up are too few to judge by"]


def test_lost_ones_are_named() -> None:
    ages_s = {"a": 0.5, "b": 11.0, "c": None, "old": 99.0}
    rows: list[dict[str, object]] = [{"name": name, "syncedS": age_s} for name, age_s in ages_s.items()]
    assert lost(rows, {"a", "b", "c", "d"}, 10.0) == [
        "d is not known",
        "old is gone and still known",
        "b was synced 11.0 s ago",
        "c was synced never",
    ]
    assert lost(rows[:1], {"a"}, 10.0) == []


@pytest.mark.parametrize(
    ("seen", "expected", "pauses"),
    [
        pytest.param([[]], [], 0, id="nothing"),
        pytest.param([["a was synced never"], []], [], 1, id="on its way"),
        pytest.param([["a"], ["a", "b"], ["b"], ["b"]], ["b"], 3, id="what is still lost at the end"),
        pytest.param([["a"], ["a"], ["a"], []], [], 3, id="found by the last look"),
    ],
)
async def test_what_is_not_there_yet_is_not_lost(seen: list[list[str]], expected: list[str], pauses: int) -> None:
    left, paused = iter(seen), iter(range(9))

    async def look() -> list[str]:
        return next(left)

    async def pause() -> None:
        next(paused)

    assert await lost_for_good(look, pause, 3) == expected
    assert (list(left), next(paused)) == ([], pauses)
