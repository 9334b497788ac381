"""The garbage collector, which stops everything: it looks at a little at a time, and is kept from what lives long."""

import asyncio
from collections.abc import Callable, Sized
from typing import Final, Protocol

from controller.beats import beat_after

STEP_S: Final = 0.25
"""How often it looks at what is young, or has to leave it alone."""

OLD_STEPS: Final = 1200
"""Every so many steps it looks at what is old as well, if that is little; what has survived one step is old."""

OLD_STEPS_MAX: Final = 12 * OLD_STEPS
"""Once an hour it does, however much that is: it may be garbage."""

OLD_OBJECTS_MAX: Final = 30_000
"""A look at more takes more than 30 ms in a slow hour.

More are there when thousands of syncs wait for a server that cannot keep up; each is forty objects."""

COLLECT_AFTER: Final = (10_000, 0, 1_000_000_000)
"""See gc.set_threshold: so many more objects at once, as when lists arrive, are looked at before the next step, and are
old if they survive another such look; of itself it never looks at what is old.

What is counted is what has been made less what has gone. Where new values take the place of old ones that is nothing
for long, and the collector would then look at all of them: at 60,000, for 80 ms in a slow hour. Hence the steps."""

SETTLED_PERIODS: Final = 2.5
"""Every HPA has been synced by then: it is first due a period after it was seen, at the latest."""

_YOUNG: Final = 1
_OLD: Final = 2


class Collector(Protocol):
    """Of the module gc what is used here."""

    def set_threshold(self, threshold0: int, threshold1: int = ..., threshold2: int = ..., /) -> None:
        """See gc."""
        ...

    def collect(self, generation: int = ...) -> int:
        """See gc."""
        ...

    def get_objects(self, generation: int | None = ...) -> Sized:
        """See gc."""
        ...

    def freeze(self) -> None:
        """See gc."""
        ...


def freeze_young(collector: Collector) -> None:
    """Have the collector leave alone all that there is, after a look at what is young for what is garbage."""
    collector.collect(_YOUNG)
    collector.freeze()


class Collecting:
    """Has the collector work step by step.

    While caches fill and while all HPAs are synced first most of what is made stays, and is frozen. Freezing all at
    once would need a collection of all before, which takes tenths of a second with thousands of HPAs. Step by step
    those of the younger generations find the same garbage. Only when a term begins is there anything old.

    Of what later syncs make nearly all goes without the collector.
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

    def settle(self) -> None:
        """From now on all HPAs are synced for the first time."""
        self._until_s = self._time_s() + self._settled_s

    async def run(self) -> None:
        """Work until cancelled."""
        self._collector.set_threshold(*COLLECT_AFTER)
        self._collector.freeze()  # what was imported stays, and a look at it takes 40 ms
        known: int | None = None
        step = 0
        while True:
            if self._term() != known:
                known = self._term()
                self._collector.collect()  # garbage that is frozen would stay for good
                self.settle()
            if self._time_s() <= self._until_s:
                freeze_young(self._collector)
                step = 0
            else:
                step += 1
                self._collect(step)
            now_s = self._time_s()
            await asyncio.sleep(beat_after(now_s, STEP_S) - now_s)

    def _collect(self, step: int) -> None:
        little = step % OLD_STEPS == 0 and len(self._collector.get_objects(_OLD)) <= OLD_OBJECTS_MAX
        self._collector.collect(_OLD if little or step % OLD_STEPS_MAX == 0 else _YOUNG)
