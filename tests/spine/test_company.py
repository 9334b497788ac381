"""Another controller at work on the same HPAs: noticed, yielded to, and looked at."""

import asyncio
from typing import Any

import msgspec
import pytest

from controller.company import SHADOW, Company
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Behavior, Policy, Rules, Settings
from controller.decide.status import Condition, Status
from controller.lasting.records import PERIOD_LONGEST_NS
from controller.modes import Modes, NamedModes, Orders
from controller.ports import StatusWrite, WatchedAutoscaler
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.world import Election, LoopClock, MemorySink, conflict, slow

pytestmark = pytest.mark.looptime

SILENCE_S = 4 * PERIOD_S


def another_writes(stage: Stage, manager: str = "kube-controller-manager", **status: Any) -> None:
    """A status write of another controller reaches the cache."""
    cached = stage.autoscalers.get(KEY)
    assert cached is not None
    time = f"2026-01-01T00:00:{len(cached.foreign_writes) + int(cached.version):02}Z"
    others = tuple(write for write in cached.foreign_writes if write.manager != manager)
    stage.autoscalers.put(
        msgspec.structs.replace(
            cached,
            version=str(int(cached.version) + 1),
            status=msgspec.structs.replace(cached.status, **status),
            foreign_writes=(*others, StatusWrite(manager, time)),
        )
    )


def overloaded(**options: Any) -> Stage:
    """Two replicas that use twice their target."""
    stage = Stage(**options)
    stage.add(autoscaler(), scale(2))
    stage.uses(200, 200)
    return stage


# --- yielding ---


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
    stage.orders.put(NamedModes("modes", Modes("shadow")))
    await stage.sync()
    assert stage.company.yielded == {}
    stage.orders.put(NamedModes("modes", Modes("write")))
    await stage.sync()
    assert list(stage.company.yielded) == ["shop/web"]


async def test_a_freeze_stops_a_write_that_waits_for_its_turn_at_the_api_server() -> None:
    stage = overloaded()
    stage.scales.gate = slow(2)
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(3)
    stage.orders.put(NamedModes("modes", Modes("freeze")))
    await sync
    assert stage.taken_lines() == []


async def test_the_echo_of_our_own_status_after_an_order_is_not_foreign() -> None:
    stage = overloaded()
    stage.statuses.write_s = 2.0
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(1)
    stage.orders.put(NamedModes("modes", Modes("freeze")))
    await sync
    assert stage.taken_lines()[-1] == "status 2→4"
    assert stage.company.rescales(KEY) == ()
    stage.orders.put(NamedModes("modes", Modes("write")))
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
    stage.orders.put(NamedModes("modes", Modes("freeze")))
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


async def test_a_rescale_that_is_seen_while_older_ones_are_adopted_is_adopted_next() -> None:
    stage = overloaded(shadow=True)
    another_writes(stage, replicas_current=2, replicas_desired=3, last_scale_ns=1)
    taken = stage.company.rescales(KEY)
    await asyncio.sleep(PERIOD_LONGEST_NS / NANOSECONDS + 1)
    another_writes(stage, replicas_current=3, replicas_desired=5, last_scale_ns=2)
    stage.company.adopted(KEY, taken)
    assert [rescale.change for rescale in stage.company.rescales(KEY)] == [2]


async def test_rescales_that_nobody_adopts_are_forgotten() -> None:
    stage = overloaded(shadow=True)
    for number in range(5):
        another_writes(stage, replicas_current=2, replicas_desired=3, last_scale_ns=number + 1)
        await asyncio.sleep(PERIOD_LONGEST_NS / NANOSECONDS / 2)
    assert len(stage.company.rescales(KEY)) == 2


async def test_foreign_writes_need_not_be_looked_for() -> None:
    sink, orders = MemorySink(Stage().journal), Orders(Modes())
    company = Company(LoopClock(), sink, orders, Election(), shadow=False, silence_ns=0)
    before = autoscaler()
    after = msgspec.structs.replace(before, foreign_writes=(StatusWrite("kcm", "2026-01-01T00:00:00Z"),))
    company.changed(before, after)
    assert company.withheld(after) is None


# --- what the other does becomes history ---


def patient() -> Behavior:
    """Up by at most four pods in a minute; down at once."""
    return Behavior(Rules(0, (Policy("Pods", 4, 60),)), Rules(0, (Policy("Percent", 100, 15),)))


async def test_rescales_of_the_other_count_for_the_policies() -> None:
    stage = Stage()
    stage.add(autoscaler(behavior=patient()), scale(2))
    stage.uses(1000, 1000)
    another_writes(stage, replicas_current=2, replicas_desired=5, last_scale_ns=1)
    stage.scales.by_hand("shop", "web", 5)
    await stage.sync()
    history = stage.history()
    assert history is not None
    assert [event.change for event in history.scale_ups] == [3]


@pytest.mark.parametrize("shadow", [False, True])
async def test_a_rescale_is_adopted_once(*, shadow: bool) -> None:
    stage = Stage(shadow=shadow)
    stage.add(autoscaler(behavior=patient()), scale(2))
    stage.uses(100, 100)
    another_writes(stage, replicas_current=2, replicas_desired=5, last_scale_ns=1)
    await stage.sync()
    another_writes(stage, replicas_current=5, replicas_desired=5)
    await stage.syncs(2)
    history = stage.history()
    assert history is not None
    assert [event.change for event in history.scale_ups] == [3]


