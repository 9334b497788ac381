"""Metrics that belong to no object, from external.metrics.k8s.io (§18.5)."""

from collections.abc import Callable
from typing import Final

from controller.decide import selectors
from controller.decide.observed import ExternalReading, ReadFailure
from controller.kube.client import Client
from controller.kube.traffic import Traffic
from controller.kube.urls import path_of
from controller.ports import ApiError, ExternalQuestion, NotFound, Question
from controller.sources.answering import Answer, Unknown
from controller.sources.shared import SharedReads
from controller.wire.errors import WireError
from controller.wire.samples import decode_external_values

_PREFIX: Final = path_of("apis", "external.metrics.k8s.io", "v1beta1", "namespaces")


class ExternalMetrics:
    """Answers ExternalQuestions."""

    def __init__(self, client: Client, time_s: Callable[[], float], fresh_s: float) -> None:
        """`fresh_s`: how long an answer is shared."""
        self._client = client
        self._answers: SharedReads[ExternalQuestion, ExternalReading] = SharedReads(self._ask, time_s, fresh_s)

    async def read(self, question: Question) -> Answer:
        """See MetricsSource."""
        if not isinstance(question, ExternalQuestion):
            return ReadFailure("external.metrics.k8s.io has no such metrics")
        try:
            return await self._answers.get(question)
        except WireError as error:
            return ReadFailure(f"the answer cannot be understood: {error}")
        except NotFound as error:
            return Unknown(str(error))
        except ApiError as error:
            return ReadFailure(str(error))

    async def close(self) -> None:
        """See MetricsSource; the client is not ours to close."""

    async def _ask(self, question: ExternalQuestion) -> ExternalReading:
        metric = question.metric
        text = "" if metric.selector is None else selectors.from_object(metric.selector).text
        query = {"labelSelector": text} if text else {}
        # Upstream's client takes the name for a resource, and asks for all resources in lower case.
        path = _PREFIX + path_of(question.namespace, metric.name.lower())
        return decode_external_values(await self._client.get(path, Traffic.EXTERNAL_METRICS, query=query))
