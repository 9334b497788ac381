"""The controller put together: the only place that constructs adapters, starts everything and stops it in order."""

import asyncio
import functools
import gc
import random
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import structlog
from prometheus_client.core import Metric

from controller.arrivals import Arrivals
from controller.backoff import Random
from controller.cache import Cache
from controller.clock import SystemClock
from controller.collector import Settling
from controller.company import Company
from controller.decide.instants import NANOSECONDS
from controller.delay_queue import DelayQueue
from controller.gather import Gatherer
from controller.keeper import Keeper
from controller.kube.client import Client
from controller.kube.connection import Connection
from controller.kube.discovery import Discovery
from controller.kube.events import KubeEvents
from controller.kube.kept_histories import KubeHistories
from controller.kube.kubeconfig import Access, load
from controller.kube.lease import AlwaysLeading, Lease, LeaseSettings, ReadOnly
from controller.kube.reach import look, reach
from controller.kube.reviews import Reviews
from controller.kube.scale import KubeScales, ScaleCaches
from controller.kube.status import KubeStatusWriter
from controller.manifest.query_annotation import queries_of
from controller.modes import MODES, OBEYED, Modes, Orders
from controller.pod_cache import PodCache
from controller.ports import (
    Clock,
    Leadership,
    SyncObserver,
    WatchedAutoscaler,
)
from controller.reconcile import Reconciler
from controller.rivals import Rivals
from controller.schedule import due_beat_s, next_due_s
from controller.settings import RunSettings, check_lease
from controller.sources.assembly import Dependencies, combine
from controller.stopping import before
from controller.surroundings import Surroundings
from controller.telemetry import histories
from controller.telemetry.exposition import metrics_route
from controller.telemetry.instruments import OURS, PrometheusInstruments, counter, gauge
from controller.telemetry.loop_lag import LoopLag
from controller.telemetry.secured import ServingCertificate, guarded
from controller.telemetry.server import Listener, health_route
from controller.version import __version__
from controller.watch import resync_forever
from controller.watches import SOCKET_SILENCE_S, Watches
from controller.witnesses import Witnesses
from controller.worker import Workers

DRAIN_S: Final = 25.0
CANCEL_S: Final = 1.0
EVENTS_DRAIN_S: Final = 3.0
RELEASE_S: Final = 5.0
_METRICS_FLAG: Final = "--metrics-bind-address"

_log = structlog.get_logger(__name__)


