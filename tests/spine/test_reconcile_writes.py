"""§13.1 and what must hold around it: nobody's change is undone, and nothing is sent without the Lease."""

import asyncio
import itertools
from contextlib import nullcontext
from functools import partial

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace
from structlog.testing import capture_logs

from controller.decide import selectors
from controller.decide.observed import ScaleFailure
from controller.decide.spec import Reference, Settings
from controller.ports import ResourceQuestion, Unreachable
from controller.reconcile import ALIVE_AGAIN_PERIODS
from tests.spine.objects import NAMESPACE, autoscaler, pods_of, scale
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.tasks import now_s
from tests.spine.world import api_error, conflict, slow

pytestmark = pytest.mark.looptime


def web(replicas: int, *milli: int, concurrency: int = 5) -> Stage:
    stage = Stage(concurrency=concurrency)
    stage.add(autoscaler(), scale(replicas))
    stage.uses(*milli)
    return stage


@pytest.mark.parametrize("conflicts", [1, 2, 3, 4])
async def test_a_write_that_conflicts_is_repeated_ten_milliseconds_later(conflicts: int) -> None:
    stage = web(2, 200, 200)
    stage.scales.write_faults.extend(conflict() for _ in range(conflicts))
    await stage.sync()
    assert stage.taken_lines() == ["scale 4", "event SuccessfulRescale", "status 2→4"]
    gaps_s = [after_s - before_s for before_s, after_s in itertools.pairwise(stage.scales.attempted_s)]
    assert gaps_s == pytest.approx([0.0105] * conflicts), "10 ms and half of the jitter of 10 %"


async def test_five_conflicts_are_the_end_of_it() -> None:
    stage = web(2, 200, 200)
    stage.scales.write_faults.extend(conflict() for _ in range(20))
    await stage.sync()
    assert len(stage.scales.attempted_s) == 5
    assert stage.taken_lines() == ["event FailedRescale", "status 2→0"]
    assert stage.condition("AbleToScale") == ("False", "FailedUpdateScale")
    assert stage.numbers.reconciliations == [("none", "internal")]


async def test_another_failure_after_a_conflict_is_not_repeated() -> None:
    stage = web(2, 200, 200)
    stage.scales.write_faults.extend([conflict(), Unreachable("connection reset"), conflict()])
    await stage.sync()
    assert len(stage.scales.attempted_s) == 2
    assert stage.sink.reasons() == ["FailedRescale"]


async def test_a_scale_that_cannot_be_read_again_after_a_conflict_does_not_end_the_attempts() -> None:
    stage = web(2, 200, 200)

    def break_reads() -> None:
        stage.scales.read_failures.append(ScaleFailure("connection reset"))

    stage.scales.while_writing.append(break_reads)
    stage.scales.write_faults.append(conflict())
    await stage.sync()
    assert stage.taken_lines()[0] == "scale 4"
    assert len(stage.scales.attempted_s) == 2


@pytest.mark.parametrize("made_anew", [False, True])
async def test_for_an_hpa_that_is_deleted_while_its_sync_is_in_hand_nothing_is_written(*, made_anew: bool) -> None:
    stage = web(2, 200, 200)

    def delete() -> None:
        stage.autoscalers.remove("shop/web")
        if made_anew:
            stage.autoscalers.put(replace(autoscaler(), uid="another"))

    stage.scales.while_reading.append(delete)
    await stage.sync()
    assert stage.taken_lines() == []
    assert stage.scales.attempted_s == []


async def test_a_manual_change_before_the_write_is_decided_on_anew() -> None:
    stage = web(2, 200, 200)
    stage.scales.while_writing.append(partial(stage.scales.by_hand, NAMESPACE, "web", 7))
    await stage.sync()
    # Decided on 2, four were wanted; the sync begins anew with 7 as what it found, and keeps that at first (§4.5).
    assert stage.taken_lines() == ["status 7→7"]
    assert len(stage.scales.attempted_s) == 1
    await stage.syncs(1)
    assert [(write.before, write.replicas) for write in stage.scales.accepted] == [(7, 4)]


async def test_a_target_that_was_made_anew_is_decided_on_anew_even_when_it_is_as_large_as_before() -> None:
    stage = web(2, 200, 200)
    stage.scales.while_writing.append(lambda: stage.scales.put(NAMESPACE, "web", scale(2, uid="another")))
    await stage.sync()
    assert len(stage.scales.attempted_s) == 2, "the first was refused for its uid"
    assert len(stage.metrics.asked) == 2, "and the second follows from a new look"


