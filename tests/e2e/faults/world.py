"""Many HPAs whose load never stands still, and targets that follow them, cheaply: no pods, only counts."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Self

from tests.e2e import autoscalers
from tests.e2e.api_client import CONNECTION_ERRORS, ApiError
from tests.e2e.metrics_values import DescribedObject, Series
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import STATEFUL_SET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

REPLICAS = 2
PER_REPLICA = 10
LEAST, MOST = 1, 30
TOLERANCE = 0.1 + 1e-9
_CHANGE_EVERY_S = 0.4
_FOLLOW_EVERY_S = 0.3


class World:
    """The HPAs and their targets; ``targets`` are the names that both have."""

    def __init__(self, plane: ControlPlane, server: MetricsServer, namespace: str, count: int, seed: int) -> None:
        self.namespace = namespace
        self.targets = [f"shop-{index:02}" for index in range(count)]
        self._plane = plane
        self._server = server
        self._dice = random.Random(seed)  # noqa: S311  # a load, not a secret
        self._needed: dict[str, int] = {}
        self._moving = asyncio.Event()

    @classmethod
    @asynccontextmanager
    async def start(cls, plane: ControlPlane, server: MetricsServer, count: int, seed: int) -> AsyncIterator[Self]:
        """A world in motion, in a namespace that is gone afterwards."""
        namespace = await create_namespace(plane.admin, "faults")
        world = cls(plane, server, namespace, count, seed)
        for target in world.targets:
            world._need(target, REPLICAS)
            await world._create(target)
        world._moving.set()
        tasks = [asyncio.create_task(world._move()), asyncio.create_task(world._follow())]
        try:
            yield world
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            await plane.ensure_running()
            await delete_namespace(plane.admin, namespace)
            server.forget(namespace)
        for task in tasks:
            if not task.cancelled():
                task.result()

    async def converges(self, timeout_s: float) -> None:
        """Stops the load and returns when every target is as large as it needs; then the load moves on.

        Raises TimeoutError, which names those that are not.
        """
        self._moving.clear()
        try:

            async def right() -> bool:
                sizes = await self._sizes()
                wrong = {
                    name: (sizes[name], size) for name, size in self._needed.items() if not _fits(sizes[name], size)
                }
                if wrong:
                    raise _NotYetError(f"of these it is wrong (is, should be): {wrong}")
                return True

            ignoring = (_NotYetError, ApiError, *CONNECTION_ERRORS)
            await wait_until(right, "all targets to fit their load", timeout_s=timeout_s, ignoring=ignoring)
        finally:
            self._moving.set()

    # --- what moves ---

    def _need(self, target: str, replicas: int) -> None:
        values, namespace = self._server.values, self.namespace
        self._needed[target] = replicas
        values.set_external(namespace, f"load-{target}", Series(str(replicas * PER_REPLICA)))
        described = DescribedObject(namespace, "services", target, "Service", "v1")
        values.set_custom(described, f"guard-{target}", Series("1"))

    async def _create(self, target: str) -> None:
        admin, namespace = self._plane.admin, self.namespace
        await admin.create(STATEFUL_SET.path(namespace), STATEFUL_SET.manifest(target, REPLICAS))
        service = {"apiVersion": "v1", "kind": "Service", "name": target}
        manifest = autoscalers.manifest(
            target,
            autoscalers.reference(STATEFUL_SET, target),
            [
                autoscalers.external(f"load-{target}", averageValue=str(PER_REPLICA)),
                autoscalers.of_object(service, f"guard-{target}", averageValue="1"),
            ],
            minimum=LEAST,
            maximum=MOST,
        )
        await admin.create(autoscalers.path(namespace), manifest)

    async def _move(self) -> None:
        while True:
            await self._moving.wait()
            for target in self._dice.sample(self.targets, max(1, len(self.targets) // 10)):
                self._need(target, self._dice.randint(LEAST, MOST))
            await asyncio.sleep(_CHANGE_EVERY_S)

    async def _follow(self) -> None:
        """The status of each target follows its spec, as far as a workload controller's would."""
        while True:
            await asyncio.sleep(_FOLLOW_EVERY_S)
            try:
                listed = await self._plane.admin.get(STATEFUL_SET.path(self.namespace), timeout_s=5.0)
                for item in listed["items"]:
                    wanted = item["spec"].get("replicas", 1)
                    if item.get("status", {}).get("replicas") != wanted:
                        path = STATEFUL_SET.path(self.namespace, item["metadata"]["name"], "status")
                        await self._plane.admin.patch(path, {"status": STATEFUL_SET.status(item, wanted, wanted)})
            except (ApiError, *CONNECTION_ERRORS):
                continue  # the API server is one of those that fail here

    async def _sizes(self) -> dict[str, int]:
        listed = await self._plane.admin.get(STATEFUL_SET.path(self.namespace))
        return {item["metadata"]["name"]: int(item["spec"].get("replicas", 1)) for item in listed["items"]}


def _fits(replicas: int, needed: int) -> bool:
    """Whether nothing is left to be done: a load within the tolerance moves nothing."""
    return replicas == needed or abs(needed / replicas - 1.0) <= TOLERANCE


class _NotYetError(Exception):
    """Some targets do not fit."""
