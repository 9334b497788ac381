"""§3.2, §3.6, §3.8: what happens when an HPA appears, changes or goes."""

import asyncio
from collections import Counter

import msgspec
import pytest

from controller.arrivals import Arrivals
from controller.cache import Cache, resync_forever
from controller.decide import selectors
from controller.decide.instants import NANOSECONDS, format_rfc3339
from controller.delay_queue import DelayQueue
from controller.ports import WatchedAutoscaler
from controller.rivals import Rivals
from controller.schedule import Schedule
from tests.spine.objects import KEY, NAMESPACE, autoscaler, list_anew
from tests.spine.tasks import now_s, running
from tests.spine.world import LoopClock, Numbers

pytestmark = pytest.mark.looptime

PERIOD_S = 15.0


class Porch:
    """A cache of HPAs with arrivals observing it."""

    def __init__(self) -> None:
        time_s = asyncio.get_running_loop().time
        self.queue = DelayQueue(time_s)
        self.rivals = Rivals()
        self.numbers = Numbers()
        self.cache: Cache[WatchedAutoscaler] = Cache(lambda watched: watched.key)
        self.schedule = Schedule(PERIOD_S, self.cache.__len__)
        self.arrivals = Arrivals(self.queue, self.rivals, self.numbers, LoopClock(), time_s, self.schedule)
        self.cache.observe(self.arrivals)
        self.taken_s: list[float] = []
        self.change_after_s: float | None = None

    async def work(self) -> None:
        """Syncs that take no time; each may change its HPA soon after, as a status write does."""
        while True:
            due = await self.queue.take()
            self.taken_s.append(now_s())
            self.queue.add(due.key, self.schedule.next_due_s(due.key, due.due_s, now_s()))
            self.queue.done(due.key)
            if self.change_after_s is not None:
                changed = autoscaler(version=str(len(self.taken_s) + 1))
                asyncio.get_running_loop().call_later(self.change_after_s, self.cache.put, changed)

    def in_phase_s(self, key: str) -> float:
        """A moment of the phase of its namespace."""
        due_s = 0.0
        for _ in range(51):
            due_s = self.schedule.next_due_s(key, due_s, due_s)
        return due_s


async def test_a_new_hpa_is_due_one_period_after_it_was_seen() -> None:
    porch = Porch()
    await asyncio.sleep(3)
    porch.cache.put(autoscaler())
    due = await porch.queue.take()
    assert (due.key, due.due_s) == (KEY, 3 + PERIOD_S)


def created(ago_s: float, name: str, namespace: str = NAMESPACE) -> WatchedAutoscaler:
    """An HPA that has been there for so long."""
    at = format_rfc3339(LoopClock().now().wall_ns - round(ago_s * NANOSECONDS))
    metadata = msgspec.json.encode({"name": name, "creationTimestamp": at})
    return msgspec.structs.replace(autoscaler(name=name, namespace=namespace), metadata=metadata)


async def test_at_a_start_hpas_are_due_in_their_phase_at_once_but_for_new_ones() -> None:
    """Not all of them in one moment, a period after it."""
    porch = Porch()
    await asyncio.sleep(3)
    namespaces = [f"team-{number}" for number in range(200)]
    known = [created(60, "web", namespace) for namespace in namespaces]
    list_anew(porch.cache, [*known, created(10, "new"), created(-60, "of a clock ahead of ours")])
    due_s = {}
    while len(porch.queue):
        due = await porch.queue.take()
        due_s[due.key] = due.due_s
    assert due_s.pop(f"{NAMESPACE}/new") == due_s.pop(f"{NAMESPACE}/of a clock ahead of ours") == 3 + PERIOD_S
    assert len(due_s) == 200
    assert len(set(due_s.values())) == 10
    assert all(3 <= one_s <= 3 + PERIOD_S for one_s in due_s.values())
    apart_s = [one_s - porch.in_phase_s(key) for key, one_s in due_s.items()]
    assert all(one_s / PERIOD_S == pytest.approx(round(one_s / PERIOD_S), abs=1e-6) for one_s in apart_s)


async def test_what_became_due_while_caches_were_filling_waits_for_its_phase() -> None:
    """Not all of it in the moment in which syncs begin."""
    porch = Porch()
    keys = [f"team-{number}/web" for number in range(400)]
    list_anew(porch.cache, [created(60, "web", key.partition("/")[0]) for key in keys])
    await asyncio.sleep(10)
    assert 200 < porch.queue.depth < 400
    await porch.arrivals.begin()
    assert (porch.queue.depth, porch.queue.in_hand, len(porch.queue)) == (0, 0, 400)
    taken = [await porch.queue.take() for _ in keys]
    assert {due.key for due in taken} == set(keys)
    assert all(due.due_s == pytest.approx(porch.schedule.joins_due_s(due.key, 10.0), abs=1e-6) for due in taken)
    assert max(Counter(due.due_s for due in taken).values()) < 100


@pytest.mark.parametrize("metadata", [b"{}", b"[]", b'{"creationTimestamp":null}', b'{"creationTimestamp":"long ago"}'])
async def test_an_hpa_that_does_not_say_when_it_was_created_is_a_new_one(metadata: bytes) -> None:
    porch = Porch()
    porch.cache.put(msgspec.structs.replace(autoscaler(), metadata=metadata))
    assert (await porch.queue.take()).due_s == PERIOD_S


