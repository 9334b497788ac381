"""The garbage collector, which stops everything: what lives long is kept from it, a little at a time."""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

COLLECT_AFTER: Final = (10_000, 4, 250)
"""See gc.set_threshold: how many more objects there have to be, and how many collections of the younger ones. Were the
second generation collected more seldom, it would hold a whole list of 50,000 pods, and the loop for 70 ms."""

LOOK_S: Final = 1.0
"""How often is looked whether a term has begun."""

STEP_S: Final = 0.25
"""How often what is young is frozen while HPAs are synced first: with 10,000 there are up to 40,000 new objects in a
second, and a look at all of them holds the loop for 40 ms in a slow hour."""

SETTLED_PERIODS: Final = 2.5
"""Every HPA has been synced by then: it is first due a period after it was seen."""

_YOUNGER: Final = 1


class Collector(Protocol):
    """Of the module gc what is used here."""

    def set_threshold(self, threshold0: int, threshold1: int = ..., threshold2: int = ..., /) -> None:
        """See gc."""
        ...

    def collect(self, generation: int = ...) -> int:
        """See gc."""
        ...

    def freeze(self) -> None:
        """See gc."""
        ...


def freeze_young(collector: Collector) -> None:
    """Have the collector leave alone all that there is, after a look at what is young for what is garbage."""
    collector.collect(_YOUNGER)
    collector.freeze()


class Settling:
    """Freezes what is made while caches fill and while all HPAs are synced first: most of it stays.

    Of what later syncs make nearly all goes without the collector, so that it is asked seldom. Freezing all at once
    would need a collection of all before, which takes tenths of a second with thousands of HPAs. Step by step those of
    the younger generations find the same garbage. Only when a term begins is there anything old.
    """

    def __init__(
        self, period_s: float, time_s: Callable[[], float], term: Callable[[], int], collector: Collector
    ) -> None:
        """`period_s` is that of syncs; `time_s`: the loop's clock.

        `term` is that of leadership: one that begins finds HPAs without histories.
        """
        self._settled_s = SETTLED_PERIODS * period_s
        self._time_s = time_s
        self._term = term
        self._collector = collector
        self._until_s = 0.0

    def begin(self) -> None:
        """From now on all HPAs are synced for the first time."""
        self._until_s = self._time_s() + self._settled_s

    async def run(self) -> None:
        """Work until cancelled."""
        self._collector.set_threshold(*COLLECT_AFTER)
        self._collector.freeze()  # what was imported stays, and a look at it takes 40 ms
        known: int | None = None
        while True:
            if self._term() != known:
                known = self._term()
                self._collector.collect()  # garbage that is frozen would stay for good
                self.begin()
            settles = self._time_s() <= self._until_s
            if settles:
                freeze_young(self._collector)
            await asyncio.sleep(STEP_S if settles else LOOK_S)
