"""What an operator sees of HPAs with kubectl, and of the controller on its own pages."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio

from tests.e2e import autoscalers
from tests.e2e.described import Described
from tests.e2e.metrics_server import Fault, MetricsServer
from tests.e2e.metrics_values import Series
from tests.e2e.operator_scene import FAULTY, QUEUE, Scene
from tests.e2e.operator_views import API_ERRORS, FAULT_EVENTS, LABELS, NO_METRIC, READ, UPSTREAM, VIEWS, View
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Mapping

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.controller_process import ControllerProcess


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def scene(
    control_plane: ControlPlane, controller: ControllerProcess, registered_metrics_server: MetricsServer
) -> AsyncIterator[Scene]:
    """Set up once, because all of it develops at the same time."""
    async with Scene.set_up(control_plane, registered_metrics_server) as scene:
        await controller.synced(2)
        yield scene


async def described(
    scene: Scene,
    namespace: str,
    name: str,
    conditions: Mapping[str, tuple[str, str]],
    events: Iterable[str],
    timeout_s: float = 20.0,
) -> Described:
    """An HPA as kubectl describes it, once it has these conditions and events."""

    async def developed() -> bool:
        found = autoscalers.conditions(await scene.plane.admin.get(autoscalers.path(namespace, name)))
        # Events are posted beside the syncs.
        posted = await autoscalers.events_of(scene.plane.admin, namespace, name)
        return conditions.items() <= found.items() and {event["reason"] for event in posted} >= set(events)

    try:
        await wait_until(developed, f"{name} to have the conditions {conditions} and {events}", timeout_s=timeout_s)
    finally:
        text = await scene.plane.kubectl("describe", "hpa", name, "-n", namespace)
        sys.stdout.write(text)
    return Described.parse(text)


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
async def test_describe_explains_the_state(scene: Scene, view: View) -> None:
    seen = await described(scene, scene.namespace, view.name, view.conditions, view.events)
    name, value = view.counts
    assert re.fullmatch(value, seen.fields[name])
    name, value = view.metric
    assert seen.fields[name] == value
    assert view.conditions.items() <= seen.reasons.items()
    (said,) = {
        text for kind, (_, _, text) in seen.conditions.items() if kind in view.conditions and matters(kind, view)
    }
    assert re.fullmatch(view.said, said)
    for reason, pattern in view.events.items():
        for text in seen.messages(reason):
            assert re.fullmatch(pattern, text), reason
    assert {event.source for event in seen.events} <= {"horizontal-pod-autoscaler"}
    expected = {reason: "Normal" if reason == "SuccessfulRescale" else "Warning" for reason in view.events}
    assert expected.items() <= {event.reason: event.type for event in seen.events}.items()
    assert {event.reason for event in seen.events} <= {*view.events, "SuccessfulRescale"}


def matters(condition: str, view: View) -> bool:
    """The condition that tells the state: the metrics', or where they were not reached the target's."""
    return condition == ("ScalingActive" if "ScalingActive" in view.conditions else "AbleToScale")


@pytest.mark.parametrize("fault", [fault for fault in API_ERRORS if fault is not Fault.HANG])
async def test_describe_shows_what_a_failing_metrics_api_said(scene: Scene, fault: Fault) -> None:
    await shows_fault(scene, fault)


async def test_describe_tells_an_empty_answer_from_an_error(scene: Scene) -> None:
    conditions = {"AbleToScale": READ, "ScalingActive": NO_METRIC}
    seen = await described(scene, scene.faulty[Fault.EMPTY], FAULTY, conditions, FAULT_EVENTS)
    (said,) = seen.messages("FailedGetResourceMetric")
    assert said.endswith("unable to get metrics for resource cpu: no metrics returned from resource metrics API")
    (said,) = seen.messages("FailedGetExternalMetric")
    assert said.endswith("no metrics returned from external metrics API")


async def test_get_shows_how_a_load_comes_and_goes(scene: Scene) -> None:
    """While another namespace's metrics APIs hang: they delay only the HPAs that need them."""
    plane, namespace = scene.plane, scene.namespace
    values = scene.server.values
    values.set_external(namespace, "orders", Series("20"))
    await plane.admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("shop", 2))
    follow = plane.kubectl_follow("get", "hpa", "shop", "-n", namespace, "--watch")
    async with WorkloadPlayer(plane.admin, DEPLOYMENT, namespace, "shop") as player:
        await player.settled(2)
        metrics = [autoscalers.external("orders", averageValue="10")]
        target = autoscalers.reference(DEPLOYMENT, "shop")
        await plane.admin.create(autoscalers.path(namespace), autoscalers.manifest("shop", target, metrics))
        async with follow as lines:

            async def rows() -> list[list[str]]:
                assert not lines or lines[0].split() == [
                    *("NAME", "REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE")
                ]
                table = [re.split(r" {2,}", line.strip())[:-1] for line in lines[1:]]
                assert all(row[:2] + row[3:5] == ["shop", "Deployment/shop", "1", "10"] for row in table)
                return [[row[2], row[5]] for row in table]

            async def shown(targets: str, replicas: str) -> None:
                async def last() -> bool:
                    return [targets, replicas] in (await rows())[-1:]

                await wait_until(last, f"{targets} with {replicas} replicas to be shown by {lines}", timeout_s=10.0)

            await shown("10/10 (avg)", "2")
            values.set_external(namespace, "orders", Series("45"))
            await shown("9/10 (avg)", "5")
            values.set_external(namespace, "orders", Series("10"))
            await shown("10/10 (avg)", "1")
            seen = await rows()
    for row in (["<unknown>/10 (avg)", "0"], ["22500m/10 (avg)", "2"], ["2/10 (avg)", "5"]):
        assert row in seen