class App:
    """One controller: construct it inside a running loop, then `run` it."""

    def __init__(
        self,
        settings: RunSettings,
        access: Access,
        *,
        clock: Clock | None = None,
        observers: tuple[SyncObserver, ...] = (),
    ) -> None:
        """`clock`: the machine's when None; `observers` are told of every sync."""
        self._settings = settings
        loop = self._loop = asyncio.get_running_loop()
        clock, dice = clock or SystemClock(), random.SystemRandom().random
        self._instruments = instruments = PrometheusInstruments(loop.time)
        # A shadow writes nothing, so it contends for nothing: each replica of it compares by itself.
        elects = settings.leader_elect and not settings.shadow
        self._lease = self._elected(access, clock, dice) if elects else None
        leadership = self._lease or AlwaysLeading()
        self._settling = Settling(settings.sync_period_s, loop.time, lambda: leadership.term, gc)
        self._connection = Connection(access, clock)
        self._client = client = Client(
            self._connection,
            leadership=ReadOnly() if settings.shadow else leadership,
            random=dice,
            answered=instruments.answered,
            qps=settings.kube_api_qps,
            burst=settings.kube_api_burst,
        )
        self._tasks = asyncio.TaskGroup()
        self._background: set[asyncio.Task[None]] = set()
        self._queue = DelayQueue(loop.time, beat_s=due_beat_s(settings.sync_period_s))
        self._rivals = Rivals()
        self._sink = KubeEvents(client, clock, dice)
        self._watches = Watches(client, instruments, dice, settings.sync_period_s)
        self._autoscalers: Cache[WatchedAutoscaler] = Cache(lambda autoscaler: autoscaler.key)
        self._autoscalers.observe(Arrivals(self._queue, self._rivals, instruments, loop.time, settings.sync_period_s))
        self._orders = Orders(None if settings.modes_configmap else Modes())
        self._company = self._others(leadership, clock)
        self._pods = PodCache()
        self._watches.follow(settings.namespaces or ("",), self._autoscalers, self._pods)
        if settings.modes_configmap:
            lease_namespace = settings.lease_namespace or access.namespace
            self._watches.follow_orders(lease_namespace, settings.modes_configmap, self._orders)
        self._surroundings = Surroundings(functools.partial(look, client), self._autoscalers, settings.decide.gates)
        self._witnesses = Witnesses(settings, self._autoscalers, self._company, clock)
        self._keeper = self._keeping(access, clock, dice)
        self._autoscalers.observe(self._sink)
        # The company hears of an HPA after those who listen to it.
        self._autoscalers.observe(self._company)
        reconciler = self._reconciler(leadership, clock, dice, (*self._witnesses.observers, *observers))
        self._workers = self._workers_for(reconciler)
        instruments.publish(self._families)
        self._certificate: ServingCertificate | None = None
        self._listeners = self._pages()

    def explains_at(self) -> str:
        """Where `/explain` and its like are served, `host:port`; empty while they are not."""
        return self._listeners[-1].address

    async def run(self, stop: asyncio.Event) -> None:
        """Control until `stop` is set, then finish what is in hand and give the Lease back.

        Raises:
            ConfigurationError: credentials cannot be had or used.
            Unreached: the API server did not answer at the start.
            BindError: a listener's address cannot be used.
            NotRecordableError: recordings cannot be written.
        """
        try:
            if self._witnesses.recorder is not None:
                self._witnesses.recorder.start()
            server = await before(stop, reach(self._client, self._connection.access))
            if server is not None:
                _log.info("starting", version=__version__, **server, shadow=self._settings.shadow)
                await self._control(stop)
        finally:
            async with AsyncExitStack() as ends:
                # The last first; whatever one of them raises, all the others end.
                if self._witnesses.recorder is not None:
                    ends.push_async_callback(asyncio.to_thread, self._witnesses.recorder.stop)
                ends.push_async_callback(self._connection.close)
                ends.push_async_callback(self._sources.close)
                ends.push_async_callback(self._stop_listening)
        _log.info("stopped")

    async def _control(self, stop: asyncio.Event) -> None:
        for listener in self._listeners:
            await listener.start()
        async with self._tasks:
            self._start_background()
            workers = await self._start_workers(stop)
            await stop.wait()
            await self._stop(workers)

    async def _stop_listening(self) -> None:
        await asyncio.gather(*(listener.stop() for listener in self._listeners))

    def _start_background(self) -> None:
        for watch in self._watches.all:
            self._spawn(watch.run())
        self._spawn(self._sink.run())
        self._spawn(self._surroundings.run(self._watches.synced))
        self._spawn(self._orders.remind())
        self._spawn(LoopLag(self._instruments.registry).run())
        self._spawn(self._settling.run())
        self._spawn(resync_forever(self._autoscalers, self._settings.sync_period_s))
        if self._lease is not None:
            self._spawn(self._lease.run(self._client))
        if self._certificate is not None:
            self._spawn(self._certificate.follow())

    async def _start_workers(self, stop: asyncio.Event) -> asyncio.Task[None] | None:
        """Wait for the caches, then work (§2.2); None if stopped before."""
        await before(stop, self._watches.synced())
        if stop.is_set():
            return None
        _log.info("caches are filled", horizontalpodautoscalers=len(self._autoscalers), pods=len(self._pods))
        self._settling.begin()
        if self._keeper is not None:
            self._spawn(self._keeper.run())  # only now: what is kept of HPAs that are not there is dropped
        return self._tasks.create_task(self._workers.run())

    async def _stop(self, workers: asyncio.Task[None] | None) -> None:
        """Take no more work, finish what is in hand, save histories, post the last events, then release the Lease."""
        _log.info("stopping", in_hand=self._queue.in_hand)
        self._queue.close()
        if workers is not None:
            finished, _ = await asyncio.wait((workers,), timeout=DRAIN_S)
            workers.cancel()
            await asyncio.wait((workers,), timeout=CANCEL_S)  # until then something may still be sent
            if self._keeper is not None:
                await self._keeper.hand_over(whole=bool(finished))
        with suppress(TimeoutError):
            async with asyncio.timeout(EVENTS_DRAIN_S):
                await self._sink.drained()
        if self._lease is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(RELEASE_S):
                    await self._lease.release(self._client)
        for task in self._background:
            task.cancel()

    # --- parts ---

    def _others(self, leadership: Leadership, clock: Clock) -> Company:
        """Who notices other controllers."""
        settings, loop = self._settings, self._loop
        silence_ns = round(settings.foreign_writer_silence_periods * settings.sync_period_s * NANOSECONDS)
        company = Company(clock, self._sink, self._orders, leadership, shadow=settings.shadow, silence_ns=silence_ns)
        # What another one saw is best guessed by looking at once.
        company.observe(lambda autoscaler, _: self._queue.add(autoscaler.key, loop.time()))
        return company

    def _keeping(self, access: Access, clock: Clock, dice: Random) -> Keeper | None:
        """Who keeps histories beside the Lease; None without `--keep-history`."""
        settings = self._settings
        if settings.keep_history_interval_s is None:
            return None
        keeper = Keeper(
            KubeHistories(self._client, settings.lease_namespace or access.namespace, settings.lease_name),
            self._autoscalers,
            self._lease or AlwaysLeading(),
            clock,
            dice,
            settings.decide,
            settings.sync_period_s,
            settings.keep_history_interval_s,
        )
        self._autoscalers.observe(keeper)
        return keeper

    def _workers_for(self, reconciler: Reconciler) -> Workers:
        period_s, time_s = self._settings.sync_period_s, self._loop.time
        return Workers(
            self._queue,
            reconciler.reconcile,
            self._settings.concurrency,
            period_s=period_s,
            retry_due_s=lambda key, began_s: next_due_s(began_s, time_s(), key.partition("/")[0], period_s),
            instruments=self._instruments,
        )

    def _reconciler(
        self, leadership: Leadership, clock: Clock, dice: Random, observers: tuple[SyncObserver, ...]
    ) -> Reconciler:
        discovery = Discovery(self._client, asyncio.get_running_loop().time)
        settings = self._settings
        around = Dependencies(
            client=self._client,
            discovery=discovery,
            clock=clock,
            pods=self._pods.matching,
            period_s=settings.sync_period_s,
            instruments=self._instruments,
            census=self._pods,
            whole_cluster=not settings.namespaces,
        )
        self._sources = combine(settings.sources, around)
        looked_for = (queries_of,) if settings.sources.query_annotations else ()
        return Reconciler(
            autoscalers=self._autoscalers,
            grounds=self._watches.grounds,
            scales=KubeScales(self._client, discovery, self._scale_caches()),
            gatherer=Gatherer(self._pods, self._sources, self._rivals, *looked_for),
            statuses=KubeStatusWriter(self._client),
            sink=self._sink,
            leadership=leadership,
            mandate=self._company,
            clock=clock,
            instruments=self._instruments,
            random=dice,
            settings=self._settings.decide,
            period_s=self._settings.sync_period_s,
            observers=observers if self._keeper is None else (self._keeper, *observers),
            past=self._keeper,
        )

    def _pages(self) -> tuple[Listener, ...]:
        """What is served, on the addresses of the settings."""
        settings, alive = self._settings, health_route({"ping": lambda: None})
        leads = () if self._lease is None else (self._lease,)
        parts = (*leads, self._watches, self._orders, self._surroundings)
        ready = health_route(
            {"caches": self._watches.unsynced},
            lambda: [line for part in parts for line in part.lines()],
        )
        return (
            self._metrics_page(),
            Listener(
                settings.health_address,
                {"/healthz": alive, "/livez": alive, "/readyz": ready},
                flag="--health-probe-bind-address",
            ),
            Listener(
                settings.introspection_address,
                self._witnesses.routes(self._lease),
                flag="--introspection-bind-address",
            ),
        )

    def _metrics_page(self) -> Listener:
        """`/metrics`; with `--metrics-secure` over TLS, for whom the API server lets."""
        address, page = self._settings.metrics_address, metrics_route(self._instruments.registry)
        if not self._settings.metrics_secure:
            return Listener(address, {"/metrics": page}, flag=_METRICS_FLAG)
        self._certificate = ServingCertificate(self._settings.metrics_cert_dir)
        reviews = Reviews(self._client, asyncio.get_running_loop().time)
        guarded_page = {"/metrics": guarded(page, reviews.admission)}
        return Listener(address, guarded_page, self._certificate.context, flag=_METRICS_FLAG)

    def _elected(self, access: Access, clock: Clock, dice: Random) -> Lease:
        settings = self._settings
        namespace = settings.lease_namespace or access.namespace
        check_lease(namespace, settings.lease_name)
        lease = LeaseSettings(
            namespace,
            settings.lease_name,
            settings.identity,
            settings.lease_duration_s,
            settings.renew_deadline_s,
            settings.retry_period_s,
            {OBEYED: settings.modes_configmap},
        )
        return Lease(lease, clock, dice)

    def _scale_caches(self) -> ScaleCaches | None:
        if self._settings.scale_reads == "api":
            return None
        watch = functools.partial(self._watches.add, otherwise="its scales are read one by one")
        return ScaleCaches(
            self._client,
            watch,
            self._spawn,
            silence_max_s=SOCKET_SILENCE_S,
            by_namespace=bool(self._settings.namespaces),
        )

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            task = self._tasks.create_task(coroutine)
        except RuntimeError:
            coroutine.close()  # a sync wants a watch while everything ends
            return
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    def _mode(self, autoscaler: WatchedAutoscaler) -> str:
        modes = self._orders.modes
        return "shadow" if self._settings.shadow else "freeze" if modes is None else modes.of(autoscaler.namespace)

    def _families(self) -> Iterable[Metric]:
        yield from self._instruments.work_families(self._queue.depth, self._queue.added)
        yield from self._watches.families()
        objects = [(("horizontalpodautoscalers",), len(self._autoscalers)), (("pods",), len(self._pods))]
        yield gauge(f"{OURS}_cached_objects", "Objects in the cache.", objects, ("resource",))
        yield gauge(f"{OURS}_tasks", "Tasks of the event loop.", [((), len(asyncio.all_tasks(self._loop)))])
        dropped = [((reason,), float(count)) for reason, count in self._sink.dropped.items()]
        yield counter(f"{OURS}_events_dropped", "Events that were not posted.", dropped, ("reason",))
        modes = Counter(map(self._mode, self._autoscalers))
        yield gauge(f"{OURS}_hpas", "HPAs by mode.", [((mode,), modes[mode]) for mode in MODES], ("mode",))
        leading = not self._settings.shadow and (self._lease is None or self._lease.leading)
        yield from histories.families(self._keeper)
        yield from self._witnesses.families(syncing=leading or self._settings.shadow)
        if leading or self._settings.shadow:
            yield from self._instruments.desired_families()
        yield gauge(f"{OURS}_leading", "1 while this instance may write.", [((), float(leading))])


async def run(settings: RunSettings, stop: asyncio.Event, environment: Mapping[str, str]) -> None:
    """`hpa-controller run`: control until `stop` is set.

    Raises:
        ConfigurationError: no usable kubeconfig or credentials.
        Unreached: the API server did not answer at the start.
        BindError: a listener's address cannot be used.
        NotRecordableError: recordings cannot be written.
    """
    access = load(
        settings.kubeconfig or None,
        environment=environment,
        context=settings.context or None,
        master=settings.master or None,
    )
    await App(settings, access).run(stop)
