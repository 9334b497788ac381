"""Who will ask about pods, and when: whoever asks does so again a period later."""

from itertools import islice
from typing import Final

FORGOTTEN_PERIODS: Final = 3.0
"""How late somebody may be: when there is too much to do syncs are, and must not cost more because of that."""


class Expected:
    """Selectors by namespace, each with the moment at which it will be asked about; selectors as canonical text."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next_s: dict[str, dict[str, float]] = {}
        self._swept_s = float("-inf")

    def __len__(self) -> int:
        """How many ask in a period."""
        return sum(map(len, self._next_s.values()))

    def knows(self, namespace: str) -> bool:
        """Whether somebody has asked about it before."""
        return namespace in self._next_s

    def expects(self, namespace: str, selector: str) -> bool:
        """Whether somebody has asked about these pods before."""
        return selector in self._next_s.get(namespace, ())

    def answered(self, namespace: str, selector: str, asked_s: float) -> None:
        """Who has asked then will ask again in a period."""
        self._next_s.setdefault(namespace, {})[selector] = asked_s + self._period_s
        if asked_s - self._swept_s >= self._period_s:
            self._swept_s = asked_s
            self._forget(asked_s - FORGOTTEN_PERIODS * self._period_s)

    def namespaces(self) -> list[str]:
        """Those that are asked about."""
        return list(self._next_s)

    def until(self, at_s: float) -> frozenset[str]:
        """The namespaces that will be asked about by then."""
        return frozenset(name for name, times in self._next_s.items() if min(times.values()) <= at_s)

    def at_most(self, most: int, namespace: str, at_s: float) -> bool:
        """Whether no more than so many will ask about a namespace by then."""
        asking = (1 for next_s in self._next_s.get(namespace, {}).values() if next_s <= at_s)
        return sum(islice(asking, most + 1)) <= most

    def _forget(self, since_s: float) -> None:
        """Leave out who should have asked before that."""
        self._next_s = {
            namespace: alive
            for namespace, times in self._next_s.items()
            if (alive := {selector: at_s for selector, at_s in times.items() if at_s >= since_s})
        }
