"""Kept histories among several controllers: who may save, what is taken up, and what damage does."""

import asyncio
import zlib

import msgspec
import pytest

from controller.decide.history import History, Recommendation
from controller.decide.spec import Behavior, ExternalMetric, MetricIdentifier, Policy, Rules, Target
from controller.keeper import Keeper
from controller.lasting.records import Record
from controller.lasting.shards import Shard, digest, shard_of
from controller.ports import ServerFailure, WatchedAutoscaler
from controller.takeover import LOAD_MAX_S
from controller.telemetry.histories import families
from tests.lasting.whole import decode, encode
from tests.spine.objects import autoscaler, scale
from tests.spine.stage import PERIOD_S
from tests.spine.succession import KEEP_INTERVAL_S, MemoryHistories, Succession
from tests.spine.world import WALL_NS

pytestmark = pytest.mark.looptime

METRIC = ExternalMetric(MetricIdentifier("web"), Target("AverageValue", average_value_milli=1_000))
FOUR_A_MINUTE = Behavior(Rules(0, (Policy("Pods", 4, 60),)), Rules(300, (Policy("Pods", 4, 60),)))


def web(uid: str = "", name: str = "web") -> WatchedAutoscaler:
    return autoscaler(METRIC, name=name, behavior=FOUR_A_MINUTE, uid=uid)


async def scaled_up() -> Succession:
    """An HPA that wants 20 and has come from 5 to 9, and a controller that has just ended properly."""
    succession = Succession(keep=True)
    succession.add(web(), 5, lambda _: 20)
    succession.start()
    await asyncio.sleep(PERIOD_S + 2)
    await succession.stop()
    assert replicas(succession) == 9
    return succession


def replicas(succession: Succession, name: str = "web") -> int:
    return succession.stage.scales.replicas("shop", name)


def keeper_of(succession: Succession) -> Keeper:
    assert succession.keeper is not None
    return succession.keeper


def records_in(histories: MemoryHistories) -> set[bytes]:
    return {key for body, _ in histories.objects.values() for key in decode(body).records}


def last_history(succession: Succession) -> History:
    [record] = decode(succession.histories.objects[0][0]).records.values()
    return record.history


def warnings(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if "warning" in line]


async def test_a_successor_knows_of_the_rescale_and_waits_for_the_end_of_the_period() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S)
    assert replicas(succession) == 9
    assert keeper_of(succession).taken_up == 1
    await asyncio.sleep(60)
    assert replicas(succession) == 13
    await succession.stop()


async def test_what_was_saved_and_taken_up_is_told_in_numbers() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S + KEEP_INTERVAL_S)
    keeper = keeper_of(succession)
    told = {sample.name: sample.value for family in families(keeper) for sample in family.samples}
    assert told["hpa_controller_histories_taken_up_total"] == 1
    assert told["hpa_controller_history_bytes"] == keeper.size_bytes > 1
    assert list(families(None)) == []
    await succession.stop()


async def test_an_hpa_that_was_made_anew_begins_anew() -> None:
    succession = await scaled_up()
    succession.stage.autoscalers.remove(web().key)
    succession.stage.autoscalers.put(web(uid="another"))
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S)
    assert replicas(succession) == 13
    await succession.stop()
    assert set(decode(succession.histories.objects[0][0]).records) == {digest("another")}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"nonsense", "compressed"),
        (zlib.compress(msgspec.msgpack.encode([9, "x"])), "its format is 9, this program reads 1"),
        (zlib.compress(msgspec.msgpack.encode([1, "x"])), "cannot be decoded"),
    ],
)
async def test_what_cannot_be_read_is_said_once_and_replaced(
    body: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    succession = await scaled_up()
    succession.histories.put(0, body)
    warnings(capsys)
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S + 2)
    [line] = warnings(capsys)
    assert words in line
    assert decode(succession.histories.objects[0][0]).records, "it works on, and saves"
    await succession.stop()


async def test_what_was_saved_far_in_the_future_is_not_believed(capsys: pytest.CaptureFixture[str]) -> None:
    succession = await scaled_up()
    succession.start(first_s=1, ahead_s=-120)
    await asyncio.sleep(2)
    assert any("clocks differ" in line for line in warnings(capsys))
    await succession.kill()


