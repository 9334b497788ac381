"""Usage of pods from metrics.k8s.io: one list for many HPAs, of a namespace or of the whole cluster (§18.1)."""

from collections.abc import Callable, Iterable

from controller.decide.observed import ReadFailure, ResourceReading
from controller.kube.client import Client, Traffic
from controller.ports import ApiError, NotFound, Question, ResourceQuestion
from controller.sources.answering import Answer, Unknown
from controller.sources.pod_usage import UsageGroup, Usages, list_usages, path_of_namespace
from controller.sources.shared import SharedReads
from controller.sources.shortcuts import Shortcut
from controller.wire.errors import WireError
from controller.wire.samples import decode_pod_metrics


class ResourceMetrics:
    """Answers ResourceQuestions."""

    def __init__(
        self,
        client: Client,
        time_s: Callable[[], float],
        fresh_s: float,
        shortcut: Shortcut | None = None,
        *,
        meanwhile_s: float = 0.0,
    ) -> None:
        """`fresh_s`: how long an answer is shared, and for `meanwhile_s` more while the next one is under way.

        `shortcut` None: only namespaces are listed.
        """
        self._client = client
        self._shortcut = shortcut
        self._listings: SharedReads[str, Usages] = SharedReads(
            self._list_namespace, time_s, fresh_s, meanwhile_s=meanwhile_s, pieces=Usages.pieces
        )
        self._selections: SharedReads[tuple[str, str], Usages] = SharedReads(self._list_selected, time_s, fresh_s)

    async def read(self, question: Question) -> Answer:
        """See MetricsSource. Items are selected by their own labels, not by the pods we know (§8.3)."""
        if not isinstance(question, ResourceQuestion):
            return ReadFailure("metrics.k8s.io has no such metrics")
        try:
            groups = list(await self._groups(question))
        except WireError as error:
            return ReadFailure(f"the answer cannot be understood: {error}")
        except NotFound as error:
            return Unknown(str(error))
        except ApiError as error:
            return ReadFailure(str(error))
        problem = next((group.problem for group in groups if group.problem is not None), None)
        if problem is not None:
            return ReadFailure(problem)
        return ResourceReading(
            tuple(sorted((usage for group in groups for usage in group.usages), key=lambda usage: usage.pod))
        )

    async def close(self) -> None:
        """See MetricsSource; the client is not ours to close."""

    async def _groups(self, question: ResourceQuestion) -> Iterable[UsageGroup]:
        namespace, selector = question.namespace, question.selector
        usages = None if self._shortcut is None else await self._shortcut.usages(namespace, selector)
        if usages is None:
            usages = await self._listings.get(namespace)
        if usages and not usages.labelled:
            # The API leaves all labels out, so it has to do the selecting itself.
            return (await self._selections.get((namespace, selector.text))).all()
        return usages.selected(selector)

    async def _list_namespace(self, namespace: str) -> Usages:
        usages = Usages()
        # Whatever they say, the items are those of the namespace that was asked about.
        await list_usages(self._client, path_of_namespace(namespace), None, lambda _: usages)
        return usages

    async def _list_selected(self, key: tuple[str, str]) -> Usages:
        namespace, selector = key
        path, query = path_of_namespace(namespace), {"labelSelector": selector}
        selected = Usages()
        for item in decode_pod_metrics(await self._client.get(path, Traffic.RESOURCE_METRICS, query=query)):
            selected.add(item)
        return selected
