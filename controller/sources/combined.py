"""One Metrics port out of the sources of each family, asked in order."""

from collections.abc import Sequence
from typing import Final

import msgspec

from controller.decide.observed import ReadFailure, Reading
from controller.ports import ExternalQuestion, Question, ResourceQuestion
from controller.sources.ages import Ages
from controller.sources.answering import MetricsSource, Unknown
from controller.sources.complaints import UNREADABLE, Complaints
from controller.sources.flags import API, Family
from controller.sources.prometheus.annotated import AnnotatedMetrics

ANNOTATED: Final = "annotation"
"""What queries of HPAs are called where sources have names."""

Chain = Sequence[tuple[str, MetricsSource]]
"""Sources by name, in the order in which they are asked."""


class CombinedMetrics:
    """The port `Metrics`: every question goes to the sources of its family."""

    def __init__(
        self,
        *,
        resource: Chain,
        custom: Chain,
        external: Chain,
        complaints: Complaints,
        ages: Ages,
        annotated: AnnotatedMetrics | None = None,
    ) -> None:
        """The sources say themselves what fails; `complaints` are about what none of them knows.

        `annotated` answers questions that bring a query; where it is None, none may.
        """
        self._ages = ages
        self._annotated = annotated
        self._resource = resource
        self._custom = custom
        self._external = external
        self._complaints = complaints

    async def read(self, question: Question) -> Reading:
        """See ports.Metrics. The next source is asked only about a metric that is unknown to the one before."""
        family, chain = self._chain(question)
        if not isinstance(question, ResourceQuestion) and question.query is not None:
            if self._annotated is None:
                return ReadFailure("the metric brings a query, and queries are not allowed")
            return self._told(family, ANNOTATED, question.namespace, await self._annotated.read(question))
        unknown: list[str] = []
        for name, source in chain:
            answer = await source.read(question)
            if not isinstance(answer, Unknown):
                return self._told(family, name, question.namespace, answer)
            unknown.append(answer.message if len(chain) == 1 else f"{name}: {answer.message}")
        text = "; ".join(unknown)
        names = [name for name, _ in chain]
        asked = ", ".join(names)
        self._complaints.say(UNREADABLE, text, text, place=asked, namespace=question.namespace)
        return ReadFailure(text, "" if API in names else asked)

    async def close(self) -> None:
        """Close every source, also one that serves several families, once."""
        chains = (*self._resource, *self._custom, *self._external)
        for source in {id(source): source for _, source in chains}.values():
            await source.close()
        if self._annotated is not None:
            await self._annotated.close()

    def _told(self, family: Family, source: str, namespace: str, reading: Reading) -> Reading:
        """The reading with its origin, without what is too old."""
        if source != API:
            reading = msgspec.structs.replace(reading, origin=source)
        checked = self._ages.checked(family, source, reading)
        if isinstance(checked, ReadFailure) and checked is not reading:
            cause = f"age {family} {source}"
            self._complaints.say(UNREADABLE, checked.message, cause, place=source, namespace=namespace)
        return checked

    def _chain(self, question: Question) -> tuple[Family, Chain]:
        match question:
            case ResourceQuestion():
                return "resource", self._resource
            case ExternalQuestion():
                return "external", self._external
            case _:
                return "custom", self._custom
