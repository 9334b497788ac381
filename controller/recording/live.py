"""Syncs of a version 2 recording decided again: on exactly what was recorded, or under a variant."""

from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.decide.decision import conclude, decide, rescaled
from controller.decide.history import History
from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    PodsReading,
    ReadFailure,
    Reading,
    ResourceReading,
    Scale,
)
from controller.decide.result import Decision, Write, Written
from controller.decide.spec import (
    DEFAULT_METRICS,
    Autoscaler,
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
    Settings,
    Spec,
)
from controller.decide.status import Status
from controller.recording.format_v1 import Outcome
from controller.recording.format_v2 import Tick, outcome_of, told
from controller.wire.autoscalers import status_from
from controller.wire.errors import WireError
from controller.wire.status import status_to

NOT_RECORDED: Final = ReadFailure("the recording has no answer for this metric")


def decided_again(tick: Tick, settings: Settings) -> tuple[Outcome | None, Decision]:
    """What is decided on the values of a tick, and all of its reasons; the outcome is None where it cannot be printed.

    Raises:
        IndexError: a pod names requests that are not there.
    """
    autoscaler = _autoscaler(tick, tick.spec, settings)
    decision = decide(autoscaler, tick.observation(), tick.history, tick.now)
    # Where other rules than the recorded ones would leave the scale alone, nothing can have come of a write.
    write = tick.write if decision.rescales else None
    return outcome_of(conclude(autoscaler, tick.status, decision, write, tick.concluded)), decision


class _Memory(msgspec.Struct, frozen=True):
    """What is known of an HPA under a variant after a tick.

    `history` has the recorded rescales up to `until_ns`, for as long as the variant's policies ask for them. `status`
    was stored before the tick, `next_status` is stored if the write of the recorded one, `written`, was.
    """

    history: History
    until_ns: int
    status: Status
    next_status: Status
    written: Outcome | None
    withheld: bool

    def status_at(self, tick: Tick) -> Status:
        """The status that the next tick finds."""
        if self.withheld:
            return tick.status
        if self.written is None or not self.written.status_writes:
            return self.next_status
        return self.next_status if _stored_as(tick.status, self.written.status) else self.status


def _as_stored(status: Status) -> Status:
    """A status as it comes back once it is written: quantities may have another form (100000000 becomes 100M)."""
    try:
        return status_from(status_to(status))
    except ValueError:
        return status  # it has a time without a date


def _stored_as(status: Status, written: dict[str, Any]) -> bool:
    """Whether a status is what was written."""
    found = told(status)
    if found is None or found == written:
        return found is not None
    try:
        return status_from(found) == status_from(written)
    except WireError:
        return False


class WhatIf:
    """All HPAs of a recording under other settings, or for another spec; feed it ticks in order.

    Replicas, pods and metrics are those recorded: they do not react to what is decided here. So the rescales that rate
    limits remember are the recorded ones, too; recommendations and the status are the variant's own from the first tick
    of an HPA on. Where the recorded controller began anew, took up what an earlier term had left, or could not store a
    status, so it is here.
    """

    def __init__(self, settings: Settings, spec: Spec | None) -> None:
        self._settings = settings
        self._spec = spec
        self._memories: dict[str, _Memory] = {}

    def step(self, tick: Tick) -> tuple[Outcome | None, Decision]:
        """What would have been decided at a tick.

        Raises:
            IndexError: a pod names requests that are not there.
        """
        spec = tick.spec if self._spec is None else self._spec
        autoscaler = _autoscaler(tick, spec, self._settings)
        memory = self._memories.get(tick.hpa)
        status = tick.status if memory is None else memory.status_at(tick)
        history = _history(autoscaler, tick, memory)
        seen = tick.observation()
        readings = seen.readings if self._spec is None else answers(tick.spec, seen.readings, spec)
        observation = replace(seen, status=status, readings=readings)
        decision = decide(autoscaler, observation, history, tick.now)
        conclusion = conclude(autoscaler, status, decision, _write(tick, decision), tick.concluded)
        self._memories[tick.hpa] = _Memory(
            _remembered(autoscaler, tick, history, conclusion.history),
            tick.concluded.monotonic_ns,
            status,
            _as_stored(conclusion.status) if conclusion.status_changed else status,
            tick.outcome,
            bool(tick.withheld),
        )
        return outcome_of(conclusion), decision


def _history(autoscaler: Autoscaler, tick: Tick, memory: _Memory | None) -> History:
    """What a variant starts a tick from, with what was scaled in syncs that the recording has lost.

    A recorded history has the rescales that the recorded policies ask for (§11.6): none without behavior, and maybe the
    last one only where the variant's periods are longer.
    """
    recorded = tick.history
    if memory is None or recorded.recommendations is None or tick.taken_up:
        return recorded
    history = memory.history
    for sign, rescales in ((1, recorded.scale_ups), (-1, recorded.scale_downs)):
        for rescale in rescales:
            if rescale.at_ns > memory.until_ns:
                history = rescaled(autoscaler, history, sign * rescale.change, rescale.at_ns)
    return history


def _remembered(autoscaler: Autoscaler, tick: Tick, before: History, after: History) -> History:
    """The variant's recommendations with the rescale that really happened."""
    kept = History(after.recommendations, before.scale_ups, before.scale_downs)
    scaled_to = None if tick.outcome is None else tick.outcome.scaled_to
    if scaled_to is None or not isinstance(tick.scale, Scale):
        return kept
    return rescaled(autoscaler, kept, scaled_to - tick.scale.replicas, tick.concluded.monotonic_ns)


def answers(recorded: Spec, readings: tuple[Reading, ...], asked: Spec) -> tuple[Reading, ...]:
    """The recorded answers in the order of another spec's metrics; a question that was not asked has none."""
    by_question: dict[object, Reading] = {}
    for metric, reading in zip(recorded.metrics or DEFAULT_METRICS, readings, strict=False):
        if _fits(metric, reading):
            by_question.setdefault(_question(metric), reading)
    return tuple(by_question.get(_question(metric), NOT_RECORDED) for metric in asked.metrics or DEFAULT_METRICS)


def _question(metric: MetricSpec) -> object:
    match metric:
        case ResourceMetric() | ContainerResourceMetric():
            return "resource"
        case PodsMetric():
            return "pods", metric.metric
        case ObjectMetric():
            return "object", metric.metric, metric.described.kind, metric.described.name
        case ExternalMetric():
            return "external", metric.metric
        case _:
            return "unknown", metric.type


def _fits(metric: MetricSpec, reading: Reading) -> bool:
    match reading:
        case ResourceReading():
            return isinstance(metric, ResourceMetric | ContainerResourceMetric)
        case PodsReading():
            return isinstance(metric, PodsMetric)
        case ObjectReading():
            return isinstance(metric, ObjectMetric)
        case ExternalReading():
            return isinstance(metric, ExternalMetric)
        case ReadFailure():
            return True


def _autoscaler(tick: Tick, spec: Spec, settings: Settings) -> Autoscaler:
    namespace, _, name = tick.hpa.partition("/")
    return Autoscaler(namespace, name, spec, settings)


def _write(tick: Tick, decision: Decision) -> Write | None:
    """What becomes of a variant's write: what became of the recorded one, and success where none was tried."""
    if not decision.rescales or tick.withheld:
        return None
    return Written() if tick.write is None else tick.write
