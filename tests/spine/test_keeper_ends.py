"""How terms end, and what their last words are worth: kept histories at the borders between two controllers."""

import asyncio

import pytest

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import ScaleFailure
from controller.keeper import HAND_OVER_MAX_S, UNCHANGED_EVERY_S
from controller.ports import NotLeading, ServerFailure
from tests.lasting.whole import decode
from tests.spine.stage import PERIOD_S
from tests.spine.succession import KEEP_INTERVAL_S, Succession
from tests.spine.tasks import now_s
from tests.spine.test_keeper import keeper_of, last_history, replicas, scaled_up, web
from tests.spine.world import WALL_NS

pytestmark = pytest.mark.looptime


def recommended(succession: Succession) -> list[int]:
    return [entry.replicas for entry in last_history(succession).recommendations or ()]


async def test_after_a_proper_end_right_before_the_count_is_not_held() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(13)
    assert 9 not in recommended(succession)
    await succession.stop()


async def test_after_an_end_that_was_not_waited_for_it_is() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    await keeper_of(succession).hand_over(whole=False)
    assert not decode(succession.histories.objects[0][0]).whole
    await succession.kill()
    succession.start(first_s=1)
    await asyncio.sleep(13)
    assert 9 in recommended(succession)
    await succession.kill()


async def test_a_store_that_hangs_does_not_keep_the_lease_from_being_released() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    succession.histories.delay_s = 1000.0
    began_s = now_s()
    await keeper_of(succession).hand_over(whole=True)
    assert now_s() - began_s == pytest.approx(HAND_OVER_MAX_S)
    await succession.kill()


async def test_a_store_that_breaks_does_not_keep_the_lease_from_being_released() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    keeper = keeper_of(succession)
    before = keeper.saves["error"]
    succession.histories.faults.append(RuntimeError("broken"))
    await keeper.hand_over(whole=True)
    assert keeper.saves["error"] == before + 1
    await succession.kill()


async def test_whoever_has_lost_the_lease_and_won_it_again_overwrites_nobody_who_held_it_between() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    election, theirs = succession.election, succession.histories.objects[0][0] + b""
    versions: list[str] = []

    def another_term() -> None:
        versions.append(succession.histories.put(0, theirs))
        election.tenure = 9
        election.win()

    succession.histories.before_save.append(another_term)
    await keeper_of(succession).hand_over(whole=True)
    assert succession.histories.objects[0] == (theirs, int(versions[0]))
    await succession.kill()


async def test_what_does_not_change_is_saved_once_in_a_while() -> None:
    """A record that grew old would look like a gap to whoever leads next."""
    succession = await scaled_up()
    succession.demand.curves["web"] = lambda _: 9
    succession.start(first_s=1)
    await asyncio.sleep(1000)
    [age_ns] = [
        WALL_NS + round(now_s() * NANOSECONDS) - decode(body).saved_ns
        for body, _ in succession.histories.objects.values()
    ]
    assert age_ns < 1.5 * UNCHANGED_EVERY_S * NANOSECONDS
    await succession.kill()


@pytest.mark.parametrize(
    ("fault", "errors"),
    [(ServerFailure("down", 503), 1), (NotLeading("the Lease was not ours for a moment"), 0)],
    ids=["refused", "not leading"],
)
async def test_a_save_that_failed_is_made_up_for_within_an_interval(fault: Exception, errors: int) -> None:
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 20)
    succession.start(first_s=5)
    await asyncio.sleep(8)
    assert replicas(succession) == 9, "which is to be saved, though all was a moment before"
    succession.histories.faults.append(fault)
    before = len(succession.histories.saves)
    await asyncio.sleep(2 * KEEP_INTERVAL_S + 2)
    assert keeper_of(succession).saves["error"] == errors
    assert len(succession.histories.saves) > before
    await succession.kill()


async def test_a_target_that_cannot_be_read_at_first_takes_nothing_up_and_says_so() -> None:
    succession = await scaled_up()
    succession.stage.scales.read_failures.append(ScaleFailure("gone"))
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S - 3)
    assert succession.stage.sink.reasons()[-1] == "FailedGetScale"
    assert keeper_of(succession).taken_up == 0
    await succession.stop()


async def test_a_rescale_is_kept_with_the_replicas_that_it_led_to() -> None:
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 20)
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S - 3)
    await keeper_of(succession).hand_over(whole=True)
    [record] = decode(succession.histories.objects[0][0]).records.values()
    assert (record.replicas, replicas(succession)) == (9, 9)
    await succession.kill()
