"""The lab: an API server, a cluster in which things move, load, a Prometheus, faults, and what is seen of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import msgspec

from controller.lab import named_faults, snapshot
from controller.lab.behaviour.kubelet import Kubelet
from controller.lab.behaviour.recorder import Recorder
from controller.lab.behaviour.scheduler import make_node
from controller.lab.behaviour.workloads import Workloads
from controller.lab.clock import DEFAULT_START, LabClock
from controller.lab.cluster import Cluster
from controller.lab.durations import parse_duration
from controller.lab.load.equivalent import default_for
from controller.lab.load.models import Outcome
from controller.lab.load.traffic import HPAS, Traffic
from controller.lab.objects.errors import ApiError
from controller.lab.objects.resources import ValidationSettings
from controller.lab.prometheus.collector import Collector
from controller.lab.prometheus.series import SeriesStore
from controller.lab.prometheus.server import LabPrometheus
from controller.lab.scenario import Load, LoadSpec, Placed, Scenario, ScenarioError, Target
from controller.lab.server import LabServer
from controller.lab.snapshot import HpaView, Summary, Tally
from controller.lab.timeline import Steps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType

    from controller.lab.objects.resources import Object

BUILT_IN: Final = Path(__file__).with_name("scenarios") / "shop.yaml"
"""The scenario for when nobody brings one."""

_TICK_S: Final = 0.25
_TICKS_PER_REAL_S: Final = 40
_ROUNDS_MAX: Final = 60
_DOWN_S: Final = 3.0
_FIRST: Final = ("CustomResourceDefinition", "Namespace")


class Happening(msgspec.Struct, frozen=True):
    """Something that happened; `kind` is `event` (a Kubernetes Event), `timeline` or `fault`."""

    at_s: float
    kind: str
    subject: str
    reason: str
    message: str
    warning: bool = False


class Lab:
    """A lab, from `start` to `stop` or within `async with`; `run` makes it move.

    Args:
        scenario: What is in it.
        folder: Where the kubeconfig is written.
        start: Its wall time at the beginning.
        speed: How fast the loop's time runs, so that it does not look at things more often than it can.
        faults: Names of `named_faults`.
        port: Of the API server; 0 for a free one.
        seed: Determines names, start-up times, noise and faults.
        listener: Called with whatever happens.

    Raises:
        ScenarioError: an object of the scenario is not valid; with its place in the file.
        UnknownFaultError: a fault is not known.

    """

    def __init__(
        self,
        scenario: Scenario,
        folder: Path,
        *,
        start: datetime = DEFAULT_START,
        speed: float = 1.0,
        faults: Sequence[str] = (),
        port: int = 0,
        seed: int = 1,
        listener: Callable[[Happening], None] = lambda _: None,
    ) -> None:
        named_faults.check(faults)
        self._loop = asyncio.get_running_loop()
        self._begin_s = self._loop.time()
        self._tick_s = max(_TICK_S, speed / _TICKS_PER_REAL_S)
        self._listener = listener
        settings = scenario.settings
        validation = ValidationSettings(scale_to_zero=settings.scale_to_zero)
        self.cluster = Cluster(LabClock(self._loop.time, start), seed=seed, settings=validation)
        self.server = LabServer(self.cluster, port=port, seed=seed)
        self.prometheus = LabPrometheus(self.cluster.clock, SeriesStore())
        self.kubeconfig = folder / "kubeconfig"
        self.notes: list[str] = []
        recorder = Recorder(self.cluster)
        self._workloads = Workloads(self.cluster, recorder)
        self._kubelet = Kubelet(self.cluster, recorder, seed)
        for number in range(1, settings.nodes + 1):
            self.cluster.create("nodes", make_node(number), with_status=True)
        for placed in sorted(scenario.objects, key=lambda placed: _rank(placed.value)):
            self._create(placed)
        if not self.cluster.view(HPAS):
            self.notes.append("there is no HorizontalPodAutoscaler: nothing scales until you create one")
        loads = (*scenario.loads, *self._missing_loads(scenario.loads))
        collector = Collector(self.cluster, self.prometheus.store)
        self._traffic = Traffic(self.cluster, loads, parse_duration(settings.scrape_interval), collector.scrape)
        self.notes += [
            f"{load.where}: Load {load.name} acts on nothing: {absent}"
            for load in scenario.loads
            if (absent := self._traffic.absence_of(load.namespace, load.spec.target))
        ]
        self._loads = {
            (load.namespace, load.spec.target.kind, load.spec.target.name): (
                _kind(load.spec),
                self._traffic.outcomes[load.namespace, load.name],
            )
            for load in loads
        }
        self.namespace = next((load.namespace for load in loads), "default")
        self._steps = Steps(self.cluster, self._traffic, scenario.timelines, self.namespace, self._stepped)
        self._faults = named_faults.FaultSchedule(faults, self.server, self._restart, self._faulted, seed)
        self._restarting: asyncio.Task[None] | None = None
        self._tallies: dict[str, Tally] = {}
        self._events: Counter[str] = Counter()
        self.cluster.subscribe("events", self._event)

    async def start(self) -> None:
        """Listen, and write the kubeconfig; raises OSError when the port is taken."""
        await self.server.start()
        await self.prometheus.start()
        self.server.write_kubeconfig(self.kubeconfig, self.namespace)

    async def stop(self) -> None:
        """Stop listening."""
        self._faults.stop()
        if self._restarting is not None:
            self._restarting.cancel()
            await asyncio.gather(self._restarting, return_exceptions=True)
        await self.prometheus.stop()
        await self.server.stop()

    async def run(self) -> None:
        """Let time pass in the cluster, until cancelled; raises OSError when the server cannot come back."""
        looked_s = self._loop.time()
        while True:
            self._steps.step()
            for _ in range(_ROUNDS_MAX):
                if not any((self._workloads.step(), self._kubelet.step())):
                    break
            self._traffic.step()
            # After the traffic: a fault that empties the metrics leaves nobody a moment to read fresh ones.
            self._faults.step()
            if self._restarting is not None and self._restarting.done():
                self._restarting.result()
            passed_s, looked_s = self._loop.time() - looked_s, self._loop.time()
            for view in self.look():
                self._tallies.setdefault(view.key, Tally()).note(view, passed_s)
            await asyncio.sleep(self._tick_s)

    @property
    def passed_s(self) -> float:
        """Seconds of the lab's time since the beginning."""
        return self._loop.time() - self._begin_s

    @property
    def active_faults(self) -> tuple[str, ...]:
        """The faults that are on now."""
        return self._faults.active

    def look(self) -> list[HpaView]:
        """All HPAs as an outsider sees them now."""
        return snapshot.look(self.cluster, self._traffic, self._loads)

    def hold(self, namespace: str, load: str, value: float | None) -> None:
        """Keep a load at a value whatever its curve says; None lets the curve go on."""
        self._traffic.hold(namespace, load, value)

    def summary(self) -> Summary:
        """What the run has come to."""
        for (namespace, kind, name), (_, outcome) in self._loads.items():
            for view in self.look():
                if (view.namespace, view.target) == (namespace, f"{kind}/{name}") and outcome.offered:
                    self._tallies.setdefault(view.key, Tally()).unserved_share = outcome.unserved / outcome.offered
        return Summary(self.passed_s, dict(self._tallies), Counter(self._events))

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    # --- the scenario ---

    def _create(self, placed: Placed) -> None:
        obj = placed.value
        group = obj["apiVersion"].rpartition("/")[0]
        endpoint = self.cluster.world.registry.by_kind(group, obj["kind"])
        if endpoint is None:
            self.notes.append(f"{placed.where}: {placed.described} is left out: the lab has no such kind")
            return
        metadata = obj.get("metadata") or {}
        namespace = metadata.get("namespace", "default")
        if obj["kind"] == "Namespace" and self.cluster.glance("namespaces", metadata.get("name", "")) is not None:
            return
        body = {key: value for key, value in obj.items() if key != "status"}
        try:
            if endpoint.resource.namespaced and self.cluster.glance("namespaces", namespace) is None:
                self.cluster.create("namespaces", {"metadata": {"name": namespace}})
            self.cluster.create(endpoint.resource.key, body)
        except ApiError as error:
            raise ScenarioError(f"{placed.where}: {error}") from error

    def _missing_loads(self, loads: Sequence[Load]) -> list[Load]:
        """A load for every target of an HPA that has none; those without a place in the lab need none."""
        known = {(load.namespace, load.spec.target.kind, load.spec.target.name) for load in loads}
        added = []
        for hpa in self.cluster.view(HPAS):
            namespace, reference = hpa["metadata"]["namespace"], hpa["spec"]["scaleTargetRef"]
            key = (namespace, reference["kind"], reference["name"])
            # A scenario with loads of its own leaves targets without load on purpose.
            if loads or key in known:
                continue
            known.add(key)
            target = Target(reference["kind"], reference["name"], reference.get("apiVersion", ""))
            spec = LoadSpec(target, equivalent=default_for(hpa["spec"]))
            added.append(Load(namespace, f"default-{reference['kind'].lower()}-{reference['name']}", spec))
        return added

    # --- what happens ---

    def _restart(self) -> None:
        if self._restarting is None or self._restarting.done():
            self._restarting = asyncio.create_task(self.server.restart(_DOWN_S))

    def _stepped(self, subject: str, message: str) -> None:
        self._listener(Happening(self.passed_s, "timeline", subject, "Timeline", message))

    def _faulted(self, name: str, change: str) -> None:
        text = named_faults.NAMED[name].text if change == "begins" else "all is as before"
        self._listener(Happening(self.passed_s, "fault", name, change, text, warning=change == "begins"))

    def _event(self, change: str, event: Object) -> None:
        if change == "DELETED":
            return
        reason = event.get("reason", "")
        self._events[reason] += 1
        about = event.get("involvedObject") or event.get("regarding") or {}
        subject = f"{about.get('kind', '')}/{about.get('name', '')}"
        message = event.get("message") or event.get("note") or ""
        warning = event.get("type") == "Warning"
        self._listener(Happening(self.passed_s, "event", subject, reason, message, warning))


def _rank(obj: Object) -> int:
    """Kinds that others need come first."""
    return _FIRST.index(obj["kind"]) if obj["kind"] in _FIRST else len(_FIRST)


def _kind(spec: LoadSpec) -> str:
    return "service" if spec.service else "queue" if spec.queue else "equivalent"


__all__ = ["BUILT_IN", "Happening", "Lab", "Outcome", "Summary"]
