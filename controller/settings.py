"""Every setting of `run`: flag, meaning and default, parsed into final values and checked before anything starts.

Flags that kube-controller-manager has keep its names, meanings and defaults (§1.1); the README lists the exceptions.
"""

import argparse
import socket
import uuid
from typing import Final

import msgspec

from controller.backoff import LEASE_JITTER
from controller.decide.gates import GATES, GateError, parse_gates
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Settings
from controller.flag_values import (
    add_flag,
    at_least_one,
    bind_address,
    count,
    duration,
    go_bool,
    json_only,
    leases_only,
    namespaces,
    not_negative,
    positive_duration,
    ratio,
)
from controller.recording import flags as recording_flags
from controller.recording.flags import RecordSettings
from controller.sources.flags import SourceSettings, add_source_flags, source_settings
from controller.telemetry import log

_OTHERS_LEASE: Final = ("kube-system", "kube-controller-manager")


class SettingsError(ValueError):
    """Settings that contradict each other; the message names the flags."""


class RunSettings(msgspec.Struct, frozen=True):
    """What `hpa-controller run` was told. Durations in seconds; empty texts mean not given."""

    # the algorithm
    decide: Settings
    sync_period_s: float
    concurrency: int
    # the cluster
    kubeconfig: str
    context: str
    master: str
    kube_api_qps: float
    kube_api_burst: int
    scale_reads: str
    namespaces: tuple[str, ...]
    # other controllers
    shadow: bool
    foreign_writer_silence_periods: int
    modes_configmap: str
    # leader election
    leader_elect: bool
    lease_duration_s: float
    renew_deadline_s: float
    retry_period_s: float
    lease_name: str
    lease_namespace: str
    identity: str
    # what operators see
    metrics_address: str
    health_address: str
    introspection_address: str
    log_level: str
    log_format: str
    metrics_secure: bool
    metrics_cert_dir: str
    record: RecordSettings | None = None
    # None: each term of leadership begins with nothing remembered, as upstream does
    keep_history_interval_s: float | None = None
    # where metrics come from
    sources: SourceSettings = SourceSettings()


def add_flags(parser: argparse.ArgumentParser) -> None:
    """All flags of `run`, in groups, with help texts that name the default."""
    algorithm = parser.add_argument_group("autoscaling (as kube-controller-manager)")
    add_flag(
        algorithm,
        "--horizontal-pod-autoscaler-sync-period",
        positive_duration,
        "15s",
        "how often every HPA is evaluated",
    )
    add_flag(
        algorithm,
        "--horizontal-pod-autoscaler-downscale-stabilization",
        duration,
        "5m0s",
        "how long a high recommendation holds the size of an HPA that sets no window of its own",
    )
    add_flag(
        algorithm,
        "--horizontal-pod-autoscaler-tolerance",
        ratio,
        "0.1",
        "how far the ratio of usage to target may be from 1 without a reaction",
    )
    add_flag(
        algorithm,
        "--horizontal-pod-autoscaler-cpu-initialization-period",
        duration,
        "5m0s",
        "for how long after its start a pod's CPU counts only if the pod is ready and was measured since",
    )
    add_flag(
        algorithm,
        "--horizontal-pod-autoscaler-initial-readiness-delay",
        duration,
        "30s",
        "for how long after its start a pod that turns unready counts as not yet started",
    )
    add_flag(
        algorithm,
        "--concurrent-horizontal-pod-autoscaler-syncs",
        at_least_one,
        "5",
        "how many HPAs are decided and scaled at once; those that wait for metrics are not counted, four status "
        "writes as one",
    )
    add_flag(
        algorithm,
        "--feature-gates",
        str,
        "",
        f"GATE=true|false,…; known are {', '.join(GATES)}, AllAlpha and AllBeta",
    )
    add_source_flags(parser)
    _add_cluster_flags(parser)
    _add_lease_flags(parser)
    _add_operation_flags(parser)
    recording_flags.add_flags(parser)
    _add_history_flags(parser)


