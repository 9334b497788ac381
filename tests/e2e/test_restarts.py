"""kube-apiserver or etcd goes away and comes back while loads are being followed: nothing is lost, nothing shrinks."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e import autoscalers, load
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.load import Load
from tests.e2e.roles import LEASE_NAMESPACE
from tests.e2e.waiting import alongside, wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.e2e.audited import Audited
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")

# Watches that cannot connect wait 0.8 s, then twice as long each time, each wait stretched by up to 2. After an outage
# of five seconds the last of these waits may go on for six; then a period may pass before an HPA is due.
PERIOD_S = 8.0
BY_CPU, BY_QUEUE = "cpu", "queue"
CPU_MILLI_PER_REPLICA = 100
QUEUE_MILLI_PER_REPLICA = 10_000
WATCHED = {("autoscaling", "horizontalpodautoscalers"), ("", "pods"), ("apps", "deployments")}


@dataclasses.dataclass
class Shop:
    """Two targets of three replicas, with the load for three, and a controller that has settled on that."""

    controller: ControllerProcess
    players: dict[str, WorkloadPlayer]
    loads: dict[str, tuple[Load, int]]

    async def settled(self, replicas: int, timeout_s: float) -> None:
        """Returns when both targets have so many replicas."""
        await asyncio.gather(*(player.settled(replicas, timeout_s) for player in self.players.values()))

    def needs(self, replicas: int) -> None:
        """From now on the load is one for so many replicas."""
        for following, milli in self.loads.values():
            following.change(replicas * milli)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A name that no other controller has."""
    return f"restart-{request.node.callspec.id}"


@asynccontextmanager
async def shop(plane: ControlPlane, server: MetricsServer, namespace: str, name: str) -> AsyncIterator[Shop]:
    admin, values = plane.admin, server.values
    loads = {
        BY_CPU: (Load(load.usage(values, namespace, "cpu"), 3 * CPU_MILLI_PER_REPLICA), CPU_MILLI_PER_REPLICA),
        BY_QUEUE: (
            Load(load.external_total(values, namespace, "queue", {"queue": "mail"}), 3 * QUEUE_MILLI_PER_REPLICA),
            QUEUE_MILLI_PER_REPLICA,
        ),
    }
    metrics = {
        BY_CPU: autoscalers.resource("cpu", averageUtilization=50),
        BY_QUEUE: autoscalers.external("queue", {"queue": "mail"}, averageValue="10"),
    }
    async with AsyncExitStack() as stack:
        players = {}
        for target, (following, _) in loads.items():
            manifest = DEPLOYMENT.manifest(target, 3, requests={"cpu": "200m"})
            await admin.create(DEPLOYMENT.path(namespace), manifest)
            player = WorkloadPlayer(admin, DEPLOYMENT, namespace, target, pods_seen=following.seen)
            players[target] = await stack.enter_async_context(player)
        await asyncio.gather(*(player.settled(3) for player in players.values()))
        for target, metric in metrics.items():
            reference = autoscalers.reference(DEPLOYMENT, target)
            await admin.create(autoscalers.path(namespace), autoscalers.manifest(target, reference, [metric]))
        period = f"--horizontal-pod-autoscaler-sync-period={PERIOD_S:g}s"
        controller = await stack.enter_async_context(ControllerProcess.start(plane, name, period))
        await wait_until(partial(watches_all, controller), "all watches", timeout_s=5 * PERIOD_S)
        yield Shop(controller, players, loads)


async def watches_all(controller: ControllerProcess) -> bool:
    """Whether nothing is left to be opened: the watch of Deployments begins with the second sync of an HPA."""
    return (await controller.metrics()).total("hpa_controller_watch_alive") == len(WATCHED)


