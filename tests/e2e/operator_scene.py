"""A namespace with HPAs in all states that an operator may have to understand, and one per broken metrics API."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from tests.e2e import autoscalers
from tests.e2e.metrics_server import Fault, MetricsApi, MetricsServer
from tests.e2e.metrics_values import PodUsage, Series
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT, SWARM, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from tests.e2e.control_plane import ControlPlane

QUEUE = "queue"
FAULTY = "faulty"


class Scene:
    """``namespace`` holds the HPAs, ``faulty`` the namespaces whose metrics APIs fail, each with an HPA FAULTY."""

    def __init__(self, plane: ControlPlane, server: MetricsServer, namespace: str) -> None:
        self.plane = plane
        self.server = server
        self.namespace = namespace
        self.faulty: dict[Fault, str] = {}

    @classmethod
    @asynccontextmanager
    async def set_up(cls, plane: ControlPlane, server: MetricsServer) -> AsyncIterator[Scene]:
        """Everything made; what becomes of it is for a controller to say."""
        async with AsyncExitStack() as stack:
            scene = cls(plane, server, await stack.enter_async_context(_namespace(plane, server)))
            for fault in Fault:
                scene.faulty[fault] = await stack.enter_async_context(_namespace(plane, server))
                for api in MetricsApi:
                    stack.enter_context(server.failing(api, fault, scene.faulty[fault]))
                await scene._fill_faulty(stack, scene.faulty[fault])
            await scene._fill(stack)
            yield scene

    async def _fill(self, stack: AsyncExitStack) -> None:
        server, namespace = self.server, self.namespace
        server.values.set_external(namespace, QUEUE, Series("40"))
        for name, replicas in {"scaling": 2, "shared": 2, "paused": 0}.items():
            await self._target(stack, namespace, name, DEPLOYMENT, replicas)
        await self._target(stack, namespace, "swarm", SWARM, 2)
        player = await self._target(stack, namespace, "frugal", DEPLOYMENT, 2)
        for pod in await player.pods():
            usage = PodUsage({"app": {"cpu": "100m"}}, pod["metadata"]["labels"])
            server.values.set_pod(namespace, pod["metadata"]["name"], usage)
        by_queue = [autoscalers.external(QUEUE, averageValue="10")]
        deployment = autoscalers.reference(DEPLOYMENT, "shared")
        for name in ("scaling", "paused"):
            await self._autoscaler(namespace, name, autoscalers.reference(DEPLOYMENT, name), by_queue)
        for name in ("shared-a", "shared-b"):
            await self._autoscaler(namespace, name, deployment, by_queue)
        await self._autoscaler(namespace, "swarm", autoscalers.reference(SWARM, "swarm"), by_queue)
        for name, target in {
            "frugal": autoscalers.reference(DEPLOYMENT, "frugal"),
            "orphan": autoscalers.reference(DEPLOYMENT, "gone"),
            "daemon": {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent"},
            "stranger": {"apiVersion": "gadgets.example.com/v1", "kind": "Gadget", "name": "one"},
        }.items():
            await self._autoscaler(namespace, name, target)

    async def _fill_faulty(self, stack: AsyncExitStack, namespace: str) -> None:
        await self._target(stack, namespace, FAULTY, DEPLOYMENT, 2)
        target = autoscalers.reference(DEPLOYMENT, FAULTY)
        metrics = [
            autoscalers.resource("cpu", averageUtilization=50),
            autoscalers.pods("requests", averageValue="1"),
            autoscalers.of_object(target, "hits", value="1"),
            autoscalers.external(QUEUE, averageValue="10"),
        ]
        await self._autoscaler(namespace, FAULTY, target, metrics)

    async def _target(
        self, stack: AsyncExitStack, namespace: str, name: str, kind: WorkloadKind, replicas: int
    ) -> WorkloadPlayer:
        admin = self.plane.admin
        await admin.create(kind.path(namespace), kind.manifest(name, replicas))
        player = await stack.enter_async_context(WorkloadPlayer(admin, kind, namespace, name))
        await player.settled(replicas)
        return player

    async def _autoscaler(
        self, namespace: str, name: str, target: Mapping[str, str], metrics: Sequence[Mapping[str, Any]] = ()
    ) -> None:
        manifest = autoscalers.manifest(name, target, metrics)
        await self.plane.admin.create(autoscalers.path(namespace), manifest)


@asynccontextmanager
async def _namespace(plane: ControlPlane, server: MetricsServer) -> AsyncIterator[str]:
    name = await create_namespace(plane.admin, "scene")
    try:
        yield name
    finally:
        server.values.clear(name)
        await plane.ensure_running()
        await delete_namespace(plane.admin, name)
