"""Syncs are remembered within a budget, and deciding on them again gives what was decided."""

import copy
import gc
import tracemalloc

import msgspec
import pytest

from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import ExternalReading
from controller.decide.spec import Settings
from controller.ports import Sync
from controller.traces import BUDGET_BYTES, OVERHEAD_BYTES, PACKED_SHARE, Traces
from tests.spine.objects import CPU, autoscaler
from tests.spine.stage import AT_ONCE, syncs_of

pytestmark = pytest.mark.looptime

BLOCK_SYNCS = 16
"""So many are forgotten at once."""


async def test_deciding_again_gives_what_was_decided() -> None:
    told = await syncs_of(6)
    traces = Traces(AT_ONCE)
    for sync in told:
        traces(sync)
    found = [packed.unpacked() for packed in traces.of("shop/web", 100)]
    assert [traced.decided()[0] for traced in found] == [sync.decision for sync in told]
    assert [traced.decided()[1].status for traced in found] == [sync.conclusion.status for sync in told]
    assert [traced.inputs.observation for traced in found] == [sync.observation for sync in told]
    assert any(sync.write is not None for sync in told), "with rescales among them"


async def test_what_came_of_a_write_has_the_time_at_which_it_came() -> None:
    """A write may take seconds, and the time of scaling is that after it."""
    sync = next(sync for sync in await syncs_of(6) if sync.write is not None)
    later = Now(sync.now.wall_ns + 5 * NANOSECONDS, sync.now.monotonic_ns + 5 * NANOSECONDS)
    traces = Traces(AT_ONCE)
    traces(msgspec.structs.replace(sync, concluded=later))
    [packed] = traces.of("shop/web", 1)
    _, conclusion = packed.unpacked().decided()
    assert conclusion.status.last_scale_ns == later.wall_ns


async def test_the_latest_are_given_oldest_first() -> None:
    told = await syncs_of(5)
    traces = Traces(AT_ONCE)
    for sync in told:
        traces(sync)
    assert [packed.unpacked().inputs.now for packed in traces.of("shop/web", 2)] == [sync.now for sync in told[-2:]]
    assert traces.of("shop/web", 0) == []
    assert traces.of("shop/other", 5) == []


async def test_the_oldest_of_all_hpas_go_first_and_the_budget_holds() -> None:
    [sync] = await syncs_of(1)
    traces = Traces(Settings(), budget_bytes=20_000)
    sizes = []
    for number in range(500):
        traces(msgspec.structs.replace(sync, autoscaler=autoscaler(CPU, name=f"web-{number}")))
        assert 0 < traces.size_bytes <= 20_000
        if traces.full:
            sizes.append(traces.size_bytes)
    assert traces.full
    assert len(set(sizes[::BLOCK_SYNCS])) == 1, "what has been forgotten is not counted"
    kept = [number for number in range(500) if traces.of(f"shop/web-{number}", 1)]
    assert kept == list(range(kept[0], 500)), "only the latest, without a gap"
    assert len(kept) * OVERHEAD_BYTES < traces.size_bytes
    most = int(20_000 * (1 - PACKED_SHARE) / OVERHEAD_BYTES)
    assert len(kept) > most - BLOCK_SYNCS, "no more is forgotten than has to be"


async def test_what_was_asked_for_stays_what_it_is_however_much_is_remembered_meanwhile() -> None:
    """It is unpacked in a thread, while syncs go on."""
    first, second = await syncs_of(2)
    traces = Traces(AT_ONCE, budget_bytes=20_000)
    traces(first)
    [packed] = traces.of("shop/web", 1)
    for _ in range(500):
        traces(second)
    assert packed.unpacked().inputs.now == first.now


async def test_what_is_really_held_is_what_is_counted() -> None:
    [sync] = await syncs_of(1)
    traces = Traces(AT_ONCE)
    tracemalloc.start()
    try:
        for _ in range(1000):
            # As every watch event brings it: all is equal to what was there, and nothing is the same.
            traces(copy.deepcopy(sync))
        gc.collect()  # what copying leaves behind
        held_bytes, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # What is packed lies in memory that the system gives as it is used.
    assert held_bytes < 1.2 * 1000 * OVERHEAD_BYTES < traces.size_bytes
    assert traces.size_bytes < BUDGET_BYTES


@pytest.mark.parametrize("number", [2**63 - 1, 2**64, 2**70, -(2**70)])
async def test_numbers_beyond_64_bits_are_remembered_as_well(number: int) -> None:
    """Requests are nano-units: 18 GiB of memory are more than 64 bits hold."""
    [sync] = await syncs_of(1)
    huge = msgspec.structs.replace(sync.observation, readings=(ExternalReading((number,)),))
    traces = Traces(AT_ONCE)
    traces(msgspec.structs.replace(sync, observation=huge))
    [found] = traces.of("shop/web", 1)
    assert found.unpacked().inputs.observation == huge
    assert traces.passed_over == 0


async def test_syncs_of_several_hpas_that_are_packed_together_stay_apart() -> None:
    told = await syncs_of(6)
    traces = Traces(AT_ONCE)
    for number, sync in enumerate(told * 7):
        traces(msgspec.structs.replace(sync, autoscaler=autoscaler(CPU, name=f"web-{number % 5}")))
    for remainder in range(5):
        found = [packed.unpacked().inputs.now for packed in traces.of(f"shop/web-{remainder}", 100)]
        assert found == [sync.now for number, sync in enumerate(told * 7) if number % 5 == remainder]


def larger_than_all_room(sync: Sync) -> Sync:
    """The same sync with more samples than 20,000 bytes have room for."""
    readings = (ExternalReading(tuple(number**9 for number in range(5_000))),)
    return msgspec.structs.replace(sync, observation=msgspec.structs.replace(sync.observation, readings=readings))


async def test_what_is_larger_than_all_room_is_what_is_passed_over() -> None:
    [small] = await syncs_of(1)
    large = msgspec.structs.replace(larger_than_all_room(small), autoscaler=autoscaler(CPU, name="large"))
    traces = Traces(AT_ONCE, budget_bytes=20_000)
    for sync in (small, large, small):
        traces(sync)
    assert (len(traces.of("shop/web", 10)), traces.of("shop/large", 10)) == (2, [])


async def test_what_is_larger_than_all_room_is_passed_over_and_costs_no_other_sync() -> None:
    small, _ = await syncs_of(2)
    large = larger_than_all_room(small)
    traces = Traces(AT_ONCE, budget_bytes=20_000)
    for _ in range(3):
        traces(small)
        traces(large)
    assert traces.passed_over == 3
    assert [packed.unpacked().inputs.observation for packed in traces.of("shop/web", 10)] == [small.observation] * 3
    assert 0 < traces.size_bytes <= 20_000
