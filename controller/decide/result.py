"""A decision and all of its reasons: what every rule saw, computed and concluded.

`Decision` is read by the reconciler (what to write), by replay (what was decided) and by explanations (why).
"""

import enum
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from controller.decide.conditions import Change
from controller.decide.events import Event
from controller.decide.history import History, Recommendation
from controller.decide.spec import Policy, Tolerance
from controller.decide.status import Condition, MetricStatus, Status

Action = Literal["scale_up", "scale_down", "none"]
Cause = Literal["spec", "internal", "none"]

# --- pods (§8) -----------------------------------------------------------------------------------


class PodGroup(enum.Enum):
    """How a pod counts for a metric."""

    READY = "ready"
    UNREADY = "unready"
    MISSING = "missing"
    IGNORED = "ignored"


class Verdict(enum.Enum):
    """Why a pod is in its group, in the order of the tests (§8.1, §8.2)."""

    DELETED = "it is being deleted"
    FAILED = "it has failed"
    PENDING = "it is pending"
    NO_SAMPLE = "there is no metric for it"
    NO_READY_CONDITION = "it has no Ready condition"
    NOT_STARTED = "it has no start time"
    INITIALIZING_UNREADY = "it is not ready within its CPU initialization period"
    SAMPLE_TOO_EARLY = "its metric covers time before its last readiness change, within its CPU initialization period"
    NEVER_READY = "it has not been ready since its initial readiness delay"
    READY = "it counts"


GROUPS: Final[dict[Verdict, PodGroup]] = {
    Verdict.DELETED: PodGroup.IGNORED,
    Verdict.FAILED: PodGroup.IGNORED,
    Verdict.PENDING: PodGroup.UNREADY,
    Verdict.NO_SAMPLE: PodGroup.MISSING,
    Verdict.NO_READY_CONDITION: PodGroup.UNREADY,
    Verdict.NOT_STARTED: PodGroup.UNREADY,
    Verdict.INITIALIZING_UNREADY: PodGroup.UNREADY,
    Verdict.SAMPLE_TOO_EARLY: PodGroup.UNREADY,
    Verdict.NEVER_READY: PodGroup.UNREADY,
    Verdict.READY: PodGroup.READY,
}


class Grouping(msgspec.Struct, frozen=True, gc=False):
    """Every pod's verdict, and the names that the arithmetic treats apart."""

    verdicts: Mapping[str, Verdict]
    ready: int
    unready: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


# --- metrics (§6, §7) ----------------------------------------------------------------------------


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Usage against target, once computed.

    `ratio` is usage over target; `counted` says how many samples entered. `requested_milli` and `utilization` (percent,
    truncated) are None unless the target is a utilization.
    """

    total_milli: int
    counted: int
    average_milli: int
    ratio: float
    requested_milli: int | None = None
    utilization: int | None = None


class Rule(enum.Enum):
    """Which rule of §7 gave the proposal."""

    WITHIN_TOLERANCE = "the ratio is within tolerance"
    RATIO_TIMES_READY = "ratio times ready pods, rounded up"
    FILLED_WITHIN_TOLERANCE = "with missing and unready pods filled in, the ratio is within tolerance"
    FILLED_FLIPPED = "with missing and unready pods filled in, the ratio points the other way"
    FILLED_AGAINST_DIRECTION = "with missing and unready pods filled in, the count would move against the ratio"
    FILLED_RATIO_TIMES_SAMPLES = "ratio with missing and unready pods filled in, times samples, rounded up"
    RATIO_FROM_ZERO = "from zero replicas: the ratio, rounded up"
    USAGE_PER_REPLICA = "usage over the target per replica, rounded up"


class PodsWorking(msgspec.Struct, frozen=True, gc=False):
    """The arithmetic of a metric that every pod has (§7.1, §7.2).

    `filled_milli` holds what missing and unready pods were assumed to use, `refilled` the usage with them; it is None
    when nothing had to be filled. `samples` is the number of samples that the last rule multiplied with.
    """

    grouping: Grouping
    usage: Usage
    rule: Rule
    filled_milli: Mapping[str, int] = {}
    refilled: Usage | None = None
    samples: int = 0


class TotalWorking(msgspec.Struct, frozen=True, gc=False):
    """The arithmetic of one number for the whole target (§7.3, §7.4).

    `pods_ready` is the count that the ratio was multiplied with, None where pods are not consulted; `replicas` the
    count that the target per replica was compared with (S), None for Value targets.
    """

    usage_milli: int
    target_milli: int
    ratio: float
    rule: Rule
    pods_ready: int | None = None
    replicas: int | None = None


class Proposal(msgspec.Struct, frozen=True, gc=False):
    """What one metric asks for: replicas, the name it is reported under, its status entry and the working."""

    replicas: int
    name: str
    status: MetricStatus
    working: PodsWorking | TotalWorking


class MetricFailure(msgspec.Struct, frozen=True, gc=False):
    """A metric that gave no proposal.

    `reason` is the event's and condition's, `error` the inner error they carry, `wrapped` the outer one that the
    combined error carries (§6.2). `cause` is `spec` for an unknown type (§17.4). `grouping` is there when pods had
    been grouped.
    """

    reason: str
    error: str
    wrapped: str
    cause: Cause = "internal"
    grouping: Grouping | None = None


class SelectorProblem(msgspec.Struct, frozen=True, gc=False):
    """Why no metric was evaluated (§5)."""

    error: str
    change: Change
    event: Event


class Evaluation(msgspec.Struct, frozen=True, gc=False):
    """All metrics together (§6.1).

    `results` is in the order of the spec. `replicas` is the best proposal (M), None for "cannot decide" (the original's
    -1); `name` the reported metric's. `error` combines all failures, None without any.
    """

    results: tuple[Proposal | MetricFailure, ...]
    tolerance: Tolerance
    replicas: int | None
    name: str
    error: str | None
    change: Change


# --- from proposal to count (§10, §11) -------------------------------------------------------------


class Stabilization(msgspec.Struct, frozen=True, gc=False):
    """What past recommendations make of the desired count (§10.1, §11.2).

    `highest` and `lowest` are the recommendations inside the windows that bind (None: only the new one counts);
    `lowest` is used with behavior only. Windows are in nanoseconds.
    """

    desired: int
    stabilized: int
    change: Change
    down_window_ns: int
    up_window_ns: int | None = None
    highest: Recommendation | None = None
    lowest: Recommendation | None = None


class PolicyWorking(msgspec.Struct, frozen=True, gc=False):
    """One policy's bound: the replicas at the start of its period, and what it allows now (§11.5)."""

    policy: Policy
    period_start_replicas: int
    bound: int


