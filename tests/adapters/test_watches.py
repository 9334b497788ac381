"""What a health page says of watches, and how soon they are there again after an outage."""

import asyncio

import pytest

from controller.backoff import WATCH_MAX_S
from controller.cache import Cache
from controller.pod_cache import PodCache
from controller.ports import WatchedAutoscaler
from controller.watches import Watches
from tests.adapters.parts import connected_to, half
from tests.adapters.raw_server import WAIT_S
from tests.spine.tasks import settle
from tests.spine.world import Numbers


async def test_watches_that_were_lost_are_named() -> None:
    autoscalers: Cache[WatchedAutoscaler] = Cache(lambda one: one.key)
    async with connected_to("http://127.0.0.1:1") as client:
        watches = Watches(client, Numbers(), half, 15.0)
        watches.follow(("",), autoscalers, PodCache())
        assert watches.unsynced() == "not listed yet: horizontalpodautoscalers, pods"
        assert watches.lines() == [], "that is told as not ready"
        for watch in watches.all:
            watch.liveness.listed()
        assert (watches.unsynced(), watches.lines()) == (None, [])
        for watch in watches.all:
            watch.liveness.lost()
        assert watches.lines() == [
            "[!]not watched now: horizontalpodautoscalers, pods; nothing is decided until they are"
        ]


async def test_a_namespace_that_may_not_be_read_keeps_no_other_from_being_decided_on() -> None:
    autoscalers: Cache[WatchedAutoscaler] = Cache(lambda one: one.key)
    async with connected_to("http://127.0.0.1:1") as client, asyncio.timeout(WAIT_S):
        watches = Watches(client, Numbers(), half, 15.0)
        watches.follow(("shop", "gone"), autoscalers, PodCache())
        filled = asyncio.create_task(watches.synced())
        shop_hpas, shop_pods, gone_hpas, gone_pods = watches.all
        gone_hpas.liveness.listed()
        gone_pods.liveness.refused()
        await settle()
        assert not filled.done(), "nobody begins while a list may still come"
        assert watches.unsynced() == "not listed yet: horizontalpodautoscalers in shop, pods in shop, pods in gone"
        shop_hpas.liveness.listed()
        shop_pods.liveness.listed()
        await filled
        assert watches.unsynced() is None
        assert watches.lines() == ["[!]not watched now: pods in gone; nothing is decided in gone until they are"]
        assert (watches.alive("shop"), watches.alive("gone"), watches.complete) == (True, False, False)
        gone_pods.liveness.listed()
        assert (watches.alive("gone"), watches.complete, watches.lines()) == (True, True, [])


async def test_where_nothing_may_be_read_nobody_begins() -> None:
    async with connected_to("http://127.0.0.1:1") as client, asyncio.timeout(WAIT_S):
        watches = Watches(client, Numbers(), half, 15.0)
        watches.follow(("",), Cache(lambda one: one.key), PodCache())
        for watch in watches.all:
            watch.liveness.refused()
        filled = asyncio.create_task(watches.synced())
        await settle()
        assert not filled.done()
        assert watches.unsynced() == "not listed yet: horizontalpodautoscalers, pods"
        for watch in watches.all:
            watch.liveness.listed()
        await filled


@pytest.mark.parametrize(("sync_period_s", "wait_max_s"), [(4.0, 2.0), (15.0, 7.5), (600.0, WATCH_MAX_S)])
async def test_no_wait_before_a_further_attempt_is_longer_than_half_a_period(
    sync_period_s: float, wait_max_s: float
) -> None:
    """Randomness may make it twice as long."""
    async with connected_to("http://127.0.0.1:1") as client:
        watches = Watches(client, Numbers(), half, sync_period_s)
        watches.follow(("",), Cache(lambda one: one.key), PodCache())
        assert {watch._patience.wait_max_s for watch in watches.all} == {wait_max_s}
