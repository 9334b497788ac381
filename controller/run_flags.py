"""Every flag of `run`, its meaning and its default.

Flags that kube-controller-manager has keep its names, meanings and defaults (§1.1); the README lists the exceptions.
"""

import argparse

from controller.decide.gates import GATES
from controller.flag_values import (
    Added,
    add_flag,
    add_switch,
    at_least_one,
    bind_address,
    count,
    duration,
    json_only,
    leases_only,
    namespaces,
    not_negative,
    positive_duration,
    ratio,
)
from controller.recording import flags as recording_flags
from controller.sources.flags import add_source_flags
from controller.telemetry import log


def add_flags(parser: argparse.ArgumentParser) -> None:
    """All flags of `run`, in groups, with help texts that name the default."""
    _add_algorithm_flags(parser)
    add_source_flags(parser)
    _add_cluster_flags(parser)
    _add_lease_flags(parser)
    _add_operation_flags(parser)
    recording_flags.add_flags(parser)
    _add_history_flags(parser)


def _add_algorithm_flags(parser: argparse.ArgumentParser) -> None:
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
        "how many HPAs are decided and scaled at once; those that wait for metrics are not counted, twelve status "
        "writes as one",
    )
    add_flag(
        algorithm,
        "--feature-gates",
        str,
        "",
        f"known are {', '.join(GATES)}, AllAlpha and AllBeta; may be repeated",
        "GATE=BOOL,…",
        Added,
    )


def _add_cluster_flags(parser: argparse.ArgumentParser) -> None:
    cluster = parser.add_argument_group("cluster")
    add_flag(
        cluster,
        "--kubeconfig",
        str,
        "",
        "kubeconfig file; else $KUBECONFIG, the service account of the pod, or ~/.kube/config",
        "FILE",
    )
    add_flag(cluster, "--context", str, "", "context of the kubeconfig instead of its current one", "NAME")
    add_flag(cluster, "--master", str, "", "address of the API server instead of the kubeconfig's", "URL")
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
        "permissions in all of it; may be repeated",
        action=Added,
    )
    _add_company_flags(parser)


def _add_lease_flags(parser: argparse.ArgumentParser) -> None:
    lease = parser.add_argument_group("leader election (as kube-controller-manager)")
    add_switch(
        lease,
        "--leader-elect",
        "contend for a Lease before writing anything, so that several replicas can stand by",
        default=True,
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
    add_flag(lease, "--leader-elect-resource-name", str, "hpa-controller", "name of the Lease", "NAME")
    add_flag(
        lease,
        "--leader-elect-resource-namespace",
        str,
        "",
        "namespace of the Lease; else the controller's own, outside a pod that of the kubeconfig's context",
        "NAMESPACE",
    )


def _add_company_flags(parser: argparse.ArgumentParser) -> None:
    company = parser.add_argument_group("beside another controller")
    add_switch(
        company,
        "--shadow",
        "write nothing; compare every decision of the controller at work with what this one would have decided",
        default=False,
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
        "NAME",
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
    add_switch(
        history,
        "--keep-history",
        "keep recommendations and rescales in ConfigMaps beside the Lease, so that stabilization windows and "
        "policies hold across restarts; kube-controller-manager forgets them",
        default=False,
    )
    add_flag(
        history,
        "--keep-history-interval",
        positive_duration,
        "10s",
        "how often each of these ConfigMaps, of which there is one per 320 HPAs, is saved at most",
    )


def _add_secure_flags(operation: argparse._ArgumentGroup) -> None:
    add_switch(
        operation,
        "--metrics-secure",
        "serve /metrics over TLS, to those whose bearer token may `get` the non-resource URL /metrics",
        default=False,
    )
    add_flag(operation, "--metrics-cert-dir", str, "", "folder with tls.crt and tls.key for --metrics-secure", "DIR")
