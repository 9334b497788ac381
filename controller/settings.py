"""The settings of `run`: what its flags stand for, as final values that are checked before anything starts."""

import argparse
import socket
import uuid
from typing import Final

import msgspec

from controller.backoff import LEASE_JITTER
from controller.decide.gates import GateError, parse_gates
from controller.decide.instants import NANOSECONDS
from controller.decide.spec import Settings
from controller.recording import flags as recording_flags
from controller.recording.flags import RecordSettings
from controller.sources.flags import SourceSettings, source_settings

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
