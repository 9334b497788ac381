"""Puts the sources together that the settings name; nothing is asked yet."""

import asyncio
from collections.abc import Callable

import msgspec

from controller.decide.instants import NANOSECONDS
from controller.kube.client import Client
from controller.kube.discovery import Discovery
from controller.ports import Clock
from controller.sources.ages import AgeInstruments, Ages
from controller.sources.answering import MetricsSource
from controller.sources.cluster_usage import Census, ClusterUsage
from controller.sources.combined import Chain, CombinedMetrics
from controller.sources.complaints import Complaining, Complaints
from controller.sources.custom import CustomMetrics
from controller.sources.expected import Expected
from controller.sources.external import ExternalMetrics
from controller.sources.flags import API, FAMILIES, HTTP_JSON, PROMETHEUS, SourceSettings
from controller.sources.http_json import HttpJsonMetrics
from controller.sources.plugins import load_plugin
from controller.sources.prometheus.annotated import AnnotatedMetrics, Pods
from controller.sources.prometheus.answers import Vector
from controller.sources.prometheus.catalogue import Catalogue
from controller.sources.prometheus.mapper import ResourceMapper
from controller.sources.prometheus.rules import read_rules
from controller.sources.prometheus.sample_times import SampleTimes
from controller.sources.prometheus.server import Asked, PrometheusServer
from controller.sources.prometheus.server_settings import ServerSettings
from controller.sources.prometheus.source import PrometheusMetrics
from controller.sources.resource import ResourceMetrics
from controller.sources.shared import SharedReads, fresh_s, meanwhile_s


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """What sources are made with; the same for all of them.

    `period_s` is the sync period, of which answers serve a part. `census` None: pods are not counted. `whole_cluster`:
    all of it is ours to read.
    """

    client: Client
    discovery: Discovery
    clock: Clock
    pods: Pods
    period_s: float
    instruments: AgeInstruments
    census: Census | None = None
    whole_cluster: bool = False

    @property
    def time_s(self) -> Callable[[], float]:
        """Loop time."""
        return asyncio.get_running_loop().time


def combine(settings: SourceSettings, around: Dependencies) -> CombinedMetrics:
    """The Metrics port. Raises ConfigurationError when rules or an installed source cannot be used."""
    fresh = fresh_s(around.period_s)
    api: dict[str, MetricsSource] = {
        "resource": _resource_metrics(around, fresh),
        "custom": CustomMetrics(around.client, around.discovery, around.time_s, fresh, version_valid_s=around.period_s),
        "external": ExternalMetrics(around.client, around.time_s, fresh),
    }
    prometheus = None if settings.prometheus is None else OnePrometheus(settings.prometheus, settings, around)
    shared: dict[str, MetricsSource] = {}
    for name in {name for family in FAMILIES for name in settings.chain(family)} - {API}:
        if name == PROMETHEUS:
            # It knows better than its failures tell which of them have one cause, and speaks for itself.
            shared[name] = _needed(prometheus).by_rules()
            continue
        options = settings.options.get(name, {})
        source = HttpJsonMetrics(options, around.time_s, fresh) if name == HTTP_JSON else load_plugin(name, options)
        shared[name] = Complaining(source, Complaints(name, around.time_s))
    of_api = Complaints(API, around.time_s)
    chains: dict[str, Chain] = {
        family: [
            (name, Complaining(api[family], of_api) if name == API else shared[name]) for name in settings.chain(family)
        ]
        for family in FAMILIES
    }
    return CombinedMetrics(
        resource=chains["resource"],
        custom=chains["custom"],
        external=chains["external"],
        complaints=Complaints("all", around.time_s),
        ages=Ages(lambda: around.clock.now().wall_ns, around.instruments, settings.sample_age_max_s),
        annotated=_needed(prometheus).by_annotations() if settings.query_annotations else None,
    )


def _resource_metrics(around: Dependencies, fresh: float) -> ResourceMetrics:
    expected, census, cluster = Expected(around.period_s), around.census, None
    if census is not None and around.whole_cluster:
        cluster = ClusterUsage(around.client, around.time_s, around.period_s, census, expected, fresh)
    return ResourceMetrics(
        around.client,
        around.time_s,
        fresh,
        expected,
        census,
        cluster,
        period_s=around.period_s,
        meanwhile_s=meanwhile_s(around.period_s),
    )


class OnePrometheus:
    """What several sources share: one server with its limits, and queries that are under way or fresh."""

    def __init__(self, reached: ServerSettings, settings: SourceSettings, around: Dependencies) -> None:
        """Asks nothing yet."""
        self._settings = settings
        self._around = around
        self._server = PrometheusServer(reached)
        self._complaints = Complaints(self._server.place, around.time_s)
        self._queries: SharedReads[Asked, Vector] = SharedReads(
            lambda asked: self._server.query(*asked), around.time_s, fresh_s(around.period_s)
        )
        self._times = SampleTimes(self._queries.get, self._complaints, enabled=settings.sample_times)

    def by_rules(self) -> PrometheusMetrics:
        """The source that follows the rules file. Raises RulesError when that cannot be used."""
        around, settings = self._around, self._settings
        rules = read_rules(settings.rules_file)
        mapper = ResourceMapper(around.client, around.time_s)
        catalogue = Catalogue(
            self._server,
            mapper,
            rules.custom,
            rules.external,
            time_s=around.time_s,
            wall_s=lambda: around.clock.now().wall_ns / NANOSECONDS,
            relist_s=settings.relist_s,
            age_max_s=settings.series_age_max_s,
            complaints=self._complaints,
        )
        return PrometheusMetrics(
            self._server,
            rules,
            mapper,
            catalogue,
            around.discovery,
            around.pods,
            self._queries,
            self._times,
            self._complaints,
        )

    def by_annotations(self) -> AnnotatedMetrics:
        """The source for queries that HPAs name."""
        return AnnotatedMetrics(self._server, self._around.pods, self._queries, self._times, self._complaints)


def _needed(prometheus: OnePrometheus | None) -> OnePrometheus:
    if prometheus is None:
        raise ValueError("Prometheus is to be asked, and nothing says where it is")
    return prometheus