async def test_a_manual_change_to_the_very_count_that_was_wanted_leaves_nothing_to_write() -> None:
    stage = web(2, 200, 200)
    stage.scales.while_writing.append(partial(stage.scales.by_hand, NAMESPACE, "web", 4))
    await stage.sync()
    assert stage.taken_lines() == ["status 4→4"]
    assert len(stage.scales.attempted_s) == 1


async def test_the_first_sync_reads_live_and_later_ones_from_the_cache() -> None:
    stage = web(2, 100, 100)
    stage.scales.cache(NAMESPACE, "web")
    await stage.sync()
    assert stage.scales.live_reads == 1
    await stage.syncs(3)
    assert stage.scales.live_reads == 1
    stage.election.lose()
    await stage.syncs(1)
    stage.election.win()
    await stage.syncs(1)
    assert stage.scales.live_reads == 2


async def test_a_scale_from_the_cache_is_written_without_another_read() -> None:
    stage = web(2, 100, 100)
    stage.scales.cache(NAMESPACE, "web")
    await stage.sync()
    stage.uses(200, 200)
    await stage.syncs(1)
    assert stage.scales.live_reads == 1
    assert stage.scales.replicas(NAMESPACE, "web") == 4


async def test_a_cache_that_lags_behind_a_change_which_decides_nothing_costs_one_more_write() -> None:
    stage = web(2, 100, 100)
    stage.scales.cache(NAMESPACE, "web")
    await stage.sync()
    stage.uses(200, 200)
    stage.scales.by_hand(NAMESPACE, "web", 2)
    await stage.syncs(1)
    assert [(write.before, write.replicas) for write in stage.scales.accepted] == [(2, 4)]
    assert len(stage.scales.attempted_s) == 2
    assert len(stage.metrics.asked) == 2, "once in each sync"


async def test_a_cache_that_lags_behind_makes_the_sync_decide_once_more_and_remember_once() -> None:
    stage = Stage(Settings())
    stage.add(autoscaler(), scale(2))
    stage.uses(100, 100)
    stage.scales.cache(NAMESPACE, "web")
    await stage.sync()
    stage.uses(200, 200)
    stage.scales.by_hand(NAMESPACE, "web", 4)
    stage.taken_lines()
    await stage.syncs(1)
    assert stage.taken_lines() == ["status 4→4"], "what was wanted was there already"
    assert stage.recommended() == [2, 2, 4]
    assert len(stage.metrics.asked) == 3, "once in the first sync, twice in the second"
    assert len(stage.scales.attempted_s) == 1, "the API server refused what was decided on the old count"


async def test_a_target_that_vanished_behind_the_cache_is_told() -> None:
    stage = web(2, 100, 100)
    stage.scales.cache(NAMESPACE, "web")
    await stage.sync()
    stage.taken_lines()
    stage.uses(200, 200)
    stage.scales.delete(NAMESPACE, "web")
    await stage.syncs(1)
    assert stage.taken_lines() == ["event FailedGetScale", "status 2→2"]


async def test_a_target_that_never_stands_still_is_given_up_for_this_sync() -> None:
    stage = web(2, 200, 200)
    counts = itertools.cycle((3, 2))

    def meddle() -> None:
        stage.scales.by_hand(NAMESPACE, "web", next(counts))

    stage.scales.while_writing.extend([meddle] * 50)
    await stage.sync()
    assert stage.scales.accepted == []
    assert len(stage.scales.attempted_s) == 5
    assert stage.sink.reasons() == ["FailedRescale"]


@hypothesis_settings(max_examples=150)
@given(
    replicas=st.integers(1, 6),
    usage_milli=st.integers(0, 400),
    at_reads=st.lists(st.sampled_from((None, 1, 2, 3, 5, 8)), max_size=8),
    at_writes=st.lists(st.sampled_from((None, 1, 2, 3, 5, 8, "conflict")), max_size=8),
    at_samples=st.lists(st.sampled_from((None, 1, 2, 3, 5, 8)), max_size=4),
    cached=st.booleans(),
)
async def test_no_manual_change_is_ever_undone_by_a_decision_that_did_not_know_of_it(
    replicas: int,
    usage_milli: int,
    at_reads: list[int | None],
    at_writes: list[int | str | None],
    at_samples: list[int | None],
    *,
    cached: bool,
) -> None:
    stage = web(replicas, *[usage_milli] * replicas)
    if cached:
        stage.scales.cache(NAMESPACE, "web")
        await stage.sync()
    attempted, accepted = len(stage.scales.attempted_s), len(stage.scales.accepted)

    def meddle(count: int | str | None) -> None:
        if isinstance(count, str):
            stage.scales.write_faults.append(conflict())
        elif count is not None:
            stage.scales.by_hand(NAMESPACE, "web", count)

    stage.scales.while_reading.extend(partial(meddle, count) for count in at_reads)
    stage.scales.while_writing.extend(partial(meddle, count) for count in at_writes)
    stage.metrics.while_reading.extend(partial(meddle, count) for count in at_samples)
    await stage.syncs(1)
    assert len(stage.scales.attempted_s) - attempted <= 5
    written = stage.scales.accepted[accepted:]
    assert len(written) <= 1
    for write in written:
        # What the status says was decided on is what the write replaced.
        assert (stage.status().replicas_current, stage.status().replicas_desired) == (write.before, write.replicas)


