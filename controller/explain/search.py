"""What would have to change for another outcome: found by deciding again, so that nothing is said that is not so."""

import math
from typing import Final

from controller.decide.instants import NANOSECONDS
from controller.decide.result import Decision, MetricFailure, Path, Proposal
from controller.decide.spec import Tolerance, tolerance_of
from controller.decide.stabilize import windows_ns
from controller.decide.working import PodsWorking, Rule
from controller.explain.alternatives import Alternative, Alternatives, Spent, Trials, holds
from controller.explain.changes import (
    Change,
    MaxReplicasIs,
    MetricsAre,
    MinReplicasIs,
    Moment,
    PolicySelected,
    TargetHas,
    TimePasses,
    ToleranceIs,
    changed,
    later,
    remembered,
)
from controller.explain.levels import Level, level_of, named, told
from controller.explain.limits import disabled
from controller.explain.wording import clock_from, duration, metric_name, replicas

INSTANTS_MAX: Final = 200
STEPS_MAX: Final = 3
_NEXT_NS: Final = 1
"""The next sync is later than this one, however little."""

_WITHIN: Final = (Rule.WITHIN_TOLERANCE, Rule.FILLED_WITHIN_TOLERANCE)


def alternatives(moment: Moment, decision: Decision, *, written: bool = True) -> Alternatives:
    """What would lead to another outcome, the nearest reasons first; each one has been decided.

    `written`: whether a rescale that was decided was also made, so that the next sync starts from it.
    """
    search = _Search(moment, decision, written=written)
    try:
        for look in (search.in_time, search.of_metrics, search.of_bounds, search.of_tolerance, search.of_failures):
            look()
    except Spent:
        search.cut = True
    return Alternatives(tuple(one for one in search.found if holds(moment, one)), complete=not search.cut)