def from_arguments(arguments: argparse.Namespace) -> RunSettings:
    """The settings that parsed flags stand for.

    Raises:
        SettingsError: flags contradict each other, or would harm the cluster.
    """
    given = vars(arguments)
    try:
        gates = parse_gates(given["feature_gates"])
    except GateError as error:
        raise SettingsError(f"--feature-gates: {error}") from error
    try:
        sources = source_settings(given)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    settings = RunSettings(
        decide=Settings(
            tolerance=given["horizontal_pod_autoscaler_tolerance"],
            downscale_stabilization_ns=given["horizontal_pod_autoscaler_downscale_stabilization"],
            cpu_initialization_period_ns=given["horizontal_pod_autoscaler_cpu_initialization_period"],
            initial_readiness_delay_ns=given["horizontal_pod_autoscaler_initial_readiness_delay"],
            gates=gates,
        ),
        sync_period_s=given["horizontal_pod_autoscaler_sync_period"] / NANOSECONDS,
        concurrency=given["concurrent_horizontal_pod_autoscaler_syncs"],
        kubeconfig=given["kubeconfig"],
        context=given["context"],
        master=given["master"],
        kube_api_qps=given["kube_api_qps"],
        kube_api_burst=given["kube_api_burst"],
        scale_reads=given["scale_reads"],
        leader_elect=given["leader_elect"],
        lease_duration_s=given["leader_elect_lease_duration"] / NANOSECONDS,
        renew_deadline_s=given["leader_elect_renew_deadline"] / NANOSECONDS,
        retry_period_s=given["leader_elect_retry_period"] / NANOSECONDS,
        lease_name=given["leader_elect_resource_name"],
        lease_namespace=given["leader_elect_resource_namespace"],
        identity=f"{socket.gethostname()}_{uuid.uuid4()}",
        metrics_address=given["metrics_bind_address"],
        namespaces=given["namespaces"],
        modes_configmap=given["modes_configmap"],
        shadow=given["shadow"],
        foreign_writer_silence_periods=given["foreign_writer_silence_periods"],
        health_address=given["health_probe_bind_address"],
        introspection_address=given["introspection_bind_address"],
        log_level=given["log_level"],
        log_format=given["log_format"],
        record=recording_flags.from_flags(given),
        metrics_secure=given["metrics_secure"],
        metrics_cert_dir=given["metrics_cert_dir"],
        keep_history_interval_s=given["keep_history_interval"] / NANOSECONDS if given["keep_history"] else None,
        sources=sources,
    )
    _check(settings)
    return settings


def _add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    cluster = parser.add_argument_group("cluster")
    add_flag(
        cluster,
        "--kubeconfig",
        str,
        "",
        "kubeconfig file; else $KUBECONFIG, the service account of the pod, or ~/.kube/config",
    )
    add_flag(cluster, "--context", str, "", "context of the kubeconfig instead of its current one")
    add_flag(cluster, "--master", str, "", "address of the API server instead of the kubeconfig's")
    add_flag(
        cluster,
        "--kube-api-qps",
        not_negative,
        "0",
        "requests per second for each kind of traffic (scales, status, events, each metrics API); 0: as many as the "
        "server takes. Leases, lists, watches, discovery, reviews and kept histories are never limited",
    )
    add_flag(cluster, "--kube-api-burst", at_least_one, "30", "requests at once beyond --kube-api-qps")
    add_flag(
        cluster,
        "--kube-api-content-type",
        json_only,
        "application/json",
        "encoding of requests; only this one is known",
    )
    cluster.add_argument(
        "--scale-reads",
        choices=("cache", "api"),
        default="cache",
        help="read the scales of common kinds from watch caches, or each time from the API server, as "
        "kube-controller-manager does (default cache)",
    )
    add_flag(
        cluster,
        "--namespaces",
        namespaces,
        "",
        "the namespaces whose HPAs are scaled, separated by commas; else those of the whole cluster, which takes "
        "permissions in all of it",
    )
    _add_company_flags(parser)


def _add_lease_flags(parser: argparse.ArgumentParser) -> None:
    lease = parser.add_argument_group("leader election (as kube-controller-manager)")
    lease.add_argument(
        "--leader-elect",
        nargs="?",
        const=True,
        default=True,
        type=go_bool,
        metavar="BOOL",
        help="contend for a Lease before writing anything, so that several replicas can stand by (default true)",
    )
    add_flag(lease, "--leader-elect-lease-duration", positive_duration, "15s", "how long others wait for a leader")
    add_flag(
        lease,
        "--leader-elect-renew-deadline",
        positive_duration,
        "10s",
        "how long a leader may go on writing after its last renewal",
    )
    add_flag(lease, "--leader-elect-retry-period", positive_duration, "2s", "how often it is renewed or tried for")
    add_flag(lease, "--leader-elect-resource-lock", leases_only, "leases", "kind of the lock; only this one is known")
    add_flag(lease, "--leader-elect-resource-name", str, "hpa-controller", "name of the Lease")
    add_flag(lease, "--leader-elect-resource-namespace", str, "", "namespace of the Lease; else the controller's own")


