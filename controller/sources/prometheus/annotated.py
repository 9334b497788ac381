"""Answers metrics by the queries that HPAs name for them in an annotation, each confined to the HPA's namespace."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from controller.decide import selectors
from controller.decide.observed import ExternalReading, ObjectReading, Pod, PodsReading, ReadFailure, Reading, Sample
from controller.decide.selectors import Selector
from controller.manifest.query_annotation import ANNOTATION
from controller.ports import ExternalQuestion, ObjectQuestion, PodsQuestion
from controller.promql.literals import PromqlError
from controller.promql.queries import Query, confined
from controller.sources.complaints import UNREADABLE, Complaints
from controller.sources.prometheus.answers import WINDOW_NS, Point, PrometheusError, Vector
from controller.sources.prometheus.sample_times import SampleTimes, Times, oldest
from controller.sources.prometheus.server import Asked, PrometheusServer
from controller.sources.shared import SharedReads

POD: Final = "pod"
"""The label by which the results of a query for a Pods metric are told apart."""

Pods = Callable[[str, Selector], Sequence[Pod]]
"""The pods of a namespace that a selector matches."""

AnnotatedQuestion = PodsQuestion | ObjectQuestion | ExternalQuestion


class AnnotatedMetrics:
    """Asks one Prometheus; close it when done."""

    def __init__(
        self,
        server: PrometheusServer,
        pods: Pods,
        queries: SharedReads[Asked, Vector],
        times: SampleTimes,
        complaints: Complaints,
    ) -> None:
        self._server = server
        self._pods = pods
        self._queries = queries
        self._times = times
        self._complaints = complaints

    async def read(self, question: AnnotatedQuestion) -> Reading:
        """The answer to a question with a query; whatever is wrong is a failure that names annotation and metric."""
        where = f"annotation {ANNOTATION}, metric {question.metric.name}"
        try:
            return await self._read(question, confined(question.query or "", question.namespace))
        except PrometheusError as error:
            message, cause = f"{where}: {error}", error.cause
        except (PromqlError, selectors.SelectorError) as error:
            message = cause = f"{where}: {error}"
        self._complaints.say(UNREADABLE, message, cause, namespace=question.namespace)
        return ReadFailure(message)

    async def close(self) -> None:
        """End what is under way."""
        await self._server.close()

    async def _read(self, question: AnnotatedQuestion, query: Query) -> Reading:
        """Raises PromqlError or PrometheusError."""
        selector = question.metric.selector
        if selector is not None and selectors.from_object(selector).requirements:
            raise PromqlError("the metric has a selector, which nothing would heed: write its labels into the query")
        per_pod = isinstance(question, PodsQuestion)
        vector, times = await asyncio.gather(
            self._queries.get((query.text, question.namespace)),
            self._times.of(query, (POD,) if per_pod else (), question.namespace),
        )
        if any(point.value_milli is None for point in vector.points) and not per_pod:
            raise PromqlError("the query gives no number, but NaN or infinity")
        match question:
            case PodsQuestion():
                names = frozenset(pod.name for pod in self._pods(question.namespace, question.selector))
                return _of_pods(vector, times, names)
            case ObjectQuestion():
                return _of_object(vector, times)
            case ExternalQuestion():
                oldest_ns = oldest([times.of(point.labels, point.at_ns) for point in vector.points])
                return ExternalReading(tuple(point.value_milli or 0 for point in vector.points), oldest_ns)


def pods_reading(points: Mapping[str, Point], times: Times) -> PodsReading:
    """The samples of pods by name; those without a number are left out."""
    samples: dict[str, Sample] = {}
    undated: list[str] = []
    for pod, point in points.items():
        if point.value_milli is None:
            continue
        at_ns = times.of(point.labels, point.at_ns)
        if at_ns is None:
            undated.append(pod)
        samples[pod] = Sample(point.value_milli, point.at_ns if at_ns is None else at_ns, WINDOW_NS)
    return PodsReading(samples, undated=tuple(undated))


def _of_pods(vector: Vector, times: Times, names: frozenset[str]) -> Reading:
    """What the pods of these names have; the query may know of others in the namespace."""
    if not names:
        raise PromqlError("no pod matches the selector of the target")
    if vector.kind != "vector":
        raise PromqlError(f"the query gives a {vector.kind} where a vector with a value for each {POD} is needed")
    points: dict[str, Point] = {}
    for point in vector.points:
        pod = point.labels.get(POD, "")
        if not pod:
            raise PromqlError(f"the query gives a value without the label {POD}; let it aggregate by ({POD})")
        if pod in points:
            raise PromqlError(f"the query gives two values or more for pod {pod}; let it aggregate by ({POD})")
        points[pod] = point
    points = {pod: point for pod, point in points.items() if pod in names}
    reading = pods_reading(points, times)
    if points and not reading.samples:
        raise PromqlError("the query gives no number for any pod, only NaN or infinity")
    return reading


def _of_object(vector: Vector, times: Times) -> Reading:
    if not vector.points:
        raise PromqlError("the query gives no value at the moment")
    if len(vector.points) > 1:
        raise PromqlError(f"the query gives {len(vector.points)} values where one is needed; let it aggregate")
    point = vector.points[0]
    return ObjectReading(point.value_milli or 0, times.of(point.labels, point.at_ns))
