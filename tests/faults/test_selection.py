"""Which faults a short run takes."""

from __future__ import annotations

from tests.e2e.faults.catalogue import FAULTS, GROUPS, selection

SEEDS = range(200)


def test_every_selection_has_one_fault_of_each_group() -> None:
    for seed in SEEDS:
        assert sorted(fault.group for fault in selection(seed).faults) == sorted(GROUPS)


def test_a_seed_stands_for_one_selection() -> None:
    assert [selection(seed) for seed in SEEDS] == [selection(seed) for seed in SEEDS]


def test_seeds_reach_every_short_fault_under_two_and_three_controllers() -> None:
    drawn = [selection(seed) for seed in SEEDS]
    assert {fault.name for one in drawn for fault in one.faults} == {fault.name for fault in FAULTS}
    assert {one.replicas for one in drawn} == {2, 3}
    assert len({tuple(fault.group for fault in one.faults) for one in drawn}) > len(SEEDS) // 2
