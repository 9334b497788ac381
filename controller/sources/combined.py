"""One Metrics port out of a source per family."""

from controller.decide.observed import Reading
from controller.ports import ExternalQuestion, Metrics, Question, ResourceQuestion


class CombinedMetrics:
    """The port `Metrics`: every question goes to the source of its family."""

    def __init__(self, *, resource: Metrics, custom: Metrics, external: Metrics) -> None:
        self._resource = resource
        self._custom = custom
        self._external = external

    async def read(self, question: Question) -> Reading:
        """See ports.Metrics."""
        match question:
            case ResourceQuestion():
                return await self._resource.read(question)
            case ExternalQuestion():
                return await self._external.read(question)
            case _:
                return await self._custom.read(question)
