"""The protocol of sources of metrics: what a source is asked, and what it may answer (docs/decisions/0015)."""

from typing import Protocol

import msgspec

from controller.decide.observed import Reading
from controller.ports import Question


class Unknown(msgspec.Struct, frozen=True):
    """The source has no such metric, for nobody: the next source may be asked. The message is for people.

    Not the answer for a metric that has no samples at the moment, nor for one that cannot be read.
    """

    message: str


Answer = Reading | Unknown


class MetricsSource(Protocol):
    """Where samples come from. One source may serve several families of metrics."""

    async def read(self, question: Question) -> Answer:
        """The answer; failing to get one is a ReadFailure, not an exception."""
        ...

    async def close(self) -> None:
        """End what is under way and free connections; nothing is read any more."""
        ...
