"""Makes kube-apiserver forward API groups to a server on loopback."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tests.e2e.api_client import APPLY_PATCH, CONNECTION_ERRORS, ApiClient, ApiError
from tests.e2e.metrics_server import SERVICE_NAME, SERVICE_NAMESPACE, MetricsApi
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.certificates import CertificateAuthority

METRICS_VERSIONS: Sequence[tuple[MetricsApi, str]] = (
    (MetricsApi.RESOURCE, "v1beta1"),
    (MetricsApi.CUSTOM, "v1beta1"),
    (MetricsApi.CUSTOM, "v1beta2"),
    (MetricsApi.EXTERNAL, "v1beta1"),
)

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
_FIELD_MANAGER = "?fieldManager=e2e&force=true"


async def register_metrics_apis(
    admin: ApiClient,
    port: int,
    authority: CertificateAuthority,
    versions: Sequence[tuple[MetricsApi, str]] = METRICS_VERSIONS,
) -> None:
    """Sends requests for the versions to the port of localhost and returns when kube-apiserver does so.

    authority signed the server's certificate. Of two versions of one group the newer is the preferred one, as
    prometheus-adapter installs them. Raises TimeoutError.
    """
    services = f"/api/v1/namespaces/{SERVICE_NAMESPACE}/services"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE_NAME},
        # There is no cluster network; of an external name the API server asks nothing but a port.
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    }
    await admin.patch(f"{services}/{SERVICE_NAME}{_FIELD_MANAGER}", service, APPLY_PATCH)
    for group, version in versions:
        name = f"{version}.{group}"
        api_service = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": name},
            "spec": {
                "group": group,
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 200 if version == "v1beta2" else 100,
                "service": {"namespace": SERVICE_NAMESPACE, "name": SERVICE_NAME, "port": port},
                "caBundle": base64.b64encode(authority.certificate_pem).decode(),
            },
        }
        await admin.patch(f"{_API_SERVICES}/{name}{_FIELD_MANAGER}", api_service, APPLY_PATCH)
    await wait_available(admin, versions)


async def unregister_metrics_apis(
    admin: ApiClient, versions: Sequence[tuple[MetricsApi, str]] = METRICS_VERSIONS
) -> None:
    """Takes the versions away; kube-apiserver soon answers 404 for them. Raises ApiError."""
    for group, version in versions:
        await admin.delete(f"{_API_SERVICES}/{version}.{group}")


async def wait_available(
    admin: ApiClient, versions: Sequence[tuple[MetricsApi, str]] = METRICS_VERSIONS, timeout_s: float = 40.0
) -> None:
    """Returns when all versions are available and answer. Raises TimeoutError, which names one."""
    for group, version in versions:

        async def available(group: MetricsApi = group, version: str = version) -> bool:
            name = f"{version}.{group}"
            api_service = await admin.get(f"{_API_SERVICES}/{name}")
            conditions = api_service.get("status", {}).get("conditions", [])
            if not any(item["type"] == "Available" and item["status"] == "True" for item in conditions):
                raise ApiServiceUnavailableError(name, conditions)
            # The condition is written by one part of the API server, requests are forwarded by another.
            await admin.get(f"/apis/{group}/{version}")
            return True

        await wait_until(
            available,
            f"APIService {version}.{group} to be available",
            timeout_s=timeout_s,
            ignoring=(ApiServiceUnavailableError, ApiError, *CONNECTION_ERRORS),
        )


class ApiServiceUnavailableError(Exception):
    """kube-apiserver does not forward to an APIService; shows the conditions that tell why."""
