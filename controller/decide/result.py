"""A decision and all of its reasons: what every metric asked for, what was decided, and what a sync leaves behind.

`Decision` is read by the reconciler (what to write), by replay (what was decided) and by explanations (why).
"""

import enum
from typing import Literal

import msgspec

from controller.decide.conditions import Change
from controller.decide.events import Event
from controller.decide.history import History
from controller.decide.spec import Tolerance
from controller.decide.status import Condition, MetricStatus, Status
from controller.decide.working import Grouping, Limit, PodsWorking, Stabilization, TotalWorking

Action = Literal["scale_up", "scale_down", "none"]
Cause = Literal["spec", "internal", "none"]


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
