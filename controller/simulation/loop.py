"""Syncs of one HPA one after the other, each on what the one before has made of its target."""

import math
from collections.abc import Callable, Iterator
from typing import Final

import msgspec
from msgspec.structs import replace

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import Observation, PodsReading, Reading, ResourceReading, Scale
from controller.decide.result import Conclusion, Decision, Written
from controller.decide.spec import DEFAULT_TOLERANCE, Autoscaler
from controller.decide.status import Status
from controller.simulation.meter import Meter, Plan
from controller.simulation.workload import SELECTOR, Workload

START_NS: Final = 946_684_800 * NANOSECONDS
"""The wall time at 0 s, 2000-01-01T00:00:00Z."""

TICK_NS: Final = NANOSECONDS
"""How closely is looked at what happens between syncs."""

SHORT_FROM: Final = 1.0 + DEFAULT_TOLERANCE
"""From which load of a ready pod on, in shares of the target, there are too few; the same for every way to decide."""


class Between(msgspec.Struct, gc=False):
    """What the pods carried from one sync to the next, looked at once a second.

    Attributes:
        length_s: how long that was.
        replica_s: how many pods there were, summed over its seconds.
        short_s: for how long a ready pod had more than SHORT_FROM.
        load_s: the load, summed over its seconds.
        lost_s: what of it pods could not carry.
        worst: the largest load of a ready pod, in shares of the target; infinite where none was ready under load.
    """

    length_s: float
    replica_s: float
    short_s: float = 0.0
    load_s: float = 0.0
    lost_s: float = 0.0
    worst: float = 0.0


class Step(msgspec.Struct, frozen=True):
    """A sync, and the time until the next one.

    Attributes:
        t_ns: since the beginning.
        load: in replicas' worth; the largest where metrics have several.
        ready: how many pods are ready.
        decision, conclusion: what was decided, and what it left.
        between: until the next sync, or the end.
    """

    t_ns: int
    load: float
    ready: int
    decision: Decision
    conclusion: Conclusion
    between: Between


class Simulation:
    """One HPA and its target under a plan."""

    def __init__(self, autoscaler: Autoscaler, plan: Plan, replicas: int, uniform: Callable[[str], float]) -> None:
        """`replicas`: how many pods there are, and have been for an hour; `uniform` as for Meter."""
        self._autoscaler = autoscaler
        self._plan = plan
        self._meter = Meter(autoscaler.metrics, plan, START_NS, uniform)
        self._workload = Workload(self._meter.requests(), replicas, plan.start_up_ns)
        self._measured = 0
        self._readings: tuple[Reading, ...] = ()
        self._status = Status(replicas_current=replicas, replicas_desired=replicas)
        self._history = History()

    def steps(self, duration_ns: int, sync_period_ns: int) -> Iterator[Step]:
        """Every sync from 0 s on that is before the end; can be gone through once."""
        for t_ns in range(0, duration_ns, sync_period_ns):
            self._measure_until(t_ns)
            load, ready = self._plan.most(t_ns), self._workload.ready(t_ns)
            decision, conclusion = self._sync(t_ns)
            between = self._between(t_ns, min(t_ns + sync_period_ns, duration_ns))
            yield Step(t_ns, load, ready, decision, conclusion, between)

    def _measure_until(self, t_ns: int) -> None:
        """Metrics are measured in their own time, of the pods since the last sync; only the last one is read."""
        measured = t_ns // self._plan.resolution_ns + 1
        if measured == self._measured:
            return
        for _ in range(measured - self._measured - 1):
            self._meter.skip()
        self._readings = self._meter.measure(self._workload, (measured - 1) * self._plan.resolution_ns)
        self._measured = measured

    def _sync(self, t_ns: int) -> tuple[Decision, Conclusion]:
        now = Now(START_NS + t_ns, t_ns)
        observation = self._observe(t_ns)
        decision = decide(self._autoscaler, observation, self._history, now)
        write = Written() if decision.rescales else None
        conclusion = conclude(self._autoscaler, self._status, decision, write, now)
        self._history, self._status = conclusion.history, conclusion.status
        if conclusion.scaled_to is not None:
            self._workload.scale(conclusion.scaled_to, t_ns)
            alive = self._workload.names()
            self._readings = tuple(_of_pods(reading, alive) for reading in self._readings)
        return decision, conclusion

    def _observe(self, t_ns: int) -> Observation:
        replicas = self._workload.replicas
        scale = Scale(replicas, replicas, SELECTOR)
        pods = self._workload.pods(t_ns, START_NS)
        return Observation(scale, self._status, pods, self._readings, (self._autoscaler.key,) if pods else ())

    def _between(self, begin_ns: int, end_ns: int) -> Between:
        length_s = (end_ns - begin_ns) / NANOSECONDS
        between = Between(length_s, self._workload.replicas * length_s)
        for at_ns in range(begin_ns, end_ns, TICK_NS):
            self._look(at_ns, min(TICK_NS, end_ns - at_ns) / NANOSECONDS, between)
        return between

    def _look(self, at_ns: int, length_s: float, between: Between) -> None:
        """Add a second or less, in which nothing is taken to change."""
        load, ready, capacity = self._plan.most(at_ns), self._workload.ready(at_ns), self._plan.capacity
        if ready:
            share, carried = load / ready, load if capacity is None else min(load, ready * capacity)
        else:
            share, carried = math.inf if load else 0.0, 0.0
        if share > SHORT_FROM:
            between.short_s += length_s
        between.load_s += load * length_s
        between.lost_s += (load - carried) * length_s
        between.worst = max(between.worst, share)


def _of_pods(reading: Reading, alive: frozenset[str]) -> Reading:
    """What an API says of the pods that there are: it does not answer for those that have gone."""
    match reading:
        case ResourceReading(items=items):
            return replace(reading, items=tuple(item for item in items if item.pod in alive))
        case PodsReading(samples=samples):
            return replace(reading, samples={pod: sample for pod, sample in samples.items() if pod in alive})
        case _:
            return reading
