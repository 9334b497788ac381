"""Questions about metrics (§18), and who answers them."""

from typing import Protocol

import msgspec

from controller.decide.observed import Reading
from controller.decide.selectors import Selector
from controller.decide.spec import MetricIdentifier, Reference


class ResourceQuestion(msgspec.Struct, frozen=True, gc=False):
    """Usage of the pods that the selector matches, by container."""

    namespace: str
    selector: Selector


class PodsQuestion(msgspec.Struct, frozen=True, gc=False):
    """A custom metric of each pod that the selector matches; `metric.selector` selects its series.

    `query` is the PromQL that the HPA itself names for the metric; None where it names none.
    """

    namespace: str
    metric: MetricIdentifier
    selector: Selector
    query: str | None = None


class ObjectQuestion(msgspec.Struct, frozen=True, gc=False):
    """A custom metric of one object; `query` as in PodsQuestion."""

    namespace: str
    metric: MetricIdentifier
    described: Reference
    query: str | None = None


class ExternalQuestion(msgspec.Struct, frozen=True, gc=False):
    """An external metric; `query` as in PodsQuestion."""

    namespace: str
    metric: MetricIdentifier
    query: str | None = None


Question = ResourceQuestion | PodsQuestion | ObjectQuestion | ExternalQuestion


class Metrics(Protocol):
    """Where samples come from."""

    async def read(self, question: Question) -> Reading:
        """The answer; failing to get one is a ReadFailure, not an exception."""
        ...
