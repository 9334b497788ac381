"""§20.2: streaming lists that never get to their end."""

import asyncio
from collections.abc import Callable

import pytest

from controller.cache import Cache
from controller.patience import Patience
from controller.ports import Bookmark, Page, Put, WatchEvent
from controller.watch import Watch
from tests.spine.server import Thing
from tests.spine.tasks import running
from tests.spine.world import Numbers

pytestmark = pytest.mark.looptime

A, B = Thing("a"), Thing("b")


class Unfinished:
    """The port `ListWatch` of a server that ends each streaming list, in good order, before its initial end."""

    def __init__(self, lasts_s: float) -> None:
        self.lists_streamed = 0
        self._lasts_s = lasts_s

    async def list(self, limit: int, token: str) -> Page[Thing]:  # noqa: ARG002 - there is one page
        return Page([A, B], "11")

    async def watch(
        self, version: str, timeout_s: float, take: Callable[[WatchEvent[Thing]], None], *, initial: bool
    ) -> None:
        self.lists_streamed += initial
        take(Bookmark(version))
        if initial:
            take(Put(A, "10"))
            for _ in range(int(self._lasts_s / 10)):
                await asyncio.sleep(10)
                take(Bookmark("10"))
            return
        await asyncio.sleep(min(timeout_s, 60.0))
        raise ValueError("a line that is no JSON")


async def streamed(lasts_s: float) -> int:
    """How many streaming lists are tried in ten minutes of which the watch fails every minute."""
    server = Unfinished(lasts_s)
    cache: Cache[Thing] = Cache(lambda thing: thing.name)
    watch = Watch(
        "things",
        server,
        cache,
        random=lambda: 0.0,
        instruments=Numbers(),
        patience=Patience(server_timeout_s=100.0),
    )
    async with running(watch.run()):
        await asyncio.sleep(600)
        assert set(cache) == {A, B}, "the pages fill the cache"
    return server.lists_streamed


async def test_a_stream_that_a_stopping_server_cuts_off_is_tried_again_with_the_next_list() -> None:
    assert await streamed(lasts_s=20) > 3


@pytest.mark.parametrize("lasts_s", [70, 100], ids=["most of its time", "all of it"])
async def test_a_stream_that_lasts_its_time_without_an_initial_end_is_of_a_server_that_knows_none(
    lasts_s: float,
) -> None:
    assert await streamed(lasts_s) == 1