async def test_who_does_not_lead_reads_and_sends_nothing_and_tries_again_next_period() -> None:
    stage = web(2, 200, 200)
    stage.election.lose()
    assert await stage.sync() == pytest.approx(PERIOD_S, rel=0.05)
    assert (stage.taken_lines(), stage.scales.live_reads, stage.metrics.asked) == ([], 0, [])
    assert stage.numbers.postponed == {"not-leading": 1}
    assert stage.numbers.reconciliations == []


async def test_who_does_not_lead_does_not_complain_about_objects_either() -> None:
    stage = Stage()
    stage.add(autoscaler(problem="spec.maxReplicas: missing"), scale(2))
    stage.election.lose()
    with capture_logs() as logs:
        await stage.sync()
    assert (logs, stage.numbers.reconciliations) == ([], [])


@pytest.mark.parametrize("wins", [False, True])
async def test_a_lease_lost_or_won_anew_between_two_attempts_stops_the_second(*, wins: bool) -> None:
    stage = web(2, 200, 200)
    stage.scales.while_writing.append(stage.election.win if wins else stage.election.lose)
    stage.scales.write_faults.append(conflict())
    await stage.sync()
    assert stage.taken_lines() == []
    assert len(stage.scales.attempted_s) == 1
    assert stage.numbers.postponed == {"not-leading": 1}


async def test_a_rescale_just_before_the_lease_was_lost_is_still_counted_and_logged() -> None:
    stage = web(2, 200, 200)
    stage.scales.while_writing.append(stage.election.lose)
    with capture_logs() as logs:
        await stage.sync()
    assert stage.taken_lines() == ["scale 4", "event SuccessfulRescale"]
    assert stage.numbers.reconciliations == [("scale_up", "internal")]
    assert stage.numbers.postponed == {}
    assert [line["event"] for line in logs] == ["successfully rescaled", "sync ended with an error"]


async def test_nothing_is_decided_on_a_dead_cache() -> None:
    stage = web(2, 200, 200)
    stage.ground.lost()
    assert await stage.sync() == pytest.approx(ALIVE_AGAIN_PERIODS * PERIOD_S), "most watches are back in a second"
    assert stage.taken_lines() == []
    assert stage.numbers.postponed == {"cache-not-alive": 1}
    assert stage.history() is None
    for _ in range(2):
        due_s = await stage.sync()
        assert due_s is not None
        assert due_s > 0.9 * PERIOD_S, "all would come together if it lasts"
    stage.ground.watching()
    await stage.syncs(1)
    assert stage.taken_lines()[0] == "scale 4"
    stage.ground.lost()
    assert await stage.sync() == pytest.approx((1 + ALIVE_AGAIN_PERIODS) * PERIOD_S), "that is another loss"


async def test_a_cache_that_dies_between_two_attempts_stops_the_second() -> None:
    stage = web(2, 200, 200)
    stage.scales.while_writing.append(stage.ground.lost)
    stage.scales.write_faults.append(conflict())
    await stage.sync()
    assert stage.taken_lines() == []
    assert len(stage.scales.attempted_s) == 1
    assert stage.numbers.postponed == {"cache-not-alive": 1}


async def test_a_cache_that_dies_while_a_sync_waits_for_its_turn_stops_the_decision() -> None:
    stage = web(2, 100, 100, concurrency=1)
    async with stage.turns.held(0, 0.0):
        sync = asyncio.create_task(stage.sync())
        await asyncio.sleep(1)
        stage.ground.lost()
    await sync
    assert stage.taken_lines() == []
    assert stage.numbers.postponed == {"cache-not-alive": 1}


