"""§20: how a cache is kept in step with an API server, and what becomes of it when that is not possible."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from controller.cache import RESYNC_SLICE, Cache, resync_forever
from controller.liveness import REOPENED_MAX_S
from controller.patience import Patience
from controller.ports import (
    ApiError,
    Bookmark,
    Expired,
    Put,
    Refused,
    Rejected,
    Removed,
    ServerFailure,
    Throttled,
    Unreachable,
)
from controller.watch import Watch
from tests.spine.objects import list_anew
from tests.spine.server import MemoryServer, Opened, Thing
from tests.spine.tasks import running, settle
from tests.spine.world import Numbers

pytestmark = pytest.mark.looptime

A, B, C = Thing("a"), Thing("b"), Thing("c")


class Witness:
    """Hears of every change, and looks at the whole cache each time."""

    def __init__(self, cache: Cache[Thing]) -> None:
        self.heard: list[tuple[str, str]] = []
        self.seen: list[set[Thing]] = []
        self._cache = cache

    def changed(self, old: Thing | None, new: Thing | None) -> None:
        what = "added" if old is None else "deleted" if new is None else "changed"
        self.heard.append((what, (new or old or Thing("")).name))
        self.seen.append(set(self._cache))

    def forget(self) -> None:
        self.heard.clear()
        self.seen.clear()


class Post:
    """A cache, its watch, and a server."""

    def __init__(
        self, server: MemoryServer, otherwise: str = "", patience: Patience | None = None, *, relists: bool = False
    ) -> None:
        self.server = server
        self.cache: Cache[Thing] = Cache(lambda thing: thing.name)
        self.witness = Witness(self.cache)
        self.cache.observe(self.witness)
        self.numbers = Numbers()
        self.watch = Watch(
            "things",
            server,
            self.cache,
            random=lambda: 0.0,
            instruments=self.numbers,
            otherwise=otherwise,
            relists=relists,
            patience=patience or Patience(),
        )

    @property
    def alive(self) -> bool:
        return self.watch.liveness.alive

    @property
    def content(self) -> set[Thing]:
        return set(self.cache)

    def openings(self) -> list[tuple[float, str]]:
        """When watches were asked for, and from which version."""
        return [(round(opened.at_s, 2), opened.version) for opened in self.server.opened]


@asynccontextmanager
async def watching(server: MemoryServer, *things: Thing) -> AsyncIterator[Post]:
    """A watch that is under way for a moment."""
    server.put(*things)
    post = Post(server)
    async with running(post.watch.run()):
        await settle()
        yield post


async def test_a_streaming_list_goes_on_as_the_watch_on_the_same_stream() -> None:
    async with watching(MemoryServer(), A, B) as post:
        assert (post.content, post.alive) == ({A, B}, True)
        post.server.put(C)
        post.server.delete("a")
        await settle()
        assert post.content == {B, C}
        assert post.server.opened == [Opened(0.0, "", initial=True)]
        assert post.server.pages_s == []


async def test_what_changes_before_the_initial_end_is_part_of_the_list() -> None:
    """A server whose own cache lags sends the changes that it catches up on before the bookmark."""
    server = MemoryServer()
    server.before_initial_end = [Removed("a", "12"), Put(Thing("b", 2), "13"), Removed("c", "14"), Put(C, "15")]
    async with watching(server, A, B, C) as post:
        assert post.content == {Thing("b", 2), C}


async def test_a_refused_streaming_list_falls_back_to_pages_and_is_not_tried_again() -> None:
    server = MemoryServer(streaming=False)
    async with watching(server, A, B) as post:
        assert (post.content, post.alive) == ({A, B}, True)
        assert [opened.initial for opened in server.opened] == [True, False]
        server.end(ServerFailure("etcd was restored", 500))
        await asyncio.sleep(5)
        assert [opened.initial for opened in server.opened] == [True, False, False]
        assert len(server.pages_s) == 2
        assert post.numbers.restarts == [("things", "error")], "counted once"


async def test_a_streaming_list_that_fails_otherwise_falls_back_to_pages_and_is_tried_again_the_next_time() -> None:
    server = MemoryServer()
    server.watch_faults.append(ServerFailure("broken", 500))
    async with watching(server, A) as post:
        assert post.content == {A}
        assert [opened.initial for opened in server.opened] == [True, False]
        server.end(ServerFailure("broken", 500))
        await asyncio.sleep(5)
        assert [opened.initial for opened in server.opened] == [True, False, True]


@pytest.mark.parametrize("error", [Throttled("too many", 7.0), ServerFailure("starting", 503, retry_after_s=7.0)])
async def test_a_server_that_asks_to_come_back_later_is_not_asked_for_a_dearer_list_at_once(error: ApiError) -> None:
    server = MemoryServer()
    server.watch_faults.append(error)
    async with watching(server, A) as post:
        await asyncio.sleep(6)
        assert (post.content, server.pages_s) == (set(), [])
        await asyncio.sleep(2)
        assert (post.content, server.pages_s) == ({A}, [])
        assert post.openings() == [(0.0, ""), (7.0, "")]


@pytest.mark.parametrize("status", [502, 503])
async def test_a_server_that_is_away_for_a_moment_is_not_asked_for_a_new_list(status: int) -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.watch_faults.append(ServerFailure("starting", status))
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(5)
        assert (post.content, post.alive) == ({A}, True)
        assert post.openings() == [(0.0, ""), (0.8, "11"), (2.4, "11")]


async def test_a_watch_that_is_not_answered_is_lost_long_before_a_silent_one_is() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.hangs = True
        post.server.end()
        await asyncio.sleep(Patience().open_max_s + 0.5)
        assert not post.alive
        assert post.numbers.restarts == [("things", "lost")]
        post.server.hangs = False
        await asyncio.sleep(2)
        assert post.alive
        assert [opened.version for opened in post.server.opened] == ["", "11", "11"]


async def test_pages_are_read_to_the_last_and_taken_in_one_step() -> None:
    server = MemoryServer(streaming=False, page_items=3)
    things = [Thing(f"{number:02}") for number in range(10)]
    async with watching(server, *things) as post:
        assert post.content == set(things)
        assert len(server.pages_s) == 4
        assert all(seen == set(things) for seen in post.witness.seen), "a reader saw a part of the list"


async def test_a_server_that_forgets_what_pages_are_of_is_asked_for_all_at_once() -> None:
    server = MemoryServer(streaming=False, page_items=3)
    server.tokens_expire = True
    things = [Thing(f"{number:02}") for number in range(10)]
    async with watching(server, *things) as post:
        assert (post.content, post.alive) == (set(things), True)
        assert server.pages_s == [0.0, 0.0, 0.0], "a page, the next one, and everything, without a wait"
        assert all(seen == set(things) for seen in post.witness.seen), "a reader saw a part of the list"


async def test_after_a_cut_the_watch_goes_on_from_the_last_version_without_a_list() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.put(B)
        await settle()
        post.server.end(Unreachable("connection reset"))
        await settle()
        assert (post.content, post.alive) == ({A, B}, False), "the content stays"
        post.server.put(C)
        post.server.delete("a")
        await asyncio.sleep(2)
        assert (post.content, post.alive) == ({B, C}, True)
        assert post.openings() == [(0.0, ""), (0.8, "12")]
        assert post.server.pages_s == []


@pytest.mark.parametrize("is_expired", [False, True], ids=["the rest", "too old"])
async def test_nothing_is_decided_before_an_open_watch_has_told_what_was_missed(*, is_expired: bool) -> None:
    """A server accepts the watch first, and then sends the changes, or that it has them no more."""
    async with watching(MemoryServer(), A) as post:
        post.server.end(Unreachable("connection reset"))
        await settle()
        post.server.put(B)
        if is_expired:
            post.server.forget_history()
        post.server.first_event_s = 0.3
        await asyncio.sleep(1)
        assert (post.openings()[-1], post.alive) == ((0.8, "11"), False)
        await asyncio.sleep(0.2)
        assert (post.content, post.alive) == ({A} if is_expired else {A, B}, False)
        await asyncio.sleep(0.5)
        assert (post.content, post.alive) == ({A, B}, True)


async def test_a_watch_that_ends_before_it_has_told_what_was_missed_is_no_ground_for_decisions() -> None:
    """A server that is shut down in good order accepts it, begins, and ends it; then nobody answers for a while."""
    async with watching(MemoryServer(), A) as post:
        post.server.end(Unreachable("connection reset"))
        await settle()
        post.server.put(B)
        await asyncio.sleep(1.2)
        assert (post.content, post.alive) == ({A, B}, False)
        post.server.put(C)
        post.server.hangs = True
        post.server.end()
        await asyncio.sleep(5)
        assert (len(post.openings()), post.alive) == (3, False)


async def test_after_a_watch_has_ended_the_next_one_has_to_be_open_soon() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.end()
        await settle()
        await asyncio.sleep(REOPENED_MAX_S + 1)
        assert (len(post.openings()), post.alive) == (2, True), "it was, so nothing was missed"
        post.server.put(B)
        post.server.hangs = True
        post.server.end()
        await asyncio.sleep(REOPENED_MAX_S - 0.1)
        assert post.alive
        await asyncio.sleep(0.2)
        assert not post.alive


async def test_where_something_changes_all_the_time_it_is_decided_after_a_few_seconds() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.end(Unreachable("connection reset"))
        await settle()
        for number in range(37):
            assert not post.alive
            await asyncio.sleep(0.1)
            post.server.put(Thing("a", number))
        await asyncio.sleep(0.15)
        assert post.alive


async def test_a_bookmark_says_that_nothing_more_was_missed() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(0.9)
        assert not post.alive
        for stream in post.server._streams:
            stream.put_nowait(Bookmark("12"))
        await settle()
        assert post.alive


async def test_nothing_is_decided_while_a_new_streaming_list_arrives() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.first_event_s = 2.0
        post.server.end(Expired("too old", 410))
        await settle()
        for _ in range(18):
            assert not post.alive
            await asyncio.sleep(0.1)
        await asyncio.sleep(0.3)
        assert post.alive


async def test_a_watch_ended_by_the_server_goes_on_at_once_and_stays_alive() -> None:
    async with watching(MemoryServer(), A) as post:
        for _ in range(int(3 * 300 / 10)):
            await asyncio.sleep(10)
            assert post.alive
        assert [at_s for at_s, _ in post.openings()] == pytest.approx([0, 300, 600, 900], abs=0.01)
        assert post.numbers.restarts == []


async def test_a_version_too_old_for_a_new_watch_leads_to_a_list_in_one_step() -> None:
    async with watching(MemoryServer(), A, B) as post:
        post.server.end(Unreachable("connection reset"))
        await settle()
        post.witness.forget()
        post.server.delete("a")
        post.server.put(C, Thing("b", 2))
        post.server.forget_history()
        await asyncio.sleep(2)
        assert (post.content, post.alive) == ({Thing("b", 2), C}, True)
        assert sorted(post.witness.heard) == [("added", "c"), ("changed", "b"), ("deleted", "a")]
        assert all(seen == post.content for seen in post.witness.seen), "a reader saw a part of the list"
        assert post.numbers.restarts == [("things", "lost"), ("things", "expired")]


async def test_an_observer_that_fails_costs_the_watch_nothing() -> None:
    class Broken:
        def changed(self, old: Thing | None, new: Thing | None) -> None:
            raise LookupError(f"{old} and {new} are beyond me")

    async with watching(MemoryServer(), A) as post:
        post.cache.observe(Broken())
        later = Witness(post.cache)
        post.cache.observe(later)
        post.server.put(B)
        post.server.delete("a")
        await settle()
        assert (post.content, post.alive) == ({B}, True)
        assert later.heard == [("added", "b"), ("deleted", "a")]
        assert post.numbers.restarts == []


async def test_an_expiry_inside_a_watch_leads_to_a_list_at_once() -> None:
    async with watching(MemoryServer(), A) as post:
        await asyncio.sleep(100)
        post.witness.forget()
        post.server.end(Expired("too old", 410))
        await settle()
        assert post.openings()[-1] == (100.0, "")
        assert (post.alive, post.witness.heard) == (True, [("changed", "a")])


async def test_events_in_the_wrong_order_lead_to_a_list_after_a_wait() -> None:
    async with watching(MemoryServer(), A) as post:
        await asyncio.sleep(100)
        post.server.swap(Thing("a", 2), Thing("a", 3))
        await settle()
        assert not post.alive, "nobody decides on what may be old"
        post.server.put(B)
        await asyncio.sleep(5)
        assert post.alive
        assert post.openings()[-1][1] == "", "a list, since no version can be trusted"
        assert post.content == post.server.things


async def test_watches_that_expire_right_after_each_list_are_repeated_after_longer_and_longer_waits() -> None:
    async with watching(MemoryServer(streaming=False), A) as post:
        post.server.watch_faults.extend(Expired("too old", 410) for _ in range(100))
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(60)
        waits_s = sorted({round(at_s, 2) for at_s in post.server.pages_s})
        assert waits_s == [0.0, 0.8, 2.4, 5.6, 12.0, 24.8, 50.4]
        assert len(post.server.pages_s) <= 2 * len(waits_s)


async def test_that_goes_for_lists_that_take_their_time_too() -> None:
    """A list so long that its version has expired by its end would be made again and again without a pause."""
    async with watching(MemoryServer(streaming=False), A) as post:
        post.server.page_s = 5.0
        post.server.watch_faults.extend(Expired("too old", 410) for _ in range(100))
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(100)
        lists_s = [round(at_s, 2) for at_s in post.server.pages_s]
        assert lists_s == [0.0, 0.8, 7.4, 15.6, 27.0, 44.8, 75.4]


async def test_a_list_that_is_itself_too_old_is_repeated_after_a_wait() -> None:
    server = MemoryServer(streaming=False)
    server.list_faults.extend((Expired("continue token", 410), Expired("continue token", 410)))
    async with watching(server, A) as post:
        await asyncio.sleep(10)
        assert [round(at_s, 2) for at_s in server.pages_s] == [0.0, 0.8, 2.4]
        assert post.alive


async def test_an_error_of_the_server_leads_to_a_list_after_a_wait() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.end(ServerFailure("internal error", 500))
        await settle()
        assert (post.content, post.alive) == ({A}, False)
        await asyncio.sleep(5)
        assert post.openings() == [(0.0, ""), (0.8, "")]
        assert post.alive


@pytest.mark.parametrize("error", [ValueError("not JSON"), Rejected("bad request", 400)])
async def test_whatever_else_a_watch_raises_leads_to_a_list_after_a_wait(error: Exception) -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.end(error)
        await settle()
        assert not post.alive
        await asyncio.sleep(5)
        assert post.openings() == [(0.0, ""), (0.8, "")]
        assert (post.content, post.alive) == ({A}, True)


@pytest.mark.parametrize(
    "error",
    [Throttled("too many requests"), Unreachable("connection refused"), Refused("may list, but not watch", 403)],
    ids=repr,
)
async def test_a_watch_that_cannot_be_opened_is_retried_without_a_list(error: ApiError) -> None:
    async with watching(MemoryServer(), A) as post:
        post.server.watch_faults.extend((error, error))
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(10)
        assert post.openings() == [(0.0, ""), (0.8, "11"), (2.4, "11"), (5.6, "11")]
        assert post.server.pages_s == []
        assert post.alive


async def test_a_refusal_after_rights_were_there_for_a_while_is_told_again() -> None:
    server = MemoryServer()
    server.watch_faults.extend(Refused("not yet", 403) for _ in range(2))
    server.list_faults.extend(Refused("not yet", 403) for _ in range(2))
    server.put(A)
    post = Post(server, otherwise="scales are read one by one")
    with capture_logs() as logs:
        async with running(post.watch.run()):
            await asyncio.sleep(60)
            assert post.content == {A}
            assert post.alive
            server.end(Refused("no longer", 403))
            await asyncio.sleep(60)
    assert [line["event"] for line in logs].count("may not be watched") == 2


async def test_what_is_listed_again_where_it_may_not_be_watched_is_heard_of_and_the_refusal_told_once() -> None:
    server = MemoryServer()
    server.watch_faults.extend(Refused("may list, but not watch", 403) for _ in range(100))
    server.put(A)
    post = Post(server, otherwise="it is listed now and then", relists=True)
    with capture_logs() as logs:
        async with running(post.watch.run()):
            await asyncio.sleep(100)
            server.put(B)
            await asyncio.sleep(61)
            assert post.content == {A, B}
    assert [line["event"] for line in logs].count("may not be watched") == 1


@pytest.mark.parametrize(("otherwise", "error"), [("", Refused("no", 403)), ("read one by one", Unreachable("gone"))])
async def test_a_failure_that_is_not_expected_is_told_each_time(otherwise: str, error: Exception) -> None:
    server = MemoryServer()
    server.watch_faults.extend([error] * 5)  # the first meets the streaming list, after which pages are read
    post = Post(server, otherwise=otherwise)
    with capture_logs() as logs:
        async with running(post.watch.run()):
            await asyncio.sleep(100)
    assert [line["event"] for line in logs].count("watch failed, will retry") == 4


async def test_retries_wait_longer_and_longer() -> None:
    server = MemoryServer()
    server.list_faults.extend(Unreachable("no route") for _ in range(8))
    server.watch_faults.extend(Unreachable("no route") for _ in range(8))
    async with watching(server, A) as post:
        await asyncio.sleep(200)
        expected = [0.0, 0.8, 2.4, 5.6, 12.0, 24.8, 50.4, 80.4, 110.4]
        assert [opened.at_s for opened in server.opened] == pytest.approx(expected, abs=0.01)
        assert post.alive


async def test_no_wait_is_longer_than_the_longest() -> None:
    server = MemoryServer()
    server.list_faults.extend(Unreachable("no route") for _ in range(8))
    server.watch_faults.extend(Unreachable("no route") for _ in range(8))
    post = Post(server, patience=Patience(wait_max_s=5.0))
    async with running(post.watch.run()):
        await asyncio.sleep(200)
        expected = [0.0, 0.8, 2.4, 5.6, 10.6, 15.6, 20.6, 25.6, 30.6]
        assert [opened.at_s for opened in server.opened][:9] == pytest.approx(expected, abs=0.01)


async def test_silence_is_taken_for_a_half_open_connection() -> None:
    async with watching(MemoryServer(), A) as post:
        await asyncio.sleep(70)  # the last bookmark came at 60 s
        post.server.silent = True
        await asyncio.sleep(139.9)
        assert post.alive
        await asyncio.sleep(0.2)
        assert not post.alive
        post.server.silent = False
        post.server.put(B)
        await asyncio.sleep(60)
        assert (post.content, post.alive) == ({A, B}, True)
        assert post.server.pages_s == []


async def test_a_watch_in_which_nothing_comes_at_all_leads_to_a_list() -> None:
    """A server with a restored etcd takes a version that it has not reached yet, and is silent until it has."""
    async with watching(MemoryServer(), *(Thing(f"thing-{number}") for number in range(100))) as post:
        post.server.end(Unreachable("connection reset"))
        await settle()
        post.server.restore(A)
        await asyncio.sleep(10)
        assert post.openings()[-1][1] == "110", "a connection that was cut says nothing about the version"
        post.server.put(B)
        await asyncio.sleep(130)
        assert len(post.content) == 100
        await asyncio.sleep(20)
        assert (post.content, post.alive, post.openings()[-1][1]) == ({A, B}, True, "")


async def test_silence_is_noticed_at_most_a_hundredth_too_early() -> None:
    """However the events before it came."""
    async with watching(MemoryServer(), A) as post:
        for number in range(100):
            await asyncio.sleep(0.4)
            post.server.put(Thing("a", number))
        post.server.silent = True
        await asyncio.sleep(148.4)
        assert post.alive
        await asyncio.sleep(1.7)
        assert not post.alive


async def test_bookmarks_keep_an_idle_watch_alive() -> None:
    async with watching(MemoryServer(), A) as post:
        await asyncio.sleep(290)
        assert post.alive
        assert len(post.server.opened) == 1


async def test_bookmarks_advance_the_version_from_which_a_watch_goes_on() -> None:
    async with watching(MemoryServer(), A) as post:
        post.server._version = 5000
        await asyncio.sleep(70)
        post.server.end(Unreachable("connection reset"))
        await asyncio.sleep(2)
        assert post.openings()[-1][1] == "5000"


async def test_a_watch_that_ends_at_once_without_an_event_counts_as_failed() -> None:
    async with watching(MemoryServer(), A) as post:
        await asyncio.sleep(10)
        post.server.end()
        await settle()
        assert post.alive
        post.server.end()
        await settle()
        assert not post.alive
        await asyncio.sleep(2)
        assert post.openings() == [(0.0, ""), (10.0, "11"), (10.8, "11")]


async def test_a_streaming_list_cut_in_the_middle_leaves_the_cache_as_it_was() -> None:
    server = MemoryServer()
    async with watching(server, A, B) as post:
        server.end(ServerFailure("restart", 500))
        await settle()
        server.delete("a")
        server.list_faults.append(Unreachable("connection reset"))
        server.watch_faults.append(Unreachable("connection reset"))
        await asyncio.sleep(1)
        assert (post.content, post.alive) == ({A, B}, False)
        await asyncio.sleep(5)
        assert (post.content, post.alive) == ({B}, True)


async def test_a_cache_is_synced_from_its_first_list_on_and_dead_until_then() -> None:
    server = MemoryServer(streaming=False)
    server.page_s = 3.0
    server.put(A)
    post = Post(server)
    async with running(post.watch.run(), asyncio.wait_for(post.watch.liveness.wait_synced(), 10)):
        await asyncio.sleep(2)
        assert (post.alive, post.watch.liveness.synced) == (False, False)
        await asyncio.sleep(2)
        assert (post.alive, post.watch.liveness.synced) == (True, True)
        server.end(Unreachable("connection reset"))
        await settle()
        assert (post.alive, post.watch.liveness.synced) == (False, True)


async def test_a_stopped_watch_leaves_no_stream_open() -> None:
    async with watching(MemoryServer(), A) as post:
        assert len(post.server._streams) == 1
    assert post.server._streams == []


@pytest.mark.parametrize("count", [1, RESYNC_SLICE + 10, 500])
async def test_a_resync_announces_every_object_each_period(count: int) -> None:
    cache: Cache[Thing] = Cache(lambda thing: thing.name)
    witness = Witness(cache)
    list_anew(cache, [Thing(f"{number}") for number in range(count)])
    cache.observe(witness)
    async with running(resync_forever(cache, 15.0)):
        await asyncio.sleep(7.5)
        assert len(witness.heard) == pytest.approx(count / 2, abs=RESYNC_SLICE)
        await asyncio.sleep(7.6)
        assert sorted(witness.heard) == sorted(("changed", f"{number}") for number in range(count))
        await asyncio.sleep(15)
        assert Counter(witness.heard) == dict.fromkeys((("changed", f"{number}") for number in range(count)), 2)