class Lowest:
    """The smallest numbers that the controller has published while ``watching``."""

    def __init__(self, controller: ControllerProcess) -> None:
        self.cached: dict[str, float] = {}
        self.looks = 0
        self.lost_watches: set[str] = set()
        self.not_ready: list[tuple[int, str]] = []
        self._controller = controller

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Looks again and again, until the end of the context."""
        async with alongside(self._watch()):
            yield

    async def _watch(self) -> None:
        while True:
            metrics = await self._controller.metrics()
            for resource in ("horizontalpodautoscalers", "pods"):
                now = metrics.total("hpa_controller_cached_objects", resource=resource)
                self.cached[resource] = min(self.cached.get(resource, now), now)
                if not metrics.total("hpa_controller_watch_alive", resource=resource):
                    self.lost_watches.add(resource)
            status = await self._controller.health()
            if status[0] != 200:
                self.not_ready.append(status)
            self.looks += 1
            await asyncio.sleep(0.05)


def scale_writes(requests: Sequence[Audited], namespace: str) -> dict[str, list[int]]:
    """The replicas that were written, by target."""
    written: dict[str, list[int]] = {}
    for request in requests:
        if request.about("deployments/scale") and request.writes and request.accepted:
            assert request.namespace == namespace, request
            written.setdefault(request.name, []).append(request.sent["spec"].get("replicas", 0))
    return written


@pytest.mark.parametrize("server", ["kube-apiserver", "etcd"], ids=["api-server", "etcd"])
async def test_loads_are_followed_through_a_restart(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str, name: str, server: str
) -> None:
    async with shop(control_plane, metrics_server, namespace, name) as scene:
        controller = scene.controller
        lowest = Lowest(controller)
        position = control_plane.audit_log.position()
        async with lowest.watching():
            killed = control_plane.api_server if server == "kube-apiserver" else control_plane.etcd
            killed.kill()
            # What grows meanwhile is only seen by who goes on afterwards.
            scene.needs(5)
            await (control_plane.start_api_server() if server == "kube-apiserver" else started_again(control_plane))
            # Each HPA has been synced with it as soon as its target has grown.
            await scene.settled(5, timeout_s=2 * PERIOD_S)
            # One more look at the load changes nothing.
            await controller.synced(len(scene.players), timeout_s=3 * PERIOD_S)
        requests = controller.requests(position)
        assert scale_writes(requests, namespace) == {BY_CPU: [5], BY_QUEUE: [5]}, "never fewer, never twice"
        assert lowest.looks > 10
        assert lowest.cached["horizontalpodautoscalers"] >= 2, "the cache was never empty"
        assert lowest.cached["pods"] >= 6, "the cache was never empty"
        assert not lowest.not_ready, "it has been ready once: nothing to take it out of service for"
        if server == "kube-apiserver":
            assert lowest.lost_watches == {"horizontalpodautoscalers", "pods"}, "the outage was met"
        # A new API server refuses everything until it knows its roles, and remembers nothing that changed before it
        # began, so one list may be needed; an API server that stays has forgotten nothing.
        watches = [request for request in requests if (request.group, request.resource) in WATCHED]
        lists = Counter(request.resource for request in watches if request.lists and request.accepted)
        allowed = 1 if server == "kube-apiserver" else 0
        lists.subtract(dict.fromkeys(lists, allowed))
        assert not +lists, f"more lists than {allowed} of each"
        attempts = Counter(request.resource for request in watches)
        assert all(count <= 5 for count in attempts.values()), attempts
        lease = await control_plane.admin.get(
            f"/apis/coordination.k8s.io/v1/namespaces/{LEASE_NAMESPACE}/leases/{name}"
        )
        assert lease["spec"]["leaseTransitions"] == 0, "it has led all the time"
        events = [
            event["message"]
            for target in scene.players
            for event in await autoscalers.events_of(control_plane.admin, namespace, target)
            if event["reason"] == "SuccessfulRescale"
        ]
        assert len(events) == len(scene.players)
        assert all(message.startswith("New size: 5; ") for message in events)


async def started_again(plane: ControlPlane) -> None:
    """Starts etcd on its data and returns when the API server works with it."""
    await plane.start_etcd()
    await plane.wait_ready()
