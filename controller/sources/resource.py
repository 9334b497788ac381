"""Usage of pods from metrics.k8s.io: one list for many HPAs, of a namespace or of the whole cluster (§18.1)."""

from collections.abc import Callable, Iterable
from typing import Final

from controller.decide.observed import ReadFailure, ResourceReading
from controller.decide.selectors import Selector
from controller.kube.client import Client
from controller.kube.urls import path_of
from controller.ports import ApiError, NotFound, Question, ResourceQuestion
from controller.sources.answering import Answer, Unknown
from controller.sources.cluster_usage import REQUEST_ITEMS, Census, ClusterUsage
from controller.sources.expected import Expected
from controller.sources.pod_usage import UsageGroup, Usages, list_in, usages_in
from controller.sources.shared import SharedReads
from controller.wire.errors import WireError

REQUEST_GAIN: Final = 2
"""How many times its own price a request that selects has to save: the server looks at the labels of all other pods."""

LISTED_PER_S: Final = 10_000
"""How many pods of a namespace are listed in a second: lists of more serve longer than others."""

SERVES_SHARE_MAX: Final = 1 / 3
"""For how much of the period at most."""

_GROUP_PATH: Final = path_of("apis", "metrics.k8s.io", "v1beta1")


class ResourceMetrics:
    """Answers ResourceQuestions."""

    def __init__(
        self,
        client: Client,
        time_s: Callable[[], float],
        fresh_s: float,
        expected: Expected,
        census: Census | None = None,
        cluster: ClusterUsage | None = None,
        *,
        period_s: float,
        meanwhile_s: float = 0.0,
    ) -> None:
        """`fresh_s`: how long an answer is shared, and for `meanwhile_s` more while the next one is under way.

        A list of very many pods serves longer, for a part of `period_s`: see `LISTED_PER_S`.

        `expected` is told who has asked. `census` None: namespaces are listed, however many pods they have. `cluster`
        None: the whole cluster is never listed.
        """
        self._client = client
        self._time_s = time_s
        self._fresh_s = fresh_s
        self._expected = expected
        self._census = census
        self._cluster = cluster
        self._period_s = period_s
        self._listings: SharedReads[str, Usages] = SharedReads(
            self._list_namespace, time_s, self._serves_s, meanwhile_s=meanwhile_s, pieces=Usages.pieces
        )
        self._selections: SharedReads[tuple[str, str], Usages] = SharedReads(
            self._list_selected, time_s, fresh_s, pieces=Usages.pieces
        )

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
        try:
            usages = await usages_in(groups)
        except WireError as error:
            return ReadFailure(str(error))
        return ResourceReading(tuple(sorted(usages, key=lambda usage: usage.pod)))

    async def close(self) -> None:
        """See MetricsSource; the client is not ours to close."""

    async def _groups(self, question: ResourceQuestion) -> Iterable[UsageGroup]:
        namespace, selector = question.namespace, question.selector
        asked_s = self._time_s()
        try:
            usages = None if self._cluster is None else await self._cluster.usages(namespace)
            if usages is None:
                if not self._is_worth_a_list(namespace, selector.text, asked_s):
                    return await self._selected(namespace, selector)
                usages = await self._listings.get(namespace)
        finally:
            self._expected.answered(namespace, selector.text, asked_s)
        if usages and not usages.labelled:
            # The API leaves all labels out, so it has to do the selecting itself.
            return await self._selected(namespace, selector)
        return usages.selected(selector)

    def _is_worth_a_list(self, namespace: str, selector: str, now_s: float) -> bool:
        """Whether listing the namespace costs less than a request for each who will ask while the list is fresh.

        Who is new comes with others, at a start with thousands.
        """
        if self._census is None or not self._expected.expects(namespace, selector) or self._listings.shares(namespace):
            return True
        few = self._census.count(namespace) // (REQUEST_GAIN * REQUEST_ITEMS)
        return few == 0 or not self._expected.at_most(few, namespace, now_s + self._serves_s(namespace))

    async def _selected(self, namespace: str, selector: Selector) -> Iterable[UsageGroup]:
        return (await self._selections.get((namespace, selector.text))).all()

    async def _list_namespace(self, namespace: str) -> Usages:
        before = self._listings.known(namespace)
        usages = Usages() if before is None else before.successor()
        await list_in(self._client, _path_of(namespace), usages)
        return usages

    def _serves_s(self, namespace: str) -> float:
        if self._census is None:
            return self._fresh_s
        enough_s = self._census.count(namespace) / LISTED_PER_S
        return max(self._fresh_s, min(enough_s, self._period_s * SERVES_SHARE_MAX))

    async def _list_selected(self, key: tuple[str, str]) -> Usages:
        namespace, selector = key
        usages = Usages()
        await list_in(self._client, _path_of(namespace), usages, {"labelSelector": selector})
        return usages


def _path_of(namespace: str) -> str:
    return _GROUP_PATH + path_of("namespaces", namespace, "pods")
