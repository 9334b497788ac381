"""What one metric proposes, and what one whole sync comes to, at the moment of `builders.now()`."""

from dataclasses import dataclass
from typing import Final

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.observed import Observation, Pod, Reading
from controller.decide.replicas import propose
from controller.decide.result import Conclusion, Decision, MetricFailure, Proposal, Write, Written
from controller.decide.situation import Situation
from controller.decide.spec import Autoscaler, MetricSpec, Settings, Tolerance
from controller.decide.status import Status
from tests.builders import history, now, pods, scale, settings

UPSTREAM: Final = settings(cpu_initialization_period_s=120, initial_readiness_delay_s=10)
"""The settings of upstream's suites (§25)."""

DEFAULT_TOLERANCE: Final = (0.1, 0.1)
NEVER: Final = history()


def proposed(
    metric: MetricSpec,
    reading: Reading | None,
    *,
    replicas: int = 3,
    status_replicas: int | None = None,
    listed: tuple[Pod, ...] | None = None,
    tolerance: tuple[float, float] = DEFAULT_TOLERANCE,
    settings: Settings = UPSTREAM,
) -> Proposal | MetricFailure:
    """What one metric asks for; `tolerance` is (down, up), and all pods are ready if none are listed."""
    listed = pods(replicas) if listed is None else listed
    seen = scale(replicas, status=status_replicas)
    return propose(metric, reading, Situation(seen, listed, settings, Tolerance(*tolerance), now()))


def proposal(
    metric: MetricSpec,
    reading: Reading | None,
    *,
    replicas: int = 3,
    status_replicas: int | None = None,
    listed: tuple[Pod, ...] | None = None,
    tolerance: tuple[float, float] = DEFAULT_TOLERANCE,
    settings: Settings = UPSTREAM,
) -> Proposal:
    """The same where the metric has to give a proposal."""
    result = proposed(
        metric,
        reading,
        replicas=replicas,
        status_replicas=status_replicas,
        listed=listed,
        tolerance=tolerance,
        settings=settings,
    )
    assert isinstance(result, Proposal), result
    return result


def failure(
    metric: MetricSpec,
    reading: Reading | None,
    *,
    replicas: int = 3,
    listed: tuple[Pod, ...] | None = None,
    settings: Settings = UPSTREAM,
) -> MetricFailure:
    """The same where the metric has to fail."""
    result = proposed(metric, reading, replicas=replicas, listed=listed, settings=settings)
    assert isinstance(result, MetricFailure), result
    return result


@dataclass(frozen=True)
class Sync:
    """A decision and what it came to."""

    decision: Decision
    conclusion: Conclusion

    @property
    def status(self) -> Status:
        return self.conclusion.status

    def reasons(self) -> dict[str, tuple[str, str]]:
        """(status, reason) of every condition by type, in their order."""
        return {entry.type: (entry.status, entry.reason) for entry in self.status.conditions}

    def events(self) -> list[str]:
        """The reasons of all events, in their order."""
        return [event.reason for event in (*self.conclusion.events, *self.conclusion.events_after_status)]


def sync(
    autoscaler: Autoscaler, observation: Observation, past: History = NEVER, *, write: Write | None = None
) -> Sync:
    """One sync from its inputs to what it leaves behind; a scale write succeeds if nothing else is said."""
    decision = decide(autoscaler, observation, past, now())
    answer = (write or Written()) if decision.rescales else None
    return Sync(decision, conclude(autoscaler, observation.status, decision, answer, now()))
