"""Syncs of one HPA one after the other, each on what the one before has made of its target."""

import math
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from controller.decide.decision import conclude, decide, path_before_metrics
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import Observation, Reading, Scale
from controller.decide.result import Conclusion, Decision, Written
from controller.decide.spec import DEFAULT_TOLERANCE, Autoscaler
from controller.decide.status import Status
from controller.simulation.meter import Meter, Plan
from controller.simulation.workload import SELECTOR, Workload, instant_ns

START_NS: Final = 946_684_800 * NANOSECONDS
"""The wall time at 0 s, 2000-01-01T00:00:00Z."""

TICK_S: Final = 1.0
"""How closely is looked at what happens between syncs."""


SHORT_FROM: Final = 1.0 + DEFAULT_TOLERANCE
"""From which load of a ready pod on, in shares of the target, there are too few; the same for every way to decide."""


class Between(msgspec.Struct, frozen=True, gc=False):
    """What the pods carried from one sync to the next.

    Attributes:
        length_s: how long that was.
        replica_s: how many pods there were, summed over its seconds.
        short_s: for how long a ready pod had more than SHORT_FROM.
        load_s: the load, summed over its seconds.
        lost_s: what of it pods could not carry.
        worst: the largest load of a ready pod, in shares of the target; infinite where none was ready.
    """

    length_s: float
    replica_s: float
    short_s: float
    load_s: float
    lost_s: float
    worst: float


class Step(msgspec.Struct, frozen=True):
    """A sync, and the time until the next one.

    Attributes:
        t_s: since the beginning.
        load: in replicas' worth; the largest where metrics have several.
        ready: how many pods are ready.
        previous: the status before it.
        decision, conclusion: what was decided, and what it left.
        between: until the next sync, or the end.
    """

    t_s: float
    load: float
    ready: int
    previous: Status
    decision: Decision
    conclusion: Conclusion
    between: Between


class Simulation:
    """One HPA and its target under a plan."""

    def __init__(self, autoscaler: Autoscaler, plan: Plan, replicas: int, uniform: Callable[[], float]) -> None:
        """`replicas`: how many pods there are, and have been for an hour; `uniform`: random numbers from 0 to 1."""
        self._autoscaler = autoscaler
        self._plan = plan
        self._meter = Meter(autoscaler.metrics, plan, START_NS, uniform)
        self._workload = Workload(self._meter.requests(), replicas, plan.start_up_s)
        self._measurements = 0
        self._readings: tuple[Reading, ...] = ()
        self._status = Status(replicas_current=replicas, replicas_desired=replicas)
        self._history = History()

    def steps(self, duration_s: float, sync_period_s: float) -> Iterator[Step]:
        """Every sync from 0 s on that is before the end; can be gone through once."""
        for number in range(math.ceil(duration_s / sync_period_s)):
            t_s = number * sync_period_s
            self._measure_until(t_s)
            load, ready, previous = self._plan.most(t_s), self._workload.ready(t_s), self._status
            decision, conclusion = self._sync(t_s)
            until_s = min(t_s + sync_period_s, duration_s)
            yield Step(t_s, load, ready, previous, decision, conclusion, self._between(t_s, until_s))

    def _measure_until(self, t_s: float) -> None:
        """Metrics are measured in their own time; the pods are those since the last sync."""
        while (at_s := self._measurements * self._plan.resolution_s) <= t_s:
            self._readings = self._meter.measure(self._workload, at_s)
            self._measurements += 1

    def _sync(self, t_s: float) -> tuple[Decision, Conclusion]:
        now = Now(instant_ns(START_NS, t_s), instant_ns(0, t_s))
        observation = self._observe(t_s)
        decision = decide(self._autoscaler, observation, self._history, now)
        write = Written() if decision.rescales else None
        conclusion = conclude(self._autoscaler, self._status, decision, write, now)
        self._history = conclusion.history
        if conclusion.status_changed:
            self._status = conclusion.status
        if conclusion.scaled_to is not None:
            self._workload.scale(conclusion.scaled_to, t_s)
        return decision, conclusion

    def _observe(self, t_s: float) -> Observation:
        replicas = self._workload.replicas
        scale = Scale(replicas, replicas, SELECTOR)
        if path_before_metrics(self._autoscaler, scale, self._status) is not None:
            return Observation(scale, self._status)
        pods = self._workload.pods(t_s, START_NS)
        return Observation(scale, self._status, pods, self._readings, (self._autoscaler.key,) if pods else ())

    def _between(self, begin_s: float, end_s: float) -> Between:
        """Looked at once a second, and at the beginning."""
        found = [self._moment(at_s, min(TICK_S, end_s - at_s)) for at_s in _ticks(begin_s, end_s)]
        length_s = end_s - begin_s
        return Between(
            length_s,
            self._workload.replicas * length_s,
            sum(one.short_s for one in found),
            sum(one.load_s for one in found),
            sum(one.lost_s for one in found),
            max(one.worst for one in found),
        )

    def _moment(self, at_s: float, length_s: float) -> Between:
        """A second or less, in which nothing changes."""
        load, ready = self._plan.most(at_s), self._workload.ready(at_s)
        capacity = self._plan.capacity
        carried = load if ready and capacity is None else min(load, ready * (capacity or 0.0))
        share = load / ready if ready else math.inf if load else 0.0
        enough = share <= SHORT_FROM
        return Between(
            length_s,
            self._workload.replicas * length_s,
            0.0 if enough else length_s,
            load * length_s,
            (load - carried) * length_s,
            share,
        )


def _ticks(begin_s: float, end_s: float) -> Iterator[float]:
    for number in range(math.ceil((end_s - begin_s) / TICK_S)):
        yield begin_s + number * TICK_S
