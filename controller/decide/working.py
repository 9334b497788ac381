"""The working of a decision: what its rules saw and computed, from the pods of a metric to the limits."""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from controller.decide.conditions import Change
from controller.decide.history import Recommendation
from controller.decide.spec import Policy

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
