"""Answers the questions about pods, objects, external metrics and usage from one Prometheus, by its rules."""

import asyncio
from collections.abc import Sequence

from controller.decide import selectors
from controller.decide.observed import ExternalReading, ObjectReading, ReadFailure
from controller.decide.selectors import Selector
from controller.decide.spec import MetricIdentifier, Reference
from controller.kube.discovery import Discovery, NoMatch
from controller.kube.scale import group_of
from controller.ports import ApiError, ExternalQuestion, ObjectQuestion, PodsQuestion, Question, ResourceQuestion
from controller.sources.answering import Answer, Unknown
from controller.sources.complaints import UNREADABLE, Complaints
from controller.sources.prometheus.annotated import Pods, pods_reading
from controller.sources.prometheus.answers import Point, PrometheusError, Vector
from controller.sources.prometheus.catalogue import Catalogue, Contents, Offer
from controller.sources.prometheus.labels import NAMESPACES, PODS
from controller.sources.prometheus.mapper import ResourceMapper
from controller.sources.prometheus.matchers import Matchers, QueryError, of_rule
from controller.sources.prometheus.rules import GroupResource, Rules
from controller.sources.prometheus.sample_times import SampleTimes, Times, oldest
from controller.sources.prometheus.server import Asked, PrometheusServer
from controller.sources.prometheus.usage import usage_reading
from controller.sources.shared import SharedReads


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
        queries: SharedReads[Asked, Vector],
        times: SampleTimes,
        complaints: Complaints,
    ) -> None:
        self._server = server
        self._rules = rules
        self._mapper = mapper
        self._catalogue = catalogue
        self._discovery = discovery
        self._pods = pods
        self._complaints = complaints
        self._queries = queries
        self._times = times

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        try:
            answer = await self._answer(question)
        except PrometheusError as error:
            cause, answer = error.cause, ReadFailure(str(error))
        except (QueryError, ApiError, selectors.SelectorError) as error:
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
        await self._mapper.close()
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
        points, times = await self._objects(offer, question.metric, question.namespace, PODS, names)
        of_ours = {name: points[name] for name in names if name in points}
        reading = pods_reading(of_ours, times)
        if of_ours and not reading.samples:
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives no number for any of the pods, only NaN or infinity",
                f"number {offer.rule.line}",
            )
        return reading

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
        points, times = await self._objects(offer, question.metric, namespace, resource, [name])
        point = points.get(name)
        if point is None:
            return ReadFailure(f"{self._server.place} has no value of {metric} for {resource} {name} at the moment")
        if point.value_milli is None:
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives no number for {resource} {name}, but NaN or infinity",
                f"number {offer.rule.line}",
            )
        return ObjectReading(point.value_milli, times.of(point.labels, point.at_ns))

    async def _external(self, question: ExternalQuestion, contents: Contents) -> Answer:
        metric = question.metric.name
        offer = contents.external.get(metric)
        if offer is None:
            return self._not_offered(f"the external metric {metric}", contents)
        matchers = Matchers(_selector(question.metric))
        with of_rule(offer.rule.line):
            if offer.rule.mapping.namespaced:
                matchers.add_equal(offer.mapping.label_of(NAMESPACES), question.namespace)
            query = matchers.fill(offer.rule.query, offer.series, ())
        vector, times = await self._ask(query, offer.rule.line, (), scalar=True)
        values = tuple(point.value_milli for point in vector.points if point.value_milli is not None)
        if len(values) < len(vector.points):
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives NaN or infinity for a series of {metric}",
                f"number {offer.rule.line}",
            )
        return ExternalReading(values, oldest([times.of(point.labels, point.at_ns) for point in vector.points]))

    # --- parts ---

    async def _ask(self, query: str, line: int, labels: Sequence[str], *, scalar: bool = False) -> tuple[Vector, Times]:
        """What the query of the rule in a line gives, and when the samples behind it were taken, by these labels.

        `scalar`: a single number will do. Raises PrometheusError.
        """
        try:
            vector, times = await asyncio.gather(self._queries.get((query, line)), self._times.of(query, labels, line))
        except PrometheusError as error:
            raise error.of_rule(line) from error
        if vector.kind == "scalar" and not scalar:
            raise PrometheusError(
                f"the rule in line {line}: the query gives a scalar where a vector is needed", f"type {line}"
            )
        return vector, times

    async def _objects(
        self, offer: Offer, metric: MetricIdentifier, namespace: str, resource: GroupResource, names: Sequence[str]
    ) -> tuple[dict[str, Point], Times]:
        """The series of each object by its name, and their times.

        Raises PrometheusError when one has two, or the query has left out whose they are, and QueryError.
        """
        matchers = Matchers(_selector(metric))
        with of_rule(offer.rule.line):
            if namespace:
                matchers.add_equal(offer.mapping.label_of(NAMESPACES), namespace)
            label = offer.mapping.label_of(resource)
        matchers.add_objects(label, names)
        with of_rule(offer.rule.line):
            query = matchers.fill(offer.rule.query, offer.series, (label,))
        vector, times = await self._ask(query, offer.rule.line, (label,))
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
        if found.keys() == {""}:
            raise PrometheusError(
                f"the rule in line {offer.rule.line} gives a series without the label {label}; let its query "
                f"aggregate by {label}",
                f"unlabelled {offer.rule.line}",
            )
        return found, times

    async def _described(self, question: ObjectQuestion) -> tuple[GroupResource, str]:
        """The described object's resource and name; a namespace is always the HPA's own (§18.4)."""
        described: Reference = question.described
        try:
            group = group_of(described.api_version)
        except ValueError as error:
            raise QueryError(str(error)) from error
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
