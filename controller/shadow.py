"""What ours would have decided, held against every decision of another controller that an HPA's status tells of."""

from collections import Counter, deque
from typing import Final

import msgspec
import structlog

from controller.company import ForeignWrite
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Autoscaler, Settings
from controller.ports import Sync, WatchedAutoscaler
from controller.verdict import Candidate, Kind, Verdict, judge

REMEMBERED: Final = 200
"""How many differences are kept for those who ask."""

SYNCS_AFTER: Final = 2
"""How many syncs after a foreign write may show what its writer saw: one at once, one at most a period later."""

_log = structlog.get_logger(__name__)


class Difference(msgspec.Struct, frozen=True):
    """A decision of another controller that ours would not have made; `at_ns` is wall time."""

    key: str
    manager: str
    at_ns: int
    verdict: Verdict


class _Pending(msgspec.Struct):
    """A foreign write that has not been judged; `syncs` of ours have followed it.

    `history` is what ours remembered before it adopted a rescale of this write, None if there was no sync before.
    """

    write: ForeignWrite
    history: History | None
    candidates: list[Candidate]
    syncs: int = 0


class Shadow:
    """Observes syncs and foreign writes.

    Attributes:
        counts: verdicts so far, of all HPAs.
        by_key: the same for each HPA.
        latest: the last differences, oldest first.
    """

    def __init__(self, settings: Settings, *, period_s: float) -> None:
        self._settings = settings
        self._slack_ns = round(period_s * NANOSECONDS)
        self._last: dict[str, Sync] = {}
        self._since_ns: dict[str, tuple[str, int]] = {}
        self._pending: dict[str, _Pending] = {}
        self.counts: Counter[Kind] = Counter()
        self.by_key: dict[str, Counter[Kind]] = {}
        self.latest: deque[Difference] = deque(maxlen=REMEMBERED)

    def wrote(self, autoscaler: WatchedAutoscaler, write: ForeignWrite) -> None:
        """Hear of a foreign write; a company.WriteListener."""
        earlier = self._pending.pop(autoscaler.key, None)
        if earlier is not None and earlier.candidates:
            self._judge(autoscaler.key, earlier, final=True)
        last = self._last.get(autoscaler.key)
        known = [] if last is None else [self._candidate(last, last.history)]
        self._pending[autoscaler.key] = _Pending(write, None if last is None else last.conclusion.history, known)

    def __call__(self, sync: Sync) -> None:
        """Hear of a sync; an observer of the reconciler."""
        key = sync.autoscaler.key
        if sync.withheld is None:
            self._forget(key)
            return
        since = self._since_ns.get(key)
        if since is None or since[0] != sync.autoscaler.uid:
            self._since_ns[key] = (sync.autoscaler.uid, sync.now.monotonic_ns)
        self._last[key] = sync
        pending = self._pending.get(key)
        if pending is None:
            return
        pending.candidates.append(self._candidate(sync, pending.history or sync.history))
        pending.syncs += 1
        if self._judge(key, pending, final=pending.syncs >= SYNCS_AFTER):
            del self._pending[key]

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """See cache.Observer: what is known of an HPA goes with it."""
        if new is None and old is not None:
            self._forget(old.key)
            self.by_key.pop(old.key, None)

    def _forget(self, key: str) -> None:
        for known in (self._last, self._since_ns, self._pending):
            known.pop(key, None)

    def _candidate(self, sync: Sync, history: History) -> Candidate:
        watched = sync.autoscaler
        autoscaler = Autoscaler(watched.namespace, watched.name, watched.spec, self._settings)
        return Candidate(autoscaler, sync.observation, history, sync.now)

    def _judge(self, key: str, pending: _Pending, *, final: bool) -> bool:
        """Judge a write; False if the next sync may still show what its writer saw."""
        write = pending.write
        uid_since = self._since_ns.get(key)
        remembered_ns = 0 if uid_since is None else write.seen_ns - uid_since[1]
        verdict = judge(
            write.before,
            write.after,
            pending.candidates,
            slack_ns=self._slack_ns,
            remembered_ns=remembered_ns,
        )
        if verdict.kind != "agree" and not final:
            return False
        self.counts[verdict.kind] += 1
        self.by_key.setdefault(key, Counter())[verdict.kind] += 1
        if verdict.kind != "agree":
            self._tell(Difference(key, write.manager, pending.candidates[-1].now.wall_ns, verdict))
        return True

    def _tell(self, difference: Difference) -> None:
        self.latest.append(difference)
        verdict = difference.verdict
        write = _log.warning if verdict.kind == "logic" else _log.info
        fields = {field.name: f"{field.theirs} / {field.ours}" for field in verdict.fields}
        write(
            "another controller decided otherwise",
            hpa=difference.key,
            writer=difference.manager,
            difference=verdict.kind,
            because=verdict.because,
            theirs_and_ours=fields,
        )
