"""An event loop in which time runs faster than on the wall.

`loop.time()` advances `speed` times as fast as the monotonic clock, and the selector waits `speed` times
shorter, so that `asyncio.sleep`, `call_later`, `wait_for` and timeouts mean seconds of lab time for everything
in this loop: the lab and a controller beside it alike.

What does not get faster is work. Requests over sockets, files, threads and subprocesses take as long as they
take, so a request of 2 ms lasts 100 ms of lab time at speed 50. When the loop has more to do than fits, timers
come late, and what is late by little of real time is late by `speed` times as much of lab time: the higher the
speed, the busier and the less exact is the lab. The selector also waits whole milliseconds, which is `speed`
milliseconds here. Code that asks `time.monotonic()` itself does not notice any of this.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_SPEED = 1000.0
"""Beyond this, a single pass of the loop takes longer than the shortest waits of the lab."""


class ScaledSelector(selectors.BaseSelector):
    """A selector that waits `speed` times shorter than it is told; everything else goes to the one inside."""

    def __init__(self, inner: selectors.BaseSelector, speed: float) -> None:
        self._inner = inner
        self._speed = speed

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Wait for a file, too."""
        return self._inner.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """No longer wait for a file."""
        return self._inner.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Wait for something else of a file."""
        return self._inner.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """The files that are ready, after at most so many seconds of scaled time; None waits for any."""
        return self._inner.select(timeout if timeout is None or timeout <= 0 else timeout / self._speed)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """What is registered."""
        # The protocol allows None for a closed selector; typeshed's base class says so, too.
        return self._inner.get_map() or {}

    def close(self) -> None:
        """Let go of all files."""
        self._inner.close()


class ScaledLoop(asyncio.SelectorEventLoop):
    """The standard selector loop with time `speed` times as fast; made by `scaled_loop_factory`."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._origin_s = time.monotonic()
        super().__init__(ScaledSelector(selectors.DefaultSelector(), speed))

    def time(self) -> float:
        """Seconds of scaled time; never goes back."""
        return self._origin_s + (time.monotonic() - self._origin_s) * self.speed


def scaled_loop_factory(speed: float) -> Callable[[], ScaledLoop]:
    """What `asyncio.Runner(loop_factory=…)` needs for a loop in scaled time.

    Raises ValueError for a speed that is not above 0 and at most `MAX_SPEED`.
    """
    if not 0 < speed <= MAX_SPEED:
        raise ValueError(f"the speed must be above 0 and at most {MAX_SPEED:g}, got {speed:g}")
    return lambda: ScaledLoop(speed)
