"""The series that the comparison with prometheus-adapter rests on: counters, gauges, histograms of a small cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP_S = 15
STEPS = 60
PODS = ("web-0", "web-1", "web-2")

# Name, labels, value at the start, growth per second. Values that are no whole milli-units show how each side rounds.
Series = tuple[str, dict[str, str], float, float]


def stored_series(namespace: str) -> list[Series]:
    """All series; those of a neighbour namespace must never be seen from the first."""
    return [*_of_namespace(namespace, 1.0), *_of_namespace(f"{namespace}-neighbour", 7.0), *_of_nobody()]


def open_metrics(series: list[Series], end_s: int) -> str:
    """The series as text that promtool makes blocks of; the last samples are at end_s (Unix seconds)."""
    start_s = end_s - STEPS * STEP_S
    lines = [
        f"{name}{_braced(labels)} {first + growth * step * STEP_S!r} {start_s + step * STEP_S}"
        for name, labels, first, growth in sorted(series, key=lambda one: one[0])
        for step in range(STEPS + 1)
    ]
    return "\n".join([*lines, "# EOF", ""])


def _braced(labels: dict[str, str]) -> str:
    return "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"


def _of_namespace(namespace: str, factor: float) -> Iterator[Series]:
    for number, pod in enumerate(PODS, start=1):
        of_pod = {"namespace": namespace, "pod": pod}
        yield from _of_containers(of_pod, factor * number)
        for code, share in (("200", 3.37), ("500", 0.119)):
            labels = {**of_pod, "service": "web", "job": "web", "code": code, "method": "GET"}
            yield "http_requests_total", labels, 100.0, share * number * factor
            own = {"kubernetes_namespace": namespace, "kubernetes_pod_name": pod, "code": code}
            yield "app_http_queries_total", own, 5.0, share * number * factor / 3
        for bound, share in (("0.1", 1.0), ("0.5", 2.5), ("1", 2.75), ("+Inf", 3.0)):
            labels = {**of_pod, "service": "web", "le": bound}
            yield "http_request_duration_seconds_bucket", labels, 0.0, share * number * factor
        yield "http_inflight_requests", {**of_pod, "service": "web"}, 2.0005 * number, 0.0
        yield "worker_busy_seconds_total", {**of_pod, "service": "web"}, 1.0, 0.123456789 * number
        yield "phpfpm_active_processes", {"exported_namespace": namespace, "exported_pod": pod}, 4.0 * number, 0.0
        yield "temperature_difference", {**of_pod}, -1.23456 * number, 0.0
    for name, replicas in (("web", 3.0), ("api", 11.0)):
        labels = {"namespace": namespace, "deployment": name}
        yield "kube_deployment_status_replicas", labels, replicas * factor, 0.0
        yield (
            "shop_orders_open",
            {"kube_namespace": namespace, "kube_apps_deployment": name},
            replicas / 7 * factor,
            0.0,
        )
        mesh = {"destination_workload_namespace": namespace, "destination_workload": name, "reporter": "destination"}
        yield "istio_requests_total", mesh, 9.0, 1.7 * replicas * factor
        yield "nginx_ingress_controller_requests", {"exported_namespace": namespace, "ingress": name}, 0.0, replicas
        yield (
            "queue_depth",
            {"namespace": namespace, "service": name, "jobs_queue": f"{name}-jobs"},
            replicas * 13.1,
            0.0,
        )


def _of_containers(of_pod: dict[str, str], factor: float) -> Iterator[Series]:
    for container, share in (("app", 0.31), ("sidecar", 0.017), ("POD", 0.9)):
        labels = {**of_pod, "container": container}
        yield "container_cpu_usage_seconds_total", labels, 12.0, share * factor
        yield "container_memory_working_set_bytes", labels, 1e6 * share * factor, 0.5
        yield "container_network_receive_bytes_total", labels, 3.0, 1000 * share
        yield "container_fs_usage_bytes", labels, 4096.0 * factor, 0.0


def _of_nobody() -> Iterator[Series]:
    """Series without a namespace, as exporters of outside services have them."""
    for queue, depth in (("orders", 17.25), ("mails", 3.0)):
        yield "rabbitmq_queue_messages_ready", {"queue": queue, "vhost": "/"}, depth, 0.0
        lag = {"consumergroup": "billing", "topic": queue, "partition": "0"}
        yield "kafka_consumergroup_lag", lag, depth * 100, 0.0
    yield "sqs_messages_visible", {"queue_name": "a.b-c"}, 0.0004, 0.0
