"""One Metrics port out of the sources of each family, asked in order."""

from collections.abc import Sequence

from controller.decide.observed import ReadFailure, Reading
from controller.ports import ExternalQuestion, Question, ResourceQuestion
from controller.sources.answering import MetricsSource, Unknown
from controller.sources.complaints import UNREADABLE, Complaints

Chain = Sequence[tuple[str, MetricsSource]]
"""Sources by name, in the order in which they are asked."""


class CombinedMetrics:
    """The port `Metrics`: every question goes to the sources of its family."""

    def __init__(self, *, resource: Chain, custom: Chain, external: Chain, complaints: Complaints) -> None:
        """The sources say themselves what fails; `complaints` are about what none of them knows."""
        self._resource = resource
        self._custom = custom
        self._external = external
        self._complaints = complaints

    async def read(self, question: Question) -> Reading:
        """See ports.Metrics. The next source is asked only about a metric that is unknown to the one before."""
        chain = self._chain(question)
        unknown: list[str] = []
        for name, source in chain:
            answer = await source.read(question)
            if not isinstance(answer, Unknown):
                return answer
            unknown.append(answer.message if len(chain) == 1 else f"{name}: {answer.message}")
        text = "; ".join(unknown)
        self._complaints.say(UNREADABLE, text, text, namespace=question.namespace)
        return ReadFailure(text)

    async def close(self) -> None:
        """Close every source, also one that serves several families, once."""
        chains = (*self._resource, *self._custom, *self._external)
        for source in {id(source): source for _, source in chains}.values():
            await source.close()

    def _chain(self, question: Question) -> Chain:
        match question:
            case ResourceQuestion():
                return self._resource
            case ExternalQuestion():
                return self._external
            case _:
                return self._custom
