"""A world of moving HPAs with one or several controllers, each behind a proxy of its own, and what comes of it."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import signal
import sys
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.accounts import controller_account
from tests.e2e.api_client import CONNECTION_ERRORS
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.faults import invariants, log, recorded
from tests.e2e.faults.faulty_proxy import FaultyProxy
from tests.e2e.faults.invariants import Costs, Violation
from tests.e2e.faults.pace import STEADY, Pace
from tests.e2e.faults.world import REPLICAS, World
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

_ROOT = Path(__file__).parents[3]
_LOOK_EVERY_S = 0.5


@dataclasses.dataclass(frozen=True)
class Replica:
    """A controller, and the proxy that stands before its API server."""

    user: str
    proxy: FaultyProxy
    controller: ControllerProcess

    async def leading(self) -> bool:
        """Whether it says that it leads."""
        try:
            return (await self.controller.metrics()).total("hpa_controller_leading") == 1
        except CONNECTION_ERRORS:
            return False

    async def costs(self) -> Costs:
        """The least of what it takes at a few moments, at more of them while syncs in hand become fewer."""
        taken: list[Costs] = []
        while len(taken) < 4 or (len(taken) < 20 and taken[-1].tasks < min(one.tasks for one in taken[:-3])):
            metrics = await self.controller.metrics()
            taken.append(
                Costs(
                    metrics.total("process_resident_memory_bytes"),
                    metrics.total("process_open_fds"),
                    metrics.total("hpa_controller_tasks"),
                )
            )
            await asyncio.sleep(0.3)
        return invariants.least(taken)

    async def watch_restarts(self) -> float:
        """How many of its watches have ended abnormally so far."""
        return (await self.controller.metrics()).total("hpa_controller_watch_restarts_total")


class Scene:
    """Faults are done to it; ``violations`` then tells what should not have happened."""

    def __init__(
        self,
        plane: ControlPlane,
        server: MetricsServer,
        world: World,
        replicas: Sequence[Replica],
        pace: Pace,
        start: int,
    ) -> None:
        """start is the position in the audit log from which on everything counts."""
        self.plane = plane
        self.server = server
        self.world = world
        self.replicas = replicas
        self.pace = pace
        self.kills: list[dt.datetime] = []
        self.lies: list[tuple[dt.datetime, dt.datetime]] = []
        self.clock = _clock_file(plane, world.namespace)
        self._start = start
        self._calm_s = pace.period_s
        self._late: list[Violation] = []

    @classmethod
    @asynccontextmanager
    async def start(  # a scene has many parts
        cls,
        plane: ControlPlane,
        server: MetricsServer,
        name: str,
        *,
        hpas: int,
        replicas: int,
        seed: int,
        broken: str = "",
        pace: Pace = STEADY,
    ) -> AsyncIterator[Scene]:
        """In motion, with one leader; name must be new in the control plane. broken is a build of the launcher."""
        async with AsyncExitStack() as stack:
            world = await stack.enter_async_context(World.start(plane, server, hpas, seed))
            mark, made = plane.audit_log.position(), []
            for index in range(replicas):
                own = f"{name}-{index}"
                proxy = await stack.enter_async_context(FaultyProxy.start(plane, own, seed + index))
                account = await controller_account(plane, own, proxy.url)
                controller = await stack.enter_async_context(
                    ControllerProcess.start(
                        plane,
                        own,
                        "--concurrent-horizontal-pod-autoscaler-syncs=20",
                        f"--leader-elect-resource-name={name}",
                        f"--namespaces={world.namespace}",
                        *pace.flags,
                        kubeconfig=account.kubeconfig,
                        user=account.user,
                        program=(sys.executable, "-m", "tests.e2e.faults.launcher"),
                        environment={
                            "PYTHONPATH": str(_ROOT),
                            "FAULTS_BROKEN": broken,
                            "FAULTS_CLOCK": str(_clock_file(plane, world.namespace)),
                        },
                    )
                )
                made.append(Replica(account.user, proxy, controller))
            scene = cls(plane, server, world, made, pace, mark)
            await scene._calm()
            yield scene

    async def leader(self, timeout_s: float = 30.0) -> Replica:
        """Who leads, waited for. Raises TimeoutError."""

        async def found() -> Replica | None:
            for replica in self.replicas:
                if await replica.leading():
                    return replica
            return None

        leader = await wait_until(found, "a leader", timeout_s=timeout_s)
        assert leader is not None
        return leader

    async def over(self) -> None:
        """A fault is over, all processes run: notes if nobody leads in time, or HPAs are not synced in two periods."""
        try:
            await self.leader(self.pace.led_within_s)
        except TimeoutError:
            self.note(Violation("resumed", f"nobody led within {self.pace.led_within_s:.1f} s"))
            return
        since, start = now(), self.plane.audit_log.position()
        allowed_s = self.pace.synced_within_s(self._calm_s)
        late: list[Violation] = []
        for _ in range(round(allowed_s / _LOOK_EVERY_S) + 1):
            await asyncio.sleep(_LOOK_EVERY_S)
            seen, _ = self._read(start)
            late = invariants.resumed(seen, self.world.targets, since, allowed_s)
            if not late:
                break
        self._late += late

    def note(self, violation: Violation) -> None:
        """Something that should not have happened, seen by a fault itself."""
        self._late.append(violation)

    async def violations(self) -> list[Violation]:
        """Everything that should not have happened since the start, by the audit log and the recordings."""
        seen, watches = self._read(self._start)
        replicas = dict.fromkeys(self.world.targets, REPLICAS)
        return [
            *invariants.fenced(seen),
            *invariants.fresh(seen),
            *invariants.watched(seen, watches),
            *invariants.held(seen, replicas, self.lies),
            *self._late,
            # In a thread, as the proxies and the world go on meanwhile.
            *await asyncio.to_thread(self._recorded),
        ]

    def _recorded(self) -> list[Violation]:
        return [violation for one in self.replicas for violation in recorded.judged(one.controller.recordings)]

    def scaled(self) -> int:
        """How many scale writes have been accepted."""
        seen, _ = self._read(self._start)
        return sum(one.request.resource == invariants.SCALED for one in invariants.decided_writes(seen))

    async def costs(self) -> dict[str, Costs]:
        """What the leader takes now, by who it is and its process id: who stands by takes less, which says nothing."""
        leader = await self.leader()
        return {f"{leader.user} ({leader.controller.process.pid})": await leader.costs()}

    async def _calm(self) -> None:
        """Some periods without faults, to know how regular syncs are on this machine."""
        await self.leader()
        start = self.plane.audit_log.position()
        await asyncio.sleep(4 * self.pace.period_s)
        seen, _ = self._read(start)
        intervals = invariants.intervals_s(seen)
        if intervals:
            self._calm_s = intervals[int(0.99 * (len(intervals) - 1))]

    def _read(self, start: int) -> tuple[list[invariants.Seen], list[invariants.Opened]]:
        return log.read(self.plane, {one.user for one in self.replicas}, start, self.kills)


def now() -> dt.datetime:
    """The wall clock, by which the audit log is dated."""
    return dt.datetime.now(dt.UTC)  # noqa: TID251  # see above


def pause(replica: Replica) -> None:
    """Stops the process as a suspended machine would."""
    replica.controller.process.signal(signal.SIGSTOP)


def resume(replica: Replica) -> None:
    """Lets it go on where it was."""
    replica.controller.process.signal(signal.SIGCONT)


async def restarted(replica: Replica) -> None:
    """Starts a killed controller again and returns when it is ready."""
    replica.controller.process.start()
    await ready(replica)


async def ready(replica: Replica) -> None:
    """Returns when it is ready, which says nothing about leading. Raises ServerError when it ended, TimeoutError."""
    await wait_until(partial(_ready, replica), f"{replica.user} to be ready", timeout_s=30.0)


async def _ready(replica: Replica) -> bool:
    replica.controller.process.check()
    try:
        return (await replica.controller.health())[0] == 200  # HTTP's
    except CONNECTION_ERRORS:
        return False


def _clock_file(plane: ControlPlane, namespace: str) -> Path:
    return plane.files.state / f"{namespace}.clock"
