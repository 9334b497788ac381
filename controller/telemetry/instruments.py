"""The numbers we publish: upstream's under their names, labels and buckets (§17), our own under `hpa_controller_`."""

from collections.abc import Callable, Iterable
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
)
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from controller.decide.result import Action, Cause
from controller.telemetry.families import counter, gauge
from controller.telemetry.tallies import Counts, Distributions
from controller.version import __version__

UPSTREAM: Final = "horizontal_pod_autoscaler_controller"
OURS: Final = "hpa_controller"
QUEUE_NAME: Final = "horizontalpodautoscaler"
DURATION_BUCKETS: Final = tuple(0.001 * 2**k for k in range(15))
QUEUE_BUCKETS: Final = tuple(10.0 ** (k - 8) for k in range(10))
AGE_BUCKETS: Final = (1.0, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 90.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
LAG_BUCKETS: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 30.0, 60.0, 300.0)


class PrometheusInstruments:
    """The port `Instruments` over prometheus-client; `registry` is what `/metrics` shows."""

    def __init__(self, time_s: Callable[[], float]) -> None:
        """`time_s` is the loop's clock, for the age of syncs under way."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library lacks the annotation
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        self._time_s = time_s
        self._running: dict[str, float] = {}
        self._count_syncs(registry)
        self._count_work(registry)
        self._count_requests(registry)

    def _count_syncs(self, registry: CollectorRegistry) -> None:
        """Numbers under the names of kube-controller-manager (§17)."""
        reconciled, computed = ("action", "error"), ("action", "error", "metric_type")
        self._reconciliations = Distributions(
            f"{UPSTREAM}_reconciliation_duration_seconds",
            "How long a sync takes.",
            reconciled,
            buckets=DURATION_BUCKETS,
            registry=registry,
            counted_as=(f"{UPSTREAM}_reconciliations", "Syncs by what they did and how they failed."),
        ).of
        self._computations = Distributions(
            f"{UPSTREAM}_metric_computation_duration_seconds",
            "How long evaluating one metric takes.",
            computed,
            buckets=DURATION_BUCKETS,
            registry=registry,
            counted_as=(f"{UPSTREAM}_metric_computation", "Evaluations of single metrics."),
        ).of
        self._autoscalers = Gauge(
            f"{UPSTREAM}_num_horizontal_pod_autoscalers", "HPAs that are known.", registry=registry
        )
        # The library's own gauges are copied one by one at a scrape; there is one of these for each HPA.
        self._desired: dict[tuple[str, ...], float] = {}

    def _count_work(self, registry: CollectorRegistry) -> None:
        """The queue under the names that controllers use, and how late syncs are."""
        self._queue_s = Distributions(
            "workqueue_queue_duration_seconds",
            "How long a key is due before its sync begins.",
            ("name",),
            buckets=QUEUE_BUCKETS,
            registry=registry,
        ).of(QUEUE_NAME)
        self._work_s = Distributions(
            "workqueue_work_duration_seconds",
            "How long the sync of a key takes.",
            ("name",),
            buckets=QUEUE_BUCKETS,
            registry=registry,
        ).of(QUEUE_NAME)
        self._lag_s = Distributions(
            f"{OURS}_sync_lag_seconds",
            "How long after its due time a sync begins.",
            buckets=LAG_BUCKETS,
            registry=registry,
        ).of()
        self._postponed = Counter(
            f"{OURS}_syncs_postponed_total", "Due syncs in which nothing was decided.", ("reason",), registry=registry
        )

    def _count_requests(self, registry: CollectorRegistry) -> None:
        """What goes to the API server, and which program this is."""
        self._restarts = Counter(
            f"{OURS}_watch_restarts_total",
            "Watches that ended abnormally.",
            ("resource", "reason"),
            registry=registry,
        )
        self._requests = Counts(
            f"{OURS}_client_requests",
            "Requests to the API server by kind of traffic.",
            ("traffic", "verb", "code"),
            registry=registry,
        ).of
        self._request_s = Distributions(
            f"{OURS}_client_request_duration_seconds",
            "How long the API server takes to answer.",
            ("traffic", "verb"),
            buckets=DURATION_BUCKETS,
            registry=registry,
        ).of
        self._count_samples(registry)
        Gauge(f"{OURS}_build_info", "1; the version is a label.", ("version",), registry=registry).labels(
            __version__
        ).set(1)

    def _count_samples(self, registry: CollectorRegistry) -> None:
        """How old samples are, by family (resource, custom, external) and source; not by HPA."""
        labels = ("family", "source")
        self._sample_age_s = Distributions(
            f"{OURS}_sample_age_seconds",
            "Age of the oldest sample of each answer when it is used.",
            labels,
            buckets=AGE_BUCKETS,
            registry=registry,
        ).of
        self._undated = Counter(
            f"{OURS}_samples_undated_total",
            "Samples of which nobody knows how old they are.",
            labels,
            registry=registry,
        )
        self._left_out = Counter(
            f"{OURS}_samples_left_out_total",
            "Samples that were not used for their age (--max-sample-age).",
            labels,
            registry=registry,
        )

    def publish(self, families: Callable[[], Iterable[Metric]]) -> None:
        """Have `/metrics` show what this gives at the moment of the scrape."""
        self.registry.register(_Scraped(families))

    # --- see ports.Instruments ---

    def reconciled(self, action: Action, cause: Cause, duration_s: float) -> None:
        """See ports.Instruments."""
        self._reconciliations(action, cause).add(duration_s)

    def metric_computed(self, action: Action, cause: Cause, metric_type: str, duration_s: float) -> None:
        """See ports.Instruments."""
        self._computations(action, cause, metric_type).add(duration_s)

    def replicas_desired(self, namespace: str, name: str, replicas: int) -> None:
        """See ports.Instruments."""
        self._desired[namespace, name] = replicas

    def autoscalers_counted(self, change: int) -> None:
        """See ports.Instruments."""
        self._autoscalers.inc(change)

    def sync_started(self, key: str, lag_s: float) -> None:
        """See ports.Instruments."""
        self._running[key] = self._time_s()
        self._queue_s.add(lag_s)
        self._lag_s.add(lag_s)

    def sync_ended(self, key: str, duration_s: float) -> None:
        """See ports.Instruments."""
        self._running.pop(key, None)
        self._work_s.add(duration_s)

    def sync_postponed(self, reason: str) -> None:
        """See ports.Instruments."""
        self._postponed.labels(reason).inc()

    def watch_restarted(self, resource: str, reason: str) -> None:
        """See ports.Instruments."""
        self._restarts.labels(resource, reason).inc()

    # --- beyond the port ---

    def answered(self, traffic: str, verb: str, code: str, duration_s: float) -> None:
        """A request was answered, or not (`<error>`)."""
        self._requests(traffic, verb, code).add()
        self._request_s(traffic, verb).add(duration_s)

    def desired_families(self) -> Iterable[Metric]:
        """What HPAs want, for an instance that decides: of one that does no longer it would be from then."""
        name, text = f"{UPSTREAM}_desired_replicas", "Desired replicas per HPA."
        yield gauge(name, text, self._desired.items(), ("namespace", "hpa_name"))

    def sample_aged(self, family: str, source: str, age_s: float) -> None:
        """The oldest sample of an answer that is used has this age."""
        self._sample_age_s(family, source).add(age_s)

    def samples_undated(self, family: str, source: str, count: int) -> None:
        """So many samples of an answer do not say how old they are."""
        self._undated.labels(family, source).inc(count)

    def samples_left_out(self, family: str, source: str, count: int) -> None:
        """So many samples of an answer are too old to be used."""
        self._left_out.labels(family, source).inc(count)

    def work_families(self, depth: int, added: int) -> Iterable[Metric]:
        """The queue's numbers under upstream's names (§17.6)."""
        now_s = self._time_s()
        ages_s = [now_s - began_s for began_s in list(self._running.values())]
        yield gauge("workqueue_depth", "Keys that are due.", [((QUEUE_NAME,), depth)], ("name",))
        # Every add is a delayed one, and every delayed add counts as a retry upstream.
        yield counter("workqueue_adds", "Keys added.", [((QUEUE_NAME,), added)], ("name",))
        yield counter("workqueue_retries", "Keys added with a delay.", [((QUEUE_NAME,), added)], ("name",))
        yield gauge(
            "workqueue_unfinished_work_seconds",
            "Seconds of syncs under way.",
            [((QUEUE_NAME,), sum(ages_s))],
            ("name",),
        )
        yield gauge(
            "workqueue_longest_running_processor_seconds",
            "Age of the oldest sync under way.",
            [((QUEUE_NAME,), max(ages_s, default=0.0))],
            ("name",),
        )


class _Scraped(Collector):
    """Asks for metric families when it is scraped."""

    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families()
