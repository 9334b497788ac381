"""Client-side rate limits, one per kind of traffic (`--kube-api-qps`, `--kube-api-burst`)."""

import asyncio
from collections.abc import Callable


class Budget:
    """A token bucket. Whoever asks is served in order; `qps` 0 means no limit."""

    def __init__(self, qps: float, burst: int, time_s: Callable[[], float]) -> None:
        """`burst` is the number of requests that may go out at once, at least 1."""
        self._qps = qps
        self._burst = max(burst, 1)
        self._time_s = time_s
        # The moment at which the bucket would be full again; each request moves it by 1/qps.
        self._full_s = float("-inf")

    def reserve(self) -> float:
        """Seconds to wait before the next request may go out; the request counts from now on."""
        if self._qps <= 0:
            return 0.0
        now_s = self._time_s()
        interval_s = 1.0 / self._qps
        self._full_s = max(self._full_s, now_s) + interval_s
        return max(0.0, self._full_s - now_s - self._burst * interval_s)

    async def spend(self) -> None:
        """Wait until a request may go out."""
        wait_s = self.reserve()
        if wait_s > 0:
            await asyncio.sleep(wait_s)
