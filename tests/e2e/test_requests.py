"""What the controller asks of the API server, from the audit log: no more than it needs, and nothing that harms.

What no controller may ever write is checked at the end of every controller that a test starts (audited.py).
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e import autoscalers
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_values import PodUsage, Series
from tests.e2e.waiting import alongside, wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import (
    DEPLOYMENT,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")

CACHED = (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER)
QUICK = "--horizontal-pod-autoscaler-sync-period=250ms"


async def test_everything_is_listed_once_and_then_watched(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    metrics_server.values.set_external(namespace, "queue", Series("40"))
    async with AsyncExitStack() as stack:
        for kind in CACHED:
            name = kind.kind.lower()
            await admin.create(kind.path(namespace), kind.manifest(name, 2))
            player = await stack.enter_async_context(WorkloadPlayer(admin, kind, namespace, name))
            await player.settled(2)
            metrics = [autoscalers.external("queue", averageValue="10")]
            manifest = autoscalers.manifest(name, autoscalers.reference(kind, name), metrics)
            await admin.create(autoscalers.path(namespace), manifest)
        controller = await stack.enter_async_context(ControllerProcess.start(control_plane, "lists-once", QUICK))
        for replicas, load in ((4, "40"), (2, "20"), (3, "30")):
            metrics_server.values.set_external(namespace, "queue", Series(load))
            await scaled(control_plane, namespace, replicas)
        await controller.synced(5 * len(CACHED))
        resources = {"pods", "horizontalpodautoscalers", *(kind.plural for kind in CACHED)}

        async def opened() -> Counter[str]:
            lists = Counter(request.resource for request in controller.requests() if request.lists)
            lists.pop("queue", None)
            return lists if lists.keys() >= resources else Counter()

        assert await wait_until(opened, "all watches to be in the audit log") == Counter(resources)
        watches = [request for request in controller.requests() if request.verb == "watch"]
        assert {request.query["allowWatchBookmarks"] for request in watches} == {"true"}
        assert len(watches) == len(resources)
        scaled_by = [request for request in controller.requests() if request.writes and "/scale" in request.resource]
        assert len(scaled_by) == 3 * len(CACHED)


async def scaled(plane: ControlPlane, namespace: str, replicas: int) -> None:
    """Returns when all HPAs of a namespace have and want so many replicas."""

    async def everywhere() -> bool:
        statuses = [item["status"] for item in (await plane.admin.get(autoscalers.path(namespace)))["items"]]
        counts = {(status.get("currentReplicas"), status.get("desiredReplicas")) for status in statuses}
        return counts == {(replicas, replicas)}

    await wait_until(everywhere, f"{replicas} replicas everywhere")


@pytest.mark.parametrize(("scale_reads", "reads_per_sync"), [("cache", 0), ("api", 1)])
async def test_a_settled_hpa_costs_few_reads_and_no_write(
    control_plane: ControlPlane,
    metrics_server: MetricsServer,
    namespace: str,
    scale_reads: str,
    reads_per_sync: int,
) -> None:
    admin = control_plane.admin
    metrics_server.values.set_external(namespace, "queue", Series("20"))
    replicas = {"web": 2, "shop": 2, "paused": 0}
    names = [*replicas, "gone"]
    async with AsyncExitStack() as stack:
        for name, count in replicas.items():
            await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest(name, count))
            player = await stack.enter_async_context(WorkloadPlayer(admin, DEPLOYMENT, namespace, name))
            await player.settled(count)
        for name in names:
            metrics = [autoscalers.external("queue", averageValue="10")]
            manifest = autoscalers.manifest(name, autoscalers.reference(DEPLOYMENT, name), metrics)
            await admin.create(autoscalers.path(namespace), manifest)
        start = ControllerProcess.start(control_plane, f"reads-{scale_reads}", QUICK, f"--scale-reads={scale_reads}")
        controller = await stack.enter_async_context(start)
        # After two rounds every cache is filled and every status is written.
        await controller.synced(4 * len(names))
        syncs, position = (await controller.metrics()).syncs(), control_plane.audit_log.position()
        await controller.synced(8 * len(names))
        rounds = ((await controller.metrics()).syncs() - syncs) / len(names)
        requests = [request for request in controller.requests(position) if request.resource != "leases"]
    # Rounds that had begun before or have not ended count for one more or less at each end.
    reads = Counter(request.name for request in requests if request.about("deployments/scale"))
    for name in replicas:
        assert reads[name] == pytest.approx(rounds * reads_per_sync, abs=2), name
    assert reads["gone"] == pytest.approx(rounds, abs=2), "what is in no cache is asked for"
    asked = [request for request in requests if request.about("queue")]
    assert len(asked) == pytest.approx(rounds, abs=2), "two HPAs share an answer, two need none"
    others = [request for request in requests if not request.about("deployments/scale", "queue")]
    assert {(request.verb, request.resource) for request in others} == {("patch", "events")}
    assert {request.name.partition(".")[0] for request in others} == {"gone"}, "nobody else has anything to say"


@asynccontextmanager
async def unsteady(server: MetricsServer, namespace: str, metric: str) -> AsyncIterator[None]:
    """The metric has another value at nearly every look, never one that calls for another size."""

    async def change() -> None:
        for value in itertools.cycle(range(1960, 2040)):
            server.values.set_external(namespace, metric, Series(f"{value}m", {"queue": "mail"}))
            await asyncio.sleep(0.01)

    async with alongside(change()):
        yield


def untouched(autoscaler: Mapping[str, Any]) -> str:
    """Everything of an HPA that a status write has to leave as it is."""
    metadata = {
        name: value
        for name, value in autoscaler["metadata"].items()
        if name not in ("resourceVersion", "managedFields")
    }
    fields = [entry for entry in autoscaler["metadata"]["managedFields"] if "subresource" not in entry]
    return json.dumps([metadata, fields, autoscaler["spec"]])


async def test_a_hundred_status_writes_change_nothing_else(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    target = autoscalers.reference(DEPLOYMENT, "web")
    manifest = autoscalers.manifest(
        "web",
        target,
        [
            autoscalers.external("queue", {"queue": "mail"}, averageValue="+1000m"),
            autoscalers.resource("memory", averageValue="1.500Gi"),
        ],
        behavior={"scaleDown": {"stabilizationWindowSeconds": 7, "tolerance": "0.05"}},
    )
    manifest["metadata"] |= {
        "labels": {"app.kubernetes.io/name": "web", "empty": ""},
        "annotations": {"note": 'a "quoted" näme\n\t\u2028 & <b>', "empty": "", "large": "x" * 10_000},
        "finalizers": ["example.com/keep", "example.com/another"],
        "ownerReferences": [
            {"apiVersion": "example.com/v1", "kind": "Shop", "name": "main", "uid": "not-one-of-ours"},
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": "owner",
                "uid": "neither",
                "controller": True,
                "blockOwnerDeletion": True,
            },
        ],
    }
    path = autoscalers.path(namespace, "web")
    async with WorkloadPlayer(admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        for pod in await player.pods():
            usage = PodUsage({"app": {"memory": "1536Mi"}}, pod["metadata"]["labels"])
            metrics_server.values.set_pod(namespace, pod["metadata"]["name"], usage)
        before = await admin.create(autoscalers.path(namespace), manifest)
        try:
            fast = ControllerProcess.start(
                control_plane, "writes-often", "--horizontal-pod-autoscaler-sync-period=40ms"
            )
            async with unsteady(metrics_server, namespace, "queue"), fast as controller:

                async def written() -> bool:
                    sent = await controller.metrics()
                    name = "hpa_controller_client_requests_total"
                    return sent.total(name, traffic="status", verb="PUT", code="200") >= 100

                await wait_until(written, "a hundred status writes", timeout_s=30.0)
                after = await admin.get(path)
        finally:
            await admin.patch(path, {"metadata": {"finalizers": None}})
    # The API server gives HPAs no generation; were there one, it would be among what has to stay.
    assert untouched(after) == untouched(before)
    assert after["status"]["currentMetrics"], "it was the status that was written"
