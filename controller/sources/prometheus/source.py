"""Answers the questions about pods, objects, external metrics and usage from one Prometheus, by its rules."""

from collections.abc import Callable, Sequence
from typing import Final

from controller.decide import selectors
from controller.decide.instants import NANOSECONDS
from controller.decide.observed import (
    ExternalReading,
    ObjectReading,
    Pod,
    PodsReading,
    ReadFailure,
    Sample,
)
from controller.decide.selectors import Selector
from controller.decide.spec import MetricIdentifier, Reference
from controller.kube.discovery import Discovery, NoMatch
from controller.kube.scale import group_of
from controller.ports import ApiError, ExternalQuestion, ObjectQuestion, PodsQuestion, Question, ResourceQuestion
from controller.sources.answering import Answer, Unknown
from controller.sources.complaints import UNREADABLE, Complaints
from controller.sources.prometheus.answers import Point, PrometheusError, Vector
from controller.sources.prometheus.catalogue import Catalogue, Contents, Offer
from controller.sources.prometheus.labels import NAMESPACES, PODS, MappingError
from controller.sources.prometheus.mapper import ResourceMapper
from controller.sources.prometheus.matchers import Matchers, QueryError
from controller.sources.prometheus.rules import GroupResource, Rules
from controller.sources.prometheus.server import PrometheusServer
from controller.sources.prometheus.usage import usage_reading
from controller.sources.shared import SharedReads

WINDOW_NS: Final = 60 * NANOSECONDS
"""What an answer of the adapter means by saying nothing (§18.2)."""

Pods = Callable[[str, Selector], Sequence[Pod]]
"""The pods of a namespace that a selector matches."""


