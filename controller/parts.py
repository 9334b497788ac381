"""The controller put together: the only place that constructs adapters. Nothing runs yet."""

import asyncio
import functools
import gc
import random
from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import Metric

from controller.arrivals import Arrivals
from controller.background import Background
from controller.backoff import Random
from controller.cache import Cache
from controller.clock import SystemClock
from controller.collector import Collecting
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
from controller.kube.kubeconfig import Access
from controller.kube.lease import AlwaysLeading, Lease, LeaseSettings, ReadOnly
from controller.kube.permissions import advice
from controller.kube.reach import Look
from controller.kube.scale import KubeScales, ScaleCaches
from controller.kube.status import KubeStatusWriter
from controller.manifest.query_annotation import queries_of
from controller.modes import MODES, OBEYED, Modes, Orders
from controller.pages import Pages
from controller.pod_cache import PodCache
from controller.ports import Clock, Leadership, SyncObserver, WatchedAutoscaler
from controller.reconcile import Reconciler
from controller.rivals import Rivals
from controller.schedule import Schedule, due_beat_s
from controller.settings import RunSettings, check_lease
from controller.sources.assembly import Dependencies, combine
from controller.sources.combined import CombinedMetrics
from controller.surroundings import Surroundings
from controller.telemetry import histories
from controller.telemetry.families import counter, gauge
from controller.telemetry.instruments import OURS, PrometheusInstruments
from controller.watches import SOCKET_SILENCE_S, Watches
from controller.witnesses import Witnesses
from controller.worker import Workers


