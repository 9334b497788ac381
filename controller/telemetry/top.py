"""`/top`: a row for every HPA, from a summary that is kept of its last sync."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Final

import msgspec
from aiohttp import web

from controller.decide import selectors
from controller.decide.instants import NANOSECONDS
from controller.decide.selectors import Selector
from controller.decide.spec import DEFAULT_METRICS, Gates
from controller.explain.answer import Refusal
from controller.explain.rows import PATH, Row, Rows, Summary, row, summarised
from controller.ports import Clock, Sync, WatchedAutoscaler
from controller.telemetry.explanations import Standing
from controller.version import __version__

__all__ = ["PATH", "Top", "top_route"]

_JSON: Final = "application/json"


class _Labelled(msgspec.Struct):
    labels: dict[str, str] | None = None


class Top:
    """Keeps a summary of the last sync of every HPA: a few hundred bytes each. Observes syncs and the cache of HPAs."""

    def __init__(self) -> None:
        self._summaries: dict[str, Summary] = {}

    def __call__(self, sync: Sync) -> None:
        """Remember a sync; an observer of the reconciler."""
        key, watched = sync.autoscaler.key, sync.autoscaler
        before = self._summaries.get(key)
        gap_s = 0.0 if before is None else (sync.now.wall_ns - before.at_ns) / NANOSECONDS
        self._summaries[key] = summarised(
            sync.observation,
            watched.spec.metrics or DEFAULT_METRICS,
            sync.decision,
            sync.now,
            gap_s=gap_s,
            last_scale_ns=sync.conclusion.status.last_scale_ns,
            not_written=sync.withheld.reason if sync.withheld is not None else "",
        )

    def changed(self, old: WatchedAutoscaler | None, new: WatchedAutoscaler | None) -> None:
        """See cache.Observer: what is known of an HPA goes with it."""
        if old is not None and not old.lives_on_in(new):
            self._summaries.pop(old.key, None)

    def of(self, key: str) -> Summary | None:
        """The summary of an HPA's last sync by namespace/name, None before there was one."""
        return self._summaries.get(key)


def top_route(
    top: Top,
    autoscalers: Iterable[WatchedAutoscaler],
    standing: Standing,
    clock: Clock,
    gates: Gates,
    from_apis: tuple[str, ...],
    period_s: float,
    twins: Callable[[], Collection[str]],
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """The page; `?namespace=` and `?labelSelector=` choose, rows come in the order of the keys.

    `gates` and `from_apis` as in Rows; `twins` gives the keys of those that another hpa-controller scales, too.

    Rows are made beside the loop: ten thousand take a tenth of a second.
    """
    busy = asyncio.Lock()

    def rows(
        chosen: list[tuple[WatchedAutoscaler, Summary | None]],
        selector: Selector | None,
        wall_ns: int,
        shared: frozenset[str],
    ) -> bytes:
        found = [
            _row(watched, summary, wall_ns, period_s, twin=watched.key in shared)
            for watched, summary in chosen
            if selector is None or selector.matches(_labels(watched))
        ]
        found.sort(key=lambda one: (one.namespace, one.name))
        return msgspec.json.encode(Rows(tuple(found), __version__, standing.partial(), gates, from_apis))

    async def page(request: web.Request) -> web.StreamResponse:
        namespace, text = request.query.get("namespace", ""), request.query.get("labelSelector", "")
        try:
            selector = selectors.parse(text) if text else None
        except selectors.SelectorError as error:
            return web.Response(
                status=400, body=msgspec.json.encode(Refusal(f"labelSelector: {error}")), content_type=_JSON
            )
        chosen = [(one, top.of(one.key)) for one in autoscalers if not namespace or one.namespace == namespace]
        async with busy:
            body = await asyncio.to_thread(rows, chosen, selector, clock.now().wall_ns, frozenset(twins()))
        return web.Response(body=body, content_type=_JSON)

    return page


def _row(watched: WatchedAutoscaler, summary: Summary | None, wall_ns: int, period_s: float, *, twin: bool) -> Row:
    shown = row(watched.namespace, watched.name, summary, wall_ns, period_s)
    if twin:
        shown = msgspec.structs.replace(shown, twin=True)
    if watched.problem is not None:
        shown = msgspec.structs.replace(shown, limited_by="error", error=watched.problem)
    return shown


def _labels(watched: WatchedAutoscaler) -> Mapping[str, str]:
    return msgspec.json.decode(watched.metadata, type=_Labelled).labels or {}
