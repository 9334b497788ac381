"""An example of a source of metrics: the external metric `orders` is the number of lines in the file orders.spool.

Run it with:

    hpa-controller run --metrics-source external=queue-length --metrics-source-option queue-length.folder=FOLDER
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from controller.decide.observed import ExternalReading, ReadFailure
from controller.ports import ExternalQuestion, Question
from controller.sources.answering import Answer, Unknown


class QueueLengths:
    """A MetricsSource for external metrics; one spool file per metric, in a folder per namespace."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        if not isinstance(question, ExternalQuestion):
            return Unknown("there are only external metrics here")
        path = self._folder / question.namespace / f"{question.metric.name}.spool"
        try:
            lines = await asyncio.to_thread(_count_lines, path)
        except FileNotFoundError:
            return Unknown(f"there is no queue {question.metric.name} in {question.namespace}")
        except OSError as error:
            return ReadFailure(f"the queue cannot be read: {error}")
        return ExternalReading((lines * 1000,))

    async def close(self) -> None:
        """See MetricsSource; nothing is open between reads."""


def make(options: Mapping[str, str]) -> QueueLengths:
    """The source; its one option is `folder`."""
    if set(options) != {"folder"}:
        raise ValueError(f"the option folder is needed, and no other; given are: {', '.join(options) or 'none'}")
    return QueueLengths(Path(options["folder"]))


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)
