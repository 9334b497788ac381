"""What another controller does to an HPA becomes part of its history."""

import asyncio

import pytest

from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Behavior, Policy, Rules
from controller.lasting.records import PERIOD_LONGEST_NS
from tests.spine.foreign import another_writes, overloaded
from tests.spine.objects import KEY, autoscaler, scale
from tests.spine.stage import Stage
from tests.spine.world import LoopClock

pytestmark = pytest.mark.looptime


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


async def test_a_rescale_of_another_is_remembered_at_its_time() -> None:
    stage = Stage()
    stage.add(autoscaler(behavior=patient()), scale(2))
    stage.uses(100, 100)
    await stage.sync()
    another_writes(stage, replicas_current=2, replicas_desired=5, last_scale_ns=1)
    seen_ns = LoopClock().now().monotonic_ns
    await stage.syncs(1)
    history = stage.history()
    assert history is not None
    assert [event.at_ns for event in history.scale_ups] == [seen_ns]


async def test_an_hpa_of_the_same_name_inherits_no_rescales() -> None:
    stage = overloaded(shadow=True)
    another_writes(stage, replicas_current=2, replicas_desired=3, last_scale_ns=1)
    stage.autoscalers.remove(KEY)
    assert stage.company.rescales(KEY) == ()
