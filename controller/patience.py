"""How long a watch may take for what, before it is taken for lost."""

import asyncio
from typing import Final

import msgspec

from controller.backoff import WATCH_MAX_S

SILENCE_SHARE: Final = 100
"""By such a part of it at most a silence may be noticed too early: a timer for each event would cost as much as it."""


class Patience(msgspec.Struct, frozen=True):
    """How long a watch may take for what.

    Attributes:
        server_timeout_s: the server is asked to end a watch after this time, stretched by a random factor up to 2.
        open_max_s: a watch that has not been answered for so long is taken for lost; a server lets a request wait in a
            queue for 15 s.
        silence_max_s: a watch with neither event nor bookmark for so long, or a hundredth less, is taken for half-open;
            servers send bookmarks about every minute.
        short_s: a watch that ends sooner than this without any event counts as failed, and so does one whose version
            expires so soon after the list that was made because the last one had.
        wait_max_s: the longest wait before a further attempt, before it is stretched by a random factor up to 2.
    """

    server_timeout_s: float = 300.0
    open_max_s: float = 20.0
    silence_max_s: float = 150.0
    short_s: float = 1.0
    wait_max_s: float = WATCH_MAX_S

    def put_off(self, limit: asyncio.Timeout, now_s: float) -> None:
        """Have so long a silence end a watch from now on, or one that is shorter by a part of it."""
        ends_s = now_s + self.silence_max_s
        if abs(ends_s - (limit.when() or 0.0)) > self.silence_max_s / SILENCE_SHARE:
            limit.reschedule(ends_s)
