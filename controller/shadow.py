"""What ours would have decided, held against every decision of another controller that an HPA's status tells of."""

from collections import Counter, deque
from typing import Final

import msgspec
import structlog

from controller.company import ForeignWrite
from controller.decide.history import History
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Autoscaler, Settings
from controller.decide.status import Status
from controller.judgement import Candidate, Judgement, Kind, differing, judge, memory_ns, still
from controller.ports import Sync, WatchedAutoscaler
from controller.recording.timeline import why

REMEMBERED: Final = 200
"""How many differences are kept for those who ask."""

SYNCS_AFTER: Final = 2
"""How many syncs after a foreign write may show what its writer saw: one at once, one at most a period later."""

STILL_SYNCS: Final = 3
"""For how many syncs nothing may have changed until a status that ours would write otherwise is a difference."""

_log = structlog.get_logger(__name__)


class Difference(msgspec.Struct, frozen=True):
    """A decision of another controller that ours would not have made; `at_ns` is wall time.

    `theirs` are its own words, from the conditions it wrote; `ours` is our decision in one sentence.
    """

    key: str
    manager: str
    at_ns: int
    judgement: Judgement
    theirs: str = ""
    ours: str = ""


class _Pending(msgspec.Struct):
    """A foreign write that has not been judged; `syncs` of ours have followed it.

    `history` is what ours remembered before it adopted a rescale of this write, None if there was no sync before.
    """

    write: ForeignWrite
    history: History | None
    candidates: list[Candidate]
    syncs: int = 0


class _Known(msgspec.Struct):
    """What is known of an HPA that is compared.

    Attributes:
        uid: whose.
        since_ns: since when all that happened to it is known; None: from its beginning.
        last: the last sync.
        still_ns: since when nothing has changed; `still_syncs` counts them.
        told: whether a difference has been told since.
    """

    uid: str
    since_ns: int | None
    last: Sync
    still_ns: int
    still_syncs: int = 0
    told: bool = False


