"""Client-side rate limits, one per kind of traffic (`--kube-api-qps`, `--kube-api-burst`)."""

import asyncio
from collections.abc import Callable


class Budget:
    """A token bucket. Whoever asks is served in order; `qps` 0 means no limit.

    Who stops waiting has spent nothing: under more requests than the limit allows, those that time out must not use up
    the budget of those that could still be sent.
    """

    def __init__(self, qps: float, burst: int, time_s: Callable[[], float]) -> None:
        """`burst` is the number of requests that may go out at once, at least 1."""
        self._interval_s = 1.0 / qps if qps > 0 else 0.0
        self._ahead_s = (max(burst, 1) - 1) * self._interval_s
        self._time_s = time_s
        self._line = asyncio.Lock()
        # The moment at which the bucket would be full again; each request moves it by 1/qps.
        self._full_s = float("-inf")

    async def spend(self) -> None:
        """Wait until a request may go out; it counts from then on."""
        if not self._interval_s:
            return
        async with self._line:
            wait_s = self._full_s - self._ahead_s - self._time_s()
            if wait_s > 0:
                await asyncio.sleep(wait_s)
            self._full_s = max(self._full_s, self._time_s()) + self._interval_s
