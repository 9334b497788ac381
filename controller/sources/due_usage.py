"""Usage of those pods of a large namespace whose HPAs are due next, where that costs less (decision 0018)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec
import structlog

from controller.decide import selectors
from controller.decide.selectors import Requirement, Selector
from controller.kube.client import Client
from controller.ports import ApiError
from controller.sources.cluster_usage import PAUSE_PERIODS, REQUEST_ITEMS, Census
from controller.sources.expected import Expected
from controller.sources.pod_usage import Usages, list_usages, path_of_namespace
from controller.sources.shared import SharedReads
from controller.wire.errors import WireError

QUERY_CHARACTERS_MAX: Final = 6_000
"""How long a selector may be in a URL: whatever stands in front of an API server, 8 kB of request line pass."""

GAIN_MIN: Final = 2.0
"""How many times cheaper a batch has to be: whoever asks unexpectedly costs another request."""

SYNCS_PER_SECOND_MAX: Final = 700
"""More are never made, so a list of a namespace serves no more than these while it is fresh, however many are due."""

_ENCODED_COMMA: Final = len("%2C")
_SAMPLE: Final = 20

_log = structlog.get_logger(__name__)


class _Batch(msgspec.Struct, eq=False):
    """What one request asks about; `left`: how many of those who will ask for the answer have not done so yet."""

    namespace: str
    label_selector: str
    asked_s: float
    size: int
    left: int

    def is_nearly_over(self) -> bool:
        """Whether it is time to ask about those who come next."""
        return self.left <= self.size // 4


class DueUsage:
    """Lists the pods of those HPAs of a namespace that are due next, by a label that tells them apart."""

    def __init__(
        self,
        client: Client,
        time_s: Callable[[], float],
        period_s: float,
        census: Census,
        expected: Expected,
        fresh_s: float,
    ) -> None:
        """`fresh_s`: how long an answer serves."""
        self._client = client
        self._time_s = time_s
        self._pause_s = PAUSE_PERIODS * period_s
        self._census = census
        self._expected = expected
        self._fresh_s = fresh_s
        self._reads: SharedReads[_Batch, Usages] = SharedReads(self._list, time_s, fresh_s, pieces=Usages.pieces)
        self._batches: dict[tuple[str, str], _Batch] = {}
        self._foremost: dict[str, _Batch] = {}
        self._whole_until_s: dict[str, float] = {}
        self._swept_s = time_s()
        self._paused_until_s = float("-inf")

    async def usages(self, namespace: str, selector: Selector) -> Usages | None:
        """See Shortcut."""
        now_s = self._time_s()
        if now_s < self._paused_until_s:
            return None
        self._sweep(now_s)
        batch = self._batch(namespace, selector.text, now_s)
        if batch is None:
            return None
        batch.left -= 1
        if batch is self._foremost.get(namespace) and batch.is_nearly_over():
            self._read_ahead(namespace, now_s)
        try:
            usages = await self._reads.get(batch)
        except (ApiError, WireError) as error:
            self._give_up(error, self._pause_s)
            return None
        if usages and not usages.labelled:
            self._give_up(ApiError("its items have no labels"), float("inf"))
            return None
        return usages

    def _batch(self, namespace: str, selector: str, now_s: float) -> _Batch | None:
        """The batch that has the answer; None where the namespace has to be listed."""
        known = self._batches.get((namespace, selector))
        if self._serves(known, now_s):
            return known
        if now_s <= self._whole_until_s.get(namespace, float("-inf")):
            return None
        foremost = self._foremost.get(namespace)
        alone = self._serves(foremost, now_s) and foremost is not None and not foremost.is_nearly_over()
        # Who comes early or late must not break up what others are asked about together.
        batch = self._begin(
            namespace, [selector] if alone else [selector, *self._due(namespace, now_s, selector)], now_s
        )
        if batch is None:
            # All who ask meanwhile find the list of the namespace that is made now.
            self._whole_until_s[namespace] = now_s + self._fresh_s
        elif not alone:
            self._foremost[namespace] = batch
        return batch

    def _read_ahead(self, namespace: str, now_s: float) -> None:
        """Ask for those who come next, so that they need not wait."""
        batch = self._begin(namespace, self._due(namespace, now_s, ""), now_s)
        if batch is not None:
            self._foremost[namespace] = batch
            self._reads.begin(batch)

    def _serves(self, batch: _Batch | None, at_s: float) -> bool:
        return batch is not None and at_s - batch.asked_s <= self._fresh_s

    def _due(self, namespace: str, now_s: float, besides: str) -> list[str]:
        """Who will ask before an answer of now is stale, and has no other, in that order."""
        times = self._expected.within(namespace)
        until_s = now_s + self._fresh_s
        batches = self._batches
        due = [
            name
            for name, at_s in times.items()
            if at_s <= until_s
            and name != besides
            and not self._serves(batches.get((namespace, name)), max(now_s, at_s))
        ]
        return sorted(due, key=times.__getitem__)

    def _begin(self, namespace: str, due: Sequence[str], now_s: float) -> _Batch | None:
        """A batch of the first ones; None where that is not worth while."""
        label_selector, chosen = _joined(_telling_key(self._expected.within(namespace)), due)
        if chosen[:1] != due[:1] or not self._is_cheaper(namespace, chosen, len(due)):
            return None
        batch = _Batch(namespace, label_selector, now_s, len(chosen), len(chosen))
        self._batches.update(((namespace, name), batch) for name in chosen)
        return batch

    def _is_cheaper(self, namespace: str, chosen: Sequence[str], due: int) -> bool:
        """Whether requests like this one, for all who are due, cost much less than one for the whole namespace."""
        if not chosen:
            return False
        sample = chosen[:: max(1, len(chosen) // _SAMPLE)]
        pods = sum(len(self._census.matching(namespace, selectors.parse(name))) for name in sample) / len(sample)
        batches = max(1.0, min(due, SYNCS_PER_SECOND_MAX * self._fresh_s) / len(chosen))
        return GAIN_MIN * batches * (REQUEST_ITEMS + len(chosen) * pods) < REQUEST_ITEMS + self._census.count(namespace)

    def _sweep(self, now_s: float) -> None:
        """Forget what is over, now and then."""
        if now_s - self._swept_s > self._fresh_s:
            self._swept_s = now_s
            self._expected.forget(now_s)
            self._batches = {key: batch for key, batch in self._batches.items() if self._serves(batch, now_s)}
            self._foremost = {name: batch for name, batch in self._foremost.items() if self._serves(batch, now_s)}
            self._whole_until_s = {name: at_s for name, at_s in self._whole_until_s.items() if at_s >= now_s}

    async def _list(self, batch: _Batch) -> Usages:
        usages = Usages()
        query = {"labelSelector": batch.label_selector}
        await list_usages(self._client, path_of_namespace(batch.namespace), None, lambda _: usages, query)
        return usages

    def _give_up(self, error: Exception, pause_s: float) -> None:
        """Say it once, not for everybody who waited."""
        now_s = self._time_s()
        if now_s < self._paused_until_s:
            return
        self._paused_until_s = now_s + pause_s
        _log.warning(
            "usage of pods cannot be listed for some HPAs of a namespace, so it is listed for all",
            how_long="from now on" if pause_s == float("inf") else f"{pause_s:g} s",
            error=str(error),
        )


def _telling_key(selectors_known: Iterable[str]) -> str:
    """The label key by which selectors are told apart best; empty if they demand none."""
    values: defaultdict[str, set[str]] = defaultdict(set)
    for text in islice(selectors_known, 10 * _SAMPLE):
        for key, requirement in _demanded(text).items():
            values[key].update(requirement.values)
    return max(values, key=lambda key: len(values[key]), default="")


def _joined(key: str, wanted: Iterable[str]) -> tuple[str, list[str]]:
    """A selector that matches what any of the wanted ones does, by a label that they demand; and those that it has."""
    chosen: list[str] = []
    values: set[str] = set()
    left = QUERY_CHARACTERS_MAX - len(key)
    for text in wanted:
        demanded = _demanded(text).get(key)
        if demanded is None:
            continue
        new = set(demanded.values) - values
        left -= sum(len(value) + _ENCODED_COMMA for value in new)
        if left < 0:
            break
        chosen.append(text)
        values |= new
    return str(Requirement(key, "in", tuple(sorted(values)))), chosen


def _demanded(text: str) -> Mapping[str, Requirement]:
    """By label key which values a selector demands."""
    return {one.key: one for one in selectors.parse(text).requirements if one.operator in ("=", "in")}
