"""§2.5, §3.6: what is remembered of an HPA, for how long, and under which Lease."""

import asyncio

import pytest

from controller.decide.spec import Settings
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import AT_ONCE, PERIOD_S, Stage
from tests.spine.tasks import now_s
from tests.spine.world import slow

pytestmark = pytest.mark.looptime


def idle() -> Stage:
    """Five replicas of which three would do, under the usual window of 300 s."""
    stage = Stage(Settings())
    stage.add(autoscaler(), scale(5))
    stage.uses(60, 60, 60, 60, 60)
    return stage


async def test_the_first_sync_keeps_the_count_for_the_whole_window() -> None:
    stage = idle()
    await stage.sync()
    await stage.syncs(19)
    assert stage.scales.accepted == []
    await stage.syncs(2)
    assert [write.replicas for write in stage.scales.accepted] == [3]


async def test_the_first_sync_keeps_nothing_where_there_is_no_window() -> None:
    """The scale is read before the metrics are."""
    stage = Stage(AT_ONCE)
    stage.add(autoscaler(), scale(5))
    stage.uses(60, 60, 60, 60, 60)
    stage.metrics.gate = slow(0.01)
    await stage.sync()
    assert [write.replicas for write in stage.scales.accepted] == [3]
    assert stage.recommended() == [3]


async def test_each_sync_adds_one_recommendation() -> None:
    stage = idle()
    await stage.sync()
    await stage.syncs(3)
    assert stage.recommended() == [5, 3, 3, 3, 3]


async def test_an_hpa_that_was_deleted_and_missed_by_a_sync_is_forgotten() -> None:
    stage = idle()
    await stage.sync()
    stage.autoscalers.remove(autoscaler().key)
    assert await stage.sync() is None
    assert stage.history() is None
    stage.add(autoscaler(uid="another"))
    await asyncio.sleep(350)
    await stage.sync()
    assert stage.scales.accepted == [], "a new window has begun"


async def test_an_hpa_recreated_between_two_syncs_inherits_what_was_remembered() -> None:
    stage = idle()
    await stage.sync()
    stage.autoscalers.remove(autoscaler().key)
    stage.add(autoscaler(uid="another"))
    await asyncio.sleep(350)
    await stage.sync()
    assert [write.replicas for write in stage.scales.accepted] == [3]


async def test_what_was_remembered_under_an_earlier_lease_is_forgotten() -> None:
    stage = idle()
    await stage.sync()
    stage.election.lose()
    await asyncio.sleep(350)
    await stage.sync()
    stage.election.win()
    await stage.sync()
    assert stage.scales.accepted == []
    assert stage.recommended() == [5, 3]


async def test_a_sync_that_was_not_decided_leaves_the_memory_alone() -> None:
    stage = idle()
    await stage.sync()
    before = stage.history()
    stage.ground.lost()
    await stage.syncs(3)
    assert stage.history() is before


async def test_an_hpa_that_is_deleted_during_its_sync_leaves_nothing_behind() -> None:
    stage = idle()
    stage.scales.read_s = 2.0
    syncing = asyncio.create_task(stage.sync())
    await asyncio.sleep(1)
    stage.autoscalers.remove(autoscaler().key)
    assert await syncing is not None
    await asyncio.sleep(PERIOD_S)
    assert await stage.sync() is None
    assert stage.history(KEY) is None


async def test_an_hpa_that_takes_the_place_of_a_deleted_one_may_be_put_off_anew() -> None:
    """The first time that it changes while its sync waits it is due again at once, as the deleted one was."""
    stage = Stage(concurrency=1)
    for uid in ("first", "second"):
        stage.add(autoscaler(uid=uid), scale(2))
        stage.uses(200, 200)
        async with stage.turns.held(0, 0.0):
            sync = asyncio.create_task(stage.sync())
            began_s = now_s()
            await asyncio.sleep(1)
            stage.autoscalers.put(autoscaler(uid=uid, replicas_max=10))
        assert await sync == began_s
        stage.autoscalers.remove(KEY)
        assert await stage.sync() is None
