"""Whether decisions may rest on a cache (decision 0008)."""

import asyncio
from typing import Final

QUIET_S: Final = 0.5
"""After an outage a watch has caught up when nothing has come for so long; what was missed is sent without a pause."""

CATCH_UP_MAX_S: Final = 3.0
"""And when it has been open for so long, where something changes all the time."""

REOPENED_MAX_S: Final = 3.0
"""How long a watch that a server has ended may take to be open again before changes may be missing."""


class Liveness:
    """Whether a cache reflects the API server: listed once, and its watch has not been lost since.

    A cache keeps its content when the connection is lost; it is only no longer a ground for decisions.
    """

    def __init__(self) -> None:
        self._synced = asyncio.Event()
        self._settled = asyncio.Event()
        self._alive = False
        self._timer: asyncio.TimerHandle | None = None
        """While it is not alive: until the watch has caught up. While it is: until that has to be open again."""
        self._caught_up_s = 0.0

    @property
    def alive(self) -> bool:
        """Listed, watched right now, and not behind."""
        return self._alive

    @property
    def synced(self) -> bool:
        """Listed at least once."""
        return self._synced.is_set()

    @property
    def settled(self) -> bool:
        """Listed at least once, or refused."""
        return self._settled.is_set()

    async def wait_synced(self) -> None:
        """Return once the first list is complete (§2.2)."""
        await self._synced.wait()

    async def wait_settled(self) -> None:
        """Return once the first list is complete, or has been refused."""
        await self._settled.wait()

    def refused(self) -> None:
        """We may not list or watch it, though somebody may grant that some day: there may be no list for long."""
        self._settled.set()

    def listed(self) -> None:
        """The content is complete and current."""
        self._stop_timer()
        self._alive = True
        self._synced.set()
        self._settled.set()

    def opened(self) -> None:
        """The watch is open. After an outage what was missed comes first, or the word that it cannot come any more."""
        self._stop_timer()
        if not self._alive:
            self._caught_up_s = asyncio.get_running_loop().time() + CATCH_UP_MAX_S
            self._wait_for_quiet()

    def heard(self) -> None:
        """An event came by the watch, perhaps one of those that were missed."""
        if self._timer is not None:
            self._wait_for_quiet()

    def watching(self) -> None:
        """The watch is open, and nothing that was missed is yet to come."""
        self._stop_timer()
        self._alive = self._synced.is_set()

    def ended(self) -> None:
        """The server has ended the watch in good order, as it does every few minutes, and is asked for the next one."""
        self._stop_timer()
        if self._alive:
            self._timer = asyncio.get_running_loop().call_later(REOPENED_MAX_S, self.lost)

    def lost(self) -> None:
        """The watch failed; changes may be missing."""
        self._stop_timer()
        self._alive = False

    def _wait_for_quiet(self) -> None:
        self._stop_timer()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(min(loop.time() + QUIET_S, self._caught_up_s), self.watching)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
