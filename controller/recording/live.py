"""Syncs of a version 2 recording decided again: on exactly what was recorded, or under a variant."""

from typing import Final

import msgspec

from controller.decide.decision import conclude, decide
from controller.decide.history import History
from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    Observation,
    PodsReading,
    ReadFailure,
    Reading,
    ResourceReading,
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
from controller.recording.format import Outcome
from controller.recording.format_v2 import Tick, outcome_of

NOT_RECORDED: Final = ReadFailure("the recording has no answer for this metric")


def decided_again(tick: Tick, settings: Settings) -> tuple[Outcome | None, Decision]:
    """What is decided on the values of a tick, and all of its reasons; the outcome is None where it was not recorded.

    Raises:
        IndexError: a pod names requests that are not there.
    """
    autoscaler = _autoscaler(tick, tick.spec, settings)
    decision = decide(autoscaler, tick.observation(), tick.history, tick.now)
    write = _write(tick.write, decision)
    return outcome_of(tick.status, conclude(autoscaler, tick.status, decision, write, tick.concluded)), decision


class _Memory(msgspec.Struct, frozen=True):
    history: History
    status: Status


class WhatIf:
    """All HPAs of a recording under other settings, or for another spec; feed it ticks in order.

    Replicas, pods and metrics are those recorded: they do not react to what is decided here. What an HPA remembers, and
    its status, are the variant's own from its first tick on. Where the recorded controller began anew, so does this.
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
        status = tick.status if memory is None else memory.status
        begins = memory is None or tick.history.recommendations is None
        history = tick.history if begins or memory is None else memory.history
        seen = tick.observation()
        readings = seen.readings if self._spec is None else answers(tick.spec, seen.readings, spec)
        observation = Observation(seen.scale, status, seen.pods, readings, seen.overlapping)
        decision = decide(autoscaler, observation, history, tick.now)
        conclusion = conclude(autoscaler, status, decision, _write(tick.write, decision), tick.concluded)
        kept = conclusion.status if conclusion.status_changed else status
        self._memories[tick.hpa] = _Memory(conclusion.history, kept)
        return outcome_of(status, conclusion), decision


def answers(recorded: Spec, readings: tuple[Reading, ...], asked: Spec) -> tuple[Reading, ...]:
    """The recorded answers in the order of another spec's metrics; a question that was not asked has none."""
    by_question: dict[object, Reading] = {}
    for metric, reading in zip(recorded.metrics or DEFAULT_METRICS, readings, strict=False):
        if isinstance(reading, ReadFailure) or _fits(metric, reading):
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
        case _:
            return True


def _autoscaler(tick: Tick, spec: Spec, settings: Settings) -> Autoscaler:
    namespace, _, name = tick.hpa.partition("/")
    return Autoscaler(namespace, name, spec, settings)


def _write(recorded: Write | None, decision: Decision) -> Write | None:
    """What becomes of the scale write: what became of the recorded one, and success where there was none."""
    if not decision.rescales:
        return None
    return Written() if recorded is None else recorded