@pytest.mark.parametrize("waits", ["turn", "write"])
async def test_an_hpa_that_is_changed_while_its_sync_waits_is_decided_on_by_what_it_says_now(waits: str) -> None:
    stage = web(2, 200, 200, concurrency=1)
    stage.scales.put(NAMESPACE, "other", scale(2, selector="app=other"))
    changed = autoscaler(target=Reference("Deployment", "other", "apps/v1"))
    if waits == "turn":
        async with stage.turns.held(0, 0.0):
            sync = asyncio.create_task(stage.sync())
            await asyncio.sleep(1)
            stage.autoscalers.put(changed)
    else:
        stage.scales.gate = slow(2)
        sync = asyncio.create_task(stage.sync())
        await asyncio.sleep(3)
        stage.autoscalers.put(changed)
    assert await sync == 0.0, "it has been due since then, and still is"
    assert stage.taken_lines() == []
    assert stage.numbers.postponed == {"spec-changed": 1}
    stage.scales.gate = nullcontext
    for pod in pods_of("other", 2):
        stage.pods.put(pod)
    stage.uses(200, 200, name="other")
    await stage.sync()
    assert stage.taken_lines()[0] == "scale 4"
    assert (stage.scales.replicas(NAMESPACE, "web"), stage.scales.replicas(NAMESPACE, "other")) == (2, 4)


async def test_an_hpa_that_is_changed_while_its_sync_waits_gets_no_status_of_what_it_said_before() -> None:
    stage = web(2, 100, 100, concurrency=1)
    async with stage.turns.held(0, 0.0):
        sync = asyncio.create_task(stage.sync())
        await asyncio.sleep(1)
        stage.autoscalers.put(autoscaler(replicas_min=4))
    await sync
    assert stage.taken_lines() == []
    await stage.sync()
    assert stage.taken_lines()[0] == "scale 4"


@pytest.mark.parametrize("changes", ["limits", "target"])
async def test_an_hpa_that_keeps_changing_while_its_sync_waits_is_held_up_once(changes: str) -> None:
    """What it says by then is decided on the next time; another target must not be scaled by what is of this one."""
    stage = web(2, 200, 200, concurrency=1)
    for number in range(1, 4):
        async with stage.turns.held(0, 0.0):
            sync = asyncio.create_task(stage.sync())
            await asyncio.sleep(1)
            if changes == "limits":
                stage.autoscalers.put(autoscaler(replicas_max=10 + number))
            else:
                stage.autoscalers.put(autoscaler(target=Reference("Deployment", f"other{number}", "apps/v1")))
        due_s = await sync
        assert due_s is not None
        assert (due_s < now_s()) is (number == 1), "it is due again at once, but only the first time"
        if changes == "limits" and number == 2:
            break
    if changes == "limits":
        assert stage.taken_lines()[0] == "scale 4"
        assert stage.numbers.postponed == {"spec-changed": 1}
    else:
        assert stage.taken_lines() == []
        assert stage.numbers.postponed == {"spec-changed": 3}


async def test_what_was_seen_before_a_long_wait_for_a_turn_is_looked_at_again() -> None:
    stage = web(2, 200, 200, concurrency=1)
    stage.scales.cache(NAMESPACE, "web")

    async with stage.turns.held(0, 0.0):
        waiting = asyncio.create_task(stage.sync())
        await asyncio.sleep(2 * PERIOD_S)
        stage.uses(100, 100, 100)
        stage.scales.by_hand(NAMESPACE, "web", 3)
    await waiting
    assert stage.taken_lines() == ["status 3→3"]
    assert len(stage.metrics.asked) == 2


async def test_a_turn_is_free_again_after_whatever_went_wrong() -> None:
    stage = web(2, 200, 200, concurrency=1)
    for fault in (conflict(), api_error(), RuntimeError("a bug")):
        stage.scales.write_faults.append(fault)
        if isinstance(fault, RuntimeError):
            with pytest.raises(RuntimeError):
                await stage.sync()
        else:
            await stage.sync()
        stage.scales.put(NAMESPACE, "web", scale(2))
        await asyncio.sleep(PERIOD_S)
    async with asyncio.timeout(1), stage.turns.held(0, 0.0):
        pass


async def test_a_sync_that_outlives_its_term_decides_nothing() -> None:
    stage = web(2, 100, 100)
    await stage.sync()
    stage.uses(200, 200)
    stage.metrics.read_s[ResourceQuestion(NAMESPACE, selectors.parse("app=web"))] = 5.0
    stage.taken_lines()
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(1)
    stage.election.lose()
    stage.election.win()
    await sync
    assert stage.taken_lines() == []
    assert stage.numbers.postponed == {"not-leading": 1}
    await stage.syncs(1)
    assert stage.scales.replicas(NAMESPACE, "web") == 4


@pytest.mark.parametrize("waits", ["scale", "status"])
async def test_a_write_that_waits_longer_than_its_term_does_not_go_out(waits: str) -> None:
    stage = web(2, 200, 200)
    (stage.scales if waits == "scale" else stage.statuses).gate = slow(2)
    sync = asyncio.create_task(stage.sync())
    await asyncio.sleep(3 if waits == "scale" else 1)
    stage.election.lose()
    stage.election.win()
    await sync
    lines = stage.taken_lines()
    assert lines == ([] if waits == "scale" else ["scale 4", "event SuccessfulRescale"])
