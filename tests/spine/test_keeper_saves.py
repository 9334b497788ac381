"""What of the histories is saved, when, and in which order."""

import asyncio
from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from controller.decide.history import History, Recommendation
from controller.decide.instants import NANOSECONDS
from controller.keeper import UNCHANGED_EVERY_S
from controller.lasting.records import WINDOW_LONGEST_NS, Record
from controller.lasting.shards import Shard, digest
from controller.ports import ServerFailure, WatchedAutoscaler
from tests.lasting.whole import decode, encode
from tests.spine.stage import PERIOD_S
from tests.spine.succession import KEEP_INTERVAL_S, Succession
from tests.spine.tasks import now_s
from tests.spine.test_keeper import last_history, of_many, records_in, replicas, scaled_up, web
from tests.spine.world import WALL_NS

pytestmark = pytest.mark.looptime


async def test_an_hpa_that_is_gone_is_not_kept() -> None:
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 5)
    succession.start(first_s=1)
    await asyncio.sleep(KEEP_INTERVAL_S + 3)
    assert records_in(succession.histories)
    succession.stage.autoscalers.remove(web().key)
    await asyncio.sleep(2 * KEEP_INTERVAL_S)
    assert not records_in(succession.histories)
    await succession.kill()


@pytest.mark.parametrize("successor", [None, web(uid="another")])
async def test_an_hpa_that_goes_while_its_sync_is_in_hand_is_not_kept(successor: WatchedAutoscaler | None) -> None:
    succession = Succession(keep=True)
    succession.add(web(uid="first"), 5, lambda _: 20)
    succession.start(first_s=1)
    await asyncio.sleep(1.1)
    succession.stage.autoscalers.remove(web(uid="first").key)
    if successor is not None:
        succession.stage.autoscalers.put(successor)
    await asyncio.sleep(3)
    assert replicas(succession) == 5, "nothing is scaled for an HPA that is gone"
    await succession.stop()
    assert decode(succession.histories.objects[0][0]).records == {}


async def test_saves_are_bounded_and_rare_while_nothing_happens() -> None:
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 5)
    succession.start()
    await asyncio.sleep(600)
    saves = [at_s for at_s, _, _ in succession.histories.saves]
    assert len(saves) <= 3 + 600 / UNCHANGED_EVERY_S
    await succession.stop()


async def test_saves_are_spread_and_each_object_has_its_turn_once_per_interval() -> None:
    succession = Succession(keep=True)
    for number in range(700):
        succession.stage.autoscalers.put(web(name=f"web-{number}"))
    succession.add(web(), 5, lambda time_s: 5 + int(time_s / PERIOD_S) % 3)
    for number in range(700):
        succession.stage.scales.put("shop", f"web-{number}", succession.stage.scales._scales["shop", "web"])
    succession.demand.curves["web"] = lambda time_s: 5 + int(time_s / PERIOD_S) % 3
    succession.start()
    await asyncio.sleep(PERIOD_S * 3)
    saves = list(succession.histories.saves)
    await succession.kill()
    assert {number for _, number, _ in saves} == {0, 1, 2, 3}
    for number in range(4):
        times = [at_s for at_s, each, _ in saves if each == number and at_s > 3]
        assert len(times) > 1
        assert all(later - earlier > 8 for earlier, later in pairwise(times))
    records = [decode(body).records for body, _ in succession.histories.objects.values()]
    assert sum(map(len, records)) == 701
    assert {decode(body).shards for body, _ in succession.histories.objects.values()} == {4}
    assert decode(succession.histories.objects[0][0]).saved_ns - WALL_NS < 60 * NANOSECONDS


async def test_histories_that_cannot_be_saved_are_told_of_once_a_minute() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    succession.histories.faults.extend(ServerFailure("down", 503) for _ in range(1_000))
    with capture_logs() as logs:
        await asyncio.sleep(55)
    told = [line["event"] for line in logs if line["log_level"] == "warning"]
    assert told == ["histories cannot be saved: a restart would forget them"]
    await succession.kill()


async def saved_anew(succession: Succession) -> None:
    """Return right after the next save."""
    saved = asyncio.Event()
    succession.histories.before_save.append(saved.set)
    await asyncio.wait_for(saved.wait(), 2 * UNCHANGED_EVERY_S)


async def test_a_rescale_back_to_what_it_was_is_saved_within_an_interval() -> None:
    """Nothing else has changed: as much is wanted as before, and as many are there."""
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 9)
    succession.start(first_s=1)
    await asyncio.sleep(80)
    assert replicas(succession) == 9
    await saved_anew(succession)
    by_hand_ns = WALL_NS + round(now_s() * NANOSECONDS)
    succession.stage.scales.by_hand("shop", "web", 5)
    await asyncio.sleep(PERIOD_S + KEEP_INTERVAL_S + 3)
    assert replicas(succession) == 9
    assert last_history(succession).scale_ups[-1].at_ns > by_hand_ns
    await succession.kill()


async def test_what_changes_while_an_object_is_being_saved_is_saved_the_next_time() -> None:
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 5)
    succession.start(first_s=1)
    await asyncio.sleep(KEEP_INTERVAL_S + 3)
    being_saved = asyncio.Event()

    def delete() -> None:
        succession.stage.autoscalers.remove(web().key)
        being_saved.set()

    succession.histories.before_save.append(delete)
    await asyncio.wait_for(being_saved.wait(), 2 * UNCHANGED_EVERY_S)
    assert records_in(succession.histories) == {digest(web().uid)}
    await asyncio.sleep(2 * KEEP_INTERVAL_S)
    assert records_in(succession.histories) == set()
    await succession.kill()


async def test_a_record_in_which_nothing_can_count_any_more_is_not_kept() -> None:
    succession = await scaled_up()
    succession.start(first_s=10_000)
    await asyncio.sleep(WINDOW_LONGEST_NS / NANOSECONDS - UNCHANGED_EVERY_S)
    assert records_in(succession.histories) == {digest(web().uid)}
    await asyncio.sleep(3 * UNCHANGED_EVERY_S)
    assert records_in(succession.histories) == set()
    await succession.kill()


@pytest.mark.parametrize("refused", ["read", "write"])
async def test_the_object_that_says_how_many_there_are_is_not_saved_before_all_others_are_there(refused: str) -> None:
    """Until then it has the records that belong into them."""
    succession = await of_many()
    histories = succession.histories
    kept = {digest(watched.uid) for watched in succession.stage.autoscalers}
    record = Record(WALL_NS, 5, History((Recommendation(5, WALL_NS),)))
    histories.objects.clear()
    histories.put(0, encode(Shard(WALL_NS, "run", 0, whole=True, shards=1, records=dict.fromkeys(kept, record))))
    faulty = histories.unreadable if refused == "read" else histories.unwritable
    faulty.add(3)
    succession.start(first_s=1_000)
    await asyncio.sleep(3 * KEEP_INTERVAL_S)
    assert {number for _, number, _ in histories.saves} == {1, 2}
    assert records_in(histories) == kept
    faulty.clear()
    await asyncio.sleep(3 * KEEP_INTERVAL_S)
    assert {number for _, number, _ in histories.saves} == {0, 1, 2, 3}
    assert records_in(histories) == kept
    await succession.kill()
