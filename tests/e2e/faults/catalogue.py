"""Every fault by name: what is done to a scene, and for how long; and which of them a short run takes."""

from __future__ import annotations

import asyncio
import dataclasses
import random
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import TYPE_CHECKING

from tests.e2e.api_client import CONNECTION_ERRORS, ApiError
from tests.e2e.faults.faulty_proxy import Trouble
from tests.e2e.faults.invariants import Violation
from tests.e2e.faults.pace import STEADY
from tests.e2e.faults.scene import Scene, now, pause, restarted, resume
from tests.e2e.metrics_server import Fault as MetricsFault
from tests.e2e.metrics_server import MetricsApi
from tests.e2e.workload_kinds import STATEFUL_SET

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

HOLD_S = 3 * STEADY.period_s
PAST_LEASE_S = STEADY.lease_s + 3.0
_DOWN_S = 2.0
_JUMP_S = 3600.0


@dataclasses.dataclass(frozen=True)
class Fault:
    """Something that goes wrong for ``hold_s``; whatever the context did is undone at its end."""

    name: str
    group: str
    """What it is a case of: of each group a short run has one."""
    happens: Callable[[Scene], AbstractAsyncContextManager[None]]
    hold_s: float = HOLD_S

    async def befall(self, scene: Scene) -> None:
        """The fault from its beginning until all is as before."""
        async with self.happens(scene):
            await asyncio.sleep(self.hold_s)
        await scene.over()


def _trouble(group: str, name: str, trouble: Trouble) -> Fault:
    @asynccontextmanager
    async def happens(scene: Scene) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for replica in scene.replicas:
                stack.enter_context(replica.proxy.troubled(trouble))
            yield

    return Fault(name, group, happens)


def _metrics(name: str, fault: MetricsFault, *apis: MetricsApi) -> Fault:
    @asynccontextmanager
    async def happens(scene: Scene) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for api in apis:
                stack.enter_context(scene.server.failing(api, fault, scene.world.namespace))
            # What was asked before may have been answered before, so that it is none.
            since = now()
            try:
                yield
            finally:
                # Answers that look good in the audit log, whatever is in them.
                if fault in (MetricsFault.EMPTY, MetricsFault.GARBAGE) and MetricsApi.CUSTOM in apis:
                    scene.lies.append((since, now()))

    return Fault(name, "metrics", happens)


@asynccontextmanager
async def _api_server_killed(scene: Scene) -> AsyncIterator[None]:
    scene.plane.api_server.kill()
    scene.kills.append(now())
    try:
        await asyncio.sleep(_DOWN_S)
    finally:
        await scene.plane.start_api_server()
    yield


@asynccontextmanager
async def _etcd_killed(scene: Scene) -> AsyncIterator[None]:
    scene.plane.etcd.kill()
    try:
        await asyncio.sleep(_DOWN_S)
    finally:
        await scene.plane.start_etcd()
        await scene.plane.wait_ready()
    yield


@asynccontextmanager
async def _leader_killed(scene: Scene) -> AsyncIterator[None]:
    leader = await scene.leader()
    leader.controller.process.kill()
    try:
        yield
    finally:
        await restarted(leader)


@asynccontextmanager
async def _leader_paused(scene: Scene) -> AsyncIterator[None]:
    leader = await scene.leader()
    pause(leader)
    try:
        yield
    finally:
        resume(leader)


@asynccontextmanager
async def _leader_partitioned(scene: Scene) -> AsyncIterator[None]:
    leader = await scene.leader()
    with leader.proxy.troubled(Trouble(partitioned=True)):
        yield


@asynccontextmanager
async def _clock_jumps(scene: Scene) -> AsyncIterator[None]:
    scene.clock.write_text(str(_JUMP_S))
    try:
        await asyncio.sleep(scene.pace.period_s)
        scene.clock.write_text(str(-_JUMP_S))
        yield
    finally:
        scene.clock.write_text("0")


@asynccontextmanager
async def _conflicts(scene: Scene) -> AsyncIterator[None]:
    """Somebody else changes the targets all the time."""

    async def meddle() -> None:
        count = 0
        while True:
            for target in scene.world.targets:
                count += 1
                body = {"metadata": {"annotations": {"meddled": str(count)}}}
                with suppress(ApiError, *CONNECTION_ERRORS):
                    await scene.plane.admin.patch(STATEFUL_SET.path(scene.world.namespace, target), body)
            await asyncio.sleep(0.05)

    task = asyncio.create_task(meddle())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


FAULTS: tuple[Fault, ...] = (
    _trouble("connection", "delays", Trouble(delay_s=0.4)),
    _trouble("connection", "cut-connections", Trouble(cut=0.1)),
    _trouble("connection", "doubled-requests", Trouble(doubled=0.3)),
    _trouble("connection", "too-many-requests", Trouble(refused=0.2)),
    _trouble("connection", "server-errors", Trouble(failed=0.2)),
    _trouble("watches", "watches-refused", Trouble(no_watches=True)),
    _trouble("watches", "watch-cache-too-old", Trouble(expired=True)),
    _metrics("guard-down", MetricsFault.INTERNAL_ERROR, MetricsApi.CUSTOM),
    _metrics("guard-hangs", MetricsFault.HANG, MetricsApi.CUSTOM),
    _metrics("guard-lies", MetricsFault.GARBAGE, MetricsApi.CUSTOM),
    _metrics("guard-empty", MetricsFault.EMPTY, MetricsApi.CUSTOM),
    _metrics("all-metrics-down", MetricsFault.INTERNAL_ERROR, MetricsApi.CUSTOM, MetricsApi.EXTERNAL),
    Fault("conflicts", "conflicts", _conflicts),
    Fault("clock-jumps", "clock", _clock_jumps),
    Fault("leader-killed", "leader lost", _leader_killed, PAST_LEASE_S),
    Fault("leader-paused", "leader stopped", _leader_paused, PAST_LEASE_S),
    Fault("leader-partitioned", "leader lost", _leader_partitioned, PAST_LEASE_S),
    Fault("api-server-killed", "control plane", _api_server_killed, 0.0),
    Fault("etcd-killed", "control plane", _etcd_killed, 0.0),
)


@asynccontextmanager
async def _half_open(scene: Scene) -> AsyncIterator[None]:
    """The watches that are open fall silent; only their watchdog can tell. New ones are well."""
    before = [await one.watch_restarts() for one in scene.replicas]
    for replica in scene.replicas:
        replica.proxy.silence_watches()
    yield
    for replica, restarts in zip(scene.replicas, before, strict=True):
        if await replica.watch_restarts() <= restarts:
            scene.note(Violation("half-open", f"{replica.user} still listens to silent watches"))


# Silence is taken for a half-open connection after 150 s.
LONG_FAULTS: tuple[Fault, ...] = (Fault("half-open-watches", "watches", _half_open, 165.0),)
"""Those that only ``make e2e-long`` has time for."""

ALL = (*FAULTS, *LONG_FAULTS)
BY_NAME = {fault.name: fault for fault in ALL}
GROUPS = tuple(dict.fromkeys(fault.group for fault in ALL))


@dataclasses.dataclass(frozen=True)
class Selection:
    """What a short run has time for: under how many controllers which faults, in which order."""

    replicas: int
    faults: tuple[Fault, ...]


def selection(seed: int) -> Selection:
    """A short fault of every group, another for another seed."""
    dice = random.Random(seed)  # noqa: S311  # a choice, no secret
    chosen = [dice.choice([fault for fault in FAULTS if fault.group == group]) for group in GROUPS]
    dice.shuffle(chosen)
    return Selection(dice.choice((2, 3)), tuple(chosen))