class Limit(msgspec.Struct, frozen=True, gc=False):
    """What rate limits, minimum and maximum make of the stabilized count (§10.3, §11.4).

    `rate_limit` is the bound of the policies or of the built-in factor, None where none was consulted; `policies` their
    working.
    """

    stabilized: int
    limited: int
    reason: str
    rate_limit: int | None = None
    policies: tuple[PolicyWorking, ...] = ()


# --- the decision --------------------------------------------------------------------------------


class Path(enum.Enum):
    """Which branch of §4 a sync took."""

    SCALE_UNREADABLE = "the scale of the target cannot be read"
    PAUSED = "zero replicas, taken for a pause"
    ABOVE_MAX = "more replicas than the maximum"
    BELOW_MIN = "fewer replicas than the minimum"
    SELECTOR_REFUSED = "the selector of the target cannot be used"
    UNDECIDED = "failing metrics forbid a decision"
    METRICS = "metrics decide"


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What a sync decided, before anything is written, with all of its reasons.

    Attributes:
        path: the branch taken.
        replicas: the scale's spec replicas (R); None when the scale could not be read.
        desired: the replicas to be; equal to `replicas` when nothing changes, None when no count was decided.
        rescale_reason: the reason text of a rescale's event; it may be empty or stale (§4.11).
        selector_problem, evaluation, stabilization, limit: the working, as far as the path went.
        lifted_to_min: the count was lifted from zero to a raised minimum (§4.8 step 7).
        metrics: the status entries of this sync.
        conditions: the conditions so far; a rescale changes them once more.
        events: in order, those before the status write; `events_after_status` follow it.
        error: what the sync ends with although something may have been decided, None if nothing failed; `cause`
            labels it.
        history: the history with this sync's recommendation.
    """

    path: Path
    replicas: int | None
    desired: int | None
    conditions: tuple[Condition, ...]
    history: History
    events: tuple[Event, ...] = ()
    events_after_status: tuple[Event, ...] = ()
    metrics: tuple[MetricStatus, ...] = ()
    rescale_reason: str = ""
    selector_problem: SelectorProblem | None = None
    evaluation: Evaluation | None = None
    stabilization: Stabilization | None = None
    limit: Limit | None = None
    lifted_to_min: bool = False
    error: str | None = None
    cause: Cause = "none"

    @property
    def rescales(self) -> bool:
        """Whether the scale is to be written."""
        return self.desired is not None and self.desired != self.replicas


class Written(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The scale was written."""


class WriteFailed(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The scale could not be written; the message is the last attempt's error."""

    message: str


Write = Written | WriteFailed


class Conclusion(msgspec.Struct, frozen=True, gc=False):
    """What a sync leaves behind once its write is known (§13, §14).

    Attributes:
        status: what is stored then; `status_changed` says whether it has to be written for that (§14.4). If not it is
            the one from before, with quantities in the form that they have there.
        events: all events before the status write, in order; `events_after_status` follow it.
        history: what the next sync starts from.
        scaled_to: replicas written to the scale, or None.
        replicas_desired: the value of the gauge `desired_replicas`, None where it is left alone (§17.5).
        action, cause: the labels of the reconcile's metrics (§17.3).
        error: what the sync ends with, or None.
        status_failure_counts: whether failing to write the status becomes the sync's error (§4.10) or is only logged.
    """

    status: Status
    status_changed: bool
    history: History
    events: tuple[Event, ...]
    events_after_status: tuple[Event, ...]
    scaled_to: int | None
    replicas_desired: int | None
    action: Action
    cause: Cause
    error: str | None
    status_failure_counts: bool


def direction(replicas: int, compared_with: int) -> Action:
    """Which way a count goes (§17.2)."""
    if replicas == compared_with:
        return "none"
    return "scale_up" if replicas > compared_with else "scale_down"
