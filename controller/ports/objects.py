"""The objects that syncs read and write, and who reads and writes them."""

import sys
from collections.abc import Callable
from typing import Protocol

import msgspec

from controller.decide.events import Event
from controller.decide.observed import Scale, ScaleFailure
from controller.decide.spec import Reference, Spec
from controller.decide.status import Status


class StatusWrite(msgspec.Struct, frozen=True, gc=False):
    """Who else wrote an object's status, and when, to the second, as its managedFields have it."""

    manager: str
    time: str


class WatchedAutoscaler(msgspec.Struct, frozen=True, gc=False):
    """An HPA as cached.

    `problem` says why the object could not be understood; spec and status are then empty ones. `metadata` is the JSON
    of what a status write must leave as it is (labels, annotations, ownerReferences, finalizers). `foreign_writes` are
    the latest writes of its status by each manager that is not this program. `key` is always `namespace/name`, one
    object for all who keep something by it. `spec_text` is the spec's JSON as it came, empty if there is a
    problem.
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
    key: str = ""
    spec_text: bytes = b""

    def __post_init__(self) -> None:
        # Once, since a sync asks for it two dozen times.
        msgspec.structs.force_setattr(self, "key", sys.intern(f"{self.namespace}/{self.name}"))

    def lives_on_in(self, other: "WatchedAutoscaler | None") -> bool:
        """Whether that is the same HPA as it is now: it is not gone, nor was it made anew under its name."""
        return other is not None and other.uid == self.uid

    def changed_in(self, other: "WatchedAutoscaler | None") -> bool:
        """Whether that is the same HPA, with another spec."""
        return other is not None and other is not self and other.uid == self.uid and other.spec != self.spec


class ScaleReading(msgspec.Struct, frozen=True, gc=False):
    """A target's scale, or why there is none; `live`: asked of the API server just now, not of a watch cache."""

    scale: Scale | ScaleFailure
    live: bool


class Scales(Protocol):
    """The scale subresources of targets (§4.1–4.3, §13.1, §19)."""

    async def read(self, namespace: str, target: Reference, *, live: bool) -> ScaleReading:
        """The scale of a target; never raises ApiError. `live` forbids a cache. Never older than our own last write."""
        ...

    async def write(
        self, namespace: str, target: Reference, scale: Scale, replicas: int, may_send: Callable[[], None]
    ) -> None:
        """Set the replicas of the scale that was read; sent with its uid and version.

        `may_send` is called whenever it is about to go out, however long it had to wait, and raises NotSent to stop it.

        Raises:
            Conflict: the target changed since it was read.
            ApiError: anything else.
            NotSent: it did not go out, or not again.
        """
        ...


class StatusWriter(Protocol):
    """Status writes of HPAs (§14.5)."""

    async def write(self, autoscaler: WatchedAutoscaler, status: Status, may_send: Callable[[], None]) -> None:
        """Store the status; sent with the cached version. `may_send`: see Scales. Raises ApiError or NotSent."""
        ...


class EventSink(Protocol):
    """Where events go (§16). Never blocks, never raises."""

    def emit(self, autoscaler: WatchedAutoscaler, event: Event) -> None:
        """Queue an event about an HPA."""
        ...
