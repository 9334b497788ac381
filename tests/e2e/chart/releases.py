"""Helm, and what a release of the chart has made in a cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.e2e.programs import find_program
from tests.e2e.server_process import run_to_end

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.api_client import ApiClient

CHART = Path(__file__).parents[3] / "charts" / "hpa-controller"

# Every collection in which the chart may make something.
NAMESPACED = (
    "/apis/apps/v1/{}/deployments",
    "/api/v1/{}/services",
    "/api/v1/{}/serviceaccounts",
    "/api/v1/{}/configmaps",
    "/apis/policy/v1/{}/poddisruptionbudgets",
    "/apis/networking.k8s.io/v1/{}/networkpolicies",
    "/apis/rbac.authorization.k8s.io/v1/{}/roles",
    "/apis/rbac.authorization.k8s.io/v1/{}/rolebindings",
    "/apis/monitoring.coreos.com/v1/{}/servicemonitors",
    "/apis/monitoring.coreos.com/v1/{}/podmonitors",
    "/apis/monitoring.coreos.com/v1/{}/prometheusrules",
)
CLUSTER_WIDE = (
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
)


class HelmError(Exception):
    """Helm said no; the text is what it wrote to standard error."""


class Helm:
    """Helm with a home of its own, acting as the admin of a kubeconfig."""

    def __init__(self, kubeconfig: Path, home: Path) -> None:
        self._program = find_program("helm")
        self._home = home
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "HELM_CACHE_HOME": str(home / "cache"),
            "HELM_CONFIG_HOME": str(home / "config"),
            "HELM_DATA_HOME": str(home / "data"),
        }

    async def run(self, *arguments: str | Path, timeout_s: float = 60.0) -> str:
        """What it writes to standard output.

        Raises HelmError when it fails or warns, TimeoutError after timeout_s.
        """
        ended = await run_to_end(self._program, *arguments, environment=self._environment, timeout_s=timeout_s)
        said = ended.errors
        # The API server's warnings, about what Pod Security would refuse for instance, come this way.
        if ended.status != 0 or "Warning:" in said or "WARNING:" in said:
            raise HelmError(f"{said.strip()}\n{ended.output}".strip())
        return ended.output

    def values(self, values: Mapping[str, Any]) -> Path:
        """A file with these values."""
        path = self._home / f"values-{len(list(self._home.glob('values-*')))}.yaml"
        path.write_text(json.dumps(values))
        return path

    async def apply(self, verb: str, release: str, namespace: str, values: Mapping[str, Any]) -> str:
        """Installs (verb ``install``) or upgrades a release of the chart. Raises HelmError."""
        return await self.run(verb, release, CHART, "--namespace", namespace, "--values", self.values(values))

    async def manifests(self, release: str, namespace: str) -> list[dict[str, Any]]:
        """What the release consists of, as Helm remembers it."""
        text = await self.run("get", "manifest", release, "--namespace", namespace)
        return [document for document in yaml.safe_load_all(text) if document]


async def objects_of(admin: ApiClient, release: str, namespace: str) -> dict[str, Any]:
    """What there is of a release in the cluster, as ``kind/name``."""
    query = {"labelSelector": f"app.kubernetes.io/instance={release}"}
    found: dict[str, Any] = {}
    for path in (*(path.format(f"namespaces/{namespace}") for path in NAMESPACED), *CLUSTER_WIDE):
        answer = await admin.get(path, query)
        kind = str(answer["kind"]).removesuffix("List")
        for item in answer["items"]:
            # Another namespace may have a release of the same name.
            owner = item["metadata"].get("annotations", {}).get("meta.helm.sh/release-namespace")
            if owner == namespace:
                found[f"{kind}/{item['metadata']['name']}"] = item
    return found


def flags_of(deployment: Mapping[str, Any]) -> list[str]:
    """The flags that a release's Deployment runs the controller with."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    command, *flags = container["args"]
    assert command == "run"
    return [str(flag) for flag in flags]
