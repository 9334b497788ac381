"""Ours and the built-in controller, one after the other and both at once, in the middle of a load curve."""

from __future__ import annotations

import dataclasses
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.e2e import autoscalers
from tests.e2e.audited import Audited
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_values import Series
from tests.e2e.namespaces import create_namespace, delete_namespace
from tests.e2e.roles import define_controllers
from tests.e2e.side_by_side.runner import builtin_plane
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pytest

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

BUILTIN = "kube-controller-manager"
WORKER = "worker"
QUEUE = "queue"
WINDOW_S = 3
SILENCE_PERIODS = 6
ROUNDS_MAX = 30


@dataclasses.dataclass
class Scene:
    """One Deployment that a queue scales: a pod for every ten of it."""

    plane: ControlPlane
    server: MetricsServer
    namespace: str
    player: WorkloadPlayer

    def queue(self, length: int) -> None:
        """From now on the queue is that long."""
        self.server.values.set_external(self.namespace, QUEUE, Series(str(length)))

    async def follows(self, length: int) -> None:
        """Returns when somebody has scaled for a queue of that length."""
        self.queue(length)
        await self.player.settled(length // 10, 30.0)
        await wait_until(partial(self._stored, length // 10), f"a status that tells of {length // 10} replicas")

    async def _stored(self, replicas: int) -> bool:
        status = (await self.autoscaler()).get("status", {})
        return {status.get("currentReplicas"), status.get("desiredReplicas")} == {replicas}

    async def autoscaler(self) -> dict[str, Any]:
        """The HPA."""
        found: dict[str, Any] = await self.plane.admin.get(autoscalers.path(self.namespace, WORKER))
        return found

    def scaled(self) -> list[tuple[str, int]]:
        """All accepted writes of the target's scale so far: by whom, and to how many replicas."""
        requests = [Audited.of(entry) for entry in self.plane.audit_entries()]
        return [
            (request.user_agent.partition("/")[0], request.sent["spec"].get("replicas", 0))
            for request in requests
            if request.namespace == self.namespace
            and request.accepted
            and request.verb == "update"
            and request.about("deployments/scale")
        ]

    async def reasons(self) -> set[str]:
        """Of all events about the HPA."""
        events = await autoscalers.events_of(self.plane.admin, self.namespace, WORKER)
        return {event["reason"] for event in events}


@asynccontextmanager
async def scene(folder_of: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    """With the built-in controller at work on three replicas."""
    async with builtin_plane(folder_of.mktemp("company")) as (plane, server):
        await define_controllers(plane.admin)
        namespace = await create_namespace(plane.admin, "company")
        await plane.admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest(WORKER, 3))
        async with WorkloadPlayer(plane.admin, DEPLOYMENT, namespace, WORKER) as player:
            await player.settled(3)
            world = Scene(plane, server, namespace, player)
            world.queue(30)
            manifest = autoscalers.manifest(
                WORKER,
                autoscalers.reference(DEPLOYMENT, WORKER),
                [autoscalers.external(QUEUE, averageValue="10")],
                behavior={"scaleDown": {"stabilizationWindowSeconds": WINDOW_S}},
            )
            await plane.admin.create(autoscalers.path(namespace), manifest)
            yield world
            await delete_namespace(plane.admin, namespace)


async def test_a_handover_and_back_leaves_no_trace_in_the_replicas(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Each controller scales when the load asks for it, and only then; what the other wrote is no foreign write."""
    async with scene(tmp_path_factory) as world:
        plane = world.plane
        assert plane.controller_manager is not None
        await world.follows(40)
        await world.follows(50)
        await plane.controller_manager.stop()
        async with ControllerProcess.start(plane, "takes-over") as ours:
            await ours.synced(WINDOW_S)
            await world.follows(70)
            await world.follows(60)
            assert ours.logs("HPA is left to another controller") == []
        await plane.start_controller_manager()
        await world.follows(40)
        assert world.scaled() == [
            (BUILTIN, 4),
            (BUILTIN, 5),
            ("hpa-controller", 7),
            ("hpa-controller", 6),
            (BUILTIN, 4),
        ]


async def test_a_foreign_writer_is_left_to_its_work_until_it_is_silent(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    async with scene(tmp_path_factory) as world:
        plane = world.plane
        assert plane.controller_manager is not None
        await world.follows(40)
        await plane.controller_manager.stop()
        flag = f"--foreign-writer-silence-periods={SILENCE_PERIODS}"
        async with ControllerProcess.start(plane, "yields", flag) as ours:
            await world.follows(50)
            await plane.start_controller_manager()

            left = await ours.logged("HPA is left to another controller", timeout_s=30.0)
            assert (left["hpa"], left["writer"]) == (f"{world.namespace}/{WORKER}", BUILTIN)
            await wait_until(partial(_told, world, "ForeignWriter"), "the event")
            assert (await ours.metrics()).total("hpa_controller_foreign_writers") == 1
            assert (await ours.compared())["leftToOthers"] == {f"{world.namespace}/{WORKER}": BUILTIN}
            explained = await ours.explained(f"{world.namespace}/{WORKER}")
            assert explained["syncs"][-1]["withheld"]["reason"] == "foreign-writer"

            # With the other at work and the load moving, nothing of ours may reach the API server.
            mark = plane.audit_log.position()
            for length in (70, 60, 80):
                await world.follows(length)
            ours_then = [request for request in ours.requests(mark) if request.writes and not request.about("leases")]
            assert [request.resource for request in ours_then] == []

            await plane.controller_manager.stop()
            await ours.logged("HPA is scaled by us again", timeout_s=30.0)
            await world.follows(90)
            await wait_until(partial(_told, world, "ForeignWriterSilent"), "the event")
            assert world.scaled()[-1] == ("hpa-controller", 9)
            assert (await ours.metrics()).total("hpa_controller_foreign_writers") == 0


async def test_two_of_ours_with_leases_of_their_own_find_each_other(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with scene(tmp_path_factory) as world:
        plane = world.plane
        assert plane.controller_manager is not None
        await plane.controller_manager.stop()
        async with (
            ControllerProcess.start(plane, "one", "--leader-elect-resource-name=one") as one,
            ControllerProcess.start(plane, "two", "--leader-elect-resource-name=two") as two,
        ):
            for number in range(ROUNDS_MAX):
                await world.follows(40 + 10 * (number % 3))
                if all(process.logs("another hpa-controller scales this HPA, too") for process in (one, two)):
                    break
            for process in (one, two):
                [told] = process.logs("another hpa-controller scales this HPA, too")
                assert told["hpa"] == f"{world.namespace}/{WORKER}"
                assert (await process.metrics()).total("hpa_controller_twin_writers") == 1
                assert (await process.metrics()).total("hpa_controller_foreign_writers") == 0
            await wait_until(partial(_told, world, "ForeignWriter"), "the event")


async def _told(world: Scene, reason: str) -> bool:
    return reason in await world.reasons()
