"""What is known of a running lab: the last sync of every HPA, and what has happened."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Final

import msgspec

from controller.decide.result import MetricFailure
from controller.lab.lab import Happening
from controller.ports import Sync
from controller.recording.timeline import why

_KEPT: Final = 200
_SELECTOR: Final = re.compile(r"\((?:nil|&LabelSelector\{.*\})\)")
"""How the metric's name ends in texts that follow the original's; people know which selector they wrote."""


class Seen(msgspec.Struct, frozen=True):
    """A sync in words: replicas before and after, the metric that binds, and why."""

    key: str
    replicas: int | None
    desired: int | None
    scaled_to: int | None
    binding: str
    why: str
    conditions: dict[str, tuple[str, str, str]]
    metrics: tuple[str, ...]
    error: str | None


class Board:
    """Collects what the controller and the lab tell; views read it, or listen.

    Attributes:
        last: The last sync of every HPA by namespace/name.
        syncs: How many there were.
        explains_at: Where the controller answers `explain`, `host:port`; empty while it does not.
        sources: Which metrics come from elsewhere than the metrics APIs, in words; empty if none does.
        happenings: The latest happenings and how often each was told, the last told last.

    """

    def __init__(self, period_s: float) -> None:
        self.period_s = period_s
        self.explains_at: Callable[[], str] = str
        self.sources = ""
        self.last: dict[str, Seen] = {}
        self.syncs: Counter[str] = Counter()
        self.happenings: dict[tuple[str, str, str], tuple[Happening, int]] = {}
        self._listeners: list[Callable[[Seen | Happening], None]] = []

    def listen(self, listener: Callable[[Seen | Happening], None]) -> None:
        """Have every sync and happening told from now on."""
        self._listeners.append(listener)

    def synced(self, sync: Sync) -> None:
        """The observer of the controller's syncs."""
        seen = _seen(sync)
        self.last[seen.key] = seen
        self.syncs[seen.key] += 1
        for listener in self._listeners:
            listener(seen)

    def happened(self, happening: Happening) -> None:
        """The listener of the lab."""
        key = happening.subject, happening.reason, happening.message
        _, count = self.happenings.pop(key, (happening, 0))
        self.happenings[key] = happening, count + 1
        if len(self.happenings) > _KEPT:
            del self.happenings[next(iter(self.happenings))]
        for listener in self._listeners:
            listener(happening)


def _seen(sync: Sync) -> Seen:
    decision, evaluation = sync.decision, sync.decision.evaluation
    metrics: list[str] = []
    for result in evaluation.results if evaluation is not None else ():
        if isinstance(result, MetricFailure):
            metrics.append(f"failed: {result.error}")
        else:
            metrics.append(f"{_SELECTOR.sub('', result.name)}: wants {result.replicas}")
    return Seen(
        key=sync.autoscaler.key,
        replicas=decision.replicas,
        desired=decision.desired,
        scaled_to=sync.conclusion.scaled_to,
        binding=_SELECTOR.sub("", evaluation.name) if evaluation is not None else "",
        why=_SELECTOR.sub("", why(decision)),
        conditions={item.type: (item.status, item.reason, item.message) for item in sync.conclusion.status.conditions},
        metrics=tuple(metrics),
        error=sync.conclusion.error,
    )
