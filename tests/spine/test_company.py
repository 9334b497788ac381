"""Another controller at work on the same HPAs: noticed, and yielded to."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from controller.company import Company
from controller.decide.instants import NANOSECONDS
from controller.decide.status import Status
from controller.modes import Modes, Orders
from controller.ports import StatusWrite
from tests.spine.foreign import SILENCE_S, another_writes, overloaded
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.world import Election, LoopClock, MemorySink, conflict, slow

pytestmark = pytest.mark.looptime


async def test_nothing_is_written_from_the_first_foreign_write_on() -> None:
    stage = overloaded()
    another_writes(stage, replicas_current=2, replicas_desired=2)
    await stage.sync()
    await stage.syncs(3)
    assert stage.taken_lines() == ["event ForeignWriter"]


async def test_the_event_says_who_and_what_to_do() -> None:
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    [(key, event)] = stage.sink.events
    assert key == KEY
    assert event.type == "Warning"
    for part in ("kube-controller-manager writes", "silent for 60s", "--controllers", "--shadow"):
        assert part in event.message


@pytest.mark.parametrize("order", [1, -1])
async def test_of_several_who_have_written_the_last_one_is_named(order: int) -> None:
    """Between two looks of the watch both may have; the API server lists them in no particular order."""
    stage = overloaded()
    earlier, later = StatusWrite("earlier", "2026-01-01T00:00:01Z"), StatusWrite("later", "2026-01-01T00:00:05Z")
    written = msgspec.structs.replace(autoscaler(), version="2", foreign_writes=(earlier, later)[::order])
    stage.autoscalers.put(written)
    await stage.sync()
    assert stage.company.yielded == {KEY: "later"}


async def test_what_was_there_when_an_hpa_is_first_seen_is_no_foreign_write() -> None:
    stage = Stage()
    old = StatusWrite("kube-controller-manager", "2026-01-01T00:00:00Z")
    stage.add(msgspec.structs.replace(autoscaler(), foreign_writes=(old,)), scale(2))
    stage.uses(200, 200)
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 4


async def test_our_own_writes_and_edits_of_people_are_no_foreign_writes() -> None:
    stage = overloaded()
    await stage.sync()
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    stage.autoscalers.put(msgspec.structs.replace(cached, version="99", spec=autoscaler(replicas_max=3).spec))
    await stage.syncs(1)
    assert stage.scales.replicas("shop", "web") == 3
    assert stage.company.yielded == {}


async def test_a_manager_that_loses_its_fields_to_us_has_not_written() -> None:
    stage = overloaded()
    another_writes(stage)
    await asyncio.sleep(SILENCE_S)
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    stage.autoscalers.put(msgspec.structs.replace(cached, version="50", foreign_writes=()))
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 4


async def test_it_resumes_after_the_silence_and_says_so() -> None:
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    await stage.syncs(3)
    assert stage.company.yielded == {KEY: "kube-controller-manager"}
    stage.taken_lines()
    await stage.syncs(1)
    assert stage.taken_lines() == ["event ForeignWriterSilent", "scale 4", "event SuccessfulRescale", "status 2→4"]
    assert stage.company.yielded == {}


async def test_each_foreign_write_prolongs_the_silence_that_is_waited_for() -> None:
    stage = overloaded()
    for _ in range(8):
        another_writes(stage)
        await stage.sync()
        await asyncio.sleep(SILENCE_S - PERIOD_S)
    assert stage.taken_lines() == ["event ForeignWriter"], "it is told once"


async def test_a_foreign_write_between_the_decision_and_the_write_stops_the_write() -> None:
    stage = overloaded()
    await stage.sync()
    stage.scales.cache("shop", "web")
    stage.uses(400, 400, 400, 400)
    # The first attempt is refused, and the other comes before the second.
    stage.scales.write_faults.append(conflict())
    stage.scales.while_reading.append(lambda: another_writes(stage))
    stage.taken_lines()
    await stage.syncs(1)
    assert stage.taken_lines() == ["event ForeignWriter"]
    assert stage.scales.replicas("shop", "web") == 4


async def test_a_scale_that_was_written_before_is_told_although_its_status_is_not_written() -> None:
    stage = overloaded()
    stage.scales.while_writing.append(lambda: another_writes(stage))
    await stage.sync()
    assert stage.taken_lines() == ["scale 4", "event ForeignWriter", "event SuccessfulRescale"]


async def test_only_the_hpa_that_was_written_is_left_alone() -> None:
    stage = overloaded()
    stage.add(autoscaler(name="shop"), scale(2, selector="app=shop"))
    stage.uses(200, 200, name="shop")
    another_writes(stage)
    await stage.sync()
    await stage.sync("shop/shop")
    assert (stage.scales.replicas("shop", "web"), stage.scales.replicas("shop", "shop")) == (2, 4)


async def test_while_an_hpa_is_left_alone_any_change_of_its_status_is_foreign() -> None:
    """Another instance of this very program goes by our own name."""
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    await asyncio.sleep(SILENCE_S - 1)
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    changed = msgspec.structs.replace(cached.status, replicas_current=7)
    stage.autoscalers.put(msgspec.structs.replace(cached, version="77", status=changed))
    await asyncio.sleep(SILENCE_S - 1)
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 2


async def test_an_hpa_that_is_recreated_is_ours_again() -> None:
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    stage.autoscalers.remove(autoscaler().key)
    stage.add(autoscaler(uid="another"))
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 4


async def test_what_an_order_withholds_is_left_to_nobody_until_it_is_promoted_again() -> None:
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    assert list(stage.company.yielded) == ["shop/web"]
    stage.orders.put(Modes("shadow"))
    await stage.sync()
    assert stage.company.yielded == {}
    stage.orders.put(Modes("write"))
    await stage.sync()
    assert list(stage.company.yielded) == ["shop/web"]


async def test_a_freeze_stops_a_write_that_waits_for_its_turn_at_the_api_server() -> None:
    stage = overloaded()
    stage.scales.gate = slow(2)
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(3)
    stage.orders.put(Modes("freeze"))
    await sync
    assert stage.taken_lines() == []


async def test_the_echo_of_our_own_status_after_an_order_is_not_foreign() -> None:
    stage = overloaded()
    stage.statuses.write_s = 2.0
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(1)
    stage.orders.put(Modes("freeze"))
    await sync
    assert stage.taken_lines()[-1] == "status 2→4"
    assert stage.company.rescales(KEY) == ()
    stage.orders.put(Modes("write"))
    await stage.syncs(1)
    assert stage.company.yielded == {}


async def test_a_resync_does_not_make_our_own_echo_foreign() -> None:
    stage = overloaded()
    stage.statuses.write_s = 2.0
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(1)
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    stage.autoscalers.announce(cached)
    stage.orders.put(Modes("freeze"))
    await sync
    assert stage.taken_lines()[-1] == "status 2→4"
    assert stage.company.rescales(KEY) == ()


async def test_writes_that_come_before_the_orders_are_known_are_not_foreign() -> None:
    stage = overloaded()
    stage.orders = Orders(None)
    company = Company(LoopClock(), stage.sink, stage.orders, stage.election, shadow=False, silence_ns=NANOSECONDS)
    before = autoscaler()
    company.changed(before, msgspec.structs.replace(before, version="2", status=Status(2, 4, last_scale_ns=1)))
    assert company.rescales(KEY) == ()


async def test_what_was_left_to_another_in_an_earlier_term_says_nothing_about_our_successor() -> None:
    """Whoever leads after us is an instance of this program, and its writes are ours."""
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    assert list(stage.company.yielded) == [KEY]
    stage.election.lose()
    assert stage.company.yielded == {}
    await asyncio.sleep(SILENCE_S + 1)
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    stage.autoscalers.put(msgspec.structs.replace(cached, version="77", status=Status(2, 3, last_scale_ns=1)))
    stage.election.win()
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 4
    assert stage.company.yielded == {}


async def test_what_is_left_to_another_gets_no_event_of_ours_but_the_one_that_says_so() -> None:
    stage = Stage()
    stage.add(autoscaler(), scale(2))  # without an answer about its metric, of which events tell
    another_writes(stage)
    await stage.sync()
    await stage.syncs(2)
    assert stage.taken_lines() == ["event ForeignWriter"]


async def test_a_foreign_write_while_a_status_waits_stops_that_and_nothing_else() -> None:
    stage = overloaded()

    @asynccontextmanager
    async def gate() -> AsyncIterator[None]:
        another_writes(stage)
        yield

    stage.statuses.gate = gate
    await stage.sync()
    assert stage.taken_lines() == ["scale 4", "event SuccessfulRescale", "event ForeignWriter"]
    assert stage.numbers.reconciliations == [("scale_up", "none")]


async def test_an_edit_of_the_spec_does_not_prolong_the_silence_that_is_waited_for() -> None:
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    await asyncio.sleep(SILENCE_S - 1)
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    stage.autoscalers.put(msgspec.structs.replace(cached, version="77", spec=autoscaler(replicas_max=9).spec))
    await asyncio.sleep(2)
    await stage.sync()
    assert stage.scales.replicas("shop", "web") == 4


async def test_an_hpa_that_is_deleted_is_left_to_nobody() -> None:
    stage = overloaded()
    another_writes(stage)
    await stage.sync()
    stage.autoscalers.remove(KEY)
    assert stage.company.yielded == {}


async def test_foreign_writes_need_not_be_looked_for() -> None:
    sink, orders = MemorySink(Stage().journal), Orders(Modes())
    company = Company(LoopClock(), sink, orders, Election(), shadow=False, silence_ns=0)
    before = autoscaler()
    after = msgspec.structs.replace(before, foreign_writes=(StatusWrite("kcm", "2026-01-01T00:00:00Z"),))
    company.changed(before, after)
    assert company.withheld(after) is None