class _Search:
    """Tries changes to one moment."""

    def __init__(self, moment: Moment, decision: Decision, *, written: bool) -> None:
        self._moment, self._decision = moment, decision
        self._written, self._rescaled = written, decision.rescales and written
        self._trials = Trials(len(moment.observation.pods))
        self.found: list[Alternative] = []
        self.cut = False

    def in_time(self) -> None:
        """When windows, policies or the pods' start-up let go, step after step, all else being the same."""
        decision = self._decision
        if decision.path is not Path.METRICS or decision.desired is None or decision.stabilization is None:
            return
        # After a rescale the next sync starts from its result.
        before: tuple[Change, ...] = (TargetHas(decision.desired),) if self._rescaled else ()
        unchanged = decision.desired
        for number in range(STEPS_MAX):
            moment = changed(self._moment, before)
            step = self._next_step(moment, unchanged, at_once=bool(before))
            if step is None:
                return
            at_ns, nearly_ns, desired = step
            when = f"from {clock_from(moment.now.wall_ns + at_ns)} on" if at_ns else "at the next sync"
            says = f"{'then ' if number else ''}{_to(unchanged, desired)} {when}, if nothing else changes"
            unless = (*before, TimePasses(nearly_ns)) if at_ns else ()
            after = (*before, TimePasses(at_ns))
            self.found.append(Alternative(says, after, desired, unless, unchanged if at_ns else None))
            if self._rescaled or desired == decision.stabilization.desired or not self._written:
                return
            before, unchanged = (*after, TargetHas(desired)), desired

    def _next_step(self, moment: Moment, unchanged: int, *, at_once: bool) -> tuple[int, int, int] | None:
        """When the count changes next, an instant at which it has not yet, and the count; None if it stays."""
        moment, last_ns = remembered(moment), 0
        instants = self._instants(moment, at_once=at_once)
        for at_ns in instants[:INSTANTS_MAX]:
            desired = self._trials.desired(later(moment, at_ns))
            if desired is not None and desired != unchanged:
                # Between two instants nothing can change; the nanosecond before this one belongs to the one before.
                return at_ns, max(at_ns - 1, last_ns), desired
            last_ns = at_ns
        self.cut = self.cut or len(instants) > INSTANTS_MAX
        return None

    def of_metrics(self) -> None:
        """Where each metric's value would make it more or fewer replicas."""
        decision = self._decision
        if decision.path is not Path.METRICS or decision.desired is None:
            return
        # After a rescale it is told what this sync would have decided; else what the next one will, which knows of it.
        base: tuple[Change, ...] = () if decision.rescales else (TimePasses(_NEXT_NS),)
        for index in range(len(self._moment.autoscaler.metrics)):
            level = level_of(self._moment, decision, index)
            if level is not None and level.level >= 0:
                self._beyond(level, decision.desired, base, up=True)
                self._beyond(level, decision.desired, base, up=False)

    def of_bounds(self) -> None:
        """Other bounds, or a policy that is not switched off."""
        decision, moment = self._decision, self._moment
        minimum, maximum = moment.autoscaler.replicas_min, moment.autoscaler.spec.replicas_max
        count = decision.replicas or 0
        if decision.path is Path.ABOVE_MAX:
            self._unmeasured(MaxReplicasIs(count), f"metrics decide with maxReplicas {count} (it is {maximum})")
        elif decision.path is Path.BELOW_MIN:
            self._unmeasured(MinReplicasIs(count), f"metrics decide with minReplicas {count} (it is {minimum})")
        elif decision.path is Path.PAUSED:
            least = max(minimum, 1)
            self._unmeasured(TargetHas(least), f"metrics decide once somebody scales the target to {replicas(least)}")
        limit = decision.limit
        if limit is None:
            return
        if limit.reason == "TooManyReplicas":
            self._try(MaxReplicasIs(limit.stabilized), f"with maxReplicas {limit.stabilized} (it is {maximum})")
        elif limit.reason == "TooFewReplicas" and limit.stabilized > 0:
            self._try(MinReplicasIs(limit.stabilized), f"with minReplicas {limit.stabilized} (it is {minimum})")
        elif (direction := disabled(moment, limit)) is not None:
            self._try(PolicySelected(direction), f"with selectPolicy Max for {direction} (it is Disabled)")

    def of_tolerance(self) -> None:
        """A tolerance that would let a ratio through."""
        decision = self._decision
        if decision.evaluation is None or decision.desired is None:
            return
        autoscaler = self._moment.autoscaler
        present = tolerance_of(autoscaler)
        of_its_own = autoscaler.spec.behavior is not None and autoscaler.settings.gates.configurable_tolerance
        for result in decision.evaluation.results:
            if not isinstance(result, Proposal) or result.working.rule not in _WITHIN:
                continue
            working = result.working
            ratio = (working.refilled or working.usage).ratio if isinstance(working, PodsWorking) else working.ratio
            smaller = _tighter(ratio)
            if smaller is None:
                continue
            now = present.up if ratio > 1.0 else present.down
            change = ToleranceIs(smaller)
            if of_its_own:
                change = ToleranceIs(smaller, "scaleUp" if ratio > 1.0 else "scaleDown")
            which = f" for {change.direction}" if change.direction else ""
            if self._try(change, f"with a tolerance of {smaller:g}{which} (it is {now:g})"):
                return

    def of_failures(self) -> None:
        """What the other metrics would decide without those that failed."""
        decision = self._decision
        if decision.path is not Path.UNDECIDED or decision.evaluation is None:
            return
        results = decision.evaluation.results
        good = tuple(index for index, result in enumerate(results) if isinstance(result, Proposal))
        bad = [index for index, result in enumerate(results) if isinstance(result, MetricFailure)]
        if not good:
            return
        names = ", ".join(metric_name(self._moment.autoscaler.metrics[index]) for index in bad)
        change = MetricsAre(good)
        desired = self._trials.desired(changed(self._moment, (change,)))
        if desired is not None:
            self.found.append(Alternative(f"{replicas(desired)} if {names} were not asked for", (change,), desired))

    # --- trying ---

    def _try(self, change: Change, condition: str) -> bool:
        desired = self._trials.desired(changed(self._moment, (change,)))
        if desired is None or desired == self._decision.desired:
            return False
        self.found.append(Alternative(f"{_to(self._decision.desired, desired)} {condition}", (change,), desired))
        return True

    def _unmeasured(self, change: Change, says: str) -> None:
        self.found.append(Alternative(says, (change,), None))

    def _beyond(self, level: Level, desired: int, base: tuple[Change, ...], *, up: bool) -> None:
        """The nearest level that makes it more (or fewer) replicas: at once, or once the window has passed at it."""
        metric, rescales = self._moment.autoscaler.metrics[level.index], self._decision.rescales
        window_ns = self._windows_ns()[0 if up else 1]
        for later_ns in (0,) if rescales else (0, window_ns + 1):
            before = (TimePasses(later_ns),) if later_ns else base
            reached = self._bisected(level, desired, before, up=up)
            if reached is None:
                continue
            threshold, count = reached
            less = threshold - 1 if up else threshold + 1
            edge, name, side = told(level, metric, less), named(level, metric), "above" if up else "below"
            says = f"{_to(desired, count)} once {name} {'passes' if up else 'falls below'} {edge}"
            if rescales:
                says = f"{count} instead of {desired} had {name} been {side} {edge}"
            if later_ns:
                if self._trials.desired(changed(self._moment, before)) != desired:
                    return  # it will be so anyway: `in_time` tells when
                says = f"{_to(desired, count)} once {name} has been {side} {edge} for {duration(window_ns)}"
            after, unless = (*before, level.at(threshold)), (*before, level.at(less))
            self.found.append(Alternative(says, after, count, unless, desired))
            return

    def _bisected(self, level: Level, desired: int, before: tuple[Change, ...], *, up: bool) -> tuple[int, int] | None:
        """The nearest level that makes it more (or fewer) than desired, and the count; None: not even the furthest."""
        most = max(self._moment.autoscaler.spec.replicas_max, desired)
        near, far = level.level, 2 * (max(level.level, level.target) + 1) * (most + 1) if up else 0
        moment = changed(self._moment, before)

        def reached(count: int) -> bool:
            return count > desired if up else count < desired

        count = self._trials.desired(level.applied(moment, far))
        if near == far or count is None or not reached(count):
            return None
        best = far, count
        while abs(far - near) > 1:
            middle = (near + far) // 2
            count = self._trials.desired(level.applied(moment, middle))
            if count is not None and reached(count):
                best, far = (middle, count), middle
            else:
                near = middle
        return best

    def _windows_ns(self) -> tuple[int, int]:
        """The windows for scaling up and down."""
        settings, behavior = self._moment.autoscaler.settings, self._moment.autoscaler.spec.behavior
        return (0, settings.downscale_stabilization_ns) if behavior is None else windows_ns(behavior, settings)

    def _instants(self, moment: Moment, *, at_once: bool) -> list[int]:
        """How much later something may be decided otherwise, in nanoseconds, in order: all windows, periods, starts."""
        settings, behavior = moment.autoscaler.settings, moment.autoscaler.spec.behavior
        now, history = moment.now, moment.history
        # Of recommendations that are alike the last one lets go.
        last = {
            past.replicas: past.at_ns for past in sorted(history.recommendations or (), key=lambda past: past.at_ns)
        }
        policies = () if behavior is None else (*behavior.scale_up.policies, *behavior.scale_down.policies)
        periods = {policy.period_s * NANOSECONDS for policy in policies}
        instants = {at_ns + window - now.monotonic_ns for at_ns in last.values() for window in self._windows_ns()}
        events = {event.at_ns for event in (*history.scale_ups, *history.scale_downs)}
        instants |= {at_ns + period - now.monotonic_ns for at_ns in events for period in periods}
        for pod in moment.observation.pods:
            if pod.started_ns is not None:
                instants.add(pod.started_ns + settings.cpu_initialization_period_ns - now.wall_ns)
        later_ns = {one + edge for one in instants for edge in (0, 1)}
        return ([0] if at_once else []) + sorted(one for one in later_ns if one > 0)


def _tighter(ratio: float) -> float | None:
    """A readable tolerance that the ratio is not within (§1.3), 0 only where it is very close; None: there is none."""
    if not math.isfinite(ratio) or ratio == 1.0:
        return None
    for parts in (100, 1000, 10_000):
        most = int(abs(ratio - 1.0) * parts)
        for candidate in (most / parts, (most - 1) / parts):
            if candidate > 0 and not Tolerance(candidate, candidate).holds(ratio):
                return candidate
    return 0.0


def _to(before: int | None, after: int) -> str:
    """`2 more replicas (5 → 7)`."""
    if before is None:
        return replicas(after)
    change = after - before
    direction = "more" if change > 0 else "fewer"
    noun = "replica" if abs(change) == 1 else "replicas"
    return f"{abs(change)} {direction} {noun} ({before} → {after})"
