"""Other controllers at work on the same HPAs: noticed by their status writes, and left to it until they are silent.

Leases do not keep others away: the built-in controller holds another one. What it writes does show in an HPA's
managedFields, within milliseconds.
"""

from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from controller.decide.events import Event
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.status import Status
from controller.explain.rows import TWIN_REMEDY
from controller.lasting.records import PERIOD_LONGEST_NS
from controller.modes import Orders
from controller.observers import tell
from controller.ports import (
    Clock,
    EventSink,
    Leadership,
    NotLeading,
    Rescale,
    StatusWrite,
    WatchedAutoscaler,
    Withheld,
)

SHADOW: Final = Withheld("shadow", "running with --shadow: decisions are compared with those of the other controller")

CLOCKS_APART_MAX_NS: Final = 30 * NANOSECONDS

_log = structlog.get_logger(__name__)


class ForeignWrite(msgspec.Struct, frozen=True):
    """A write of an HPA's status by another controller: what it replaced, and when it was seen (monotonic)."""

    manager: str
    before: Status
    after: Status
    seen_ns: int

    @property
    def change(self) -> int:
        """By how many replicas the writer has rescaled the target; 0 if it has not."""
        rescaled = self.after.last_scale_ns != self.before.last_scale_ns
        return self.after.replicas_desired - self.after.replicas_current if rescaled else 0


WriteListener = Callable[[WatchedAutoscaler, ForeignWrite], None]