class Parts:
    """All that one controller consists of, each made from those before it.

    Attributes:
        settings, access: what they are made for.
        lease: None if it contends for none: without `--leader-elect`, and in shadow.
        keeper: None without `--keep-history`.
    """

    def __init__(
        self,
        settings: RunSettings,
        access: Access,
        *,
        clock: Clock | None = None,
        observers: tuple[SyncObserver, ...] = (),
    ) -> None:
        """Needs a running loop. `clock`: the machine's when None; `observers` are told of every sync.

        Raises:
            SettingsError: the Lease would be the control plane's own.
            ConfigurationError: rules or an installed source cannot be used.
            BindError: the certificate of `/metrics` is missing or cannot be used.
        """
        self.settings, self.access = settings, access
        self._lease_namespace = settings.lease_namespace or access.namespace
        loop = self._loop = asyncio.get_running_loop()
        clock, dice = clock or SystemClock(), random.SystemRandom().random
        self.instruments = instruments = PrometheusInstruments(loop.time)
        # A shadow writes nothing, so it contends for nothing: each replica of it compares by itself.
        elects = settings.leader_elect and not settings.shadow
        self.lease = self._elected(clock, dice) if elects else None
        leadership = self.lease or AlwaysLeading()
        self.collecting = Collecting(settings.sync_period_s, loop.time, lambda: leadership.term, gc)
        self.connection = Connection(access, clock)
        self.client = client = self._asking(leadership, dice)
        self.background = Background()
        self.queue = DelayQueue(loop.time, beat_s=due_beat_s(settings.sync_period_s))
        self._rivals = Rivals()
        self.watches = Watches(client, instruments, dice, settings.sync_period_s)
        self.autoscalers: Cache[WatchedAutoscaler] = Cache(lambda autoscaler: autoscaler.key)
        self._schedule = self._scheduled(clock)
        self.sink = KubeEvents(client, clock, dice, self.autoscalers.peek)
        self.arrivals = self._arriving(clock)
        self.orders = Orders(None if settings.modes_configmap else Modes())
        self._company = self._others(leadership, clock)
        self.pods = PodCache()
        self._follow()
        self.surroundings = Surroundings(
            Look(client), self.autoscalers, settings.decide.gates, settings.sources.from_apis
        )
        self.witnesses = Witnesses(settings, self.autoscalers, self._company, clock)
        self.keeper = self._keeping(clock, dice)
        self.autoscalers.observe(self.sink)
        # The company hears of an HPA after those who listen to it.
        self.autoscalers.observe(self._company)
        discovery = Discovery(client, loop.time)
        self.sources = self._combined(discovery, clock)
        reconciler = self._reconciler(discovery, leadership, clock, dice, (*self.witnesses.observers, *observers))
        self.workers = self._workers_for(reconciler)
        instruments.publish(self._families)
        self.pages = self._served()

    def _asking(self, leadership: Leadership, dice: Random) -> Client:
        return Client(
            self.connection,
            leadership=ReadOnly() if self.settings.shadow else leadership,
            random=dice,
            answered=self.instruments.answered,
            qps=self.settings.kube_api_qps,
            burst=self.settings.kube_api_burst,
            advise=advice,
        )

    def _follow(self) -> None:
        """Make the watches of what decisions rest on, and of what operators order."""
        settings = self.settings
        self.watches.follow(settings.namespaces or ("",), self.autoscalers, self.pods)
        if settings.modes_configmap:
            self.watches.follow_orders(self._lease_namespace, settings.modes_configmap, self.orders)

    def _scheduled(self, clock: Clock) -> Schedule:
        """When HPAs are due, by phases that are counted from the wall clock's zero."""
        epoch_s = self._loop.time() - clock.now().wall_ns / NANOSECONDS
        return Schedule(self.settings.sync_period_s, self.autoscalers.__len__, epoch_s)

    def _arriving(self, clock: Clock) -> Arrivals:
        """Who makes HPAs due that come."""
        arrivals = Arrivals(self.queue, self._rivals, self.instruments, clock, self._loop.time, self._schedule)
        self.autoscalers.observe(arrivals)
        return arrivals

    def _served(self) -> Pages:
        """What is served over HTTP."""
        reporters = (*(() if self.lease is None else (self.lease,)), self.watches, self.orders, self.surroundings)
        return Pages(
            self.settings,
            self.client,
            self.instruments.registry,
            ready=self.watches.unsynced,
            reporters=reporters,
            introspection=self.witnesses.routes(self.lease),
        )

    def _others(self, leadership: Leadership, clock: Clock) -> Company:
        """Who notices other controllers."""
        settings, loop = self.settings, self._loop
        silence_ns = round(settings.foreign_writer_silence_periods * settings.sync_period_s * NANOSECONDS)
        company = Company(clock, self.sink, self.orders, leadership, shadow=settings.shadow, silence_ns=silence_ns)
        # What another one saw is best guessed by looking at once.
        company.observe(lambda autoscaler, _: self.queue.add(autoscaler.key, loop.time()))
        return company

    def _keeping(self, clock: Clock, dice: Random) -> Keeper | None:
        """Who keeps histories beside the Lease; None without `--keep-history`."""
        settings = self.settings
        if settings.keep_history_interval_s is None:
            return None
        keeper = Keeper(
            KubeHistories(self.client, self._lease_namespace, settings.lease_name),
            self.autoscalers,
            self.lease or AlwaysLeading(),
            clock,
            dice,
            settings.decide,
            settings.sync_period_s,
            settings.keep_history_interval_s,
            all_listed=lambda: self.watches.complete,
        )
        self.autoscalers.observe(keeper)
        return keeper

    def _workers_for(self, reconciler: Reconciler) -> Workers:
        return Workers(
            self.queue,
            reconciler.reconcile,
            self.settings.concurrency,
            schedule=self._schedule,
            instruments=self.instruments,
        )

    def _combined(self, discovery: Discovery, clock: Clock) -> CombinedMetrics:
        """Where readings come from."""
        around = Dependencies(
            client=self.client,
            discovery=discovery,
            clock=clock,
            pods=self.pods.matching,
            period_s=self.settings.sync_period_s,
            instruments=self.instruments,
            census=self.pods,
            whole_cluster=not self.settings.namespaces,
        )
        return combine(self.settings.sources, around)

    def _reconciler(
        self,
        discovery: Discovery,
        leadership: Leadership,
        clock: Clock,
        dice: Random,
        observers: tuple[SyncObserver, ...],
    ) -> Reconciler:
        settings = self.settings
        looked_for = (queries_of,) if settings.sources.query_annotations else ()
        return Reconciler(
            autoscalers=self.autoscalers,
            alive=self.watches.alive,
            scales=KubeScales(self.client, discovery, self._scale_caches()),
            gatherer=Gatherer(self.pods, self.sources, self._rivals, *looked_for),
            statuses=KubeStatusWriter(self.client, self.watches.echoes),
            sink=self.sink,
            leadership=leadership,
            mandate=self._company,
            clock=clock,
            instruments=self.instruments,
            random=dice,
            settings=settings.decide,
            schedule=self._schedule,
            observers=observers if self.keeper is None else (self.keeper, *observers),
            past=self.keeper,
        )

    def _elected(self, clock: Clock, dice: Random) -> Lease:
        settings = self.settings
        namespace = self._lease_namespace
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
        if self.settings.scale_reads == "api":
            return None
        watch = functools.partial(self.watches.add, otherwise="its scales are read one by one")
        return ScaleCaches(
            self.client,
            watch,
            self.background.spawn,
            silence_max_s=SOCKET_SILENCE_S,
            by_namespace=bool(self.settings.namespaces),
        )

    def _mode(self, autoscaler: WatchedAutoscaler) -> str:
        modes = self.orders.modes
        return "shadow" if self.settings.shadow else "freeze" if modes is None else modes.of(autoscaler.namespace)

    def _families(self) -> Iterable[Metric]:
        yield from self.instruments.work_families(self.queue.depth, self.queue.added)
        yield from self.watches.families()
        objects = [(("horizontalpodautoscalers",), len(self.autoscalers)), (("pods",), len(self.pods))]
        yield gauge(f"{OURS}_cached_objects", "Objects in the cache.", objects, ("resource",))
        yield gauge(f"{OURS}_tasks", "Tasks of the event loop.", [((), len(asyncio.all_tasks(self._loop)))])
        dropped = [((reason,), float(count)) for reason, count in self.sink.dropped.items()]
        yield counter(f"{OURS}_events_dropped", "Events that were not posted.", dropped, ("reason",))
        modes = Counter(map(self._mode, self.autoscalers))
        yield gauge(f"{OURS}_hpas", "HPAs by mode.", [((mode,), modes[mode]) for mode in MODES], ("mode",))
        leading = not self.settings.shadow and (self.lease is None or self.lease.leading)
        yield from histories.families(self.keeper)
        yield from self.witnesses.families(syncing=leading or self.settings.shadow)
        if leading or self.settings.shadow:
            yield from self.instruments.desired_families()
        yield gauge(f"{OURS}_leading", "1 while this instance may write.", [((), float(leading))])