@pytest.mark.parametrize(("ago_s", "adopted_ago_s"), [(4, 4), (0, 0), (3600, 0), (-5, 0)])
async def test_a_rescale_is_dated_as_its_writer_says_unless_the_clocks_are_far_apart(
    ago_s: int, adopted_ago_s: int
) -> None:
    stage = Stage()
    stage.add(autoscaler(behavior=patient()), scale(2))
    stage.uses(100, 100)
    now = LoopClock().now()
    last_scale_ns = now.wall_ns - ago_s * NANOSECONDS
    another_writes(stage, replicas_current=2, replicas_desired=5, last_scale_ns=last_scale_ns)
    [rescale] = stage.company.rescales(KEY)
    assert (now.monotonic_ns - rescale.at_ns) // NANOSECONDS == adopted_ago_s


# --- shadow ---


async def test_a_shadow_writes_nothing_and_says_why() -> None:
    stage = overloaded(shadow=True)
    await stage.sync()
    await stage.syncs(3)
    assert stage.taken_lines() == []
    assert [sync.withheld for sync in stage.seen] == [SHADOW] * 4
    assert [sync.decision.desired for sync in stage.seen] == [4, 4, 4, 4]


def would_be(stage: Stage) -> Status:
    """The status that ours would have written after its last sync."""
    return stage.seen[-1].conclusion.status


async def other_decides(stage: Stage, **status: Any) -> None:
    """The other controller writes a status, which ours looks at now and a period later."""
    another_writes(stage, **status)
    await stage.sync()
    await stage.syncs(1)


def conditions(*reasons: tuple[str, str, str]) -> tuple[Condition, ...]:
    return tuple(Condition(kind, status, reason, "its own words", 5) for kind, status, reason in reasons)


async def test_a_decision_that_is_ours_too_agrees_whatever_its_words_are() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    ours = would_be(stage)
    same = conditions(*((one.type, one.status, one.reason) for one in ours.conditions))
    await other_decides(stage, replicas_current=2, replicas_desired=2, metrics=ours.metrics, conditions=same)
    assert dict(stage.shadow.counts) == {"agree": 1}
    assert list(stage.shadow.latest) == []


async def test_another_outcome_from_the_same_inputs_is_a_difference_of_logic() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    ours = would_be(stage)
    await other_decides(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    [difference] = stage.shadow.latest
    assert (difference.key, difference.manager) == (KEY, "kube-controller-manager")
    assert difference.verdict.kind == "logic"
    assert [(field.name, field.theirs, field.ours) for field in difference.verdict.fields] == [
        ("desiredReplicas", "3", "2")
    ]


async def test_another_outcome_from_other_numbers_is_a_difference_of_input() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    stage.uses(150, 150)
    await other_decides(stage, replicas_current=2, replicas_desired=3, conditions=would_be(stage).conditions)
    [difference] = stage.shadow.latest
    assert difference.verdict.kind == "input"


async def test_what_it_may_remember_from_before_we_looked_is_input() -> None:
    """A recommendation of before our start may hold its size."""
    stage = Stage(Settings(), shadow=True)
    stage.add(autoscaler(status=Status(5, 5, conditions=conditions(("AbleToScale", "True", "x")))), scale(5))
    stage.uses(60, 60, 60, 60, 60)
    await stage.sync()
    ours = would_be(stage)
    await other_decides(stage, replicas_current=5, replicas_desired=4, metrics=ours.metrics, conditions=ours.conditions)
    [difference] = stage.shadow.latest
    assert difference.verdict.kind == "input"
    assert "before we watched" in difference.verdict.because


async def test_a_standing_status_that_ours_would_change_is_noticed_while_the_other_is_at_work() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.add(autoscaler(name="busy"), scale(2, selector="app=busy"))
    stage.uses(200, 200)
    await stage.sync()
    for _ in range(6):
        await stage.syncs(1)
        busy = stage.autoscalers.get("shop/busy")
        assert busy is not None
        stage.autoscalers.put(_written_by_another(busy))
    assert [(one.key, one.verdict.kind) for one in stage.shadow.latest] == [(KEY, "logic")], "and told once"


async def test_a_standing_status_says_nothing_while_the_other_may_be_down() -> None:
    stage = overloaded(shadow=True)
    await stage.sync()
    await stage.syncs(20)
    assert stage.shadow.counts.total() == 0


async def test_a_deleted_hpa_leaves_nothing_behind() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    await other_decides(stage, replicas_current=2, replicas_desired=3)
    stage.autoscalers.remove(autoscaler().key)
    assert stage.shadow.by_key == {}


def _written_by_another(cached: WatchedAutoscaler) -> WatchedAutoscaler:
    version = int(cached.version) + 1
    return msgspec.structs.replace(
        cached, version=str(version), foreign_writes=(StatusWrite("kcm", f"2026-01-01T00:00:{version:02}Z"),)
    )
