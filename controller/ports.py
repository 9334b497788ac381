"""What the spine needs of the outside world, and the errors it acts on.

Adapters implement these protocols; tests implement them in memory. Nothing here does I/O.

    ApiError
    ├── NotFound          404: the object is gone
    ├── Conflict          409: somebody else wrote first, read again
    ├── Expired           410: the resource version is too old, list again
    ├── Throttled         429: come back later, `retry_after_s` if the server said when
    ├── Refused           401, 403: a permission is missing
    ├── Rejected          another 4xx: the request itself is wrong, repeating it is useless
    ├── ServerFailure     5xx
    └── Unreachable       no answer: connection, TLS, timeout, cut off in the middle
    NotLeading            another instance may be writing: nothing may be sent
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from typing import Final, Generic, Literal, Protocol, TypeVar

import msgspec

from controller.decide.events import Event
from controller.decide.history import History
from controller.decide.instants import Now
from controller.decide.observed import Observation, Reading, Scale, ScaleFailure
from controller.decide.result import Action, Cause, Conclusion, Decision, Write
from controller.decide.selectors import Selector
from controller.decide.spec import MetricIdentifier, Reference, Spec
from controller.decide.status import Status

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# --- errors --------------------------------------------------------------------------------------


class ApiError(Exception):
    """An API server did not do what was asked; the text is what it said. `status` is 0 where there was no answer."""

    def __init__(self, message: str, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class NotFound(ApiError):
    """404."""


class Conflict(ApiError):
    """409."""


class Expired(ApiError):
    """410, or an error event of that kind in a watch."""


class Throttled(ApiError):
    """429; `retry_after_s` None: the server did not say when to come back."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message, 429, "TooManyRequests")
        self.retry_after_s = retry_after_s


class Refused(ApiError):
    """401 or 403."""


class Rejected(ApiError):
    """Another 4xx."""


class ServerFailure(ApiError):
    """5xx; `retry_after_s` None: the server did not say when to come back."""

    def __init__(self, message: str, status: int, reason: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message, status, reason)
        self.retry_after_s = retry_after_s


class Unreachable(ApiError):
    """No answer."""


class NotLeading(Exception):
    """The Lease is not (or no longer certainly) ours."""


# --- lists and watches (§20) ---------------------------------------------------------------------


class Page(msgspec.Struct, Generic[T]):
    """A part of a list. `token` is empty on the last part; `version` is the list's resourceVersion."""

    items: list[T]
    version: str
    token: str = ""


class Put(msgspec.Struct, Generic[T]):
    """An object was added or changed."""

    item: T
    version: str


class Removed(msgspec.Struct, Generic[T]):
    """An object is gone; `item` is its last state."""

    item: T
    version: str


class Bookmark(msgspec.Struct):
    """Nothing changed up to this version; `initial_end`: everything that existed at first has now been sent (§20.2)."""

    version: str
    initial_end: bool = False


WatchEvent = Put[T] | Removed[T] | Bookmark


class ListWatch(Protocol[T]):
    """One resource of an API server. All methods raise ApiError."""

    async def list(self, limit: int, token: str) -> Page[T]:
        """A consistent part of the list, after `token` (empty: from the start)."""
        ...

    def watch(self, version: str, timeout_s: float, *, initial: bool) -> AsyncGenerator[WatchEvent[T], None]:
        """Changes after a version until the server ends the watch after about `timeout_s`.

        As soon as the server has accepted it, a bookmark of the given version. `initial`: then everything that exists,
        then a bookmark with `initial_end` (streaming list); `version` is empty.
        """
        ...


# --- objects -------------------------------------------------------------------------------------


class StatusWrite(msgspec.Struct, frozen=True, gc=False):
    """Who else wrote an object's status, and when, to the second, as its managedFields have it."""

    manager: str
    time: str


