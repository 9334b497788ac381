"""Kept histories over several terms of one process: what it still knows by then, and what it may not overwrite."""

import asyncio

import msgspec
import pytest

from controller.keeper import UNCHANGED_EVERY_S
from controller.ports import ServerFailure
from tests.lasting.whole import decode, encode
from tests.spine.stage import PERIOD_S
from tests.spine.succession import KEEP_INTERVAL_S
from tests.spine.test_keeper import keeper_of, replicas, scaled_up

pytestmark = pytest.mark.looptime


async def test_whoever_has_lost_the_lease_never_overwrites_its_successor() -> None:
    """The first controller's save is on its way while the second takes over and saves."""
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    old, election = keeper_of(succession), succession.election
    theirs = succession.histories.objects[0][0] + b""
    written: list[str] = []

    def taken_over() -> None:
        election.lose()
        written.append(succession.histories.put(0, theirs))

    succession.histories.before_save.append(taken_over)
    await old.hand_over(whole=True)
    assert succession.histories.objects[0] == (theirs, int(written[0]))
    await succession.kill()


async def test_a_save_that_has_to_ask_for_the_version_first_does_not_overwrite_a_successor_either() -> None:
    """What it is told may be its successor's."""
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    histories = succession.histories
    histories.faults.extend(ServerFailure("no answer: it may have been saved", 503) for _ in range(1_000))
    await asyncio.sleep(2 * UNCHANGED_EVERY_S)
    histories.faults.clear()
    theirs = histories.objects[0][0] + b""
    ending = asyncio.create_task(keeper_of(succession).hand_over(whole=True))
    await asyncio.sleep(histories.delay_s / 2)
    succession.election.lose()
    version = int(histories.put(0, theirs))
    await ending
    assert histories.objects[0] == (theirs, version)
    await succession.kill()


async def test_a_new_term_of_the_same_process_goes_on_with_what_it_remembers() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    succession.histories.objects.clear()
    succession.election.lose()
    await asyncio.sleep(1)
    succession.election.win()
    await asyncio.sleep(PERIOD_S)
    assert replicas(succession) == 9
    assert keeper_of(succession).taken_up == 2
    await succession.stop()


async def test_after_another_holder_memory_is_worth_nothing() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    succession.election.lose()
    succession.histories.objects.clear()
    succession.election.win()
    succession.election.tenure = 7
    succession.stage.statuses.stored.clear()
    await asyncio.sleep(PERIOD_S)
    assert keeper_of(succession).taken_up == 1
    await succession.kill()


@pytest.mark.parametrize("later_s", range(1, 11, 2))
async def test_a_term_that_finds_fewer_objects_than_the_last_one_goes_on_saving(later_s: int) -> None:
    succession = await scaled_up()
    left = msgspec.structs.replace(decode(succession.histories.objects[0][0]), shards=8)
    for number in range(8):
        succession.histories.put(number, encode(left))
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S + later_s)
    succession.election.lose()
    succession.histories.objects.clear()
    succession.election.win()
    succession.election.tenure = 7
    await asyncio.sleep(2 * UNCHANGED_EVERY_S)
    succession.histories.objects.clear()
    await asyncio.sleep(2 * UNCHANGED_EVERY_S)
    assert decode(succession.histories.objects[0][0]).shards == 1
    assert keeper_of(succession).saves["error"] == 0
    await succession.stop()


async def test_a_sync_that_outlives_its_term_takes_nothing_from_what_was_kept() -> None:
    """Its rescale was on its way when the term ended, so it is told of; by then another term has begun."""
    succession = await scaled_up()
    succession.stage.scales.write_s = 6.0
    succession.start(first_s=60)
    await asyncio.sleep(62)
    succession.election.lose()
    succession.election.win()
    await asyncio.sleep(8)
    assert replicas(succession) == 13
    assert keeper_of(succession).taken_up == 0
    await asyncio.sleep(PERIOD_S)
    assert keeper_of(succession).taken_up == 1
    await succession.stop()


async def test_whoever_leads_after_an_hour_makes_up_for_nothing() -> None:
    """It had nothing to do in all the intervals before."""
    succession = await scaled_up()
    succession.histories.unreadable.add(0)
    succession.start(first_s=10_000)
    succession.election.lose()
    await asyncio.sleep(3_600)
    succession.election.win()
    await asyncio.sleep(3 * KEEP_INTERVAL_S)
    assert 2 <= keeper_of(succession).saves["error"] <= 5, "it is tried at the beginning, and once per interval"
    await succession.kill()
