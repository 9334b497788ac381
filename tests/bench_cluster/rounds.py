"""Measures a cell: one control plane, one population, one contender after another on the same state."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.bench_cluster.cells import Cell, schedule
from tests.bench_cluster.clusters import Cluster
from tests.bench_cluster.contenders import Contender, Profiling, Running, built_in, null, ours
from tests.bench_cluster.goals import INTERVAL_PERIODS_MAX, interval_periods
from tests.bench_cluster.metrics_process import MetricsProcess
from tests.bench_cluster.planning import plan_of, write_plan
from tests.bench_cluster.populations import Metrics
from tests.bench_cluster.processes import additions_s
from tests.bench_cluster.requests import write_policy
from tests.bench_cluster.results import Result
from tests.bench_cluster.stored import Etcd
from tests.bench_cluster.trials import Trial
from tests.e2e.accounts import Account, controller_account
from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.control_plane import ControlPlane
from tests.e2e.metrics_server import MetricsApi
from tests.e2e.roles import LEASE_NAMESPACE, define_controllers

_ETCD_FLAGS = ("--quota-backend-bytes=8589934592",)
_TICKS_PER_PERIOD = 3
_VERSIONS = ((MetricsApi.RESOURCE, "v1beta1"), (MetricsApi.CUSTOM, "v1beta2"), (MetricsApi.EXTERNAL, "v1beta1"))
_LIST_TIMEOUT_S = 120.0


class Manner(msgspec.Struct, frozen=True):
    """How cells are measured."""

    period_s: float
    say: Callable[[str], None]
    """Told how far it is, in lines."""
    done: Callable[[Result], None]
    """Given each result as soon as there is one."""
    profiling: Profiling | None = None


class Round:
    """One cell being measured."""

    def __init__(self, cell: Cell, cluster: Cluster, stub: MetricsProcess, manner: Manner) -> None:
        self._cell = cell
        self._cluster = cluster
        self._plane = cluster.plane
        self._stub = stub
        self._manner = manner
        self._period_s = manner.period_s
        self._seen: Trial | None = None
        """The trial of ours, from which the null client learns."""

    async def measure(self) -> None:
        """Measures all contenders of the cell; the null client also where ours has not kept the interval.

        Then it has to be told whether anybody could have.
        """
        contenders = [*self._cell.contenders]
        for number, contender in enumerate(contenders):
            if number:
                await self._cluster.reset()
            hour_s = additions_s()
            began_s = time.monotonic()
            async with self._contender(contender) as running:
                ready_s = time.monotonic() - began_s
                self._manner.say(f"  {contender}: ready after {ready_s:.1f} s")
                plan = schedule(contender, self._cell.population.count, self._period_s)
                population = self._cell.population
                trial = Trial(self._plane, population, self._stub, running, self._period_s, plan)
                result = msgspec.structs.replace(await trial.run(contender, ready_s), additions_s=hour_s)
                # What was measured stays, however the contender ends.
                self._manner.done(result)
            if contender is Contender.OURS:
                self._seen = trial
                late = interval_periods(result) > INTERVAL_PERIODS_MAX
                can_tell = self._cell.population.metrics is not Metrics.SLOW
                if late and can_tell and Contender.NULL not in contenders:
                    # A list that grows is walked to its new end.
                    contenders.append(Contender.NULL)

    @asynccontextmanager
    async def _contender(self, contender: Contender) -> AsyncIterator[Running]:
        async with AsyncExitStack() as stack:
            match contender:
                case Contender.DEFAULTS | Contender.TUNED:
                    yield await stack.enter_async_context(built_in(self._plane, contender, self._period_s))
                case Contender.NULL:
                    account = await self._account("bench-null")
                    yield await stack.enter_async_context(null(self._plane, account, await self._plan(account)))
                case _:
                    account, manner = await self._account("bench-ours"), self._manner
                    process = ours(self._plane, contender, account, self._period_s, manner.say, manner.profiling)
                    yield await stack.enter_async_context(process)

    async def _account(self, name: str) -> Account:
        return await controller_account(self._plane, name, self._plane.url)

    async def _plan(self, account: Account) -> Path:
        """What the null client is to send, from what ours has sent."""
        assert self._seen is not None
        token = await self._plane.service_account_token(LEASE_NAMESPACE, account.user.rpartition(":")[2])
        plan = plan_of(
            self._plane,
            token,
            self._seen.log.requests,
            await self._bodies(),
            self._seen.counted_from_s,
            self._period_s,
        )
        return write_plan(plan, self._plane.files.state)

    async def _bodies(self) -> dict[str, str]:
        """What a status write of each HPA sends, by its key, with a place for a number that changes."""
        query = {"resourceVersion": "0"}
        listed = await self._plane.admin.get(
            "/apis/autoscaling/v2/horizontalpodautoscalers", query, timeout_s=_LIST_TIMEOUT_S
        )
        return {f"{item['metadata']['namespace']}/{item['metadata']['name']}": _body(item) for item in listed["items"]}


def _body(autoscaler: dict[str, Any]) -> str:
    """A status as a controller writes it; without a resourceVersion, so that it never conflicts."""
    metadata = {name: value for name, value in autoscaler["metadata"].items() if name != "resourceVersion"}
    condition = {
        "type": "AbleToScale",
        "status": "True",
        "reason": "ReadyForNewScale",
        "message": "a message of the usual length, which says why",
        "lastTransitionTime": metadata["creationTimestamp"],
    }
    current = {"averageUtilization": 50, "averageValue": "@number@m"}
    status = {
        "currentReplicas": 5,
        "desiredReplicas": 5,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}],
        "conditions": [{**condition, "type": kind} for kind in ("AbleToScale", "ScalingActive", "ScalingLimited")],
    }
    body = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": autoscaler["spec"],
        "status": status,
    }
    return msgspec.json.encode(body).decode()


async def measure(cell: Cell, folder: Path, manner: Manner) -> None:
    """Measures a cell on a control plane of its own, whose logs end in folder.

    Raises ServerError, StubError, EtcdError, ApiError or TimeoutError when something does not work.
    """
    policy = write_policy()
    try:
        flags = [f"--audit-policy-file={policy}"]
        async with (
            ControlPlane.start(folder, api_server_flags=flags, etcd_flags=_ETCD_FLAGS) as plane,
            MetricsProcess.start(plane.files, cell.population, manner.period_s / _TICKS_PER_PERIOD) as stub,
            Etcd(plane.etcd_url) as etcd,
        ):
            await register_metrics_apis(plane.admin, stub.port, plane.files.authority, _VERSIONS)
            await define_controllers(plane.admin)
            cluster = Cluster(plane, etcd, cell.population)
            began_s = time.monotonic()
            objects = await cluster.create()
            manner.say(f"  {objects} objects in {time.monotonic() - began_s:.1f} s")
            # A controller that starts finds HPAs that have been there; younger ones are new to ours.
            await asyncio.sleep(began_s + manner.period_s - time.monotonic())
            await Round(cell, cluster, stub, manner).measure()
    finally:
        await asyncio.to_thread(policy.unlink)