class WatchedAutoscaler(msgspec.Struct, frozen=True):
    """An HPA as cached.

    `problem` says why the object could not be understood; spec and status are then empty ones. `metadata` is the JSON
    of what a status write must leave as it is (labels, annotations, ownerReferences, finalizers). `foreign_writes` are
    the latest writes of its status by each manager that is not this program.
    """

    namespace: str
    name: str
    uid: str
    version: str
    spec: Spec
    status: Status
    metadata: bytes = b"{}"
    problem: str | None = None
    foreign_writes: tuple[StatusWrite, ...] = ()

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"


class ScaleReading(msgspec.Struct, frozen=True):
    """A target's scale, or why there is none; `live`: asked of the API server just now, not of a watch cache."""

    scale: Scale | ScaleFailure
    live: bool


class Scales(Protocol):
    """The scale subresources of targets (§4.1–4.3, §13.1, §19)."""

    async def read(self, namespace: str, target: Reference, *, live: bool) -> ScaleReading:
        """The scale of a target; never raises ApiError. `live` forbids a cache. Never older than our own last write."""
        ...

    async def write(self, namespace: str, target: Reference, scale: Scale, replicas: int) -> None:
        """Set the replicas of the scale that was read; sent with its uid and version.

        Raises:
            Conflict: the target changed since it was read.
            ApiError: anything else.
            NotLeading: nothing was sent.
        """
        ...


class StatusWriter(Protocol):
    """Status writes of HPAs (§14.5)."""

    async def write(self, autoscaler: WatchedAutoscaler, status: Status) -> None:
        """Store the status; sent with the cached version. Raises ApiError or NotLeading."""
        ...


class EventSink(Protocol):
    """Where events go (§16). Never blocks, never raises."""

    def emit(self, autoscaler: WatchedAutoscaler, event: Event) -> None:
        """Queue an event about an HPA."""
        ...


# --- metrics (§18) -------------------------------------------------------------------------------


class ResourceQuestion(msgspec.Struct, frozen=True):
    """Usage of the pods that the selector matches, by container."""

    namespace: str
    selector: Selector


class PodsQuestion(msgspec.Struct, frozen=True):
    """A custom metric of each pod that the selector matches; `metric.selector` selects its series.

    `query` is the PromQL that the HPA itself names for the metric; None where it names none.
    """

    namespace: str
    metric: MetricIdentifier
    selector: Selector
    query: str | None = None


class ObjectQuestion(msgspec.Struct, frozen=True):
    """A custom metric of one object; `query` as in PodsQuestion."""

    namespace: str
    metric: MetricIdentifier
    described: Reference
    query: str | None = None


class ExternalQuestion(msgspec.Struct, frozen=True):
    """An external metric; `query` as in PodsQuestion."""

    namespace: str
    metric: MetricIdentifier
    query: str | None = None


Question = ResourceQuestion | PodsQuestion | ObjectQuestion | ExternalQuestion


class Metrics(Protocol):
    """Where samples come from."""

    async def read(self, question: Question) -> Reading:
        """The answer; failing to get one is a ReadFailure, not an exception."""
        ...


# --- who may write -------------------------------------------------------------------------------


class Withheld(msgspec.Struct, frozen=True, tag=True):
    """Why nothing may be written for an HPA: a label, and a sentence for people with what to do."""

    reason: Literal["shadow", "foreign-writer", "frozen"]
    message: str


class Rescale(msgspec.Struct, frozen=True, gc=False):
    """Another controller changed the target's replicas by `change`, seen at a monotonic time."""

    change: int
    at_ns: int


class Mandate(Protocol):
    """Whether an HPA is ours to write, and what others did to it while it was not."""

    def withheld(self, autoscaler: WatchedAutoscaler) -> Withheld | None:
        """None when it may be written at this moment. Asked before every write."""
        ...

    def rescales(self, key: str) -> tuple[Rescale, ...]:
        """What other controllers did since `adopted` was last called, oldest first."""
        ...

    def adopted(self, key: str, rescales: tuple[Rescale, ...]) -> None:
        """These rescales are now part of the HPA's history."""
        ...


# --- turns ---------------------------------------------------------------------------------------

SCALE_FIRST: Final = 0
STATUS_SECOND: Final = 1


