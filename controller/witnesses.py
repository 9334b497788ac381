"""Everything that looks at syncs and tells of them: traces, comparisons, troubles, recordings, and their pages."""

from collections.abc import Awaitable, Callable, Iterable, Mapping

from aiohttp import web
from prometheus_client.core import Metric

from controller.cache import Cache
from controller.company import Company
from controller.explain import compared
from controller.kube.lease import Lease
from controller.observers import tell
from controller.ports import Clock, Sync, SyncObserver, WatchedAutoscaler
from controller.recorder import Recorder, Source
from controller.settings import RunSettings
from controller.shadow import Shadow
from controller.telemetry import comparisons, explanations, recordings, top
from controller.telemetry.families import gauge
from controller.telemetry.instruments import OURS
from controller.telemetry.troubles import Troubles
from controller.traces import Traces


class Witnesses:
    """None of them changes what is decided; `observers` are to be told of every sync.

    Attributes:
        recorder: who writes recordings; None without `--record`.
    """

    def __init__(
        self, settings: RunSettings, autoscalers: Cache[WatchedAutoscaler], company: Company, clock: Clock
    ) -> None:
        self._settings = settings
        self._autoscalers = autoscalers
        self._company = company
        self._clock = clock
        self._traces, self._top, self._troubles = Traces(settings.decide), top.Top(), Troubles()
        self._shadow = Shadow(settings.decide, period_s=settings.sync_period_s)
        company.observe(self._shadow.wrote)
        for observer in (self._top, self._troubles, self._shadow):
            autoscalers.observe(observer)
        source = Source(settings.decide, settings.sync_period_s, clock.now())
        self.recorder = Recorder(settings.record, source) if settings.record is not None else None
        self._broadcast = recordings.Broadcast(source, clock.now)

    @property
    def observers(self) -> tuple[SyncObserver, ...]:
        """All of them, in the order in which they are told."""
        recording = () if self.recorder is None else (self.recorder,)
        return (self._traces, self._keep, self._broadcast, *recording)

    def routes(self, lease: Lease | None) -> Mapping[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]:
        """The pages of the introspection listener."""
        standing = explanations.Standing(self._autoscalers.get, lease, self._settings.identity)
        settings = self._settings
        return {
            explanations.PATH: explanations.explain_route(self._traces, standing),
            top.PATH: top.top_route(
                self._top,
                self._autoscalers,
                standing,
                self._clock,
                settings.decide.gates,
                settings.sources.from_apis,
                settings.sync_period_s,
                lambda: self._company.twins,
            ),
            compared.PATH: comparisons.shadow_route(self._shadow, self._company),
            recordings.PATH: self._broadcast.route(standing.silence),
        }

    def families(self, *, syncing: bool) -> Iterable[Metric]:
        """What they count; `syncing`: whether this instance syncs HPAs, or another one does."""
        yield gauge(
            f"{OURS}_traces_bytes", "What the last syncs of all HPAs take in memory.", [((), self._traces.size_bytes)]
        )
        yield from comparisons.families(self._shadow, self._company)
        yield from recordings.families(self.recorder)
        yield from self._troubles.families(syncing=syncing)

    def _keep(self, sync: Sync) -> None:
        """Tell those who keep what they hear, but not of an HPA that has gone meanwhile: it would be kept for good."""
        if sync.autoscaler.lives_on_in(self._autoscalers.get(sync.autoscaler.key)):
            tell((self._top, self._shadow, self._troubles), sync.autoscaler.key, sync)
