"""What a health page says of watches."""

from controller.cache import Cache
from controller.pod_cache import PodCache
from controller.ports import WatchedAutoscaler
from controller.watches import Watches
from tests.adapters.parts import connected_to, half
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
