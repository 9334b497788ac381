"""Who will ask about pods, and when: whoever asks does so again a period later."""

from collections.abc import Mapping
from typing import Final

FORGOTTEN_PERIODS: Final = 3.0
"""How late somebody may be: when too much is to be done syncs are, and should not cost more because of that."""

_NOBODY: Final[Mapping[str, float]] = {}


class Expected:
    """Selectors by namespace, each with the moment at which it will be asked about; selectors as canonical text."""

    def __init__(self, period_s: float) -> None:
        self._period_s = period_s
        self._next_s: dict[str, dict[str, float]] = {}

    def expects(self, namespace: str, selector: str) -> bool:
        """Whether somebody who asks about these pods has done so before."""
        return selector in self.within(namespace)

    def answered(self, namespace: str, selector: str, asked_s: float) -> None:
        """Who has asked then will ask again in a period."""
        self._next_s.setdefault(namespace, {})[selector] = asked_s + self._period_s

    def until(self, at_s: float) -> frozenset[str]:
        """The namespaces that will be asked about by then."""
        return frozenset(name for name, times in self._next_s.items() if min(times.values()) <= at_s)

    def within(self, namespace: str) -> Mapping[str, float]:
        """The selectors of a namespace, each with its moment; not to be changed."""
        return self._next_s.get(namespace, _NOBODY)

    def namespaces(self) -> list[str]:
        """Those that are asked about."""
        return list(self._next_s)

    def forget(self, now_s: float) -> None:
        """Leave out who should have asked long ago."""
        kept: dict[str, dict[str, float]] = {}
        since_s = now_s - FORGOTTEN_PERIODS * self._period_s
        for namespace, times in self._next_s.items():
            if min(times.values()) >= since_s:
                kept[namespace] = times
            elif alive := {selector: at_s for selector, at_s in times.items() if at_s >= since_s}:
                kept[namespace] = alive
        self._next_s = kept
