"""What a controller logs, counted instead of kept, so that hours of it fit into memory."""

from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import structlog


class LogLedger:
    """Lines by message, reason and HPA; `errors` has the last error said about an HPA."""

    def __init__(self) -> None:
        self.lines: Counter[tuple[str, str, str]] = Counter()
        self.errors: dict[str, str] = {}
        self.unexpected: list[str] = []

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Count whatever is logged in the block."""
        before = structlog.get_config()
        structlog.configure(processors=[self._count])
        try:
            yield
        finally:
            structlog.configure(**before)

    def _count(self, _: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        about = str(event.get("hpa") or "")
        self.lines[str(event.get("event")), str(event.get("reason") or ""), about] += 1
        if about and "error" in event:
            self.errors[about] = str(event["error"])
        if event.get("exc_info") and len(self.unexpected) < 10:
            self.unexpected.append(f"{event.get('event')}: {event}")
        raise structlog.DropEvent
