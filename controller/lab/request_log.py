"""What was asked of the lab's server, in order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class RequestRecord:
    """One request: `status` is 0 until it is answered; `body` is what was sent, empty for reads."""

    __slots__ = ("arrived_s", "body", "method", "path", "query", "status", "user_agent", "verb")

    def __init__(self, *, method: str, path: str, query: str, user_agent: str, verb: str, arrived_s: float) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.user_agent = user_agent
        self.verb = verb
        self.arrived_s = arrived_s
        self.status = 0
        self.body = b""

    def __repr__(self) -> str:
        query = f"?{self.query}" if self.query else ""
        return f"<{self.method} {self.path}{query} -> {self.status or 'open'}>"


class RequestLog:
    """The last requests, oldest first; `limit` bounds how many are kept, `total` counts all."""

    def __init__(self, limit: int = 10_000) -> None:
        self._records: deque[RequestRecord] = deque(maxlen=limit)
        self.total = 0

    def append(self, record: RequestRecord) -> None:
        """Add a request that has just come."""
        self._records.append(record)
        self.total += 1

    def clear(self) -> None:
        """Forget all requests so far."""
        self._records.clear()

    def select(self, wanted: Callable[[RequestRecord], bool]) -> list[RequestRecord]:
        """The requests that satisfy a condition, oldest first."""
        return [record for record in self._records if wanted(record)]

    def __iter__(self) -> Iterator[RequestRecord]:
        return iter(tuple(self._records))

    def __len__(self) -> int:
        return len(self._records)
