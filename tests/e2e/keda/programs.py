"""The real KEDA on a control plane: its manifests as they are, its operator and metrics server as processes."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiohttp

from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.api_client import CONNECTION_ERRORS
from tests.e2e.build import module_folder
from tests.e2e.metrics_server import SERVICE_NAME, SERVICE_NAMESPACE, MetricsApi
from tests.e2e.programs import find_program, pinned_tools
from tests.e2e.server_process import ServerError, ServerProcess, reserve_port
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.e2e.certificates import Credential
    from tests.e2e.control_plane import ControlPlane

NAMESPACE = "keda"
USER = f"system:serviceaccount:{NAMESPACE}:keda-operator"
"""Who both programs are at the API server: KEDA's own manifests give them one service account."""

FINALIZER = "finalizer.keda.sh"
"""What KEDA puts on every ScaledObject."""

_OPERATOR = "keda-operator"
_METRICS_SERVER = "keda-metrics-apiserver"
# In the order in which they need each other; all of them are files of KEDA's module.
_MANIFESTS = (
    "config/general/namespace.yaml",
    "config/service_account/service_account.yaml",
    "config/crd/bases",
    "config/rbac/role.yaml",
    "config/rbac/role_binding.yaml",
    "config/metrics-server/role.yaml",
    "config/metrics-server/role_binding.yaml",
)
_READY_TIMEOUT_S = 60.0


@asynccontextmanager
async def keda(plane: ControlPlane) -> AsyncIterator[None]:
    """KEDA at work in the control plane, with the rights of its manifests and no more, behind external.metrics.k8s.io.

    Raises ServerError when it does not serve, ProgramError without its programs or Go, KubectlError.
    """
    await _install(plane)
    token = await plane.service_account_token(NAMESPACE, "keda-operator")
    kubeconfig = plane.kubeconfig(token, "keda")
    environment = {
        "KUBECONFIG": str(kubeconfig),
        "POD_NAMESPACE": NAMESPACE,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE,
        "WATCH_NAMESPACE": "",
    }
    # They authenticate each other: one as a server, the other as a client.
    authority = plane.files.authority
    serving = _folder(plane, _OPERATOR, authority.issue_server(_OPERATOR, []))
    asking = _folder(plane, _METRICS_SERVER, authority.issue_client(_METRICS_SERVER, _METRICS_SERVER))
    # The operator cannot share a port with the socket that holds it, so the ports are let go just before.
    with reserve_port() as first, reserve_port() as second:
        health, service = (f"127.0.0.1:{holder.getsockname()[1]}" for holder in (first, second))
    command = _operator_command(health, service, serving)
    operator = ServerProcess(_OPERATOR, command, plane.files.logs / f"{_OPERATOR}.log", environment)
    operator.start()
    try:
        await _healthy(operator, f"http://{health}/readyz")
        async with _metrics_server(plane, kubeconfig, service, asking, environment):
            yield
            operator.check()
    finally:
        await operator.stop()


async def _install(plane: ControlPlane) -> None:
    folder = await asyncio.to_thread(module_folder, pinned_tools()[_OPERATOR])
    for name in _MANIFESTS:
        await plane.kubectl("apply", "--server-side", f"--filename={folder / name}")
    await plane.kubectl("wait", "--for=condition=Established", "--timeout=20s", "crd/scaledobjects.keda.sh")


@asynccontextmanager
async def _metrics_server(
    plane: ControlPlane, kubeconfig: Path, operator: str, certificates: Path, environment: Mapping[str, str]
) -> AsyncIterator[None]:
    authority = plane.files.authority
    identity = authority.issue_server(f"{_METRICS_SERVER}-serving", [f"{SERVICE_NAME}.{SERVICE_NAMESPACE}.svc"])
    # Held while it runs: it can share the port with the socket that keeps it.
    with reserve_port() as holder:
        port = int(holder.getsockname()[1])
        flags = {
            "lister-kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "client-ca-file": authority.certificate,
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "permit-port-sharing": "true",
            "tls-cert-file": identity.certificate,
            "tls-private-key-file": identity.key,
            "cert-dir": certificates,
            "metrics-service-address": operator,
            # Its page about itself, which nobody reads: any port will do.
            "port": 0,
        }
        command = [str(find_program(_METRICS_SERVER)), *(f"--{name}={value}" for name, value in flags.items())]
        process = ServerProcess(_METRICS_SERVER, command, plane.files.logs / f"{_METRICS_SERVER}.log", environment)
        process.start()
        try:
            try:
                await register_metrics_apis(plane.admin, port, authority, [(MetricsApi.EXTERNAL, "v1beta1")])
            except TimeoutError as error:
                raise ServerError(f"{error}; {process.last_lines()}") from None
            yield
            process.check()
        finally:
            await process.stop()


def _operator_command(health: str, service: str, certificates: Path) -> list[str]:
    flags = {
        "metrics-bind-address": "0",
        "health-probe-bind-address": health,
        "metrics-service-bind-address": service,
        "cert-dir": certificates,
        "zap-encoder": "json",
    }
    return [str(find_program(_OPERATOR)), *(f"--{name}={value}" for name, value in flags.items())]


def _folder(plane: ControlPlane, name: str, credential: Credential) -> Path:
    """The folder with certificates as KEDA expects to find them in a mounted secret."""
    folder = plane.files.certificates / name
    folder.mkdir(mode=0o700)
    for source, target in (
        (plane.files.authority.certificate, "ca.crt"),
        (credential.certificate, "tls.crt"),
        (credential.key, "tls.key"),
    ):
        shutil.copy(source, folder / target)
    return folder


async def _healthy(process: ServerProcess, url: str) -> None:
    async def ready() -> bool:
        process.check()
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.ok

    try:
        await wait_until(
            ready, f"{process.name} to be ready", timeout_s=_READY_TIMEOUT_S, poll_s=0.2, ignoring=CONNECTION_ERRORS
        )
    except TimeoutError as error:
        raise ServerError(f"{error}; {process.last_lines()}") from None