class Shadow:
    """Observes syncs, foreign writes and the cache of HPAs.

    Attributes:
        counts: judgements so far, of all HPAs.
        by_key: the same for each HPA.
        latest: the last differences, oldest first.
    """

    def __init__(self, settings: Settings, *, period_s: float) -> None:
        self._settings = settings
        self._period_ns = round(period_s * NANOSECONDS)
        self._known: dict[str, _Known] = {}
        self._pending: dict[str, _Pending] = {}
        self._gone_ns: dict[str, int] = {}
        self._heard = ("", 0)
        self.counts: Counter[Kind] = Counter()
        self.by_key: dict[str, Counter[Kind]] = {}
        self.latest: deque[Difference] = deque(maxlen=REMEMBERED)

    def wrote(self, autoscaler: WatchedAutoscaler, write: ForeignWrite) -> None:
        """Hear of a foreign write; a company.WriteListener."""
        key = autoscaler.key
        self._heard = (write.manager, write.seen_ns)
        earlier, known = self._pending.pop(key, None), self._known.get(key)
        if earlier is not None and earlier.candidates:
            self._judge(key, earlier, final=True)
        if known is None:
            self._pending[key] = _Pending(write, None, [])
        else:
            before = self._candidate(known.last, known.last.history)
            self._pending[key] = _Pending(write, known.last.conclusion.history, [before])

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """See cache.Observer: what is known of an HPA goes with it."""
        if old is not None and not old.lives_on_in(new):
            known = self._known.get(old.key)
            self._forget(old.key)
            self.by_key.pop(old.key, None)
            if new is None and known is not None:
                self._gone_ns[old.key] = known.last.now.monotonic_ns

    def __call__(self, sync: Sync) -> None:
        """Hear of a sync; an observer of the reconciler."""
        key = sync.autoscaler.key
        if sync.withheld is None:
            self._forget(key)
            return
        known = self._known.get(key)
        if known is None or known.uid != sync.autoscaler.uid:
            self._known[key] = _Known(sync.autoscaler.uid, self._beginning(sync), sync, sync.now.monotonic_ns)
        else:
            self._stand(known, sync)
            known.last = sync
        pending = self._pending.get(key)
        if pending is None:
            return
        pending.candidates.append(self._candidate(sync, pending.history or sync.history))
        pending.syncs += 1
        if self._judge(key, pending, final=pending.syncs >= SYNCS_AFTER):
            del self._pending[key]

    def _beginning(self, sync: Sync) -> int | None:
        """Since when everything about a new HPA is known: None if nobody can have decided about it before."""
        now_ns, horizon_ns = sync.now.monotonic_ns, 2 * self._period_ns
        self._gone_ns = {key: at_ns for key, at_ns in self._gone_ns.items() if now_ns - at_ns < horizon_ns}
        # One that is made anew at once inherits what the other controller remembers of its name.
        fresh = not sync.autoscaler.status.conditions and sync.autoscaler.key not in self._gone_ns
        return None if fresh else now_ns

    def _stand(self, known: _Known, sync: Sync) -> None:
        """Notice a status that stays although ours would have written another one, on inputs that stay, too."""
        before = self._candidate(known.last, known.last.history)
        now = self._candidate(sync, sync.history)
        fields = differing(sync.autoscaler.status, sync.conclusion.status)
        if not fields or sync.autoscaler.status != known.last.autoscaler.status or not still(before, now):
            known.still_ns, known.still_syncs, known.told = sync.now.monotonic_ns, 0, False
            return
        known.still_syncs += 1
        manager, heard_ns = self._heard
        at_work = heard_ns - known.still_ns > 2 * self._period_ns
        if known.still_syncs >= STILL_SYNCS and at_work and not known.told and self._remembers(known, now):
            known.told = True
            judgement = Judgement(
                "logic", "it leaves the status at that although nothing has changed for syncs", fields
            )
            theirs, ours = _words(sync.autoscaler.status), why(sync.decision)
            self._count(Difference(sync.autoscaler.key, manager, sync.now.wall_ns, judgement, theirs, ours))

    def _remembers(self, known: _Known | None, candidate: Candidate) -> bool:
        if known is None:
            return False
        if known.since_ns is None:
            return True
        return candidate.now.monotonic_ns - known.since_ns >= memory_ns(candidate.autoscaler)

    def _forget(self, key: str) -> None:
        self._known.pop(key, None)
        self._pending.pop(key, None)

    def _candidate(self, sync: Sync, history: History) -> Candidate:
        watched = sync.autoscaler
        autoscaler = Autoscaler(watched.namespace, watched.name, watched.spec, self._settings)
        return Candidate(autoscaler, sync.observation, history, sync.now)

    def _judge(self, key: str, pending: _Pending, *, final: bool) -> bool:
        """Judge a write; False if the next sync may still show what its writer saw."""
        write, known = pending.write, self._known.get(key)
        judgement = judge(
            write.before,
            write.after,
            pending.candidates,
            slack_ns=self._period_ns,
            remembered=self._remembers(known, pending.candidates[-1]),
            bracketed=pending.history is not None and len(pending.candidates) > 1,
        )
        if judgement.kind != "agree" and not final:
            return False
        ours = "" if known is None else why(known.last.decision)
        at_ns = pending.candidates[-1].now.wall_ns
        self._count(Difference(key, write.manager, at_ns, judgement, _words(write.after), ours))
        return True

    def _count(self, found: Difference) -> None:
        judgement = found.judgement
        self.counts[judgement.kind] += 1
        self.by_key.setdefault(found.key, Counter())[judgement.kind] += 1
        if judgement.kind == "agree":
            return
        self.latest.append(found)
        write = _log.warning if judgement.kind == "logic" else _log.info
        write(
            "another controller decided otherwise",
            hpa=found.key,
            writer=found.manager,
            difference=judgement.kind,
            because=judgement.because,
            theirs_and_ours={field.name: f"{field.theirs} / {field.ours}" for field in judgement.fields},
        )


def _words(status: Status) -> str:
    """What a status says of itself."""
    return "; ".join(condition.message for condition in status.conditions if condition.message)
