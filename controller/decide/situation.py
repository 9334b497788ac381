"""What every kind of metric is evaluated against, and how it says that it cannot be (§6.3)."""

from typing import Final

import msgspec

from controller.decide import selectors
from controller.decide.instants import Now
from controller.decide.observed import Pod, ReadFailure, Reading, Scale
from controller.decide.result import MetricFailure
from controller.decide.spec import MetricIdentifier, Settings, Tolerance
from controller.decide.working import Grouping

NO_PODS: Final = "the selector of the target matches no pods"
_NO_ANSWER: Final = "the metric was not read"


class Situation(msgspec.Struct, frozen=True, gc=False):
    """What every metric of a sync is evaluated against: the target's scale and pods, settings, tolerance and time."""

    scale: Scale
    pods: tuple[Pod, ...]
    settings: Settings
    tolerance: Tolerance
    now: Now


def selector_error(identifier: MetricIdentifier) -> str | None:
    """Why the metric's own selector cannot be used, or None."""
    if identifier.selector is not None:
        try:
            selectors.from_object(identifier.selector)
        except selectors.SelectorError as error:
            return f"invalid metric selector: {error}"
    return None


def read_error(reading: Reading | None) -> str:
    """Why there is nothing to be read from a reading that is absent, failed or of another kind than its metric."""
    return reading.message if isinstance(reading, ReadFailure) else _NO_ANSWER


def failure(reason: str, wrap: str, error: str, *, grouping: Grouping | None = None) -> MetricFailure:
    """A metric that asks for nothing; `wrap` stands before its error in the combined one (§6.2)."""
    return MetricFailure(reason, error, f"{wrap}: {error}", grouping=grouping)
