"""Full decisions with all reasons: ten pods, two metrics, behavior; decide and conclude."""

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import (
    Container,
    ContainerUsage,
    Observation,
    Pod,
    PodRequests,
    PodsReading,
    PodUsage,
    Readiness,
    ResourceReading,
    Sample,
    Scale,
)
from controller.decide.result import Written
from controller.decide.spec import (
    DEFAULT_RULES_DOWN,
    DEFAULT_RULES_UP,
    Autoscaler,
    Behavior,
    MetricIdentifier,
    PodsMetric,
    Reference,
    ResourceMetric,
    Spec,
    Target,
)
from controller.decide.status import Status
from controller.ports import Sync, WatchedAutoscaler
from tests.bench.calibration import json_loads_us, per_call_us
from tests.bench.measured import Figure

DECISIONS_PER_SECOND_GOAL = 15_000
JSON_US_OF_THE_GOAL = 5.0
PERIOD_NS = 15 * NANOSECONDS
START_NS = 1_800_000_000 * NANOSECONDS

_SPEC = Spec(
    Reference("Deployment", "web", "apps/v1"),
    replicas_max=50,
    replicas_min=1,
    metrics=(
        ResourceMetric("cpu", Target("Utilization", average_utilization=50)),
        PodsMetric(MetricIdentifier("requests_per_second"), Target("AverageValue", average_value_milli=1_000)),
    ),
    behavior=Behavior(DEFAULT_RULES_UP, DEFAULT_RULES_DOWN),
)


class Syncs:
    """An HPA that is synced again and again, its history and status going round; the load moves a little each time."""

    def __init__(self) -> None:
        requests = PodRequests((Container("app", {"cpu": 10**8, "memory": 10**17}), Container("proxy", {"cpu": 10**7})))
        since = Readiness("True", START_NS - 900 * NANOSECONDS)
        started_ns = START_NS - 1_000 * NANOSECONDS
        self._pods = tuple(
            Pod(f"web-{number}", {"app": "web"}, "Running", requests, started_ns=started_ns, ready=since)
            for number in range(10)
        )
        self._autoscaler = Autoscaler("shop", "web", _SPEC)
        self._watched = WatchedAutoscaler("shop", "web", "uid", "1", _SPEC, Status())
        self._history, self._status = History(), Status()
        self._number = 0

    def sync(self) -> Sync:
        """One more, with everything that belongs to it."""
        self._number += 1
        instant_ns = START_NS + self._number * PERIOD_NS
        now = Now(instant_ns, instant_ns)
        load_milli = 45 + self._number % 20
        usage = tuple(
            PodUsage(
                pod.name,
                instant_ns - 10 * NANOSECONDS,
                30 * NANOSECONDS,
                (ContainerUsage("app", {"cpu": load_milli, "memory": 10**9}), ContainerUsage("proxy", {"cpu": 5})),
            )
            for pod in self._pods
        )
        samples = {pod.name: Sample(950 + self._number % 100, instant_ns, 60 * NANOSECONDS) for pod in self._pods}
        observation = Observation(
            Scale(10, 10, "app=web"),
            self._status,
            self._pods,
            (ResourceReading(usage), PodsReading(samples)),
            ("shop/web",),
        )
        history = self._history
        decision = decide(self._autoscaler, observation, history, now)
        write = Written() if decision.rescales else None
        conclusion = conclude(self._autoscaler, self._status, decision, write, now)
        self._history, self._status = conclusion.history, conclusion.status
        return Sync(self._watched, observation, history, now, decision, write, conclusion, now)


def figures() -> list[Figure]:
    """Decisions per second and core, and how many json.loads one is worth."""
    sync = Syncs().sync
    decision_us, json_us = per_call_us(sync, 1_000), json_loads_us()
    goal_us = 1e6 / DECISIONS_PER_SECOND_GOAL
    return [
        Figure("json.loads of 1 kB", json_us, "µs"),
        Figure("decisions with reasons, a second and core", 1e6 / decision_us, ""),
        Figure(
            "a decision with reasons",
            decision_us,
            "µs",
            "times json.loads of 1 kB",
            decision_us / json_us,
            goal_us / JSON_US_OF_THE_GOAL,
        ),
    ]
