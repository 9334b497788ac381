"""Another controller's decisions beside those of a shadow."""

from typing import Any

import msgspec
import pytest

from controller.company import SHADOW
from controller.decide.spec import Settings
from controller.decide.status import Condition, Status
from controller.ports import StatusWrite, WatchedAutoscaler
from tests.spine.foreign import another_writes, overloaded
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import Stage

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
    assert difference.verdict.kind == "logic"
    assert [(field.name, field.theirs, field.ours) for field in difference.verdict.fields] == [
        ("desiredReplicas", "3", "2")
    ]


async def test_another_outcome_from_other_numbers_is_a_difference_of_input() -> None:
    stage = await watched_at_rest()
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
    stage = await watched_at_rest()
    await other_decides(stage, replicas_current=2, replicas_desired=3)
    stage.autoscalers.remove(autoscaler().key)
    assert stage.shadow.by_key == {}


def _written_by_another(cached: WatchedAutoscaler) -> WatchedAutoscaler:
    version = int(cached.version) + 1
    return msgspec.structs.replace(
        cached, version=str(version), foreign_writes=(StatusWrite("kcm", f"2026-01-01T00:00:{version:02}Z"),)
    )
