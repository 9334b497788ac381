"""HPAs that come, change and go without an end, each with a target of its own; no name is ever used again."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from tests.e2e import autoscalers
from tests.e2e.metrics_values import DescribedObject, PodUsage, Series
from tests.e2e.namespaces import create_namespace
from tests.e2e.pods import pod_of, running_status
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import STATEFUL_SET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

PODS = 2
LEAST, MOST = 3, 12
"""More than the pods there are, by more than the tolerance, so that every load asks for one size only."""
PER_REPLICA = 10
_REQUEST_MILLI = 100
_KINDS = ("cpu", "external", "object")
_LOAD_EVERY_S = 1.0
_LOAD_SHARE = 0.1
_CREATED_AT_ONCE = 10


@dataclasses.dataclass
class Counts:
    """What has been done to HPAs so far."""

    created: int = 0
    changed: int = 0
    deleted: int = 0


class World:
    """``needed`` has the size that each HPA that is there should have come to."""

    def __init__(self, plane: ControlPlane, server: MetricsServer, namespace: str, seed: int) -> None:
        self.namespace = namespace
        self.needed: dict[str, int] = {}
        self.counts = Counts()
        self._plane = plane
        self._server = server
        self._dice = random.Random(seed)  # noqa: S311  # a load, not a secret
        self._numbers = itertools.count()
        self._calm = asyncio.Event()
        self._calm.set()

    @classmethod
    @asynccontextmanager
    async def start(
        cls, plane: ControlPlane, server: MetricsServer, *, hpas: int, per_s: float, seed: int
    ) -> AsyncIterator[Self]:
        """A world with so many HPAs, of which so many per second are replaced by new ones, and as many changed."""
        namespace = await create_namespace(plane.admin, "soak")
        world = cls(plane, server, namespace, seed)
        for _ in range(0, hpas, _CREATED_AT_ONCE):
            await asyncio.gather(*(world._create() for _ in range(min(_CREATED_AT_ONCE, hpas - len(world.needed)))))
        tasks = [asyncio.create_task(world._load()), asyncio.create_task(world._churn(per_s))]
        try:
            yield world
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            # The namespace goes with the control plane: deleting half an hour of events by itself takes minutes.
            server.forget(namespace)
        for task in tasks:
            if not task.cancelled():
                task.result()

    @asynccontextmanager
    async def at_rest(self) -> AsyncIterator[None]:
        """Nothing comes, changes or goes for a while, and no load moves."""
        self._calm.clear()
        try:
            yield
        finally:
            self._calm.set()

    async def fits(self, timeout_s: float) -> None:
        """Returns when every target has the size that its load asks for. Raises TimeoutError, which names others."""

        async def right() -> bool:
            listed = await self._plane.admin.get(STATEFUL_SET.path(self.namespace))
            sizes = {item["metadata"]["name"]: int(item["spec"]["replicas"]) for item in listed["items"]}
            wrong = {name: (sizes.get(name), size) for name, size in self.needed.items() if sizes.get(name) != size}
            if wrong:
                raise _NotYetError(f"of these it is wrong (is, should be): {wrong}")
            return True

        await wait_until(right, "all targets to fit their load", timeout_s=timeout_s, ignoring=(_NotYetError,))

    # --- what moves ---

    async def _load(self) -> None:
        while True:
            await asyncio.sleep(_LOAD_EVERY_S)
            await self._calm.wait()
            for name in self._dice.sample(sorted(self.needed), round(_LOAD_SHARE * len(self.needed))):
                self._need(name)

    async def _churn(self, per_s: float) -> None:
        while True:
            await asyncio.sleep(1.0 / per_s)
            await self._calm.wait()
            gone, changed = self._dice.sample(sorted(self.needed), 2)
            await asyncio.gather(self._delete(gone), self._change(changed), self._create())

    def _need(self, name: str) -> None:
        values, namespace = self._server.values, self.namespace
        self.needed[name] = replicas = self._dice.randint(LEAST, MOST)
        total = str(replicas * PER_REPLICA)
        match _kind(name):
            case "external":
                values.set_external(namespace, name, Series(total))
            case "object":
                values.set_custom(_service(namespace, name), "load", Series(total))
            case _:
                # Half of what is requested is the target.
                used = {"app": {"cpu": f"{replicas * _REQUEST_MILLI // 2 // PODS}m"}}
                for pod in _pods(name):
                    values.set_pod(namespace, pod, PodUsage(used, {"app": name}))

    async def _create(self) -> None:
        admin, namespace, number = self._plane.admin, self.namespace, next(self._numbers)
        name = f"{_KINDS[number % len(_KINDS)]}-{number:06}"
        manifest = STATEFUL_SET.manifest(name, PODS, requests={"cpu": f"{_REQUEST_MILLI}m"})
        target = await admin.create(STATEFUL_SET.path(namespace), manifest)
        for pod in _pods(name) if _kind(name) == "cpu" else ():
            made = await admin.create(f"/api/v1/namespaces/{namespace}/pods", pod_of(target, pod))
            path = f"/api/v1/namespaces/{namespace}/pods/{pod}/status"
            await admin.patch(path, {"status": running_status(made)})
        self._need(name)
        await admin.create(autoscalers.path(namespace), self._manifest(name))
        self.counts.created += 1

    def _manifest(self, name: str) -> dict[str, Any]:
        service = {"apiVersion": "v1", "kind": "Service", "name": name}
        metric = {
            "cpu": autoscalers.resource("cpu", averageUtilization=50),
            "external": autoscalers.external(name, averageValue=str(PER_REPLICA)),
            "object": autoscalers.of_object(service, "load", averageValue=str(PER_REPLICA)),
        }[_kind(name)]
        reference = autoscalers.reference(STATEFUL_SET, name)
        return autoscalers.manifest(name, reference, [metric], minimum=1, maximum=2 * MOST)

    async def _change(self, name: str) -> None:
        change = {"maxReplicas": self._dice.randint(MOST, 3 * MOST), "minReplicas": self._dice.randint(1, LEAST)}
        await self._plane.admin.patch(autoscalers.path(self.namespace, name), {"spec": change})
        self.counts.changed += 1

    async def _delete(self, name: str) -> None:
        admin, namespace, values = self._plane.admin, self.namespace, self._server.values
        del self.needed[name]
        await admin.delete(autoscalers.path(namespace, name))
        await admin.delete(STATEFUL_SET.path(namespace, name), {"propagationPolicy": "Background"})
        match _kind(name):
            case "external":
                values.forget_external(namespace, name)
            case "object":
                values.forget_object(_service(namespace, name))
            case _:
                for pod in _pods(name):
                    values.remove_pod(namespace, pod)
                    await admin.delete(f"/api/v1/namespaces/{namespace}/pods/{pod}", {"gracePeriodSeconds": "0"})
        self.counts.deleted += 1


def _kind(name: str) -> str:
    return name.partition("-")[0]


def _pods(name: str) -> list[str]:
    return [f"{name}-{index}" for index in range(PODS)]


def _service(namespace: str, name: str) -> DescribedObject:
    return DescribedObject(namespace, "services", name, "Service", "v1")


class _NotYetError(Exception):
    """Some targets do not fit."""
