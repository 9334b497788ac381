"""The real metrics-server, which reads what KWOK serves as kubelets do and answers metrics.k8s.io."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.kubeconfig import write_kubeconfig
from tests.e2e.metrics_server import SERVICE_NAME, SERVICE_NAMESPACE, MetricsApi
from tests.e2e.programs import find_program
from tests.e2e.roles import bind_cluster_role, bind_role, define_cluster_role, user
from tests.e2e.server_process import ServerError, ServerProcess, reserve_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.e2e.control_plane import ControlPlane

RESOLUTION_S = 10
"""How often it reads usage: as often as it can be told to. CPU is known from the second reading of a pod on."""

_USER = "metrics-server"
_READER_ROLE = "e2e:kubelet-metrics-reader"
_CONFIGURATION_ROLE = "e2e:front-proxy-configuration-reader"
# As metrics-server's own manifests have it; the front proxy's authority stands in a ConfigMap of kube-system.
_READER_RULES = [
    {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]},
]
_CONFIGURATION_RULES = [
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["extension-apiserver-authentication"],
        "verbs": ["get", "list", "watch"],
    }
]


@asynccontextmanager
async def real_metrics_server(plane: ControlPlane) -> AsyncIterator[ServerProcess]:
    """metrics-server behind kube-apiserver's aggregation, with the rights of its manifests and no more.

    Where the stub is registered it takes the stub's place. Raises ServerError when it does not serve, ProgramError
    without the program.
    """
    await _grant(plane)
    # Held while it runs: it can share the port with the socket that keeps it.
    with reserve_port() as holder:
        port = int(holder.getsockname()[1])
        process = ServerProcess("metrics-server", _command(plane, port), plane.files.logs / "metrics-server.log")
        process.start()
        try:
            try:
                await register_metrics_apis(
                    plane.admin, port, plane.files.authority, [(MetricsApi.RESOURCE, "v1beta1")]
                )
            except TimeoutError as error:
                raise ServerError(f"{error}; {process.last_lines()}") from None
            yield process
        finally:
            await process.stop()


async def _grant(plane: ControlPlane) -> None:
    subject = user(_USER)
    await define_cluster_role(plane.admin, _READER_ROLE, _READER_RULES)
    await define_cluster_role(plane.admin, _CONFIGURATION_ROLE, _CONFIGURATION_RULES)
    await bind_cluster_role(plane.admin, _READER_ROLE, subject)
    await bind_cluster_role(plane.admin, "system:auth-delegator", subject)
    await bind_role(plane.admin, "kube-system", _CONFIGURATION_ROLE, subject)


def _command(plane: ControlPlane, port: int) -> list[str]:
    authority = plane.files.authority
    serving = authority.issue_server("real-metrics-server", [f"{SERVICE_NAME}.{SERVICE_NAMESPACE}.svc"])
    kubeconfig = write_kubeconfig(
        plane.files.kubeconfigs / "metrics-server", plane.url, authority.certificate, plane.credential_for(_USER)
    )
    flags = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "permit-port-sharing": "true",
        "tls-cert-file": serving.certificate,
        "tls-private-key-file": serving.key,
        "metric-resolution": f"{RESOLUTION_S}s",
        "kubelet-request-timeout": "5s",
        "kubelet-certificate-authority": authority.certificate,
        "kubelet-preferred-address-types": "InternalIP",
        "kubelet-use-node-status-port": "true",
    }
    return [str(find_program("metrics-server")), *(f"--{name}={value}" for name, value in flags.items())]
