"""Usage of pods from metrics.k8s.io: one list per namespace, shared by all of its HPAs (§18.1)."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from controller.decide.observed import ReadFailure, ResourceReading
from controller.decide.selectors import Selector
from controller.kube.client import Client, Traffic, path_of
from controller.ports import ApiError, NotFound, Question, ResourceQuestion
from controller.sources.answering import Answer, Unknown
from controller.sources.shared import SharedReads
from controller.wire.errors import WireError
from controller.wire.samples import LabelledUsage, decode_pod_metrics

_GROUP_PATH: Final = path_of("apis", "metrics.k8s.io", "v1beta1")
_Labels = frozenset[tuple[str, str]]


class _Listing(msgspec.Struct):
    """A namespace's items grouped by their labels, so that a selector is matched once per group.

    `labelled` False: the API left all labels out, so it has to do the selecting itself.
    """

    groups: list[tuple[dict[str, str], list[LabelledUsage]]]
    labelled: bool


class ResourceMetrics:
    """Answers ResourceQuestions."""

    def __init__(self, client: Client, time_s: Callable[[], float], fresh_s: float) -> None:
        """`fresh_s`: how long an answer is shared."""
        self._client = client
        self._listings: SharedReads[str, _Listing] = SharedReads(self._list_namespace, time_s, fresh_s)
        self._selections: SharedReads[tuple[str, str], list[LabelledUsage]] = SharedReads(
            self._list_selected, time_s, fresh_s
        )

    async def read(self, question: Question) -> Answer:
        """See MetricsSource. Items are selected by their own labels, not by the pods we know (§8.3)."""
        if not isinstance(question, ResourceQuestion):
            return ReadFailure("metrics.k8s.io has no such metrics")
        try:
            listing = await self._listings.get(question.namespace)
            if listing.labelled:
                items = list(_selected(listing, question.selector))
            else:
                items = await self._selections.get((question.namespace, question.selector.text))
        except WireError as error:
            return ReadFailure(f"the answer cannot be understood: {error}")
        except NotFound as error:
            return Unknown(str(error))
        except ApiError as error:
            return ReadFailure(str(error))
        problem = next((item.problem for item in items if item.problem is not None), None)
        if problem is not None:
            return ReadFailure(problem)
        items.sort(key=lambda item: item.usage.pod)
        return ResourceReading(tuple(item.usage for item in items))

    async def close(self) -> None:
        """See MetricsSource; the client is not ours to close."""

    async def _list_namespace(self, namespace: str) -> _Listing:
        body = await self._client.get(_path(namespace), Traffic.RESOURCE_METRICS)
        groups: dict[_Labels, tuple[dict[str, str], list[LabelledUsage]]] = {}
        for item in decode_pod_metrics(body):
            labels = dict(item.labels)
            groups.setdefault(frozenset(labels.items()), (labels, []))[1].append(item)
        labelled = not groups or any(labels for labels, _ in groups.values())
        return _Listing(list(groups.values()), labelled)

    async def _list_selected(self, key: tuple[str, str]) -> list[LabelledUsage]:
        namespace, selector = key
        query = {"labelSelector": selector}
        return decode_pod_metrics(await self._client.get(_path(namespace), Traffic.RESOURCE_METRICS, query=query))


def _selected(listing: _Listing, selector: Selector) -> Iterable[LabelledUsage]:
    for labels, items in listing.groups:
        if selector.matches(labels):
            yield from items


def _path(namespace: str) -> str:
    return _GROUP_PATH + path_of("namespaces", namespace, "pods")
