"""Faults of an API server and of the way to it, switched on and off while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from random import Random

    from controller.lab.serving.route import Route


class Drop(msgspec.Struct, frozen=True):
    """The connection is cut instead of an answer."""


class Delay(msgspec.Struct, frozen=True):
    """The answer comes later, by so many seconds of lab time; other faults still apply."""

    seconds: float


class Refuse(msgspec.Struct, frozen=True):
    """The request is answered with an error and not carried out.

    `code` is the HTTP status: 409, 410, 429, 500, 503 and others; `retry_after_s` sets Retry-After when above
    0.
    """

    code: int
    retry_after_s: int = 0
    message: str = "injected by the lab"


class Garbage(msgspec.Struct, frozen=True):
    """The request is carried out and answered 200 with a body that is no JSON; in a watch, one line of it."""

    body: bytes = b"<html>upstream connect error</html>\n"


class Truncate(msgspec.Struct, frozen=True):
    """The request is carried out, and the connection cut after the first bytes of the body."""

    after_bytes: int = 20


class Silence(msgspec.Struct, frozen=True):
    """A watch, also one that is open already, stays open and says nothing more: a half-open connection."""


class Duplicate(msgspec.Struct, frozen=True):
    """Events of a watch come twice."""


class Reorder(msgspec.Struct, frozen=True):
    """Neighbouring events of a watch change places."""


class Expire(msgspec.Struct, frozen=True):
    """A watch, also one that is open already, ends with an ERROR event of code 410."""


class Cut(msgspec.Struct, frozen=True):
    """The connection of a watch, also of one that is open already, is cut."""


RequestFault = Drop | Delay | Refuse | Garbage | Truncate
StreamFault = Silence | Duplicate | Reorder | Expire | Cut
Fault = RequestFault | StreamFault


class Target(msgspec.Struct, frozen=True):
    """The requests a fault hits; empty fields hit everything.

    `verb` is that of the API (get, list, watch, create, update, patch, delete, deletecollection), `resource`
    is named as `pods` or `deployments.apps`, `subresource` is `status` or `scale` (`-` for neither),
    `path_prefix` is for documents such as discovery.
    """

    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path_prefix: str = ""

    def hits(self, route: Route) -> bool:
        """Whether a request is meant."""
        pairs = (
            (self.verb, route.verb),
            (self.resource, route.resource_key),
            (self.subresource, route.subresource or "-"),
            (self.namespace, route.namespace or ""),
            (self.name, route.name),
        )
        return all(not wanted or wanted == found for wanted, found in pairs) and route.path.startswith(self.path_prefix)


class Injection:
    """A fault that is switched on; `hits` counts what it has done."""

    def __init__(self, owner: Faults, fault: Fault, target: Target, times: int | None, probability: float) -> None:
        self._owner = owner
        self.fault = fault
        self.target = target
        self.remaining = times
        self.probability = probability
        self.hits = 0

    def remove(self) -> None:
        """Switch it off; it may already be."""
        self._owner.discard(self)

    def strike(self) -> None:
        """Count one hit, and switch it off after the last one."""
        self.hits += 1
        if self.remaining is not None:
            self.remaining -= 1
            if self.remaining <= 0:
                self.remove()


class Faults:
    """The faults that are switched on now."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._injections: list[Injection] = []
        self._waiting: set[asyncio.Event] = set()

    def inject(
        self,
        fault: Fault,
        target: Target | None = None,
        *,
        times: int | None = None,
        probability: float = 1.0,
    ) -> Injection:
        """Switch a fault on.

        Args:
            fault: What goes wrong.
            target: The requests that are hit; all when None.
            times: Hits after which it switches itself off; None for never. A hit is a request, or an event
                for Duplicate and Reorder.
            probability: Share of the meant requests that are hit.

        """
        injection = Injection(self, fault, target or Target(), times, probability)
        self._injections.append(injection)
        for event in self._waiting:
            event.set()
        return injection

    def clear(self) -> None:
        """Switch everything off. Watches that fell silent stay so, as a dead connection would."""
        self._injections.clear()

    def discard(self, injection: Injection) -> None:
        """Switch one off."""
        if injection in self._injections:
            self._injections.remove(injection)

    def of_request(self, route: Route) -> list[RequestFault]:
        """The faults that hit a request; every one of them counts this as a hit."""
        found: list[RequestFault] = []
        for injection in list(self._injections):
            fault = injection.fault
            if isinstance(fault, RequestFault) and self._struck(injection, route):
                injection.strike()
                found.append(fault)
        return found

    def of_stream(self, route: Route) -> list[Injection]:
        """The faults that hit an open watch now; the watch counts hits itself."""
        return [
            injection
            for injection in self._injections
            if isinstance(injection.fault, StreamFault) and self._struck(injection, route)
        ]

    def wake_on_change(self, event: asyncio.Event) -> Callable[[], None]:
        """Have an event set whenever a fault is switched on; calling the result ends that."""
        self._waiting.add(event)
        return lambda: self._waiting.discard(event)

    def _struck(self, injection: Injection, route: Route) -> bool:
        if not injection.target.hits(route):
            return False
        return injection.probability >= 1 or self._random.random() < injection.probability
