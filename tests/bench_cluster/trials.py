"""One contender on one population: warm up, count, raise the load, rest."""

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from tests.bench_cluster.contenders import Contender, Running
from tests.bench_cluster.loop_lag import loop_between
from tests.bench_cluster.metrics_process import MetricsProcess
from tests.bench_cluster.populations import Application, Population
from tests.bench_cluster.processes import Usage, machine, usage
from tests.bench_cluster.requests import Request, RequestLog
from tests.bench_cluster.results import Cost, Loop, Reaction, Result
from tests.bench_cluster.timings import (
    Spread,
    counted,
    intervals_s,
    lateness_s,
    reactions_s,
    spread,
    syncs,
    worst_moment_s,
)
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import Metrics

SCRAPE_S = 15.0
"""How often metrics are read while a contender is measured, as Prometheus would."""
_POSTPONED_METRIC = "hpa_controller_syncs_postponed_total"
_POLL_S = 2.0


class Schedule(msgspec.Struct, frozen=True):
    """How long each part of a trial takes, in seconds."""

    warm_passes: int
    """How often every HPA is synced before anything is counted."""
    warm_max_s: float
    window_s: float
    worst_within_s: float = 0.0
    """Within what time the load is then raised, at the worst moment."""
    raised_max_s: float = 0.0
    """How long scale writes are waited for; 0 leaves this part out."""
    settle_max_s: float = 0.0
    """How long after the last change is waited, at most, until no status has been written for a period."""
    rest_s: float = 0.0
    """How long it is then watched that nothing is written; 0 leaves this part out."""

    @property
    def most_s(self) -> float:
        """The most that all of it can take."""
        raised_s = self.worst_within_s + self.raised_max_s
        return self.warm_max_s + self.window_s + raised_s + self.settle_max_s + self.rest_s


class _Window(msgspec.Struct, frozen=True):
    """The time that counts, and what it took."""

    start_s: float
    end_s: float
    cost: Cost
    others: dict[str, Cost]
    load_average: float
    idle_cores: float
    stolen_cores: float
    loop: Loop | None