async def test_a_store_that_does_not_answer_delays_first_syncs_for_a_moment_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    succession = await scaled_up()
    succession.histories.faults.extend(ServerFailure("down", 503) for _ in range(1_000))
    warnings(capsys)
    succession.start(first_s=1)
    await asyncio.sleep(LOAD_MAX_S + 4)
    assert len(succession.asked) == 2, "the second controller has decided"
    [line] = [each for each in warnings(capsys) if "read" in each]
    assert "begin anew" in line
    await succession.stop()
    assert keeper_of(succession).saves["error"] > 0


async def test_what_could_not_be_read_in_time_is_not_overwritten_and_taken_up_by_whoever_has_not_been_synced() -> None:
    succession = await scaled_up()
    histories = succession.histories
    kept = set(decode(histories.objects[0][0]).records)
    histories.faults.extend(ServerFailure("down", 503) for _ in range(1_000))
    succession.start(first_s=60)
    await asyncio.sleep(LOAD_MAX_S + 4)
    histories.faults.clear()
    saved = len(histories.saves)
    await asyncio.sleep(3 * KEEP_INTERVAL_S)
    assert len(histories.saves) > saved
    assert set(decode(histories.objects[0][0]).records) == kept
    await asyncio.sleep(60)
    assert keeper_of(succession).taken_up == 1
    await succession.stop()


async def of_many() -> Succession:
    """700 HPAs, whose histories are in four objects, and no controller."""
    succession = Succession(keep=True)
    shards: list[dict[bytes, Record]] = [{} for _ in range(4)]
    for number in range(700):
        watched = web(uid=f"uid-{number}", name=f"web-{number}")
        succession.add(watched, 5, lambda _: 5)
        key = digest(watched.uid)
        shards[shard_of(key, 4)][key] = Record(WALL_NS, 5, History((Recommendation(5, WALL_NS),)))
    for number, records in enumerate(shards):
        succession.histories.put(number, encode(Shard(WALL_NS, "run", 0, whole=True, shards=4, records=records)))
    return succession


@pytest.mark.parametrize("what", ["damaged", "deleted", "unreadable"])
@pytest.mark.parametrize("number", [0, 3])
async def test_an_object_that_is_lost_takes_no_other_with_it(what: str, number: int) -> None:
    succession = await of_many()
    histories = succession.histories
    kept = {each: set(decode(body).records) for each, (body, _) in histories.objects.items() if each != number}
    if what == "damaged":
        histories.put(number, b"nonsense")
    elif what == "deleted":
        del histories.objects[number]
    else:
        histories.unreadable.add(number)
    saved = len(histories.saves)
    succession.start(first_s=1_000)
    await asyncio.sleep(LOAD_MAX_S + 4)
    assert {each for _, each, _ in histories.saves[saved:]} >= set(kept) - {0}, "they were written again"
    assert {each: set(decode(histories.objects[each][0]).records) for each in kept} == kept
    await succession.kill()


async def test_objects_that_the_lost_one_would_have_named_are_read_although_there_are_fewer_hpas_now() -> None:
    succession = await of_many()
    for watched in list(succession.stage.autoscalers)[400:]:
        succession.stage.autoscalers.remove(watched.key)
    there = {digest(watched.uid) for watched in succession.stage.autoscalers}
    stay = {key for key in there if shard_of(key, 4) == 3}
    del succession.histories.objects[0]
    before = succession.histories.objects[3][1]
    succession.start(first_s=1_000)
    await asyncio.sleep(LOAD_MAX_S + 4)
    body, version = succession.histories.objects[3]
    assert version > before
    assert set(decode(body).records) == stay
    await succession.kill()