async def test_metrics_have_the_names_and_labels_of_upstream(scene: Scene, controller: ControllerProcess) -> None:
    metrics = await controller.metrics()
    assert {name: metrics.labels(name) for name in LABELS} == {name: {frozenset(of)} for name, of in LABELS.items()}
    buckets = {
        float(sample.labels["le"])
        for sample in metrics.families[f"{UPSTREAM}_reconciliation_duration_seconds"].samples
        if sample.name.endswith("_bucket")
    }
    assert buckets == {*(0.001 * 2**power for power in range(15)), math.inf}
    known = len((await scene.plane.admin.get("/apis/autoscaling/v2/horizontalpodautoscalers"))["items"])
    assert metrics.total(f"{UPSTREAM}_num_horizontal_pod_autoscalers") == known
    at = {"namespace": scene.namespace}
    assert metrics.total(f"{UPSTREAM}_desired_replicas", hpa_name="scaling", **at) == 4
    assert metrics.labels("workqueue_depth") == {frozenset({"name"})}
    assert metrics.total("workqueue_adds_total", name="horizontalpodautoscaler") > known
    counted = f"{UPSTREAM}_reconciliations_total"
    assert metrics.total(counted, action="scale_up", error="none") >= 1
    assert metrics.total(counted, action="none", error="none") >= 1
    assert metrics.total(counted, action="none", error="internal") >= 1
    computed = f"{UPSTREAM}_metric_computation_total"
    assert metrics.total(computed, action="scale_up", error="none", metric_type="External") >= 1
    for metric_type in ("Resource", "Pods", "Object", "External"):
        assert metrics.total(computed, action="none", error="internal", metric_type=metric_type) >= 1


async def test_health_pages_of_a_controller_at_work(controller: ControllerProcess) -> None:
    for path in ("/healthz", "/livez", "/readyz"):
        assert await controller.health(path) == (200, "ok")
    assert await controller.health("/readyz?verbose") == (200, "[+]caches ok\nreadyz check passed\n")


async def test_a_hanging_metrics_api_is_given_up_and_named(scene: Scene) -> None:
    await shows_fault(scene, Fault.HANG)


async def shows_fault(scene: Scene, fault: Fault) -> None:
    conditions = {"AbleToScale": READ, "ScalingActive": NO_METRIC}
    # The client waits half a minute for an answer; much of it has passed in the tests before.
    seen = await described(scene, scene.faulty[fault], FAULTY, conditions, FAULT_EVENTS, timeout_s=45.0)
    error = API_ERRORS[fault]
    texts = {
        "FailedGetResourceMetric": "failed to get cpu utilization: unable to get metrics for resource cpu: "
        f"resource metrics API: {error}",
        "FailedGetPodsMetric": f"unable to get metric requests: custom metrics API: {error}",
        "FailedGetObjectMetric": f"unable to get metric hits of Deployment {FAULTY}: custom metrics API: {error}",
        "FailedGetExternalMetric": f"unable to get external metric {QUEUE} with selector nil: "
        f"external metrics API: {error}",
    }
    for reason, pattern in texts.items():
        (said,) = seen.messages(reason)
        assert re.fullmatch(pattern, said), said
    first = texts["FailedGetResourceMetric"]
    (said,) = seen.messages("FailedComputeMetricsReplicas")
    combined = (
        rf"invalid metrics \(4 invalid out of 4\), first error is: failed to get cpu resource metric value: {first}"
    )
    assert re.fullmatch(combined, said), said
    said = seen.conditions["ScalingActive"][2]
    assert re.fullmatch(f"the HPA was unable to compute the replica count: {first}", said), said
    assert seen.fields["Deployment pods"] == "2 current / 0 desired"
