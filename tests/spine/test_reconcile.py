"""One sync of one HPA, along every path of §4."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from structlog.testing import capture_logs

from controller.decide.observed import ExternalReading, ScaleFailure
from controller.decide.spec import UnknownMetric
from controller.delay_queue import Due
from controller.ports import SCALE_FIRST
from controller.reconcile import ROUNDS_MAX
from controller.schedule import ECHO_MAX_S
from tests.spine.objects import BACKLOG, CPU, KEY, autoscaler, scale, watched_pod
from tests.spine.stage import PERIOD_S, Stage
from tests.spine.tasks import now_s
from tests.spine.world import api_error

pytestmark = pytest.mark.looptime


def web(replicas: int, *milli: int) -> Stage:
    """One HPA whose Deployment has so many replicas, which use so much of their 100 milli-units."""
    stage = Stage()
    stage.add(autoscaler(), scale(replicas))
    stage.uses(*milli)
    return stage


async def test_a_rescale_writes_the_scale_then_says_so_then_writes_the_status() -> None:
    stage = web(2, 200, 200)
    await stage.sync()
    assert stage.taken_lines() == ["scale 4", "event SuccessfulRescale", "status 2→4"]
    assert stage.numbers.reconciliations == [("scale_up", "none")]
    assert stage.numbers.computations == [("scale_up", "none", "Resource")]
    assert stage.numbers.desired == {("shop", "web"): 4}
    assert stage.condition("AbleToScale") == ("True", "SucceededRescale")
    assert stage.status().last_scale_ns is not None


async def test_fewer_replicas_are_written_the_same_way() -> None:
    stage = web(4, 50, 50, 50, 50)
    await stage.sync()
    assert stage.taken_lines() == ["status 4→4"], "the first sync never goes below what it found (§4.5)"
    await stage.syncs(1)
    assert stage.taken_lines() == ["scale 2", "event SuccessfulRescale", "status 4→2"]
    assert stage.numbers.reconciliations == [("none", "none"), ("scale_down", "none")]


async def test_without_a_change_only_the_status_is_written_and_only_once() -> None:
    stage = web(2, 100, 100)
    await stage.sync()
    assert stage.taken_lines() == ["status 2→2"]
    await stage.syncs(3)
    assert stage.taken_lines() == []
    assert stage.numbers.reconciliations == [("none", "none")] * 4


async def test_a_status_is_written_again_when_a_number_in_it_changes() -> None:
    stage = web(2, 100, 100)
    await stage.sync()
    stage.uses(101, 101)
    await stage.syncs(1)
    assert stage.taken_lines() == ["status 2→2", "status 2→2"]


@pytest.mark.parametrize(("replicas", "desired"), [(9, 5), (1, 3)])
async def test_beyond_the_bounds_no_metric_is_read(replicas: int, desired: int) -> None:
    stage = Stage()
    stage.add(autoscaler(replicas_min=3, replicas_max=5), scale(replicas))
    await stage.sync()
    assert stage.taken_lines() == [f"scale {desired}", "event SuccessfulRescale", f"status {replicas}→{desired}"]
    assert stage.metrics.asked == []
    assert stage.condition_types() == {"AbleToScale"}
    assert stage.numbers.computations == []


async def test_a_target_that_somebody_scaled_to_zero_is_left_alone() -> None:
    stage = web(0)
    await stage.sync()
    assert stage.taken_lines() == ["status 0→0"]
    assert stage.metrics.asked == []
    assert stage.condition("ScalingActive") == ("False", "ScalingDisabled")
    assert stage.numbers.desired == {("shop", "web"): 0}
    assert stage.numbers.reconciliations == [("none", "none")]


@pytest.mark.parametrize("cause", ["spec", "internal"])
async def test_an_unreadable_scale_is_told_and_nothing_else_happens(cause: str) -> None:
    stage = web(2, 200, 200)
    stage.scales.read_failures.append(ScaleFailure("no such kind", "spec" if cause == "spec" else "internal"))
    await stage.sync()
    assert stage.taken_lines() == ["event FailedGetScale", "status 0→0"]
    assert stage.condition("AbleToScale") == ("False", "FailedGetScale")
    assert stage.numbers.reconciliations == [("none", cause)]
    assert (stage.metrics.asked, stage.numbers.desired) == ([], {})


async def test_failing_metrics_are_told_before_the_status_write_and_the_missing_count_after_it() -> None:
    stage = Stage()
    stage.add(autoscaler(), scale(2))
    await stage.sync()
    assert stage.taken_lines() == [
        "event FailedGetResourceMetric",
        "status 2→0",
        "event FailedComputeMetricsReplicas",
    ]
    assert stage.condition("ScalingActive") == ("False", "FailedGetResourceMetric")
    assert stage.numbers.reconciliations == [("none", "internal")]
    assert stage.numbers.computations == [("none", "internal", "Resource")]
    assert stage.numbers.desired == {}


async def test_a_sync_that_could_read_no_metric_lets_others_go_first() -> None:
    stage = Stage()
    stage.add(autoscaler(BACKLOG, CPU), scale(2))
    await stage.sync()
    assert stage.yielded == [True, True], "to decide, and to write the status"
    stage.uses(200, 200)
    stage.yielded.clear()
    await stage.syncs(1)
    assert stage.yielded == [False, False], "one of two metrics may scale"


@pytest.mark.parametrize(("selector", "reason"), [("", "SelectorRequired"), ("cheddar cheese", "InvalidSelector")])
async def test_a_useless_selector_is_told_and_no_metric_is_read(selector: str, reason: str) -> None:
    stage = Stage()
    stage.add(autoscaler(), scale(2, selector=selector))
    await stage.sync()
    assert stage.taken_lines() == [f"event {reason}", "status 2→0", "event FailedComputeMetricsReplicas"]
    assert stage.condition("ScalingActive") == ("False", "InvalidSelector")
    assert stage.metrics.asked == []
    assert stage.numbers.computations == []


async def test_two_hpas_of_the_same_pods_both_stop_once_both_are_known() -> None:
    stage = web(2, 200, 200)
    stage.add(autoscaler(name="rival"), scale(1))
    stage.scales.put("shop", "rival", scale(1, selector="tier=front"))
    stage.pods.put(watched_pod("web-0", {"app": "web", "tier": "front"}))
    await stage.sync()
    assert stage.taken_lines()[0] == "scale 4", "the rival's selector is not known before its own sync"
    await stage.sync("shop/rival")
    assert stage.taken_lines() == ["event AmbiguousSelector", "status 1→0", "event FailedComputeMetricsReplicas"]
    await stage.syncs(1)
    assert stage.taken_lines() == ["event AmbiguousSelector", "status 4→4", "event FailedComputeMetricsReplicas"]
    assert stage.scales.replicas("shop", "web") == 4


async def test_with_one_metric_failing_another_may_still_scale_up_but_the_sync_ends_in_an_error() -> None:
    stage = Stage()
    stage.add(autoscaler(UnknownMetric("Moon"), CPU), scale(2))
    stage.uses(200, 200)
    await stage.sync()
    assert stage.taken_lines() == [
        "scale 4",
        "event InvalidMetricSourceType",
        "event SuccessfulRescale",
        "status 2→4",
    ]
    assert stage.numbers.reconciliations == [("scale_up", "internal")]
    assert stage.numbers.computations == [("none", "spec", "Moon"), ("scale_up", "none", "Resource")]


async def test_with_one_metric_failing_another_does_not_scale_down() -> None:
    stage = Stage()
    stage.add(autoscaler(BACKLOG, CPU), scale(2))
    stage.uses(10, 10)
    await stage.sync()
    assert stage.taken_lines() == [
        "event FailedGetExternalMetric",
        "status 2→0",
        "event FailedComputeMetricsReplicas",
    ]


async def test_a_metrics_action_is_against_the_replicas_that_the_status_last_had() -> None:
    stage = web(2, 200, 200)
    await stage.sync()
    stage.uses(200, 200, 0, 0)
    await stage.syncs(1)
    # The count stays at 4 = R, yet the status said 2 at the start of the second sync.
    assert stage.numbers.computations[1] == ("scale_up", "none", "Resource")
    assert stage.numbers.reconciliations[1] == ("none", "none")


async def test_a_refused_scale_write_is_told_and_tried_once() -> None:
    stage = web(2, 200, 200)
    stage.scales.write_faults.append(api_error("quota exceeded", 403))
    await stage.sync()
    assert stage.taken_lines() == ["event FailedRescale", "status 2→0"]
    assert stage.sink.events[0][1].message.startswith("New size: 4; reason: cpu resource above target; error: ")
    assert "quota exceeded" in stage.sink.events[0][1].message
    assert stage.condition("AbleToScale") == ("False", "FailedUpdateScale")
    assert stage.condition("ScalingActive") == ("True", "ValidMetricFound")
    assert stage.numbers.reconciliations == [("none", "internal")]
    assert (len(stage.scales.attempted_s), stage.numbers.desired) == (1, {})
    assert stage.status().last_scale_ns is None


async def test_a_refused_status_write_is_told_and_becomes_the_error_of_a_sync_that_reached_its_end() -> None:
    stage = web(2, 200, 200)
    stage.statuses.faults.append(api_error("etcd is full"))
    with capture_logs() as logs:
        await stage.sync()
    assert stage.taken_lines() == ["scale 4", "event SuccessfulRescale", "event FailedUpdateStatus"]
    assert stage.numbers.reconciliations == [("scale_up", "internal")]
    assert stage.numbers.desired == {("shop", "web"): 4}
    assert [line["error"] for line in logs if line["log_level"] == "error"] == [
        "failed to update status for web: etcd is full"
    ]


async def test_a_refused_status_write_of_an_undecided_sync_does_not_hide_why_it_was_undecided() -> None:
    stage = Stage()
    stage.add(autoscaler(), scale(2))
    stage.statuses.faults.append(api_error("etcd is full"))
    with capture_logs() as logs:
        await stage.sync()
    assert labels(stage) == ["FailedGetResourceMetric", "FailedUpdateStatus", "FailedComputeMetricsReplicas"]
    (line,) = (line for line in logs if line["event"] == "sync ended with an error")
    assert "the metrics API is down" in line["error"]
    assert line["log_level"] == "debug", "its source has said so, once for all HPAs"


async def test_a_status_that_could_not_be_written_is_written_by_the_next_sync() -> None:
    stage = web(2, 100, 100)
    stage.statuses.faults.append(api_error())
    await stage.sync()
    await stage.syncs(1)
    assert stage.taken_lines() == ["event FailedUpdateStatus", "status 2→2"]


async def test_an_hpa_that_cannot_be_understood_is_counted_and_comes_again() -> None:
    stage = Stage()
    stage.add(autoscaler(problem="spec.maxReplicas: missing"), scale(2))
    with capture_logs() as logs:
        again_s = await stage.sync()
    assert again_s == pytest.approx(PERIOD_S, rel=0.05)
    assert stage.numbers.reconciliations == [("none", "internal")]
    assert stage.taken_lines() == []
    assert stage.scales.live_reads == 0
    assert [line["error"] for line in logs] == ["spec.maxReplicas: missing"]


async def test_an_hpa_that_is_gone_is_not_due_again_and_not_counted() -> None:
    stage = Stage()
    assert await stage.sync() is None
    assert stage.numbers.reconciliations == []


async def test_each_sync_is_due_again_about_a_period_later() -> None:
    stage = web(2, 100, 100)
    due_s = [0.0]
    for _ in range(30):
        again_s = await stage.sync()
        assert again_s is not None
        await asyncio.sleep(again_s - now_s())
        due_s.append(now_s())
    assert all(
        0.96 * PERIOD_S - 0.01 <= after - before <= 1.04 * PERIOD_S + 0.01
        for before, after in itertools.pairwise(due_s)
    )


async def test_a_sync_that_takes_longer_than_a_period_is_followed_by_one_when_its_status_has_come_back() -> None:
    stage = web(2, 100, 100)
    stage.scales.read_s = 4 * PERIOD_S
    assert await stage.sync() == pytest.approx(now_s() + ECHO_MAX_S)


async def test_an_external_metric_is_decided_without_pods() -> None:
    stage = Stage()
    stage.add(autoscaler(BACKLOG), scale(2))
    stage.metrics.otherwise = ExternalReading((4000,))
    await stage.sync()
    assert stage.taken_lines()[0] == "scale 4"


def labels(stage: Stage, key: str = KEY) -> list[str]:
    return [event.reason for about, event in stage.sink.events if about == key]


async def test_a_sync_whose_every_look_is_old_by_its_turn_decides_all_the_same() -> None:
    """Under overload it could otherwise wait for ever; after ROUNDS_MAX looks the last one has to do."""
    stage = web(2, 200, 200)

    def turn(urgency: int = SCALE_FIRST, *, yields: bool = False) -> AbstractAsyncContextManager[None]:  # noqa: ARG001 - a Turn's
        return late()

    @asynccontextmanager
    async def late() -> AsyncIterator[None]:
        await asyncio.sleep(1.5 * PERIOD_S)
        yield

    await stage.reconciler.reconcile(Due(KEY, now_s()), turn)
    assert stage.scales.replicas("shop", "web") == 4
    assert len(stage.metrics.asked) == ROUNDS_MAX


async def test_an_hpa_that_needs_no_metric_goes_before_those_whose_metrics_cannot_be_read() -> None:
    stage = Stage()
    stage.add(autoscaler(replicas_max=3), scale(5))
    await stage.sync()
    assert stage.yielded[0] is False
