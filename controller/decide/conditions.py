"""Every condition the controller sets: type, status, reason and message together (§15).

The texts are our own. Each differs exactly when the facts that §15.3 names for its reason differ, because a changed
message is a changed status and gets written.
"""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Final, Literal

import msgspec

from controller.decide.status import Condition

ABLE_TO_SCALE: Final = "AbleToScale"
SCALING_ACTIVE: Final = "ScalingActive"
SCALING_LIMITED: Final = "ScalingLimited"
SCALED_TO_ZERO: Final = "ScaledToZero"


class Change(msgspec.Struct, frozen=True, gc=False):
    """A condition to be set. `status` None takes a condition of that type out of the list (§12.3)."""

    type: str
    status: Literal["True", "False"] | None
    reason: str = ""
    message: str = ""


def applied(conditions: tuple[Condition, ...], changes: Iterable[Change], wall_ns: int) -> tuple[Condition, ...]:
    """The conditions after the changes, in order of first insertion; times move only with the status (§15.1)."""
    result = list(conditions)
    for change in changes:
        index = _index_of(change.type, result)
        if change.status is None:
            if index is not None:
                del result[index]
            continue
        old = result[index] if index is not None else None
        since_ns = old.changed_ns if old is not None and old.status == change.status else wall_ns
        condition = Condition(change.type, change.status, change.reason, change.message, since_ns)
        if index is None:
            result.append(condition)
        else:
            result[index] = condition
    return tuple(result)


def _index_of(condition_type: str, conditions: list[Condition]) -> int | None:
    for index, condition in enumerate(conditions):
        if condition.type == condition_type:
            return index
    return None


SCALE_READ: Final = Change(ABLE_TO_SCALE, "True", "SucceededGetScale", "the current scale of the target was read")
READY_FOR_NEW_SCALE: Final = Change(
    ABLE_TO_SCALE, "True", "ReadyForNewScale", "recommended size matches current size or may be applied at once"
)
SCALE_UP_STABILIZED: Final = Change(
    ABLE_TO_SCALE,
    "True",
    "ScaleUpStabilized",
    "a lower recommendation within the scale-up window holds the size",
)
SCALE_DOWN_STABILIZED: Final = Change(
    ABLE_TO_SCALE,
    "True",
    "ScaleDownStabilized",
    "a higher recommendation within the scale-down window holds the size",
)
SCALING_DISABLED: Final = Change(
    SCALING_ACTIVE, "False", "ScalingDisabled", "scaling is paused while the target has zero replicas"
)
SCALED_TO_ZERO_SET: Final = Change(SCALED_TO_ZERO, "True", "ScaledToZero", "the autoscaler scaled the target to zero")
NOT_SCALED_TO_ZERO: Final = Change(
    SCALED_TO_ZERO,
    "False",
    "NotScaledToZero",
    "the autoscaler last scaled the target to a size above zero, or may not to zero",
)
SCALED_TO_ZERO_GONE: Final = Change(SCALED_TO_ZERO, None)

_LIMIT_TEXTS: Final = {
    "TooFewReplicas": "the recommended size is less than the minimum replica count",
    "TooManyReplicas": "the recommended size is more than the maximum replica count",
    "ScaleUpLimit": "the recommended size grows faster than the scale-up limit allows",
    "ScaleDownLimit": "the recommended size shrinks faster than the scale-down limit allows",
    "DesiredWithinRange": "the recommended size is within the acceptable range",
}


def scale_unreadable(error: str) -> Change:
    """§4.4."""
    return Change(ABLE_TO_SCALE, "False", "FailedGetScale", f"the scale of the target cannot be read: {error}")


def rescaled(replicas: int) -> Change:
    """§13.3."""
    return Change(ABLE_TO_SCALE, "True", "SucceededRescale", f"the target was scaled to {replicas}")


def rescale_failed(error: str) -> Change:
    """§13.2."""
    return Change(ABLE_TO_SCALE, "False", "FailedUpdateScale", f"the scale of the target cannot be written: {error}")


@lru_cache(maxsize=1000)
def valid_metric(name: str) -> Change:
    """§6.1; `name` is the reported metric's."""
    return Change(SCALING_ACTIVE, "True", "ValidMetricFound", f"a replica count was computed from {name}")


def metric_failed(reason: str, error: str) -> Change:
    """§6.2; `error` is the inner error of the first metric that failed."""
    return Change(SCALING_ACTIVE, "False", reason, f"the HPA was unable to compute the replica count: {error}")


def selector_missing() -> Change:
    """§5.1."""
    return Change(
        SCALING_ACTIVE,
        "False",
        "InvalidSelector",
        "the target's scale has no selector, so its pods cannot be found",
    )


def selector_invalid(error: str) -> Change:
    """§5.2."""
    return Change(SCALING_ACTIVE, "False", "InvalidSelector", error)


def selector_ambiguous(text: str) -> Change:
    """§5.4."""
    return Change(SCALING_ACTIVE, "False", "AmbiguousSelector", text)


@cache
def limited(reason: str) -> Change:
    """§10.4, §11.4: `reason` DesiredWithinRange means not limited."""
    return Change(SCALING_LIMITED, "False" if reason == "DesiredWithinRange" else "True", reason, _LIMIT_TEXTS[reason])
