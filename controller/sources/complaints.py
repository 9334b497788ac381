"""One log line per cause and minute, however many HPAs meet the same trouble."""

from collections.abc import Callable
from typing import Final

import structlog

from controller.decide.observed import ReadFailure
from controller.ports import Question
from controller.sources.answering import Answer, MetricsSource

PERIOD_S: Final = 60.0
CAUSES_MAX: Final = 1_000
UNREADABLE: Final = "a metric cannot be read"

_log = structlog.get_logger(__name__)


class Complaints:
    """Warnings about one source; what was said of a cause is not said again for a minute."""

    def __init__(self, place: str, time_s: Callable[[], float]) -> None:
        self._place = place
        self._time_s = time_s
        self._said_s: dict[str, float] = {}

    def say(self, message: str, error: str, cause: str, *, place: str = "", **values: str) -> None:
        """Log a warning unless there was one for this cause within the period; `place`: of another source."""
        now_s = self._time_s()
        said_s = self._said_s.get(cause)
        if said_s is not None and now_s - said_s < PERIOD_S:
            return
        if len(self._said_s) >= CAUSES_MAX:
            self._said_s.clear()
        self._said_s[cause] = now_s
        _log.warning(message, source=place or self._place, error=error, **values)


class Complaining:
    """A MetricsSource whose failures are logged, for one that says nothing itself; a cause is what the failure says."""

    def __init__(self, source: MetricsSource, complaints: Complaints) -> None:
        self._source = source
        self._complaints = complaints

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        answer = await self._source.read(question)
        if isinstance(answer, ReadFailure):
            self._complaints.say(UNREADABLE, answer.message, answer.message, namespace=question.namespace)
        return answer

    async def close(self) -> None:
        """See MetricsSource."""
        await self._source.close()
