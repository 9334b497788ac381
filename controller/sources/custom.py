"""Metrics of pods and objects from custom.metrics.k8s.io, v1beta1 or v1beta2 (§18.2–18.4)."""

from collections.abc import Callable
from typing import Final

from controller.decide import selectors
from controller.decide.observed import ObjectReading, PodsReading, ReadFailure, Reading
from controller.decide.spec import MetricIdentifier
from controller.kube.client import Client
from controller.kube.discovery import Discovery
from controller.kube.scale import group_of
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import ApiError, NotFound, ObjectQuestion, PodsQuestion, Question
from controller.sources.answering import Answer, Unknown
from controller.sources.shared import SharedReads
from controller.wire.errors import WireError
from controller.wire.samples import decode_metric_values

GROUP: Final = "custom.metrics.k8s.io"
KNOWN_VERSIONS: Final = ("v1beta2", "v1beta1")


class CustomMetrics:
    """Answers PodsQuestions and ObjectQuestions."""

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        time_s: Callable[[], float],
        fresh_s: float,
        version_valid_s: float,
    ) -> None:
        """`fresh_s`: how long an answer is shared; `version_valid_s`: how long the API's version is believed (§2.4)."""
        self._client = client
        self._discovery = discovery
        self._versions: SharedReads[str, str] = SharedReads(self._find_version, time_s, version_valid_s)
        self._answers: SharedReads[PodsQuestion | ObjectQuestion, Reading] = SharedReads(self._ask, time_s, fresh_s)

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        if not isinstance(question, PodsQuestion | ObjectQuestion):
            return ReadFailure(f"{GROUP} has no such metrics")
        try:
            return await self._answers.get(question)
        except WireError as error:
            return ReadFailure(f"the answer cannot be understood: {error}")
        except NotFound as error:
            return ReadFailure(str(error)) if _names_object(question, str(error)) else Unknown(str(error))
        except (ApiError, ValueError) as error:
            return ReadFailure(str(error))

    async def close(self) -> None:
        """See MetricsSource; the client is not ours to close."""

    async def _ask(self, question: PodsQuestion | ObjectQuestion) -> Reading:
        version = await self._versions.get(GROUP)
        prefix = path_of("apis", GROUP, version, "namespaces", question.namespace)
        query = _metric_query(question.metric)
        if isinstance(question, PodsQuestion):
            path = prefix + path_of("pods", "*", question.metric.name)
            if question.selector.text:
                query["labelSelector"] = question.selector.text
            body = await self._client.get(path, Traffic.CUSTOM_METRICS, query=query)
            return PodsReading(dict(decode_metric_values(body)))
        path = prefix + await self._object_path(question)
        items = decode_metric_values(await self._client.get(path, Traffic.CUSTOM_METRICS, query=query))
        if len(items) != 1:
            raise ValueError(f"the API answered with {len(items)} items where one is needed")
        _, sample = items[0]
        return ObjectReading(sample.value_milli, sample.timestamp_ns)

    async def _object_path(self, question: ObjectQuestion) -> str:
        described, metric = question.described, question.metric.name
        group = group_of(described.api_version)
        if described.kind == "Namespace" and not group:
            # The API's own form; the described name is ignored, it is the HPA's namespace in any case.
            return path_of("metrics", metric)
        resources = await self._discovery.resources(group, described.kind)
        return path_of(resources[0].qualified, described.name, metric)

    async def _find_version(self, group: str) -> str:
        """The preferred version if we know it, else the first one we know (§18.3)."""
        try:
            versions = await self._discovery.versions(group)
        except NotFound as error:
            raise NotFound(f"no custom metrics API ({group}) registered", 404) from error
        for version in versions:
            if version in KNOWN_VERSIONS:
                return version
        raise ApiError(f"no known version of {group}: it has {', '.join(versions) or 'none'}")


def _names_object(question: PodsQuestion | ObjectQuestion, message: str) -> bool:
    """Whether a 404 is about the object and not about the metric: API servers then name the object last.

    Where a metric was asked for with a selector they add that, and leave open which of both there is not.
    """
    if not isinstance(question, ObjectQuestion):
        return False
    name = question.described.name
    return message.endswith(f" {name}") or f" {name} with selector " in message


def _metric_query(metric: MetricIdentifier) -> dict[str, str]:
    """The selector of the metric's series; empty selectors are left out (§18.2)."""
    text = "" if metric.selector is None else selectors.from_object(metric.selector).text
    return {"metricLabelSelector": text} if text else {}
