"""A reconciler on a stage of in-memory ports: one or many HPAs, their targets, pods and metrics."""

import asyncio
from collections.abc import Callable

import msgspec

from controller.cache import Cache
from controller.company import Company
from controller.decide import selectors
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import Reading, Scale
from controller.decide.spec import Settings
from controller.decide.status import Condition, Status
from controller.delay_queue import Due
from controller.gather import Gatherer
from controller.liveness import Liveness
from controller.modes import Modes, Orders
from controller.pod_cache import PodCache
from controller.ports import ResourceQuestion, Sync, SyncObserver, WatchedAutoscaler
from controller.precedence import Turns
from controller.reconcile import Reconciler
from controller.rivals import Rivals
from controller.schedule import Schedule
from controller.shadow import Shadow
from tests.spine.objects import CPU, KEY, NAMESPACE, autoscaler, pods_of, scale, usage
from tests.spine.tasks import now_s, turn_of
from tests.spine.world import (
    Election,
    Journal,
    LoopClock,
    MemoryMetrics,
    MemoryScales,
    MemorySink,
    MemoryStatuses,
    Numbers,
)

PERIOD_S = 15.0
AT_ONCE = Settings(downscale_stabilization_ns=0)
"""Counts may go down at the first sync, so that a test need not wait for a window."""


class Stage:
    """Everything a sync touches; a status that is written comes back by the watch at once."""

    def __init__(
        self,
        settings: Settings = AT_ONCE,
        *,
        concurrency: int = 5,
        random: Callable[[], float] = lambda: 0.5,
        observers: tuple[SyncObserver, ...] = (),
        shadow: bool = False,
    ) -> None:
        self.election = Election()
        self.journal = Journal()
        self.scales = MemoryScales(self.election, self.journal)
        self.statuses = MemoryStatuses(self.election, self.journal)
        self.sink = MemorySink(self.journal)
        self.metrics = MemoryMetrics()
        self.numbers = Numbers()
        self.pods = PodCache()
        self.rivals = Rivals()
        self.ground, other_ground = Liveness(), Liveness()
        self.ground.listed()
        other_ground.listed()
        self.autoscalers: Cache[WatchedAutoscaler] = Cache(lambda watched: watched.key)
        self.schedule = Schedule(PERIOD_S, self.autoscalers.__len__)
        self.turns = Turns(concurrency)
        self.yielded: list[bool] = []
        """Of each turn that a sync has asked for, whether it let others go first."""
        self.statuses.observers.append(self._stored)
        self.orders = Orders(Modes())
        silence_ns = round(4 * PERIOD_S) * NANOSECONDS
        self.company = Company(LoopClock(), self.sink, self.orders, self.election, shadow=shadow, silence_ns=silence_ns)
        self.shadow = Shadow(settings, period_s=PERIOD_S)
        self.company.observe(self.shadow.wrote)
        self.autoscalers.observe(self.shadow)
        self.autoscalers.observe(self.company)
        self.seen: list[Sync] = []
        self.reconciler = Reconciler(
            autoscalers=self.autoscalers,
            alive=lambda _: self.ground.alive and other_ground.alive,
            scales=self.scales,
            gatherer=Gatherer(self.pods, self.metrics, self.rivals),
            statuses=self.statuses,
            sink=self.sink,
            leadership=self.election,
            mandate=self.company,
            clock=LoopClock(),
            instruments=self.numbers,
            random=random,
            settings=settings,
            schedule=self.schedule,
            observers=(self.shadow, self.seen.append, *observers),
        )

    def add(self, watched: WatchedAutoscaler, scale: Scale | None = None) -> None:
        """Let an HPA be seen, and its target with as many ready pods."""
        self.autoscalers.put(watched)
        self.rivals.register(watched.namespace, watched.name)
        if scale is not None:
            name = watched.spec.target.name
            self.scales.put(watched.namespace, name, scale)
            for pod in pods_of(name, scale.replicas):
                self.pods.put(msgspec.structs.replace(pod, namespace=watched.namespace))

    def uses(self, *milli: int, name: str = "web", namespace: str = NAMESPACE) -> None:
        """What the pods of a Deployment use from now on."""
        self.answers(usage(*milli, name=name), name=name, namespace=namespace)

    def answers(self, reading: Reading, *, name: str = "web", namespace: str = NAMESPACE) -> None:
        """What metrics.k8s.io answers about the pods of a Deployment."""
        self.metrics.answers[ResourceQuestion(namespace, selectors.parse(f"app={name}"))] = reading

    async def sync(self, key: str = KEY) -> float | None:
        """One sync of a key that has just become due."""
        due = Due(key, now_s())
        return await self.reconciler.reconcile(due, turn_of(self.turns, due.due_s, self.yielded))

    async def syncs(self, count: int, key: str = KEY) -> None:
        """Further syncs, one each period."""
        for _ in range(count):
            await asyncio.sleep(PERIOD_S)
            await self.sync(key)

    def taken_lines(self) -> list[str]:
        """What the world has accepted since this was last asked."""
        lines, self.journal.lines = self.journal.lines, []
        return lines

    def status(self, key: str = KEY) -> Status:
        """The status that the API server has."""
        watched = self.autoscalers.get(key)
        assert watched is not None
        return watched.status

    def condition(self, kind: str, key: str = KEY) -> tuple[str, str]:
        """Status and reason of one condition."""
        found: Condition | None = self.status(key).condition(kind)
        assert found is not None, f"there is no condition {kind}"
        return found.status, found.reason

    def condition_types(self, key: str = KEY) -> set[str]:
        return {condition.type for condition in self.status(key).conditions}

    def history(self, key: str = KEY) -> History | None:
        """What is remembered of an HPA, None if nothing is."""
        memory = self.reconciler._memories.get(key)
        return None if memory is None else memory.history

    def recommended(self, key: str = KEY) -> list[int]:
        """The remembered recommendations, the one that the first sync begins with included (§4.5)."""
        history = self.history(key)
        return [entry.replicas for entry in (history.recommendations if history else None) or ()]

    def _stored(self, written: WatchedAutoscaler, status: Status) -> None:
        cached = self.autoscalers.get(written.key)
        if cached is not None and cached.uid == written.uid:
            version = str(int(cached.version) + 1)
            self.autoscalers.put(msgspec.structs.replace(cached, status=status, version=version))


async def syncs_of(count: int) -> list[Sync]:
    """Real syncs of one HPA, with rescales among them, as the reconciler tells them."""
    stage = Stage()
    stage.add(autoscaler(CPU), scale(2))
    for number in range(count):
        stage.uses(100 + 40 * number, 100 + 40 * number)
        await stage.syncs(1)
    assert len(stage.seen) == count
    return stage.seen
