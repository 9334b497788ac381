"""What alerts need to know of single HPAs: which of them cannot scale, or want more than they may have, or waver.

Only HPAs with a trouble have series, so that thousands of healthy ones cost a scrape nothing. All of it is known to the
instance that syncs the HPA and to nobody else, so kube-state-metrics is not needed.
"""

from collections.abc import Iterable
from typing import Final

import msgspec
from prometheus_client.core import Metric

from controller.decide.conditions import ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import dated
from controller.decide.result import Path
from controller.ports import Sync, WatchedAutoscaler
from controller.telemetry.families import Samples, counter, gauge
from controller.telemetry.instruments import OURS

STALE_S: Final = 120.0
"""Metrics younger than this are as they should be: metrics-server itself looks every 15 to 60 s."""

_TOO_MANY: Final = "TooManyReplicas"
_ASKED: Final = (Path.METRICS, Path.UNDECIDED)
"""Where metrics ask for replicas, or did until one of them failed."""

_LABELS: Final = ("namespace", "hpa_name")


class _Trouble(msgspec.Struct, gc=False):
    """What the last sync of an HPA has shown."""

    inactive: tuple[str, str] | None
    held_at_max: bool
    age_s: float | None


_NOT_UNDERSTOOD: Final = _Trouble((ABLE_TO_SCALE, "NotUnderstood"), held_at_max=False, age_s=None)


class _Rescales(msgspec.Struct, gc=False):
    """How often an HPA was scaled; `reversals` counts those in the other direction than the one before."""

    up: int = 0
    down: int = 0
    reversals: int = 0
    last_up: bool | None = None


class Troubles:
    """Observes syncs, and the cache of HPAs for those that are gone."""

    def __init__(self) -> None:
        self._last: dict[str, _Trouble] = {}
        self._rescales: dict[str, _Rescales] = {}

    def __call__(self, sync: Sync) -> None:
        """See ports.SyncObserver."""
        key = sync.autoscaler.key
        trouble = _Trouble(_inactive(sync), _held_at_max(sync), _age_s(sync))
        if trouble.inactive is None and not trouble.held_at_max and trouble.age_s is None:
            self._last.pop(key, None)
        else:
            self._last[key] = trouble
        replicas, scaled_to = sync.decision.replicas, sync.conclusion.scaled_to
        if scaled_to is not None and replicas is not None:
            self._rescaled(key, up=scaled_to > replicas)

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """See cache.Observer: what is known of an HPA goes with it, and one that is not understood is not synced."""
        if old is not None and not old.lives_on_in(new):
            self._last.pop(old.key, None)
            self._rescales.pop(old.key, None)
        if new is not None and new.problem is not None:
            self._last[new.key] = _NOT_UNDERSTOOD

    def _rescaled(self, key: str, *, up: bool) -> None:
        rescales = self._rescales.setdefault(key, _Rescales())
        if up:
            rescales.up += 1
        else:
            rescales.down += 1
        if rescales.last_up is not None and rescales.last_up != up:
            rescales.reversals += 1
        rescales.last_up = up

    def families(self, *, syncing: bool) -> Iterable[Metric]:
        """All of it as metrics; states only while `syncing`, since another instance knows better otherwise."""
        last = list(self._last.items()) if syncing else []
        inactive: Samples = [((*_named(key), *one.inactive), 1.0) for key, one in last if one.inactive is not None]
        yield gauge(
            f"{OURS}_inactive",
            "1 for each HPA that cannot scale; the condition that is false, and its reason, are labels.",
            inactive,
            (*_LABELS, "condition", "reason"),
        )
        held: Samples = [(_named(key), 1.0) for key, one in last if one.held_at_max]
        yield gauge(
            f"{OURS}_held_at_max",
            "1 for each HPA whose metrics ask for more than its maximum, which is above its minimum.",
            held,
            _LABELS,
        )
        ages: Samples = [(_named(key), one.age_s) for key, one in last if one.age_s is not None]
        yield gauge(
            f"{OURS}_stale_metric_age_seconds",
            f"Age of the oldest metric of each HPA that was last decided on one older than {STALE_S:g} s.",
            ages,
            _LABELS,
        )
        rescales = list(self._rescales.items())
        directed = [((*_named(key), "up"), float(one.up)) for key, one in rescales]
        directed += [((*_named(key), "down"), float(one.down)) for key, one in rescales]
        yield counter(f"{OURS}_rescales", "Times that an HPA was scaled.", directed, (*_LABELS, "direction"))
        reversals: Samples = [(_named(key), float(one.reversals)) for key, one in rescales]
        yield counter(
            f"{OURS}_reversals",
            "Times that an HPA was scaled in the other direction than the time before.",
            reversals,
            _LABELS,
        )


def _named(key: str) -> tuple[str, str]:
    namespace, _, name = key.partition("/")
    return namespace, name


def _inactive(sync: Sync) -> tuple[str, str] | None:
    """The condition that keeps the HPA from scaling, and its reason."""
    for kind in (ABLE_TO_SCALE, SCALING_ACTIVE):
        condition = sync.conclusion.status.condition(kind)
        if condition is not None and condition.status == "False":
            return kind, condition.reason
    return None


def _held_at_max(sync: Sync) -> bool:
    if sync.decision.path not in _ASKED:
        return False  # the condition is that of an earlier sync, and nothing asks for more now
    spec = sync.autoscaler.spec
    limited = sync.conclusion.status.condition(SCALING_LIMITED)
    if limited is None or limited.status != "True" or limited.reason != _TOO_MANY:
        return False
    return spec.replicas_max > (1 if spec.replicas_min is None else spec.replicas_min)


def _age_s(sync: Sync) -> float | None:
    """The age of the oldest of the metrics, each as old as its newest sample; None if that is nothing to tell of."""
    newest = [max(times) for times, _ in map(dated, sync.observation.readings) if times]
    if not newest:
        return None
    age_s = (sync.now.wall_ns - min(newest)) / NANOSECONDS
    return age_s if age_s > STALE_S else None