async def test_a_change_never_makes_an_hpa_due_earlier_or_later() -> None:
    porch = Porch()
    porch.cache.put(autoscaler())
    for version in range(2, 12):
        await asyncio.sleep(1)
        porch.cache.put(autoscaler(version=str(version)))
    due = await porch.queue.take()
    assert due.due_s == PERIOD_S


async def test_resyncs_change_nothing_for_an_hpa_that_is_queued() -> None:
    porch = Porch()
    async with running(resync_forever(porch.cache, PERIOD_S), porch.work()):
        await asyncio.sleep(4)
        porch.cache.put(autoscaler())
        await asyncio.sleep(40 * PERIOD_S)
    intervals_s = [after - before for before, after in zip(porch.taken_s, porch.taken_s[1:], strict=False)]
    assert len(intervals_s) >= 38
    assert all(abs(interval_s - PERIOD_S) <= 0.02 * PERIOD_S + 0.02 for interval_s in intervals_s)


@pytest.mark.parametrize("behind_phase_s", [0.2, 2.0, 14.0])
async def test_changes_and_resyncs_do_not_keep_an_hpa_from_reaching_the_phase_of_its_namespace(
    behind_phase_s: float,
) -> None:
    """Its way there leads through intervals that are shorter than the period, or through one that is longer."""
    porch = Porch()
    phase_s = porch.in_phase_s(KEY) % PERIOD_S
    seen_s = (phase_s - behind_phase_s) % PERIOD_S

    await asyncio.sleep(seen_s)
    porch.cache.put(autoscaler())
    porch.change_after_s = 0.05
    async with running(porch.work(), resync_forever(porch.cache, PERIOD_S)):
        await asyncio.sleep(55 * PERIOD_S)
    behind_s = (phase_s - porch.taken_s[-1]) % PERIOD_S
    assert min(behind_s, PERIOD_S - behind_s) <= 0.1


async def test_a_resync_brings_back_a_key_that_nobody_has_queued() -> None:
    porch = Porch()
    porch.cache.put(autoscaler())
    porch.queue.done((await porch.queue.take()).key)
    async with running(resync_forever(porch.cache, PERIOD_S)):
        async with asyncio.timeout(3 * PERIOD_S):
            assert (await porch.queue.take()).key == KEY


async def test_a_resync_does_not_shorten_the_wait_after_a_sync_that_took_longer_than_a_period() -> None:
    """Its status has to come back by the watch before the next sync begins."""
    porch = Porch()
    porch.cache.put(autoscaler())
    async with running(resync_forever(porch.cache, PERIOD_S)):
        taken = await porch.queue.take()
        await asyncio.sleep(2 * PERIOD_S)
        again_s = porch.schedule.next_due_s(KEY, taken.due_s, now_s())
        porch.queue.add(KEY, again_s)
        porch.queue.done(KEY)
        assert (await porch.queue.take()).due_s == again_s


async def test_hpas_are_counted_as_they_come_and_go() -> None:
    porch = Porch()
    porch.cache.put(autoscaler(name="a"))
    porch.cache.put(autoscaler(name="b"))
    porch.cache.put(autoscaler(name="b", version="2"))
    assert porch.numbers.autoscalers == 2
    porch.cache.remove(autoscaler(name="a").key)
    assert porch.numbers.autoscalers == 1
    list_anew(porch.cache, [autoscaler(name="c")])
    assert porch.numbers.autoscalers == 1
    list_anew(porch.cache, [])
    assert porch.numbers.autoscalers == 0


async def test_a_deleted_hpa_stays_queued_so_that_its_sync_can_forget_it() -> None:
    porch = Porch()
    porch.cache.put(autoscaler())
    porch.cache.remove(autoscaler().key)
    assert (await porch.queue.take()).key == KEY


async def test_an_hpa_that_comes_back_under_its_name_keeps_the_earlier_due_time() -> None:
    porch = Porch()
    porch.cache.put(autoscaler())
    await asyncio.sleep(10)
    porch.cache.remove(autoscaler().key)
    porch.cache.put(autoscaler(uid="another"))
    assert (await porch.queue.take()).due_s == PERIOD_S


async def test_a_new_hpa_is_registered_and_a_deleted_one_is_no_rival_any_more() -> None:
    porch = Porch()
    selector = selectors.parse("app=web")
    porch.rivals.store(NAMESPACE, "web", selector)
    assert porch.rivals.sharing(NAMESPACE, [{"app": "web"}]) == (), "not yet registered"
    porch.cache.put(autoscaler())
    porch.rivals.store(NAMESPACE, "web", selector)
    assert porch.rivals.sharing(NAMESPACE, [{"app": "web"}]) == (KEY,)
    porch.cache.put(autoscaler(version="2"))
    assert porch.rivals.sharing(NAMESPACE, [{"app": "web"}]) == (KEY,), "a change does not forget its selector"
    porch.cache.remove(autoscaler().key)
    assert porch.rivals.sharing(NAMESPACE, [{"app": "web"}]) == ()
