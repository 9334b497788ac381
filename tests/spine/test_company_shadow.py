"""Another controller's decisions beside those of a shadow."""

from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from controller.company import SHADOW
from controller.decide.spec import Behavior, Policy, Rules, Settings
from controller.decide.status import Condition, Status
from controller.modes import Modes
from controller.ports import StatusWrite, WatchedAutoscaler
from tests.spine.foreign import another_writes, overloaded
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import PERIOD_S, Stage

pytestmark = pytest.mark.looptime


async def test_a_shadow_writes_nothing_and_says_why() -> None:
    stage = overloaded(shadow=True)
    await stage.sync()
    await stage.syncs(3)
    assert stage.taken_lines() == []
    assert [sync.withheld for sync in stage.seen] == [SHADOW] * 4
    assert [sync.decision.desired for sync in stage.seen] == [4, 4, 4, 4]


async def watched_at_rest() -> Stage:
    """A shadow that has looked once at two replicas, which use what they should."""
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    return stage


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
    stage = await watched_at_rest()
    ours = would_be(stage)
    same = conditions(*((one.type, one.status, one.reason) for one in ours.conditions))
    await other_decides(stage, replicas_current=2, replicas_desired=2, metrics=ours.metrics, conditions=same)
    assert dict(stage.shadow.counts) == {"agree": 1}
    assert list(stage.shadow.latest) == []