class Company:
    """Observes the cache of HPAs for foreign writes; the port `Mandate`.

    An HPA that another controller wrote is not ours until the other has been silent for `silence_ns`. What operators
    order stands above that.
    """

    def __init__(
        self, clock: Clock, sink: EventSink, orders: Orders, leadership: Leadership, *, shadow: bool, silence_ns: int
    ) -> None:
        """`shadow`: no HPA is ours, whatever orders there are. `silence_ns` 0: foreign writes do not count."""
        self._clock = clock
        self._sink = sink
        self._orders = orders
        self._leadership = leadership
        self._shadow = shadow
        self._silence_ns = silence_ns
        self._listeners: list[WriteListener] = []
        self._latest: dict[str, ForeignWrite] = {}
        self._yielded: dict[str, int] = {}
        """The term in which an HPA was left to another; in no other one that means anything."""
        self._sent: dict[str, str] = {}
        """The version over which a status of ours was last about to be sent, until the watch tells of one that replaced
        it. Where nothing went out after all, one write of another instance of ours is taken for it."""
        self._confirmed: dict[str, int] = {}
        """The term in which a status of ours has come back: no former leader can write after that."""
        self._twins: dict[str, int] = {}
        """When another instance of ours was last seen to write an HPA that we write (monotonic)."""
        self._rescales: dict[str, list[Rescale]] = {}

    def observe(self, listener: WriteListener) -> None:
        """Have the listener hear of all further foreign writes, with the HPA as it is after the write."""
        self._listeners.append(listener)

    @property
    def yielded(self) -> dict[str, str]:
        """The HPAs left to another controller, and its name; none while we do not lead."""
        return {key: self._latest[key].manager for key in sorted(self._yielded) if self._is_yielded(key)}

    @property
    def twins(self) -> list[str]:
        """The HPAs that another hpa-controller scales beside us; none while we do not lead."""
        since_ns = self._clock.now().monotonic_ns - self._silence_ns
        return sorted(key for key, seen_ns in self._twins.items() if seen_ns > since_ns) if self._leads() else []

    # --- see cache.Observer ---

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """See cache.Observer. What an HPA looks like when it is first seen says nothing about who is at work."""
        if new is None or old is None or not old.lives_on_in(new):
            gone = old or new
            assert gone is not None  # noqa: S101 - a change has at least one side
            self._latest.pop(gone.key, None)
            self._rescales.pop(gone.key, None)
            self._yielded.pop(gone.key, None)
            self._sent.pop(gone.key, None)
            self._confirmed.pop(gone.key, None)
            self._twins.pop(gone.key, None)
            return
        ours = new.version != old.version and self._sent.get(old.key) == old.version
        if ours:
            del self._sent[old.key]
            self._confirmed[old.key] = self._leadership.term
        manager = self._writer(old, new, ours=ours)
        if manager is None:
            if not ours and new.status != old.status:
                self._written_beside_us(new)
            return
        now = self._clock.now()
        write = ForeignWrite(manager, old.status, new.status, now.monotonic_ns)
        self._latest[new.key] = write
        if write.change:
            # Who does not lead adopts none of them.
            since_ns = now.monotonic_ns - PERIOD_LONGEST_NS
            known = [rescale for rescale in self._rescales.get(new.key, ()) if rescale.at_ns > since_ns]
            self._rescales[new.key] = [*known, Rescale(write.change, _rescaled_ns(new.status, now))]
        tell(self._listeners, new.key, new, write)

    def _writer(self, old: WatchedAutoscaler, new: WatchedAutoscaler, *, ours: bool) -> str | None:
        """Who else has written the status between the two, or None; `ours`: we have sent one over the former."""
        fresh = [write for write in new.foreign_writes if write not in old.foreign_writes]
        if not fresh and (ours or new.status == old.status):
            return None
        # While it is not known what operators want another instance of ours may be at work.
        ordered = self._orders.modes is not None and self._orders.withheld(new.namespace) is not None
        idle = self._shadow or ordered
        if not idle and not self._silence_ns:
            return None
        if fresh:
            return max(fresh, key=_time).manager
        # Whoever changes a status that we leave alone is another, even one that goes by our name.
        if not (idle or self._is_yielded(old.key)):
            return None
        return max(new.foreign_writes, key=_time).manager if new.foreign_writes else "another hpa-controller"

    def _written_beside_us(self, autoscaler: WatchedAutoscaler) -> None:
        """Somebody who goes by our name wrote a status: tell of it, unless it may have been the leader before us.

        Nothing is left to it: it would leave the same HPAs to us, and nobody would scale them.
        """
        if not self._silence_ns or not self._leads() or self._confirmed.get(autoscaler.key) != self._leadership.term:
            return
        seen_ns, now_ns = self._twins.get(autoscaler.key), self._clock.now().monotonic_ns
        self._twins[autoscaler.key] = now_ns
        if seen_ns is None or now_ns - seen_ns >= self._silence_ns:
            _log.warning("another hpa-controller scales this HPA, too", hpa=autoscaler.key, remedy=TWIN_REMEDY)
            text = f"another hpa-controller scales this HPA, too, so that both undo each other's work: {TWIN_REMEDY}"
            self._sink.emit(autoscaler, Event("Warning", "ForeignWriter", text))

    # --- see ports.Mandate ---

    def withheld(self, autoscaler: WatchedAutoscaler) -> Withheld | None:
        """See ports.Mandate."""
        ordered = SHADOW if self._shadow else self._orders.withheld(autoscaler.namespace)
        if ordered is not None:
            self._yielded.pop(autoscaler.key, None)  # it is left alone in any case, and not to anybody
            return ordered
        write = self._latest.get(autoscaler.key)
        if write is None:
            return None
        if self._clock.now().monotonic_ns - write.seen_ns >= self._silence_ns:
            self._resume(autoscaler, write)
            return None
        withheld = Withheld("foreign-writer", self._advice(write))
        if self._yielded.get(autoscaler.key) != self._leadership.term:
            self._yielded[autoscaler.key] = self._leadership.term
            _log.warning("HPA is left to another controller", hpa=autoscaler.key, writer=write.manager)
            self._sink.emit(autoscaler, Event("Warning", "ForeignWriter", withheld.message))
        return withheld

    def sending(self, autoscaler: WatchedAutoscaler) -> None:
        """See ports.Mandate."""
        self._sent[autoscaler.key] = autoscaler.version

    def rescales(self, key: str) -> tuple[Rescale, ...]:
        """See ports.Mandate."""
        return tuple(self._rescales.get(key, ()))

    def adopted(self, key: str, rescales: tuple[Rescale, ...]) -> None:
        """See ports.Mandate."""
        remaining = [rescale for rescale in self._rescales.pop(key, ()) if rescale not in rescales]
        if remaining:
            self._rescales[key] = remaining

    def _is_yielded(self, key: str) -> bool:
        """Whether an HPA is left to another now, by us who lead."""
        return self._yielded.get(key) == self._leadership.term and self._leads()

    def _leads(self) -> bool:
        try:
            self._leadership.check()
        except NotLeading:
            return False
        return True

    def _resume(self, autoscaler: WatchedAutoscaler, write: ForeignWrite) -> None:
        del self._latest[autoscaler.key]
        if self._yielded.pop(autoscaler.key, None) is not None:
            text = f"{write.manager} has not written this HPA for {self._silence_text}: hpa-controller scales it again"
            _log.warning("HPA is scaled by us again", hpa=autoscaler.key, silent=write.manager)
            self._sink.emit(autoscaler, Event("Normal", "ForeignWriterSilent", text))

    def _advice(self, write: ForeignWrite) -> str:
        return (
            f"{write.manager} writes this HPA, too, so hpa-controller leaves it alone until {write.manager} has been "
            f"silent for {self._silence_text}. Only one controller may scale: switch the other off (add "
            "-horizontal-pod-autoscaler-controller to --controllers of kube-controller-manager), or run this one "
            "with --shadow"
        )

    @property
    def _silence_text(self) -> str:
        return f"{self._silence_ns / NANOSECONDS:g}s"


def _time(write: StatusWrite) -> str:
    return write.time


def _rescaled_ns(status: Status, now: Now) -> int:
    """When the last rescale was, by our monotonic clock: as its writer says, unless its clock is far from ours."""
    ago_ns = now.wall_ns - (status.last_scale_ns or 0)
    return now.monotonic_ns - ago_ns if 0 <= ago_ns <= CLOCKS_APART_MAX_NS else now.monotonic_ns
