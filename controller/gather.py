"""Pods and every metric of one HPA, read at the same time, as one observation (§5, §6)."""

import asyncio
from collections.abc import Callable
from typing import Final

import msgspec
import structlog

from controller.decide import selectors
from controller.decide.decision import path_before_metrics
from controller.decide.observed import Observation, ReadFailure, Reading, Scale, ScaleFailure
from controller.decide.selectors import Selector
from controller.decide.spec import (
    Autoscaler,
    ContainerResourceMetric,
    ExternalMetric,
    MetricSpec,
    ObjectMetric,
    PodsMetric,
    ResourceMetric,
)
from controller.decide.status import Status
from controller.manifest.query_annotation import ANNOTATION, Queries
from controller.pod_cache import PodCache
from controller.ports import (
    ExternalQuestion,
    Metrics,
    ObjectQuestion,
    PodsQuestion,
    Question,
    ResourceQuestion,
)
from controller.rivals import Rivals

_log = structlog.get_logger(__name__)


class Gathered(msgspec.Struct, frozen=True, gc=False):
    """An observation, when reading for it began (loop time), and how long each metric took (seconds, 0 if not read)."""

    observation: Observation
    began_s: float
    durations_s: tuple[float, ...] = ()


class Gatherer:
    """Turns a scale into everything `decide` needs to see."""

    def __init__(
        self,
        pods: PodCache,
        metrics: Metrics,
        rivals: Rivals,
        queries_of: Callable[[bytes], Queries] = lambda _: Queries(),
    ) -> None:
        """`queries_of` finds the queries that an HPA's metadata names for its metrics; by default there are none."""
        self._pods = pods
        self._metrics = metrics
        self._rivals = rivals
        self._queries_of = queries_of

    async def gather(
        self, autoscaler: Autoscaler, status: Status, scale: Scale | ScaleFailure, metadata: bytes = b"{}"
    ) -> Gathered:
        """The observation of this moment; failures of metrics are values in it.

        Pods and metrics are read only where the decision needs them (§4.7), and only once the selector is known to be
        good and this HPA's alone (§5). `metadata` is the HPA's, as JSON.
        """
        began_s = asyncio.get_running_loop().time()
        selector = _selector(autoscaler, status, scale)
        if selector is None:
            return Gathered(Observation(scale, status), began_s)
        namespace = autoscaler.namespace
        self._rivals.store(namespace, autoscaler.name, selector)
        overlapping = self._rivals.sharing(namespace, self._pods.labels_matching(namespace, selector))
        if len(overlapping) > 1:
            return Gathered(Observation(scale, status, overlapping=overlapping), began_s)
        queries = self._queries_of(metadata)
        asked = [_question(namespace, metric, selector, queries) for metric in autoscaler.metrics]
        answers, durations_s = await self._read(asked)
        # The pods come after the samples, as upstream has it: a pod that is new by then counts as missing.
        pods = self._pods.matching(namespace, selector)
        return Gathered(Observation(scale, status, pods, answers, overlapping), began_s, durations_s)

    async def _read(self, asked: list[Question | ReadFailure]) -> tuple[tuple[Reading, ...], tuple[float, ...]]:
        """One answer and its duration per question; one that several metrics share is asked once."""
        distinct = [question for question in dict.fromkeys(asked) if not isinstance(question, ReadFailure)]
        if len(distinct) == 1:
            answered = [await self._ask(distinct[0])]
        else:
            answered = await asyncio.gather(*map(self._ask, distinct))
        by_question: dict[Question, tuple[Reading, float]] = dict(zip(distinct, answered, strict=True))
        results = [(one, 0.0) if isinstance(one, ReadFailure) else by_question[one] for one in asked]
        return tuple(reading for reading, _ in results), tuple(duration_s for _, duration_s in results)

    async def _ask(self, question: Question) -> tuple[Reading, float]:
        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            reading = await self._metrics.read(question)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # Not this sync is cancelled, but a read that it shares with others.
            reading = _raised(question, error)
        except Exception as error:  # noqa: BLE001 - a source must not take its HPA down
            reading = _raised(question, error)
        return reading, loop.time() - began_s


_NOTHING_TO_ASK: Final = ReadFailure("there is nothing to ask for this metric")


def _raised(question: Question, error: BaseException) -> ReadFailure:
    _log.error("a metrics source raised", question=repr(question), exc_info=error)
    return ReadFailure(f"the metrics source failed unexpectedly: {error!r}")


def _selector(autoscaler: Autoscaler, status: Status, scale: Scale | ScaleFailure) -> Selector | None:
    """The selector of the pods to look at; None where the decision needs no metrics or refuses the selector (§5)."""
    if isinstance(scale, ScaleFailure) or path_before_metrics(autoscaler, scale, status) is not None:
        return None
    if not scale.selector:
        return None
    try:
        return selectors.parse(scale.selector)
    except selectors.SelectorError:
        return None


def _question(namespace: str, metric: MetricSpec, selector: Selector, queries: Queries) -> Question | ReadFailure:
    """What to ask for a metric, or why nothing is: its own selector is invalid or its type unknown (§6.3).

    An annotation that cannot be read might name any metric but those of resources, so none of these is asked for.
    """
    match metric:
        case ResourceMetric() | ContainerResourceMetric():
            return ResourceQuestion(namespace, selector)
        case PodsMetric(metric=identifier) | ObjectMetric(metric=identifier) | ExternalMetric(metric=identifier):
            if identifier.selector is not None:
                try:
                    selectors.from_object(identifier.selector)
                except selectors.SelectorError:
                    return _NOTHING_TO_ASK
        case _:
            return _NOTHING_TO_ASK
    if queries.problem:
        return ReadFailure(f"annotation {ANNOTATION}, which may name metric {identifier.name}: {queries.problem}")
    query = queries.by_metric.get(identifier.name)
    match metric:
        case PodsMetric():
            return PodsQuestion(namespace, identifier, selector, query)
        case ObjectMetric():
            return ObjectQuestion(namespace, identifier, metric.described, query)
        case ExternalMetric():
            return ExternalQuestion(namespace, identifier, query)