async def test_another_outcome_from_the_same_inputs_is_a_difference_of_logic() -> None:
    stage = await watched_at_rest()
    ours = would_be(stage)
    await other_decides(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    [difference] = stage.shadow.latest
    assert (difference.key, difference.manager) == (KEY, "kube-controller-manager")
    assert difference.judgement.kind == "logic"
    assert [(field.name, field.theirs, field.ours) for field in difference.judgement.fields] == [
        ("desiredReplicas", "3", "2")
    ]


async def test_another_outcome_from_other_numbers_is_a_difference_of_input() -> None:
    stage = await watched_at_rest()
    stage.uses(150, 150)
    await other_decides(stage, replicas_current=2, replicas_desired=3, conditions=would_be(stage).conditions)
    [difference] = stage.shadow.latest
    assert difference.judgement.kind == "input"


async def test_what_it_may_remember_from_before_we_looked_is_input() -> None:
    """A recommendation of before our start may hold its size."""
    stage = Stage(Settings(), shadow=True)
    stage.add(autoscaler(status=Status(5, 5, conditions=conditions(("AbleToScale", "True", "x")))), scale(5))
    stage.uses(60, 60, 60, 60, 60)
    await stage.sync()
    ours = would_be(stage)
    await other_decides(stage, replicas_current=5, replicas_desired=4, metrics=ours.metrics, conditions=ours.conditions)
    [difference] = stage.shadow.latest
    assert difference.judgement.kind == "input"
    assert "before we watched" in difference.judgement.because


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
    assert [(one.key, one.judgement.kind) for one in stage.shadow.latest] == [(KEY, "logic")], "and told once"


async def test_a_standing_status_says_nothing_while_the_other_may_be_down() -> None:
    stage = overloaded(shadow=True)
    await stage.sync()
    await stage.syncs(20)
    assert stage.shadow.counts.total() == 0


async def test_a_deleted_hpa_leaves_nothing_behind() -> None:
    stage = await watched_at_rest()
    await other_decides(stage, replicas_current=2, replicas_desired=3)
    stage.autoscalers.remove(autoscaler().key)
    assert stage.shadow.by_key == {}


def _written_by_another(cached: WatchedAutoscaler) -> WatchedAutoscaler:
    version = int(cached.version) + 1
    return msgspec.structs.replace(
        cached, version=str(version), foreign_writes=(StatusWrite("kcm", f"2026-01-01T00:00:{version:02}Z"),)
    )


async def twin(*loads: int, watched: WatchedAutoscaler | None = None) -> Status:
    """What a controller like ours has written after looks at two pods with these loads, of which it rescales."""
    stage = Stage()
    stage.add(watched or autoscaler(), scale(2))
    for load in loads:
        stage.uses(load, load)
        await stage.syncs(1)
    return stage.status()


def fields_of(written: Status) -> dict[str, Any]:
    return msgspec.structs.asdict(written)


async def test_what_ours_sees_a_period_later_counts_as_well() -> None:
    theirs = await twin(100, 200)
    stage = await watched_at_rest()
    another_writes(stage, **fields_of(theirs))
    await stage.sync()
    stage.uses(200, 200)
    await stage.syncs(1)
    assert dict(stage.shadow.counts) == {"agree": 1}
    assert stage.shadow.by_key == {KEY: {"agree": 1}}


async def test_what_ours_saw_last_before_the_write_counts_as_well() -> None:
    theirs = await twin(100, 200)
    stage = await watched_at_rest()
    stage.uses(200, 200)
    await stage.syncs(1)
    stage.uses(100, 100)
    await other_decides(stage, **fields_of(theirs))
    assert dict(stage.shadow.counts) == {"agree": 1}


async def test_a_rescale_of_the_write_itself_does_not_count_against_it() -> None:
    """It is adopted into our history, and would use up what a policy allows."""
    one_a_minute = Rules(0, (Policy("Pods", 1, 60),))
    watched = autoscaler(behavior=Behavior(one_a_minute, one_a_minute))
    theirs = await twin(100, 200, watched=watched)
    assert (theirs.replicas_current, theirs.replicas_desired) == (2, 3)
    stage = Stage(shadow=True)
    stage.add(watched, scale(2))
    stage.uses(100, 100)
    await stage.sync()
    stage.uses(200, 200)
    await other_decides(stage, **fields_of(theirs))
    assert dict(stage.shadow.counts) == {"agree": 1}


async def test_of_two_writes_after_one_another_each_is_judged() -> None:
    stage = await watched_at_rest()
    ours = would_be(stage)
    another_writes(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    await stage.sync()
    await other_decides(stage, replicas_current=2, replicas_desired=2, metrics=ours.metrics, conditions=ours.conditions)
    assert dict(stage.shadow.counts) == {"logic": 1, "agree": 1}


async def test_a_write_from_before_the_first_look_is_never_logic() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    ours = await twin(100)
    another_writes(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    await stage.sync()
    await stage.syncs(1)
    assert dict(stage.shadow.counts) == {"input": 1}


async def test_of_two_writes_from_before_the_first_look_the_last_is_judged() -> None:
    """Of the other ours has seen nothing."""
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    ours = await twin(100)
    with capture_logs() as logs:
        for desired in (3, 4):
            another_writes(
                stage, replicas_current=2, replicas_desired=desired, metrics=ours.metrics, conditions=ours.conditions
            )
        await stage.sync()
        await stage.syncs(1)
    assert [line["event"] for line in logs if line["log_level"] == "error"] == []
    assert dict(stage.shadow.counts) == {"input": 1}
    [difference] = stage.shadow.latest
    assert [(field.name, field.theirs) for field in difference.judgement.fields] == [("desiredReplicas", "4")]


async def test_of_an_hpa_that_is_new_all_is_known() -> None:
    """Of one that was deleted and made anew at once the other remembers what its name had."""
    stage = Stage(Settings(), shadow=True)
    kinds = []
    for uid in ("first", "second"):
        stage.add(autoscaler(uid=uid), scale(2))
        stage.uses(100, 100)
        await stage.sync()
        ours = would_be(stage)
        another_writes(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
        await stage.sync()
        await stage.syncs(1)
        kinds.append(stage.shadow.latest[-1].judgement.kind)
        stage.autoscalers.remove(KEY)
    assert kinds == ["logic", "input"]


async def test_an_hpa_that_takes_the_place_of_another_is_new() -> None:
    """Between two looks of the watch its deletion may not be seen."""
    stage = Stage(Settings(), shadow=True)
    stage.add(
        autoscaler(uid="first", status=Status(2, 2, conditions=conditions(("AbleToScale", "True", "x")))), scale(2)
    )
    stage.uses(100, 100)
    await stage.sync()
    stage.autoscalers.put(autoscaler(uid="second", version="7"))
    await stage.syncs(1)
    ours = would_be(stage)
    await other_decides(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    assert stage.shadow.latest[-1].judgement.kind == "logic"


async def test_a_write_to_one_whose_place_another_has_taken_is_held_against_nothing() -> None:
    stage = Stage(Settings(), shadow=True)
    stage.add(autoscaler(uid="first"), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    ours = would_be(stage)
    another_writes(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    stage.autoscalers.put(autoscaler(uid="second", version="7"))
    await stage.syncs(3)
    assert stage.shadow.counts.total() == 0


async def test_what_ours_decides_itself_is_compared_with_nothing() -> None:
    stage = overloaded()
    await stage.sync()
    await stage.syncs(3)
    assert stage.shadow._known == {}
    assert stage.shadow.counts.total() == 0


async def test_what_was_watched_before_ours_decided_itself_is_forgotten() -> None:
    """While it did, nobody looked at what the other may remember."""
    stage = Stage(Settings())
    stage.orders.put(Modes("shadow"))
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    stage.orders.put(Modes("write"))
    await stage.syncs(1)
    stage.orders.put(Modes("shadow"))
    await stage.syncs(1)
    ours = would_be(stage)
    await other_decides(stage, replicas_current=2, replicas_desired=3, metrics=ours.metrics, conditions=ours.conditions)
    [difference] = stage.shadow.latest
    assert difference.judgement.kind == "input"
    assert "before we watched" in difference.judgement.because


async def standing(stage: Stage, *loads: int) -> None:
    """Periods in which another controller is at work, on another HPA than the first."""
    stage.add(autoscaler(name="busy"), scale(2, selector="app=busy"))
    await stage.sync()
    for load in loads:
        stage.uses(load, load)
        await stage.syncs(1)
        busy = stage.autoscalers.get("shop/busy")
        assert busy is not None
        stage.autoscalers.put(_written_by_another(busy))


async def test_a_standing_status_is_told_again_after_the_world_has_moved() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    await standing(stage, *[200] * 6, *[300] * 6)
    assert [(one.key, one.judgement.kind) for one in stage.shadow.latest] == [(KEY, "logic")] * 2


async def test_a_standing_status_that_ours_would_leave_is_no_difference() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(status=await twin(100)), scale(2))
    await standing(stage, *[100] * 8)
    assert list(stage.shadow.latest) == []


async def test_a_standing_status_in_a_moving_world_is_no_difference() -> None:
    """The other may always have looked a moment earlier."""
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    await standing(stage, *[200, 210] * 4)
    assert list(stage.shadow.latest) == []


async def test_a_status_that_moves_is_not_standing() -> None:
    stage = Stage(shadow=True)
    stage.add(autoscaler(), scale(2))
    stage.add(autoscaler(name="busy"), scale(2, selector="app=busy"))
    stage.uses(200, 200)
    await stage.sync()
    for period in range(8):
        cached = stage.autoscalers.get(KEY)
        assert cached is not None
        stage.autoscalers.put(msgspec.structs.replace(cached, status=Status(2, 7 + period % 2)))
        await stage.syncs(1)
        busy = stage.autoscalers.get("shop/busy")
        assert busy is not None
        stage.autoscalers.put(_written_by_another(busy))
    assert stage.shadow.counts["logic"] == 0


async def test_a_standing_status_may_be_held_by_what_the_other_remembers() -> None:
    stage = Stage(Settings(), shadow=True)
    old = Status(2, 2, conditions=conditions(("AbleToScale", "True", "x")))
    stage.add(autoscaler(status=old), scale(2))
    await standing(stage, *[200] * 8)
    assert list(stage.shadow.latest) == [], "two minutes of a window of five"
    await standing(stage, *[200] * round(300 / PERIOD_S))
    assert [one.judgement.kind for one in stage.shadow.latest] == ["logic"]
