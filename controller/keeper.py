"""Keeps the histories of all HPAs beyond this process, and takes up what earlier leaders have left (`--keep-history`).

Saving delays no sync: it takes what syncs have left behind, and writes one object at a time, evenly over the interval.
Every write names the version that it replaces; on a conflict the object is read, and only then is it asked whether we
still lead. So whoever has lost the Lease never overwrites its successor.
"""

import asyncio
import secrets
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Final

import structlog

from controller.backoff import Random
from controller.cache import Cache
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import Scale
from controller.decide.spec import Autoscaler, Settings
from controller.lasting.parts import Latest, Part, Parts
from controller.lasting.records import WINDOW_LONGEST_NS, fresh, resumed, unrecorded
from controller.lasting.shards import Shard, digest, encoding
from controller.ports import (
    ApiError,
    Clock,
    Conflict,
    HistoryStore,
    NotFound,
    NotLeading,
    Sync,
    Tenured,
    WatchedAutoscaler,
)
from controller.takeover import Takeover, in_steps

HAND_OVER_MAX_S: Final = 5.0
TICK_S: Final = 1.0
"""How often it is looked whether a term has begun, and which object is to be saved."""

UNCHANGED_EVERY_S: Final = 60.0
"""How often an object is saved in which nothing but time has passed."""

HPAS_PER_ITERATION: Final = 20
COMPLAIN_S: Final = 60.0
SAVE_ATTEMPTS: Final = 3
_JITTER: Final = 0.2

_log = structlog.get_logger(__name__)