def _add_company_flags(parser: argparse.ArgumentParser) -> None:
    company = parser.add_argument_group("beside another controller")
    company.add_argument(
        "--shadow",
        nargs="?",
        const=True,
        default=False,
        type=go_bool,
        metavar="BOOL",
        help="write nothing; compare every decision of the controller at work with what this one would have decided "
        "(default false)",
    )
    add_flag(
        company,
        "--foreign-writer-silence-periods",
        count,
        "8",
        "for how many sync periods an HPA that another controller wrote is left to it; 0: other writers are not looked "
        "for",
    )

    add_flag(
        company,
        "--modes-configmap",
        str,
        "",
        "name of a ConfigMap in the Lease's namespace that says what is written (keys mode and mode.NAMESPACE: write, "
        "shadow or freeze) and is obeyed at once; `promote`, `demote` and `freeze` change it",
    )


def _add_operation_flags(parser: argparse.ArgumentParser) -> None:
    operation = parser.add_argument_group("operation")
    add_flag(operation, "--metrics-bind-address", bind_address, ":8080", "address of /metrics; 0 for none")
    _add_secure_flags(operation)
    health = "address of /healthz, /livez and /readyz; 0 for none"
    add_flag(operation, "--health-probe-bind-address", bind_address, ":8081", health)
    add_flag(
        operation,
        "--introspection-bind-address",
        bind_address,
        "127.0.0.1:8082",
        "address of /explain, /top, /shadow and /record, which anybody who reaches it may read; 0 for none",
    )
    operation.add_argument(
        "--log-level",
        choices=tuple(log.LEVELS),
        default="info",
        help="least important lines to write (default info)",
    )
    operation.add_argument(
        "--log-format",
        choices=log.FORMATS,
        default="json",
        help="lines for machines or for people (default json)",
    )


def _add_history_flags(parser: argparse.ArgumentParser) -> None:
    history = parser.add_argument_group("history")
    history.add_argument(
        "--keep-history",
        nargs="?",
        const=True,
        default=False,
        type=go_bool,
        metavar="BOOL",
        help="keep recommendations and rescales in ConfigMaps beside the Lease, so that stabilization windows and "
        "policies hold across restarts; kube-controller-manager forgets them (default false)",
    )
    add_flag(
        history,
        "--keep-history-interval",
        positive_duration,
        "10s",
        "how often each of these ConfigMaps, of which there is one per 320 HPAs, is saved at most",
    )


def _add_secure_flags(operation: argparse._ArgumentGroup) -> None:
    operation.add_argument(
        "--metrics-secure",
        nargs="?",
        const=True,
        default=False,
        type=go_bool,
        metavar="BOOL",
        help="serve /metrics over TLS, to those whose bearer token may `get` the non-resource URL /metrics "
        "(default false)",
    )
    add_flag(operation, "--metrics-cert-dir", str, "", "folder with tls.crt and tls.key for --metrics-secure")


def _check(settings: RunSettings) -> None:
    if settings.metrics_secure != bool(settings.metrics_cert_dir):
        missing = "--metrics-cert-dir" if settings.metrics_secure else "--metrics-secure"
        raise SettingsError(f"--metrics-secure and --metrics-cert-dir go together: {missing} is missing")
    if settings.shadow and settings.keep_history_interval_s is not None:
        raise SettingsError("--keep-history saves what is remembered, but --shadow writes nothing: drop one of them")
    if settings.leader_elect:
        # The Lease tells the others whole seconds; they take over when those are past.
        if int(settings.lease_duration_s) <= settings.renew_deadline_s:
            raise SettingsError(
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, in whole seconds"
            )
        if settings.renew_deadline_s <= settings.retry_period_s * (1.0 + LEASE_JITTER):
            raise SettingsError(
                f"--leader-elect-renew-deadline must be longer than {1.0 + LEASE_JITTER:g} × "
                "--leader-elect-retry-period: so much later an attempt to renew may come"
            )
        if settings.lease_duration_s < 1:
            raise SettingsError("--leader-elect-lease-duration must be at least 1s")
        check_lease(settings.lease_namespace, settings.lease_name)


def check_lease(namespace: str, name: str) -> None:
    """Raises SettingsError for a Lease that must not be ours; to be called again once its namespace is known."""
    if not name:
        raise SettingsError("--leader-elect-resource-name is empty: name a Lease, or give --leader-elect=false")
    if (namespace, name) == _OTHERS_LEASE:
        raise SettingsError(
            "--leader-elect-resource-name: kube-system/kube-controller-manager is the control plane's own Lease; "
            "holding it would stop every built-in controller"
        )
