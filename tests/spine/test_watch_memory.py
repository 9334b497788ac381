"""§20: what a watch keeps in mind from one attempt to the next, and what it forgets."""

import asyncio

import pytest
from structlog.testing import capture_logs

from controller.ports import Expired, Page, Put, Refused, ServerFailure, Unreachable
from tests.spine.server import MemoryServer, Thing
from tests.spine.tasks import running, settle
from tests.spine.test_watch import Post, watching

pytestmark = pytest.mark.looptime

A, B = Thing("a"), Thing("b")


async def test_an_expiry_after_a_list_that_was_made_for_another_reason_leads_to_a_list_at_once() -> None:
    """That an earlier list was made because of an expiry says nothing about this one."""
    async with watching(MemoryServer(), A) as post:
        await asyncio.sleep(100)
        post.server.end(Expired("too old", 410))
        await asyncio.sleep(100)
        post.server.end(ServerFailure("etcd was restored", 500))
        await asyncio.sleep(0.9)
        assert (len(post.openings()), post.alive) == (3, True), "listed anew a moment ago"
        post.server.end(Expired("too old", 410))
        await settle()
        assert (len(post.openings()), post.alive) == (4, True)


async def test_of_pages_that_the_server_has_forgotten_nothing_stays_when_all_is_listed_at_once() -> None:
    """What the first page had may be gone."""

    class Losing(MemoryServer):
        async def list(self, limit: int, token: str) -> Page[Thing]:
            if token and Thing("00") in self.things:
                self.delete("00")
            return await super().list(limit, token)

    server = Losing(streaming=False, page_items=3)
    server.tokens_expire = True
    async with watching(server, *(Thing(f"{number:02}") for number in range(10))) as post:
        assert (post.content, post.alive) == ({Thing(f"{number:02}") for number in range(1, 10)}, True)


async def test_a_refusal_is_told_again_once_there_has_been_a_watch() -> None:
    server = MemoryServer()
    server.put(A)
    post = Post(server, otherwise="it is read one by one")
    with capture_logs() as logs:
        async with running(post.watch.run()):
            for told in (1, 2):
                await settle()
                assert post.alive
                server.watch_faults.extend(Refused("no longer", 403) for _ in range(3))
                server.end(Refused("no longer", 403))
                await asyncio.sleep(60)
                assert [line["event"] for line in logs].count("may not be watched") == told


async def test_an_event_without_a_version_leaves_the_one_before_to_go_on_from() -> None:
    async with watching(MemoryServer(), A) as post:
        for stream in post.server._streams:
            stream.put_nowait(Put(B, ""))
        await settle()
        assert post.content == {A, B}
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(2)
        assert post.openings() == [(0.0, ""), (0.8, "11")]