class Turn(Protocol):
    """What a sync holds while it decides and writes; it waits for reads without one."""

    def __call__(self, urgency: int = SCALE_FIRST) -> AbstractAsyncContextManager[None]:
        """Wait for a turn: lower urgency numbers first, then the key that has been due longest."""
        ...


# --- what a sync was ------------------------------------------------------------------------------


class Sync(msgspec.Struct, frozen=True):
    """One sync that decided: what went in, what was decided, and what came of it.

    `history` is the one it started from; `write` is None when the scale was left alone. `withheld` says why nothing was
    written although something was to be, None where writing was allowed. It was decided at `now` and concluded at
    `concluded`: between the two the scale was written. `taken_up`: the history is what an earlier term had left.
    """

    autoscaler: WatchedAutoscaler
    observation: Observation
    history: History
    now: Now
    decision: Decision
    write: Write | None
    conclusion: Conclusion
    concluded: Now
    withheld: Withheld | None = None
    taken_up: bool = False


class SyncObserver(Protocol):
    """Wants to know of every sync; must not raise or block."""

    def __call__(self, sync: Sync, /) -> None:
        """Called when a sync has been concluded, before its status is written."""
        ...


# --- histories that last --------------------------------------------------------------------------


class Past(Protocol):
    """What earlier terms of leadership, ours or others', have left (`--keep-history`)."""

    async def resumed(self, watched: WatchedAutoscaler, scale: Scale, begun: History) -> History:
        """The history to go on with at an HPA's first sync of a term; `begun` itself where nothing was left.

        `begun` has no recommendations yet, but maybe rescales by other controllers. Never raises ApiError.
        """
        ...


class StoredShard(msgspec.Struct, frozen=True):
    """An object of kept histories. `body` None: it has none; `version` empty: the object does not exist."""

    body: bytes | None
    version: str


class HistoryStore(Protocol):
    """Where kept histories are, in numbered objects."""

    async def load(self, number: int) -> StoredShard:
        """An object as it is now. Raises ApiError."""
        ...

    async def save(self, number: int, body: bytes, version: str) -> str:
        """Replace what was loaded or saved at that version, and give the new one; empty: there was no object.

        Raises:
            Conflict: it is not at that version.
            ApiError: anything else.
            NotLeading: nothing was sent.
        """
        ...


# --- time, leadership, instruments -----------------------------------------------------------------


class Clock(Protocol):
    """The time, read where it is needed and passed on as a value."""

    def now(self) -> Now:
        """Wall time and monotonic time."""
        ...


class Leadership(Protocol):
    """Whether this instance may write."""

    @property
    def term(self) -> int:
        """Counts up each time leadership is gained; 0 before the first time."""
        ...

    def check(self) -> None:
        """Return if a write may be sent now.

        Raises:
            NotLeading: it may not.
        """
        ...


class Tenured(Leadership, Protocol):
    """Leadership that is counted across all instances."""

    @property
    def tenure(self) -> int | None:
        """How often the Lease had changed hands when it became ours; None while it is not, or without an election."""
        ...


class Instruments(Protocol):
    """The numbers we publish, as observations; none of these raises or blocks."""

    def reconciled(self, action: Action, cause: Cause, duration_s: float) -> None:
        """One sync that reached §4 has ended (§17.3)."""
        ...

    def metric_computed(self, action: Action, cause: Cause, metric_type: str, duration_s: float) -> None:
        """One metric was evaluated (§17.4)."""
        ...

    def replicas_desired(self, namespace: str, name: str, replicas: int) -> None:
        """§17.5."""
        ...

    def autoscalers_counted(self, change: int) -> None:
        """An HPA was added (1) or deleted (-1) (§3.6, §3.8)."""
        ...

    def sync_started(self, key: str, lag_s: float) -> None:
        """A due sync began; `lag_s` after it was due."""
        ...

    def sync_ended(self, key: str, duration_s: float) -> None:
        """The sync of a key has ended."""
        ...

    def sync_postponed(self, reason: str) -> None:
        """A due sync was not decided; the reason is one of a few words."""
        ...

    def watch_restarted(self, resource: str, reason: str) -> None:
        """A watch ended abnormally or its resource was listed anew."""
        ...
