"""Faults by name, as `--fault` takes them; each comes and goes, so that there are quiet times between."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from controller.lab.chance import spread
from controller.lab.faults import Cut, Delay, Drop, Duplicate, Expire, Fault, Garbage, Refuse, Reorder, Silence, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from controller.lab.faults import Injection
    from controller.lab.server import LabServer

_METRICS: Final = ("/apis/metrics.k8s.io", "/apis/custom.metrics.k8s.io", "/apis/external.metrics.k8s.io")
_QUIET_S: Final = 20.0
_ACTIVE_S: Final = 8.0
_MOMENT_S: Final = 1.0
_CHANGED: Final = 0.25

RESTART: Final = "api-restart"
EMPTY: Final = "metrics-empty"


class Named(msgspec.Struct, frozen=True):
    """A fault of the server: what happens to which requests; `share` of them are hit.

    `once` is for things that happen at a moment instead of going on for a while.
    """

    text: str
    faults: tuple[tuple[Fault, Target], ...] = ()
    share: float = 1.0
    once: bool = False


def _on_metrics(fault: Fault) -> tuple[tuple[Fault, Target], ...]:
    return tuple((fault, Target(path_prefix=prefix)) for prefix in _METRICS)


_WATCHES: Final = Target(verb="watch")

NAMED: Final[dict[str, Named]] = {
    "watch-drop": Named("all watches are cut", ((Cut(), _WATCHES),), once=True),
    "watch-half-open": Named("watches stay open and say nothing more", ((Silence(), _WATCHES),)),
    "watch-reorder": Named("neighbouring watch events change places", ((Reorder(), _WATCHES),)),
    "watch-duplicate": Named("watch events come twice", ((Duplicate(), _WATCHES),)),
    "watch-expired": Named("watches end with 410 Gone", ((Expire(), _WATCHES),), once=True),
    "conflict": Named(
        "half of the writes of scales and statuses are answered 409 Conflict",
        (
            (Refuse(409), Target(verb="update", subresource="scale")),
            (Refuse(409), Target(verb="update", subresource="status")),
        ),
        share=0.5,
    ),
    "throttle": Named(
        "half of the requests are answered 429 with Retry-After: 1",
        ((Refuse(429, retry_after_s=1), Target(verb="get")), (Refuse(429, retry_after_s=1), Target(verb="update"))),
        share=0.5,
    ),
    "api-slow": Named("every answer takes two seconds longer", ((Delay(2.0), Target()),)),
    "api-drop": Named("a third of the connections are cut instead of an answer", ((Drop(), Target()),), share=1 / 3),
    RESTART: Named("the API server is gone for three seconds", once=True),
    "metrics-slow": Named("metrics take four seconds", _on_metrics(Delay(4.0))),
    "metrics-fail": Named("metrics APIs answer 503", _on_metrics(Refuse(503))),
    "metrics-garbage": Named("metrics APIs answer with something that is no JSON", _on_metrics(Garbage())),
    EMPTY: Named("metrics APIs know nothing about any pod or object"),
}


class UnknownFaultError(ValueError):
    """No fault has this name; the message lists them."""


def check(names: Sequence[str]) -> None:
    """Raises UnknownFaultError unless all are known."""
    for name in names:
        if name not in NAMED:
            raise UnknownFaultError(f"{name!r} is no fault; there are {', '.join(NAMED)}")


class FaultSchedule:
    """Switches the named faults on and off as time passes.

    Each is on for about eight seconds and then off for about twenty; the first comes after about twenty. `names` were
    `check`ed.

    Args:
        names: Faults, each may be there once.
        server: What they happen to.
        restart: Called to restart the server.
        announce: Called with the name and `begins` or `ends` for every change.
        seed: Determines the times.

    """

    def __init__(
        self,
        names: Sequence[str],
        server: LabServer,
        restart: Callable[[], None],
        announce: Callable[[str, str], None],
        seed: int,
    ) -> None:
        self._server = server
        self._restart = restart
        self._announce = announce
        self._seed = seed
        self._on: dict[str, list[Injection]] = {}
        now_s = server.cluster.clock.monotonic_s()
        self._next_s = {name: now_s + self._length_s(name, 0) for name in dict.fromkeys(names)}
        self._rounds = dict.fromkeys(self._next_s, 0)

    @property
    def active(self) -> tuple[str, ...]:
        """The names of what goes on now."""
        return tuple(self._on)

    def step(self) -> None:
        """Switch what is due."""
        now_s = self._server.cluster.clock.monotonic_s()
        for name, due_s in self._next_s.items():
            if due_s > now_s:
                continue
            self._rounds[name] += 1
            if name in self._on:
                self._end(name)
            else:
                self._begin(name)
            self._next_s[name] = now_s + self._length_s(name, self._rounds[name])
        # What lets metrics vanish has to do so again after each measurement.
        if EMPTY in self._on:
            self._empty()

    def stop(self) -> None:
        """Switch everything off."""
        for name in list(self._on):
            self._end(name)
        self._next_s.clear()

    def _length_s(self, name: str, number: int) -> float:
        active_s = _MOMENT_S if NAMED[name].once else _ACTIVE_S
        base = active_s if number % 2 else _QUIET_S
        return spread(base, _CHANGED, self._seed, name, number)

    def _begin(self, name: str) -> None:
        named = NAMED[name]
        self._announce(name, "begins")
        injections = [
            self._server.faults.inject(fault, target, probability=named.share) for fault, target in named.faults
        ]
        if name == RESTART:
            self._restart()
        self._on[name] = injections

    def _end(self, name: str) -> None:
        for injection in self._on.pop(name):
            injection.remove()
        self._announce(name, "ends")

    def _empty(self) -> None:
        feed = self._server.cluster.metrics
        feed.pods.clear()
        for described in feed.custom.values():
            described.clear()
        for key in feed.external:
            feed.external[key] = []
