"""What a simulation comes to: how many pods it took, how often it scaled, and whether they were enough."""

import math
from typing import Final

import msgspec

from controller.simulation.loop import Step

_HOUR_S: Final = 3_600.0


class Summary(msgspec.Struct, frozen=True, rename="camel"):
    """A whole simulation in numbers.

    Attributes:
        replicas_least, replicas_mean, replicas_most: of the target, those at first included.
        pod_hours: how long all pods were there, together.
        scale_ups, scale_downs: how often it was scaled.
        reversals: how many of these went the other way than the one before.
        short_s: for how long ready pods had more than a tenth above their target.
        lost: the share of the load that pods could not carry.
        worst: the largest load of a ready pod, in shares of the target; None where none was ready under load.
        duration_s: of all.
    """

    replicas_least: int
    replicas_mean: float
    replicas_most: int
    pod_hours: float
    scale_ups: int
    scale_downs: int
    reversals: int
    short_s: float
    lost: float
    worst: float | None
    duration_s: float


class Tally:
    """Takes steps in their order; `summary` says what they come to."""

    def __init__(self) -> None:
        self._least, self._most = math.inf, 0
        self._ups = self._downs = self._reversals = 0
        self._upwards: bool | None = None
        self._duration_s = self._replica_s = self._short_s = self._load_s = self._lost_s = self._worst = 0.0

    def take(self, step: Step) -> None:
        """Count a step."""
        before, scaled_to, between = step.decision.replicas or 0, step.conclusion.scaled_to, step.between
        after = before if scaled_to is None else scaled_to
        self._least, self._most = min(self._least, before, after), max(self._most, before, after)
        if after != before:
            self._scaled(upwards=after > before)
        self._duration_s += between.length_s
        self._replica_s += between.replica_s
        self._short_s += between.short_s
        self._load_s += between.load_s
        self._lost_s += between.lost_s
        self._worst = max(self._worst, between.worst)

    def summary(self) -> Summary:
        """All steps so far, at least one."""
        return Summary(
            replicas_least=int(self._least),
            replicas_mean=self._replica_s / self._duration_s,
            replicas_most=self._most,
            pod_hours=self._replica_s / _HOUR_S,
            scale_ups=self._ups,
            scale_downs=self._downs,
            reversals=self._reversals,
            short_s=self._short_s,
            lost=self._lost_s / self._load_s if self._load_s else 0.0,
            worst=None if self._worst == math.inf else self._worst,
            duration_s=self._duration_s,
        )

    def _scaled(self, *, upwards: bool) -> None:
        self._ups += upwards
        self._downs += not upwards
        self._reversals += self._upwards is not None and self._upwards != upwards
        self._upwards = upwards