class Trial:
    """`run` measures a contender that has just become ready."""

    def __init__(
        self,
        plane: ControlPlane,
        population: Population,
        stub: MetricsProcess,
        running: Running,
        period_s: float,
        schedule: Schedule,
    ) -> None:
        self.log = RequestLog(plane.audit_log.path, running.user)
        self.counted_from_s = 0.0
        """When counting began, in wall time."""
        self._population = population
        self._stub = stub
        self._running = running
        self._period_s = period_s
        self._schedule = schedule
        measured: list[Application] = population.measured
        self._keys = frozenset(one.key for one in measured)
        self._pids: Mapping[str, int] = {
            "kube-apiserver": plane.api_server.pid,
            "etcd": plane.etcd.pid,
            "metrics stub": stub.pid,
            "benchmark": os.getpid(),
        }
        self._scraping: asyncio.Task[None] | None = None

    async def run(self, contender: Contender, ready_s: float) -> Result:
        """Everything in turn. ready_s is how long the contender took to become ready."""
        began_s = _now_s()
        first_pass_s = await self._warm_up(began_s)
        window = await self._window()
        reaction = await self._raise() if self._schedule.raised_max_s else None
        at_rest = await self._rest() if self._schedule.rest_s else None
        told = await self._running.metrics() or Metrics("")
        requests = [one for one in self.log.requests if window.start_s <= one.received_s <= window.end_s]
        count = sum(request.is_status_write and request.accepted for request in requests)
        # Divided by, never multiplied with its inverse: as many writes as syncs must be exactly one a sync.
        divisor = max(count, 1)
        intervals = intervals_s(syncs(self.log.requests, self._keys), window.start_s, window.end_s)
        hpas = sum(1 for _ in self._population.applications())
        return Result(
            cell=str(self._population),
            contender=contender.value,
            command=self._running.command,
            hpas=hpas,
            pods=hpas * self._population.pods_each,
            period_s=self._period_s,
            ready_s=ready_s,
            first_pass_s=first_pass_s,
            warm_s=window.start_s - began_s,
            window_s=window.end_s - window.start_s,
            syncs=count,
            interval=spread(intervals),
            lateness=spread(lateness_s(intervals, self._period_s)),
            requests_per_sync={kind: number / divisor for kind, number in counted(requests).most_common()},
            refused=dict(Counter(f"{one.code} {one.verb} {one.resource}" for one in requests if not one.accepted)),
            reads_per_sync=sum(request.reads for request in requests) / divisor,
            status_writes_per_sync=sum(request.is_status_write for request in requests) / divisor,
            cost=window.cost,
            cpu_s_per_1000_syncs=window.cost.cpu_s * 1000 / divisor,
            others=window.others,
            status_writes_at_rest=at_rest,
            rest_s=self._schedule.rest_s,
            reaction=reaction,
            loop=window.loop,
            postponed=None if not told.families else int(told.total(_POSTPONED_METRIC)),
            load_average=window.load_average,
            idle_cores=window.idle_cores,
            stolen_cores=window.stolen_cores,
        )

    async def _window(self) -> _Window:
        """Lets it work for the time that counts."""
        self.counted_from_s = start_s = _now_s()
        before, own, looked = self._usages(), usage(self._running.process.pid), await self._running.metrics()
        whole = machine()
        await self._work(self._schedule.window_s)
        end_s, load_average = _now_s(), os.getloadavg()[0]
        left = machine()
        idle_cores = (left.idle_s - whole.idle_s) / (end_s - start_s)
        stolen_cores = (left.stolen_s - whole.stolen_s) / (end_s - start_s)
        cost = _cost(own, usage(self._running.process.pid))
        others = {name: _cost(before[name], after) for name, after in self._usages().items()}
        self.log.update()
        loop = loop_between(looked, await self._running.metrics())
        return _Window(start_s, end_s, cost, others, load_average, idle_cores, stolen_cores, loop)

    async def _warm_up(self, began_s: float) -> float | None:
        """Waits until every HPA was synced so often, or the time is up; when the first pass was done."""
        passes = dict.fromkeys(self._keys, 0)
        first_pass_s = None
        while _now_s() - began_s < self._schedule.warm_max_s:
            await asyncio.sleep(_POLL_S)
            for request in self.log.update():
                if request.is_status_write and request.accepted and request.key in passes:
                    passes[request.key] += 1
            least = min(passes.values())
            if least >= 1 and first_pass_s is None:
                first_pass_s = _now_s() - began_s
            if least >= self._schedule.warm_passes:
                break
        return first_pass_s

    async def _work(self, seconds: float) -> None:
        """Lets it work for a while, with its metrics read now and then."""
        loop = asyncio.get_running_loop()
        end_s = loop.time() + seconds
        while (left_s := end_s - loop.time()) > 0:
            await asyncio.sleep(min(SCRAPE_S, left_s))
            await self._running.metrics()

    async def _raise(self) -> Reaction:
        """Raises the load of all pods at once and waits for the scale writes.

        At the worst moment for whoever is measured: HPAs that are all synced in one moment would react within a second
        or after a period, as luck has it.
        """
        start_s = _now_s()
        found = syncs(self.log.requests, self._keys)
        worst_s = worst_moment_s(found, start_s, start_s + self._schedule.worst_within_s)
        await asyncio.sleep(worst_s - _now_s())
        limit_s = self._schedule.raised_max_s
        changed_s = await self._stub.order("level 1.9")
        delays: dict[str, float] = {}
        while len(delays) < len(self._keys) and _now_s() - changed_s < limit_s:
            await asyncio.sleep(_POLL_S)
            for key, delay_s in reactions_s(self.log.update(), self._keys, changed_s).items():
                delays.setdefault(key, delay_s)
        await self._stub.order("level 1.0")
        delay: Spread | None = spread(delays.values())
        return Reaction(delay, len(self._keys) - len(delays), limit_s)

    async def _rest(self) -> int:
        """The status writes in a time without changes, which begins when every HPA has seen the last one."""
        changed_s = await self._stub.order("rest")
        await self._settle(changed_s)
        start_s = _now_s()
        await self._work(self._schedule.rest_s)
        end_s = _now_s()
        self.log.update()
        await self._stub.order("move")
        return sum(start_s <= at_s <= end_s for at_s in self._written_s(self.log.requests))

    async def _settle(self, changed_s: float) -> None:
        """Waits until no status has been written for a period, in which every HPA would have been synced."""
        last_s = changed_s
        while _now_s() < min(last_s + self._period_s, changed_s + self._schedule.settle_max_s):
            await asyncio.sleep(_POLL_S)
            last_s = max([last_s, *self._written_s(self.log.update())])

    def _written_s(self, requests: Iterable[Request]) -> list[float]:
        """When these write a status of what is measured, accepted or not."""
        return [one.received_s for one in requests if one.is_status_write and one.key in self._keys]

    def _usages(self) -> dict[str, Usage]:
        return {name: usage(pid) for name, pid in self._pids.items()}


def _cost(before: Usage, after: Usage) -> Cost:
    return Cost(after.cpu_s - before.cpu_s, after.resident_mib, after.resident_max_mib)


def _now_s() -> float:
    return time.time()  # noqa: TID251  # held against the API server's audit log
