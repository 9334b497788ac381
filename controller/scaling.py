"""The write of a scale that was decided on, its conflicts retried (§13.1)."""

from collections.abc import Callable
from typing import Final

import structlog
import tenacity

from controller.backoff import EvenWait, Random, retried
from controller.decide.observed import Scale, ScaleFailure
from controller.decide.result import Write, WriteFailed, Written
from controller.ports import ApiError, Conflict, NotFound, NotMandated, ScaleReading, Scales, WatchedAutoscaler

WRITE_ATTEMPTS: Final = 5
"""How often a scale is written at most when the writes conflict (§13.1)."""

CONFLICT_WAIT_S: Final = 0.01
CONFLICT_JITTER: Final = 0.1

_log = structlog.get_logger(__name__)


class TargetChanged(Exception):
    """The target is no longer as it was when the sync decided; `writes` is how many writes have been tried."""

    def __init__(self, reading: ScaleReading, writes: int) -> None:
        super().__init__()
        self.reading = reading
        self.writes = writes


class Scaling:
    """Writes scales.

    The API server refuses a write if the target is no longer of the version that was read, from a cache or live. Where
    it then shows another target than the one decided on, nothing is written: whoever changed it is not undone.
    """

    def __init__(self, scales: Scales, random: Random) -> None:
        self._scales = scales
        self._random = random

    async def write(
        self,
        watched: WatchedAutoscaler,
        decided_on: ScaleReading,
        replicas: int,
        writes: int,
        *,
        check: Callable[[], None],
        may_send: Callable[[], None],
    ) -> Write | None:
        """Have the target of an HPA run so many replicas; None if it may no longer be written.

        `writes`: how many have been tried in this sync. `check` is asked before each further one, `may_send` when it is
        about to go out; what `check` raises comes through.

        Raises:
            TargetChanged: decide once more.
        """
        if writes >= WRITE_ATTEMPTS:
            return WriteFailed(f"the target changed before each of {writes} attempts to scale it")
        namespace, target, fresh = watched.namespace, watched.spec.target, decided_on
        left = WRITE_ATTEMPTS - writes

        async def attempt() -> None:
            nonlocal fresh, writes
            if not _same(decided_on.scale, fresh.scale):
                raise TargetChanged(fresh, writes)
            check()
            writes += 1
            try:
                await self._scales.write(namespace, target, _scale(fresh), replicas, may_send)
            except Conflict:
                fresh = await self._reread(watched, fresh)
                raise
            except NotFound:
                if fresh.live:
                    raise
                # The target went before the cache heard of it: it is told as a read would have told it.
                raise TargetChanged(await self._scales.read(namespace, target, live=True), writes) from None

        try:
            await retried(attempt, (Conflict,), lambda: self._retrying(left))
        except NotMandated:
            return None
        except ApiError as error:
            return WriteFailed(str(error))
        return Written()

    def _retrying(self, attempts: int) -> tenacity.AsyncRetrying:
        return tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(attempts),
            wait=EvenWait(self._random, CONFLICT_WAIT_S, CONFLICT_JITTER),
            retry=tenacity.retry_if_exception_type(Conflict),
            reraise=True,
        )

    async def _reread(self, watched: WatchedAutoscaler, known: ScaleReading) -> ScaleReading:
        """The scale as it is now; a failure to read it is only logged (§13.1)."""
        fresh = await self._scales.read(watched.namespace, watched.spec.target, live=True)
        if isinstance(fresh.scale, Scale):
            return fresh
        _log.warning("scale could not be read again after a conflict", hpa=watched.key, error=fresh.scale.message)
        return known


def _same(decided_on: Scale | ScaleFailure, fresh: Scale | ScaleFailure) -> bool:
    return isinstance(decided_on, Scale) and isinstance(fresh, Scale) and decided_on.decides_like(fresh)


def _scale(reading: ScaleReading) -> Scale:
    assert isinstance(reading.scale, Scale)  # noqa: S101 - only a scale that was read is written
    return reading.scale