class PrometheusMetrics:
    """A MetricsSource for all families. Close it when done."""

    def __init__(
        self,
        server: PrometheusServer,
        rules: Rules,
        mapper: ResourceMapper,
        catalogue: Catalogue,
        discovery: Discovery,
        pods: Pods,
        *,
        time_s: Callable[[], float],
        fresh_s: float,
        complaints: Complaints,
    ) -> None:
        """`fresh_s`: how long an answer to one query is shared."""
        self._server = server
        self._rules = rules
        self._mapper = mapper
        self._catalogue = catalogue
        self._discovery = discovery
        self._pods = pods
        self._complaints = complaints
        # By query and the line of its rule, whose queries share places at the server.
        self._queries: SharedReads[tuple[str, int], Vector] = SharedReads(
            lambda asked: server.query(*asked), time_s, fresh_s
        )

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        try:
            answer = await self._answer(question)
        except PrometheusError as error:
            cause, answer = error.cause, ReadFailure(str(error))
        except (QueryError, MappingError, ApiError, selectors.SelectorError) as error:
            cause, answer = str(error), ReadFailure(str(error))
        else:
            cause = answer.message if isinstance(answer, ReadFailure) else ""
        if isinstance(answer, ReadFailure):
            self._complaints.say(UNREADABLE, answer.message, cause, namespace=question.namespace)
        return answer

    async def _answer(self, question: Question) -> Answer:
        match question:
            case ResourceQuestion():
                return await self._usage(question)
            case PodsQuestion():
                return await self._of_pods(question, await self._catalogue.contents())
            case ObjectQuestion():
                return await self._of_object(question, await self._catalogue.contents())
            case ExternalQuestion():
                return await self._external(question, await self._catalogue.contents())

    async def known(self) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
        """Resource (such as `deployments.apps`) and name of each custom metric, and the names of external ones.

        Raises:
            ApiError: the API server's resources could never be read.
        """
        contents = await self._catalogue.contents()
        return frozenset((str(resource), name) for resource, name in contents.custom), frozenset(contents.external)

    async def close(self) -> None:
        """See MetricsSource."""
        await self._catalogue.close()
        await self._server.close()

    # --- families ---

    async def _usage(self, question: ResourceQuestion) -> Answer:
        rules = self._rules.usage
        if rules is None:
            return Unknown(f"the rules for {self._server.place} have no resourceRules")
        pods = [pod.name for pod in self._pods(question.namespace, question.selector) if pod.phase == "Running"]
        if not pods:
            return ReadFailure("no running pod matches the selector")
        names = await self._mapper.names()
        return await usage_reading(rules, names, question.namespace, pods, self._ask)

    async def _of_pods(self, question: PodsQuestion, contents: Contents) -> Answer:
        offer = contents.custom.get((PODS, question.metric.name))
        if offer is None:
            return self._not_offered(f"the metric {question.metric.name} for pods", contents)
        names = [pod.name for pod in self._pods(question.namespace, question.selector)]
        if not names:
            return ReadFailure("no pod matches the selector")
        points = await self._objects(offer, question.metric, question.namespace, PODS, names)
        samples = {
            name: Sample(point.value_milli, point.at_ns, WINDOW_NS)
            for name in names
            if (point := points.get(name)) is not None and point.value_milli is not None
        }
        if points and not samples:
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives no number for any of the pods, only NaN or infinity",
                f"number {offer.rule.line}",
            )
        return PodsReading(samples)

    async def _of_object(self, question: ObjectQuestion, contents: Contents) -> Answer:
        try:
            resource, name = await self._described(question)
        except NoMatch as error:
            return ReadFailure(str(error))
        metric = question.metric.name
        offer = contents.custom.get((resource, metric))
        if offer is None:
            return self._not_offered(f"the metric {metric} for {resource}", contents)
        namespace = "" if resource == NAMESPACES else question.namespace
        point = (await self._objects(offer, question.metric, namespace, resource, [name])).get(name)
        if point is None:
            return ReadFailure(f"{self._server.place} has no value of {metric} for {resource} {name} at the moment")
        if point.value_milli is None:
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives no number for {resource} {name}, but NaN or infinity",
                f"number {offer.rule.line}",
            )
        return ObjectReading(point.value_milli, point.at_ns)

    async def _external(self, question: ExternalQuestion, contents: Contents) -> Answer:
        metric = question.metric.name
        offer = contents.external.get(metric)
        if offer is None:
            return self._not_offered(f"the external metric {metric}", contents)
        matchers = Matchers(_selector(question.metric))
        if offer.rule.mapping.namespaced:
            matchers.add_equal(offer.mapping.label_of(NAMESPACES), question.namespace)
        vector = await self._ask(matchers.fill(offer.rule.query, offer.series, ()), offer.rule.line, scalar=True)
        values = tuple(point.value_milli for point in vector.points if point.value_milli is not None)
        if len(values) < len(vector.points):
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives NaN or infinity for a series of {metric}",
                f"number {offer.rule.line}",
            )
        return ExternalReading(values, vector.points[0].at_ns if vector.points else None)

    # --- parts ---

    async def _ask(self, query: str, line: int, *, scalar: bool = False) -> Vector:
        """What the query of the rule in a line gives; `scalar`: a single number will do. Raises PrometheusError."""
        try:
            vector = await self._queries.get((query, line))
        except PrometheusError as error:
            raise error.of_rule(line) from error
        if vector.kind == "scalar" and not scalar:
            raise PrometheusError(
                f"the rule in line {line}: the query gives a scalar where a vector is needed", f"type {line}"
            )
        return vector

    async def _objects(
        self, offer: Offer, metric: MetricIdentifier, namespace: str, resource: GroupResource, names: Sequence[str]
    ) -> dict[str, Point]:
        """The series of each object by its name. Raises PrometheusError when one has two."""
        matchers = Matchers(_selector(metric))
        if namespace:
            matchers.add_equal(offer.mapping.label_of(NAMESPACES), namespace)
        label = offer.mapping.label_of(resource)
        matchers.add_objects(label, names)
        vector = await self._ask(matchers.fill(offer.rule.query, offer.series, (label,)), offer.rule.line)
        found: dict[str, Point] = {}
        for point in vector.points:
            name = point.labels.get(label, "")
            if name in found:
                raise PrometheusError(
                    f"the rule in line {offer.rule.line} gives two series or more for {resource} "
                    f"{name or '(unnamed)'}; let its query aggregate by {label}",
                    f"ambiguous {offer.rule.line}",
                )
            found[name] = point
        return found

    async def _described(self, question: ObjectQuestion) -> tuple[GroupResource, str]:
        """The described object's resource and name; a namespace is always the HPA's own (§18.4)."""
        described: Reference = question.described
        group = group_of(described.api_version)
        if described.kind == "Namespace" and not group:
            return NAMESPACES, question.namespace
        found = (await self._discovery.resources(group, described.kind))[0]
        return GroupResource(found.group, found.plural), described.name

    def _not_offered(self, what: str, contents: Contents) -> Answer:
        problem = contents.unlisted
        if problem is not None:
            raise PrometheusError(f"whether there is {what} cannot be said: {problem.message}", problem.cause)
        return Unknown(f"no rule for {self._server.place} gives {what}")


def _selector(metric: MetricIdentifier) -> Selector | None:
    return None if metric.selector is None else selectors.from_object(metric.selector)
