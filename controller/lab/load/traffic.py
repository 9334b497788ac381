"""All loads of a lab in motion: work is spread over pods as time passes, and measured every scrape interval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from controller.lab.behaviour.pod_status import is_ready
from controller.lab.load import equivalent
from controller.lab.load.metering import Meter, milli, quantities, set_pods_metric
from controller.lab.load.models import Outcome, Work, drain, serve
from controller.lab.metrics_feed import ObjectKey, Sample, Usage
from controller.lab.objects.errors import ApiError
from controller.lab.objects.resources import Object
from controller.lab.objects.selectors import parse_label_selector

if TYPE_CHECKING:
    from controller.lab.cluster import Cluster
    from controller.lab.scenario import Load, Target

Scraped = Callable[[Sequence[Object], Mapping[str, tuple[str, float]]], None]

HPAS = "horizontalpodautoscalers.autoscaling"


class Traffic:
    """The loads of a scenario.

    Args:
        cluster: Where the pods and metrics are.
        loads: What is there, each with its target.
        scrape_s: How often pods are measured.
        scraped: Called after each measuring with the running pods, and with the Load and the requests served so far by
            the uid of each pod that serves requests.

    Attributes:
        outcomes: What each load has come to, by namespace and name of the load.

    """

    def __init__(
        self, cluster: Cluster, loads: Sequence[Load], scrape_s: float, scraped: Scraped = lambda _, __: None
    ) -> None:
        self._cluster = cluster
        self._scraped = scraped
        self._loads = tuple(loads)
        self._scrape_s = scrape_s
        self._meter = Meter(cluster)
        self._works: dict[str, Work] = {}
        self._begin_s = self._last_s = self._measured_s = cluster.clock.monotonic_s()
        self._held: dict[tuple[str, str], float] = {}
        self.outcomes = {(load.namespace, load.name): Outcome() for load in self._loads}
        self._know_series()

    def step(self) -> None:
        """Let the time since the last step pass."""
        now_s = self._cluster.clock.monotonic_s()
        step_s, at_s = now_s - self._last_s, now_s - self._begin_s
        self._last_s = now_s
        running = [pod for pod in self._cluster.view("pods") if pod["status"].get("phase") == "Running"]
        for load in self._loads:
            self._work(load, at_s, step_s, running)
        if now_s - self._measured_s >= self._scrape_s:
            self._measured_s = now_s
            self._scrape(running)

    def hold(self, namespace: str, name: str, value: float | None) -> None:
        """Keep a load at a value whatever its curve says; None lets the curve go on."""
        if value is None:
            self._held.pop((namespace, name), None)
        else:
            self._held[namespace, name] = value

    def pods_of(self, namespace: str, target: Target, pods: Sequence[Object]) -> list[Object]:
        """Those of some pods that the selector of a target matches; none when the target is not there."""
        resource = self.resource_of(target)
        if resource is None or self.absence_of(namespace, target):
            return []
        try:
            text = self._cluster.scale(resource, target.name, namespace)["status"].get("selector", "")
            selector = parse_label_selector(text)
        except (ApiError, ValueError):
            # A custom resource may lack replicas, and show any text as its selector.
            return []
        if not text:
            return []
        return [
            pod
            for pod in pods
            if pod["metadata"]["namespace"] == namespace and selector.matches(pod["metadata"].get("labels") or {})
        ]

    def absence_of(self, namespace: str, target: Target) -> str:
        """Why a target has no pods that could be found, empty when it may have some."""
        resource = self.resource_of(target)
        if resource is None:
            return f"the lab has no kind {target.kind}"
        if self._cluster.world.registry.preferred(resource).resource.scale is None:
            return f"a {target.kind} has no scale"
        if self._cluster.glance(resource, target.name, namespace) is None:
            return f"there is no {target.kind} {target.name} in namespace {namespace}"
        return ""

    def resource_of(self, target: Target) -> str | None:
        """The resource of a target, as `deployments.apps`; None when the lab does not serve its kind."""
        registry = self._cluster.world.registry
        if target.api_version:
            group = target.api_version.rpartition("/")[0]
            found = registry.by_kind(group, target.kind)
        else:
            found = next((endpoint for endpoint in registry if endpoint.kind == target.kind), None)
        return found.resource.key if found else None

    def _work(self, load: Load, at_s: float, step_s: float, running: Sequence[Object]) -> None:
        spec, total = load.spec, self.outcomes[load.namespace, load.name]
        pods = self.pods_of(load.namespace, spec.target, running)
        workers = [(pod, is_ready(pod), self._works.setdefault(pod["metadata"]["uid"], Work())) for pod in pods]
        rate = self._held.get((load.namespace, load.name))
        if rate is None:
            rate = spec.curve.value(at_s, load.namespace, load.name)
        if spec.service is not None:
            serve(spec.service, rate, step_s, workers, total)
        elif spec.queue is not None:
            drain(spec.queue, rate, step_s, workers, total)
        else:
            total.rate = rate

    # --- measuring ---

    def _scrape(self, running: Sequence[Object]) -> None:
        alive = {pod["metadata"]["uid"] for pod in running}
        self._works = {uid: work for uid, work in self._works.items() if uid in alive}
        self._meter.read(running, self._works)
        served: dict[str, tuple[str, float]] = {}
        for load in self._loads:
            pods = self.pods_of(load.namespace, load.spec.target, running)
            if load.spec.service is not None:
                for uid in (pod["metadata"]["uid"] for pod in pods):
                    served[uid] = load.name, self._works[uid].requests
            if load.spec.equivalent is not None:
                self._show_equivalent(load, pods)
            else:
                self._show_series(load, pods)
        self._scraped(running, served)

    def _know_series(self) -> None:
        """A metric whose pods have not been measured yet is known and empty, as at an adapter."""
        for load in self._loads:
            if load.spec.service is not None and load.spec.service.pods_metric:
                self._cluster.metrics.custom.setdefault(load.spec.service.pods_metric, {})
            self._show_series(load, [])

    def _show_series(self, load: Load, pods: Sequence[Object]) -> None:
        feed, namespace = self._cluster.metrics, load.namespace
        timestamp, outcome = self._cluster.clock.timestamp(), self.outcomes[load.namespace, load.name]
        service, queue = load.spec.service, load.spec.queue
        if queue is not None:
            series = queue.external_metric
            sample = Sample(milli(outcome.backlog), series.labels, timestamp=timestamp)
            feed.set_external(namespace, series.name, sample)
        if service is not None and service.object_metric is not None:
            described = service.object_metric.object
            key = self._key(namespace, described.kind, described.name, described.api_version)
            feed.set_custom(service.object_metric.metric, key, Sample(milli(outcome.rate), timestamp=timestamp))
        if service is not None and service.pods_metric:
            self._meter.forget_series_of(namespace, service.pods_metric, {pod["metadata"]["name"] for pod in pods})
            for pod in pods:
                rate = self._meter.rates.get(pod["metadata"]["uid"])
                if rate is not None and is_ready(pod):
                    set_pods_metric(
                        self._cluster, namespace, pod["metadata"]["name"], service.pods_metric, rate, self._scrape_s
                    )

    def _show_equivalent(self, load: Load, pods: Sequence[Object]) -> None:
        """Set every metric of the HPAs on a target to what so many pods' worth of load gives."""
        amount = self.outcomes[load.namespace, load.name].rate
        ready = sum(is_ready(pod) for pod in pods)
        for hpa in self._cluster.view(HPAS, load.namespace):
            reference = hpa["spec"]["scaleTargetRef"]
            if (reference["kind"], reference["name"]) != (load.spec.target.kind, load.spec.target.name):
                continue
            self._use(hpa["spec"], pods, amount, ready)
            for metric in hpa["spec"].get("metrics") or ():
                self._set(load.namespace, metric, pods, amount, ready)

    def _use(self, spec: Object, pods: Sequence[Object], amount: float, ready: int) -> None:
        feed = self._cluster.metrics
        for pod in pods:
            key = pod["metadata"]["namespace"], pod["metadata"]["name"]
            known = feed.pods.get(key)
            if known is None:
                continue  # not measured yet
            shares = amount if is_ready(pod) else 0.0
            used = equivalent.usage(spec, pod, shares, ready)
            containers = {name: quantities(values) for name, values in used.items()}
            feed.pods[key] = Usage(containers, known.window, known.timestamp)

    def _set(self, namespace: str, metric: Object, pods: Sequence[Object], amount: float, ready: int) -> None:
        timestamp, feed = self._cluster.clock.timestamp(), self._cluster.metrics
        if (source := metric.get("pods")) is not None:
            value = float(equivalent.per_pod(source, amount, ready))
            names = {pod["metadata"]["name"] for pod in pods if is_ready(pod)}
            feed.custom.setdefault(source["metric"]["name"], {})
            self._meter.forget_series_of(namespace, source["metric"]["name"], names)
            for name in names:
                set_pods_metric(self._cluster, namespace, name, source["metric"]["name"], value, self._scrape_s)
            return
        source = metric.get("object") or metric.get("external")
        if source is None:
            return
        value = float(equivalent.total(source, amount, ready))
        labels = equivalent.label_values(source["metric"].get("selector"))
        sample = Sample(milli(value), labels, timestamp=timestamp)
        if metric.get("external") is not None:
            feed.set_external(namespace, source["metric"]["name"], sample)
            return
        described: dict[str, Any] = source["describedObject"]
        key = self._key(namespace, described["kind"], described["name"], described.get("apiVersion", ""))
        feed.set_custom(source["metric"]["name"], key, sample)

    def _key(self, namespace: str, kind: str, name: str, api_version: str) -> ObjectKey:
        """How a custom metric names an object; a kind that the lab does not serve gets the usual plural."""
        group = api_version.rpartition("/")[0]
        found = self._cluster.world.registry.by_kind(group, kind)
        if found is None:
            found = next((endpoint for endpoint in self._cluster.world.registry if endpoint.kind == kind), None)
        if found is None:
            plural = f"{kind.lower()}s"
            return ObjectKey(f"{plural}.{group}" if group else plural, namespace, name)
        return ObjectKey(found.resource.key, namespace if found.resource.namespaced else "", name)