@pytest.mark.parametrize("then", ["goes on", "hands over"])
async def test_what_is_read_late_is_in_some_object_whatever_happens_then(then: str) -> None:
    """Its HPAs belong into more objects by now, and the one that it came from is replaced."""
    succession = await of_many()
    histories, kept = succession.histories, set[bytes]()
    for number in (1, 2, 3):
        del histories.objects[number]
    for watched in list(succession.stage.autoscalers)[:200]:
        kept.add(digest(watched.uid))
    record = Record(WALL_NS, 3, History((Recommendation(3, WALL_NS),)), partial=False)
    histories.put(0, encode(Shard(WALL_NS, "run", 0, whole=True, shards=1, records=dict.fromkeys(kept, record))))
    histories.unreadable.add(0)
    succession.start(first_s=1_000)
    await asyncio.sleep(LOAD_MAX_S + 4)
    histories.unreadable.clear()
    if then == "hands over":
        await keeper_of(succession).hand_over(whole=True)
        assert records_in(histories) >= kept
    for _ in range(100):
        assert records_in(histories) >= kept
        await asyncio.sleep(0.3)
    assert len(decode(histories.objects[0][0]).records) < len(kept), "it has been replaced"
    await succession.kill()


async def test_what_is_read_late_says_how_many_objects_there_are() -> None:
    """With few HPAs left nobody would look for the others, and who has a record there would begin anew."""
    succession = await of_many()
    for watched in list(succession.stage.autoscalers)[20:]:
        succession.stage.autoscalers.remove(watched.key)
    succession.demand.curves["web"] = lambda _: 5
    succession.histories.unreadable |= {0, 1, 2, 3}
    succession.start(first_s=LOAD_MAX_S + 4 + 6 * KEEP_INTERVAL_S)
    await asyncio.sleep(LOAD_MAX_S + 4)
    succession.histories.unreadable.clear()
    await asyncio.sleep(6 * KEEP_INTERVAL_S + 2)
    assert keeper_of(succession).taken_up == 20
    await succession.kill()


@pytest.mark.parametrize("synced_s", [0.2, 1_000], ids=["with a sync", "before any"])
async def test_a_term_begins_with_a_word_in_every_object(synced_s: float) -> None:
    """Until then its predecessor's last word stands, which is believed."""
    succession = await of_many()
    succession.start(first_s=1_000)
    if synced_s < 1:
        await asyncio.sleep(synced_s)
        await keeper_of(succession).resumed(next(iter(succession.stage.autoscalers)), scale(5), History())
    await asyncio.sleep(2)
    assert {number for _, number, _ in succession.histories.saves} == {0, 1, 2, 3}
    await succession.kill()


async def test_all_objects_are_handed_over() -> None:
    succession = await of_many()
    succession.start(first_s=1_000)
    await asyncio.sleep(3)
    await keeper_of(succession).hand_over(whole=True)
    shards = [decode(body) for body, _ in succession.histories.objects.values()]
    assert [(shard.whole, shard.run == "run") for shard in shards] == [(True, False)] * 4
    await succession.kill()


async def test_a_store_that_stumbles_is_asked_again() -> None:
    succession = await scaled_up()
    succession.histories.faults.extend(ServerFailure("down", 503) for _ in range(3))
    succession.start(first_s=1)
    await asyncio.sleep(PERIOD_S)
    assert keeper_of(succession).taken_up == 1
    await succession.stop()


async def test_a_save_that_the_last_holder_had_under_way_is_replaced_by_the_present_one() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    late = succession.histories.objects[0][0]
    version = int(succession.histories.put(0, late))
    await asyncio.sleep(PERIOD_S + 5)
    assert succession.histories.objects[0][1] > version
    assert keeper_of(succession).saves["conflict"] == 1
    await succession.stop()


async def test_an_object_that_somebody_deletes_is_made_again() -> None:
    succession = await scaled_up()
    succession.start(first_s=1)
    await asyncio.sleep(5)
    succession.histories.objects.clear()
    await asyncio.sleep(PERIOD_S + 5)
    assert decode(succession.histories.objects[0][0]).records
    await succession.stop()


async def test_only_a_proper_end_right_before_makes_records_whole() -> None:
    succession = await scaled_up()
    assert decode(succession.histories.objects[0][0]).whole
    # Another holder came and went without a word.
    succession.tenure += 1
    succession.start(first_s=1)
    await asyncio.sleep(13)
    history = last_history(succession)
    assert [entry.replicas for entry in history.recommendations or ()][-2:] == [9, 20], "§4.5: the count is held"
    assert not decode(succession.histories.objects[0][0]).whole
    await succession.stop()
