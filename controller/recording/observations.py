"""Recorded pods and metric answers as the values that decisions are made from."""

from collections.abc import Mapping
from functools import partial

from controller.decide.instants import NANOSECONDS
from controller.decide.observed import (
    Container,
    ContainerUsage,
    ExternalReading,
    ObjectReading,
    Pod,
    PodRequests,
    PodsReading,
    PodUsage,
    ReadFailure,
    Readiness,
    Reading,
    ResourceReading,
    Sample,
)
from controller.decide.quantity import milli, parse
from controller.decide.selectors import Selector
from controller.decide.spec import (
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
)
from controller.recording import format_v1 as form
from controller.wire.errors import located, wire_errors

DEFAULT_LABELS = {"app": "web"}
DEFAULT_WINDOW_S = 60

_NOT_LISTED = ReadFailure("the recording has no answer for this metric")


class PodsSeen:
    """The pods of a recording, kept up to date tick by tick."""

    def __init__(self, start_ns: int) -> None:
        self._start_ns = start_ns
        self._pods: dict[str, Pod] = {}

    @wire_errors
    def update(self, changes: Mapping[str, form.Pod | None]) -> None:
        """Take in a tick's changes; None removes a pod.

        Raises:
            WireError: a request is no quantity.
        """
        for name, pod in changes.items():
            if pod is None:
                self._pods.pop(name, None)
            else:
                self._pods[name] = located(f"pods.{name}", partial(_pod, name, self._start_ns), pod)

    def matching(self, selector: Selector) -> tuple[Pod, ...]:
        """The pods that the selector matches, in name order."""
        return tuple(pod for _, pod in sorted(self._pods.items()) if selector.matches(pod.labels))


@wire_errors
def readings(metrics: tuple[MetricSpec, ...], answers: form.Metrics, start_ns: int) -> tuple[Reading, ...]:
    """One reading per metric of the spec.

    Raises:
        WireError: an answer holds what is no quantity.
    """
    return tuple(_reading(metric, answers, start_ns) for metric in metrics)


def _reading(metric: MetricSpec, answers: form.Metrics, start_ns: int) -> Reading:
    match metric:
        case ResourceMetric() | ContainerResourceMetric():
            answer = answers.resource or form.ResourceAnswer()
            return located("metrics.resource", partial(_resource, start_ns), answer)
        case PodsMetric():
            name = metric.metric.name
            return located(f"metrics.pods.{name}", partial(_pods, start_ns), (answers.pods or {}).get(name))
        case ObjectMetric():
            key = f"{metric.described.kind}/{metric.described.name}/{metric.metric.name}"
            return located(f"metrics.object.{key}", partial(_object, start_ns), (answers.object or {}).get(key))
        case ExternalMetric():
            name = metric.metric.name
            return located(f"metrics.external.{name}", partial(_external, start_ns), (answers.external or {}).get(name))
        case _:
            return _NOT_LISTED


def _resource(start_ns: int, answer: form.ResourceAnswer) -> Reading:
    if answer.error is not None:
        return ReadFailure(answer.error)
    return ResourceReading(
        tuple(
            PodUsage(
                name,
                start_ns + item.t * NANOSECONDS,
                item.window * NANOSECONDS,
                tuple(
                    ContainerUsage(container, {resource: milli(text) for resource, text in usage.items()})
                    for container, usage in item.usage.items()
                ),
            )
            for name, item in sorted((answer.pods or {}).items())
        )
    )


def _pods(start_ns: int, answer: form.PodsAnswer | None) -> Reading:
    if answer is None:
        return _NOT_LISTED
    if answer.error is not None:
        return ReadFailure(answer.error)
    return PodsReading(
        {
            name: Sample(
                milli(sample.value),
                start_ns + sample.t * NANOSECONDS,
                (DEFAULT_WINDOW_S if sample.window is None else sample.window) * NANOSECONDS,
            )
            for name, sample in (answer.pods or {}).items()
        }
    )


def _object(start_ns: int, answer: form.ObjectAnswer | None) -> Reading:
    if answer is None:
        return _NOT_LISTED
    if answer.error is not None or answer.value is None:
        return ReadFailure(answer.error or "the answer has no value")
    return ObjectReading(milli(answer.value), start_ns + answer.t * NANOSECONDS)


def _external(start_ns: int, answer: form.ExternalAnswer | None) -> Reading:
    if answer is None:
        return _NOT_LISTED
    if answer.error is not None:
        return ReadFailure(answer.error)
    return ExternalReading(tuple(map(milli, answer.values or ())), start_ns + answer.t * NANOSECONDS)


def _pod(name: str, start_ns: int, pod: form.Pod) -> Pod:
    ready = pod.ready
    return Pod(
        name=name,
        labels=DEFAULT_LABELS if pod.labels is None else pod.labels,
        phase=pod.phase,
        requests=PodRequests(
            tuple(map(_container, pod.containers or ())),
            tuple(map(_container, pod.init_containers or ())),
            _nano(pod.pod_requests),
        ),
        deleted=pod.deleted is not None,
        started_ns=None if pod.start is None else start_ns + pod.start * NANOSECONDS,
        ready=None if ready is None else Readiness(ready.status, start_ns + ready.since * NANOSECONDS),
    )


def _container(container: form.Container) -> Container:
    return Container(container.name, _nano(container.requests), container.restart_policy == "Always")


def _nano(requests: Mapping[str, str] | None) -> dict[str, int]:
    return {resource: parse(text).nano() for resource, text in (requests or {}).items()}
