"""Reads the histories that earlier leaders have kept, within a few seconds or not at all."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

import structlog
import tenacity

from controller.backoff import EvenWait, Random
from controller.decide.instants import NANOSECONDS
from controller.lasting.parts import Part, Parts
from controller.lasting.records import CLOCKS_APART_MAX_NS
from controller.lasting.shards import DamagedError, Shard, decoding
from controller.ports import ApiError, Clock, HistoryStore, ServerFailure, StoredShard, Throttled, Unreachable

LOAD_MAX_S: Final = 5.0
"""How long first syncs wait for what was kept; after that they begin with nothing, as upstream does."""

LOAD_WAIT_S: Final = 0.5
_JITTER: Final = 0.2

T = TypeVar("T")

_log = structlog.get_logger(__name__)


class Takeover:
    """Reads all objects of a store. One that cannot be had in time, or used, takes no other with it, and is told of."""

    def __init__(self, store: HistoryStore, clock: Clock, random: Random) -> None:
        self._store = store
        self._clock = clock
        self._random = random

    async def read(self, hpas: Callable[[], int]) -> tuple[Parts, list[Shard]]:
        """A part for each object, with the version that was read and nothing else yet, and what objects hold.

        `hpas`: how many there are now; where the first object does not say how many parts there are, they do.
        """
        parts, found = Parts(), list[Shard | None]()
        problems: dict[int, str] = {}
        deadline_s = asyncio.get_running_loop().time() + LOAD_MAX_S
        while len(found) < len(parts):
            asked = range(len(found), len(parts))
            found.extend(
                await asyncio.gather(*(self._in_time(parts[number], number, deadline_s, problems) for number in asked))
            )
            # Each says how many there are; the first may be lost, and so may be who was there when they were saved.
            parts.extend(max((shard.shards for shard in found if shard is not None), default=1))
            if found[0] is None:
                parts.grow(hpas())
        if problems:
            _log.warning(
                "kept histories cannot be read: HPAs that are synced before they can be begin anew",
                objects=sorted(problems),
                error=problems[min(problems)],
            )
        return parts, [shard for shard in found if shard is not None]

    async def _in_time(self, part: Part, number: int, deadline_s: float, problems: dict[int, str]) -> Shard | None:
        """What an object holds; None, with the problem by its number, where that cannot be had until then."""
        try:
            async with asyncio.timeout_at(deadline_s):
                return await self._loaded(part, number)
        except (ApiError, TimeoutError) as error:
            problems[number] = str(error) or f"no answer within {LOAD_MAX_S:g} s"
            return None

    async def _loaded(self, part: Part, number: int) -> Shard | None:
        """What an object holds, asked for again and again; see `load`."""
        retrying = tenacity.AsyncRetrying(
            wait=EvenWait(self._random, LOAD_WAIT_S, _JITTER),
            retry=tenacity.retry_if_exception_type((Unreachable, ServerFailure, Throttled)),
        )
        shard: Shard | None = await retrying(self.load, part, number)
        return shard

    async def load(self, part: Part, number: int) -> Shard | None:
        """What an object holds, and its version in `part`; None where it holds nothing that can be used, which is said.

        Raises:
            ApiError: it could not be read.
        """
        stored: StoredShard = await self._store.load(number)
        shard = None if stored.body is None else await self._usable(stored.body, number)
        # Not before: who runs out of time in between has not read it, and may not replace it.
        part.version, part.exists, part.unread = stored.version, bool(stored.version), False
        return shard

    async def _usable(self, body: bytes, number: int) -> Shard | None:
        try:
            shard = await in_steps(decoding(body))
        except DamagedError as error:
            _log.warning("a kept history is passed over and will be replaced", object=number, error=str(error))
            return None
        ahead_ns = shard.saved_ns - self._clock.now().wall_ns
        if ahead_ns > CLOCKS_APART_MAX_NS:
            problem = f"it was saved {ahead_ns / NANOSECONDS:.0f} s in our future: the hosts' clocks differ"
            _log.warning("a kept history is passed over and will be replaced", object=number, error=problem)
            return None
        return shard


async def in_steps(steps: Iterator[T | None]) -> T:
    """What a computation comes to that gives None for each step on the way; others run in between."""
    for result in steps:
        if result is not None:
            return result
        await asyncio.sleep(0)
    raise AssertionError("it has ended without a result")