class Keeper:
    """The port `Past`; an observer of syncs and of the cache of HPAs. `run` saves until cancelled.

    Attributes:
        saves: how often objects were saved, by result: `saved`, `conflict`, `error`.
        taken_up: HPAs that went on with a history of an earlier term.
        size_bytes: of all objects together, as last saved.
    """

    def __init__(
        self,
        store: HistoryStore,
        autoscalers: Cache[WatchedAutoscaler],
        leadership: Tenured,
        clock: Clock,
        random: Random,
        settings: Settings,
        period_s: float,
        interval_s: float,
        *,
        all_listed: Callable[[], bool] = lambda: True,
    ) -> None:
        """`interval_s`: how often every object is saved at most. `all_listed`: no HPA is missing in `autoscalers`."""
        self._store = store
        self._takeover = Takeover(store, clock, random)
        self._autoscalers = autoscalers
        self._leadership = leadership
        self._clock = clock
        self._random = random
        self._settings = settings
        self._period_ns = round(period_s * NANOSECONDS)
        self._window_ns = max(WINDOW_LONGEST_NS, settings.downscale_stabilization_ns)
        self._interval_s = interval_s
        self._all_listed = all_listed
        self._run = secrets.token_hex(8)
        self._parts = Parts()
        self._saving: dict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._term = self._said_term = 0
        self._since_ns = 0
        self._held_tenure: int | None = None
        self._taking_over = asyncio.Lock()
        self._sizes: dict[int, int] = {}
        self._complained_s = float("-inf")
        self._whole: bool | None = None
        self.saves: Counter[str] = Counter(saved=0, conflict=0, error=0)
        self.taken_up = 0

    @property
    def size_bytes(self) -> int:
        """See the class."""
        return sum(self._sizes.values())

    # --- what syncs see of it ---

    async def resumed(self, watched: WatchedAutoscaler, scale: Scale, begun: History) -> History:
        """See ports.Past."""
        await self._take_over()
        key = digest(watched.uid)
        record = self._parts.of(key).left.get(key)
        autoscaler = Autoscaler(watched.namespace, watched.name, watched.spec, self._settings)
        status, now = watched.status, self._clock.now()
        if record is None:
            return unrecorded(autoscaler, status, scale.replicas, begun, now)
        return resumed(
            record,
            autoscaler=autoscaler,
            status=status,
            replicas=scale.replicas,
            begun=begun,
            now=now,
            period_ns=self._period_ns,
        )

    def __call__(self, sync: Sync) -> None:
        """Keep what a sync has left; see ports.SyncObserver."""
        history, scale = sync.conclusion.history, sync.observation.scale
        if history.recommendations is None or not isinstance(scale, Scale):
            return
        if sync.now.monotonic_ns < self._since_ns:
            return  # it began in an earlier term, and somebody else may have decided since
        if not sync.autoscaler.lives_on_in(self._autoscalers.get(sync.autoscaler.key)):
            return  # it went, or was made anew, while the sync was in hand: nobody would forget it again
        scaled_to = sync.conclusion.scaled_to
        replicas = scale.replicas if scaled_to is None else scaled_to
        stabilization = sync.decision.stabilization
        asked = None if stabilization is None else stabilization.desired
        key = digest(sync.autoscaler.uid)
        latest = Latest(history, replicas, sync.concluded.monotonic_ns, asked)
        part = self._parts.of(key)
        self.taken_up += part.put(key, latest)
        part.changed |= scaled_to is not None

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """Forget an HPA that is gone, and one that was made anew; see cache.Observer."""
        if old is not None and not old.lives_on_in(new):
            self._parts.of(digest(old.uid)).forget(old.uid)

    # --- taking over ---

    async def _take_over(self) -> None:
        """Once per term of leadership: what was left. Others wait for the one that does it."""
        async with self._taking_over:
            term = self._leadership.term
            if term == self._term:
                return
            tenure = self._leadership.tenure
            if self._term and tenure is not None and tenure == self._held_tenure:
                # Nobody has led since: what we remember is newer than what we have saved.
                self._parts.begin_term(self._clock.now(), self._window_ns)
            else:
                self._parts = await self._load(tenure)
            self._term, self._held_tenure = term, tenure
            self._since_ns = self._clock.now().monotonic_ns

    async def _load(self, tenure: int | None) -> Parts:
        """What the objects hold, as far as they can be read now."""
        parts, shards = await self._takeover.read(lambda: len(self._autoscalers))
        known, now = self._known(), self._clock.now()
        for shard in shards:
            parts.take(shard, known, tenure=tenure, now=now, window_ns=self._window_ns)
        _log.info("kept histories are read", hpas=parts.left, objects=len(shards))
        return parts

    def _known(self) -> set[bytes] | None:
        """All HPAs that there are; None where not all could be listed."""
        return {digest(watched.uid) for watched in self._autoscalers} if self._all_listed() else None

    async def _take_late(self, number: int) -> None:
        """What could not be read when the term began: HPAs that have not been synced since go on with it.

        Failures are counted and said, and met again the next time.
        """
        try:
            shard = await self._takeover.load(self._parts[number], number)
        except ApiError as error:
            self._complain(number, error)
            return
        if shard is not None:
            now, window_ns = self._clock.now(), self._window_ns
            self._parts.extend(shard.shards)
            self._parts.take(shard, self._known(), tenure=self._held_tenure, now=now, window_ns=window_ns)
            _log.info("a kept history is read at last", object=number, hpas=self._parts.left)

    # --- saving ---

    async def run(self) -> None:
        """Save what has changed, each object at most once per interval; all of them at the beginning of a term."""
        loop = asyncio.get_running_loop()
        number, next_s = 0, loop.time()
        while True:
            await asyncio.sleep(TICK_S * (1.0 + _JITTER * (self._random() - 0.5)))
            try:
                self._leadership.check()
                if self._said_term != self._leadership.term:
                    await self._take_over()
                    # At once, so that nobody takes for our last word what others said before us.
                    await self._save_all()
                    self._said_term = self._term
                self._parts.grow(len(self._autoscalers))
                while next_s <= loop.time():
                    next_s = max(next_s, loop.time() - self._interval_s) + self._interval_s / len(self._parts)
                    # The first object says how many there are: it comes last.
                    number = (min(number, len(self._parts)) or len(self._parts)) - 1
                    if self._parts[number].unread:
                        # Replaced the next time: by then the others have been saved with what it holds of theirs.
                        await self._take_late(number)
                    elif self._due(self._parts[number]):
                        await self._saved(number)
            except NotLeading:
                pass
            except Exception:  # noqa: BLE001 - HPAs are scaled whether their histories can be kept or not
                _log.exception("histories could not be saved")
                self.saves["error"] += 1

    async def hand_over(self, *, whole: bool) -> None:
        """Save everything, within five seconds, for whoever leads next.

        `whole`: every sync that was begun has been concluded.
        """
        self._whole = whole
        if not self._term or self._term != self._leadership.term:
            return
        try:
            async with asyncio.timeout(HAND_OVER_MAX_S):
                await self._save_all()
        except (NotLeading, TimeoutError):
            pass
        except Exception:  # noqa: BLE001 - what comes after it, the Lease above all, must be given back all the same
            _log.exception("histories could not be saved")
            self.saves["error"] += 1

    async def _save_all(self) -> None:
        self._parts.grow(len(self._autoscalers))
        unread = [number for number in range(len(self._parts)) if self._parts[number].unread]
        await asyncio.gather(*map(self._take_late, unread))
        await asyncio.gather(*(self._saved(number) for number in range(1, len(self._parts))))
        await self._saved(0)

    def _due(self, part: Part) -> bool:
        now_s = asyncio.get_running_loop().time()
        return self._whole is None and (part.changed or now_s - part.saved_s >= UNCHANGED_EVERY_S)

    async def _saved(self, number: int) -> None:
        """Save one object; failures are counted and said, and met again the next time."""
        part = self._parts[number]
        if part.unread:
            return  # what it holds would be lost
        if number == 0 and not all(self._parts[each].exists for each in range(1, len(self._parts))):
            return  # it would promise objects that do not exist yet
        async with self._saving[number]:
            part.changed = False
            try:
                part.version = await self._written(number, part)
            except ApiError as error:
                part.changed = True
                part.version = None
                self._complain(number, error)
            except NotLeading:
                part.changed = True
                raise
            else:
                part.exists = True
                self.saves["saved"] += 1
                part.saved_s = asyncio.get_running_loop().time()

    async def _written(self, number: int, part: Part) -> str:
        """The version after writing. Raises ApiError or NotLeading."""
        term = self._term
        body = await self._encoded(part)
        self._sizes[number] = len(body)
        for _ in range(SAVE_ATTEMPTS):
            if part.version is None:
                part.version = (await self._store.load(number)).version
            # In this order: what was read is older than this moment, at which nobody else leads.
            self._leadership.check()
            if term != self._leadership.term:
                raise NotLeading("another term has begun")
            try:
                return await self._store.save(number, body, part.version)
            except (Conflict, NotFound):
                self.saves["conflict"] += 1
                part.version = None
        raise Conflict("it is written by another controller, too", 409)

    async def _encoded(self, part: Part) -> bytes:
        """All of it as bytes, a few HPAs at a time so that no sync waits for long."""
        now = self._clock.now()
        records = {key: record for key, record in part.left.items() if fresh(record, now, self._window_ns)}
        for index, (key, latest) in enumerate(list(part.latest.items())):
            records[key] = latest.record(now, self._window_ns)
            if index % HPAS_PER_ITERATION == HPAS_PER_ITERATION - 1:
                await asyncio.sleep(0)
        whole = bool(self._whole)
        shard = Shard(now.wall_ns, self._run, self._held_tenure, whole, len(self._parts), records)
        return await in_steps(encoding(shard))

    def _complain(self, number: int, error: ApiError) -> None:
        self.saves["error"] += 1
        now_s = asyncio.get_running_loop().time()
        if now_s - self._complained_s >= COMPLAIN_S:
            self._complained_s = now_s
            _log.warning("histories cannot be saved: a restart would forget them", object=number, error=str(error))
