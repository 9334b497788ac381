"""One log line per cause and period, however many HPAs meet the same trouble."""

from collections.abc import Callable
from typing import Final

import structlog

PERIOD_S: Final = 60.0
CAUSES_MAX: Final = 1_000

_log = structlog.get_logger(__name__)


class Complaints:
    """Warnings about one server; what was said is not said again for a minute."""

    def __init__(self, place: str, time_s: Callable[[], float]) -> None:
        self._place = place
        self._time_s = time_s
        self._said_s: dict[tuple[str, str], float] = {}

    def say(self, message: str, error: str, cause: str, **values: str) -> None:
        """Log a warning unless this message with this cause was logged within the period."""
        now_s = self._time_s()
        said_s = self._said_s.get((message, cause))
        if said_s is not None and now_s - said_s < PERIOD_S:
            return
        if len(self._said_s) >= CAUSES_MAX:
            self._said_s.clear()
        self._said_s[message, cause] = now_s
        _log.warning(message, source=self._place, error=error, **values)
