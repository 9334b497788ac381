"""Helm on the control plane of the session, with the kinds of prometheus-operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from tests.e2e.api_client import APPLY_PATCH, ApiError
from tests.e2e.chart.releases import Helm
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane

_MONITORING = {"servicemonitors": "ServiceMonitor", "podmonitors": "PodMonitor", "prometheusrules": "PrometheusRule"}
_GROUP = "monitoring.coreos.com"


@pytest.fixture(scope="session")
def helm(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm as the admin."""
    return Helm(control_plane.admin_kubeconfig, tmp_path_factory.mktemp("helm"))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def operator_kinds(control_plane: ControlPlane) -> None:
    """The custom kinds that the chart makes objects of; their content is looked at by Prometheus' own tools."""
    admin = control_plane.admin
    for plural, kind in _MONITORING.items():
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version: dict[str, Any] = {"name": "v1", "served": True, "storage": True}
        manifest = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{_GROUP}"},
            "spec": {
                "group": _GROUP,
                "scope": "Namespaced",
                "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
                "versions": [version | {"schema": {"openAPIV3Schema": anything}}],
            },
        }
        path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{_GROUP}?fieldManager=e2e"
        await admin.patch(path, manifest, APPLY_PATCH)
    for plural in _MONITORING:

        async def served(plural: str = plural) -> bool:
            await admin.get(f"/apis/{_GROUP}/v1/{plural}")
            return True

        await wait_until(served, f"{plural} to be served", ignoring=(ApiError,))
