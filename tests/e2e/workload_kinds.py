"""The kinds of objects that can be scaled in tests, and how an object of each looks."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tests.e2e.api_client import APPLY_PATCH, ApiClient, ApiError
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class WorkloadKind:
    """A kind with a scale subresource."""

    api_version: str
    kind: str
    plural: str
    pod_counters: tuple[str, ...] = ()
    """Status fields beside ``replicas`` that count all pods."""
    ready_counters: tuple[str, ...] = ()
    """Status fields that count ready pods."""
    custom: bool = False
    """Whether a CustomResourceDefinition has to be created."""
    tells_selector: bool = False
    """Whether a custom kind's status holds the selector, as text, for its scale subresource."""

    def path(self, namespace: str, name: str | None = None, subresource: str | None = None) -> str:
        """The path of the collection, of one object, or of a subresource of it."""
        root = "/apis" if "/" in self.api_version else "/api"
        parts = [root, self.api_version, "namespaces", namespace, self.plural, name, subresource]
        return "/".join(part for part in parts if part)

    def manifest(
        self,
        name: str,
        replicas: int,
        *,
        requests: Mapping[str, str] | None = None,
        containers: Sequence[str] = ("app",),
        labels: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """An object whose pods have the labels (``app=<name>`` if None) and all containers the requests."""
        chosen = dict(labels or {"app": name})
        # Nobody pulls the image: pods run on paper only.
        pod_spec = {
            "containers": [
                {"name": container, "image": "unused", "resources": {"requests": dict(requests or {})}}
                for container in containers
            ]
        }
        spec: dict[str, Any] = {
            "replicas": replicas,
            "selector": chosen if self == REPLICATION_CONTROLLER else {"matchLabels": chosen},
            "template": {"metadata": {"labels": chosen}, "spec": pod_spec},
        }
        if self == STATEFUL_SET:
            spec["serviceName"] = name
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": {"name": name}, "spec": spec}

    def status(self, manifest: Mapping[str, Any], pods: int, ready: int) -> dict[str, Any]:
        """The status that its controller would write for so many pods."""
        status: dict[str, Any] = {"replicas": pods}
        status |= dict.fromkeys(self.pod_counters, pods) | dict.fromkeys(self.ready_counters, ready)
        if not self.custom:
            status["observedGeneration"] = manifest["metadata"].get("generation", 0)
        if self.tells_selector:
            labels = manifest["spec"]["selector"]["matchLabels"]
            status["selector"] = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        return status


_READY = ("readyReplicas", "availableReplicas")

DEPLOYMENT = WorkloadKind("apps/v1", "Deployment", "deployments", ("updatedReplicas",), _READY)
REPLICA_SET = WorkloadKind("apps/v1", "ReplicaSet", "replicasets", ("fullyLabeledReplicas",), _READY)
STATEFUL_SET = WorkloadKind("apps/v1", "StatefulSet", "statefulsets", ("currentReplicas", "updatedReplicas"), _READY)
REPLICATION_CONTROLLER = WorkloadKind(
    "v1", "ReplicationController", "replicationcontrollers", ("fullyLabeledReplicas",), _READY
)
FLEET = WorkloadKind(
    "e2e.example.com/v1",
    "Fleet",
    "fleets",
    ready_counters=("readyReplicas",),
    custom=True,
    tells_selector=True,
)
# Its scale subresource tells no selector.
SWARM = WorkloadKind("e2e.example.com/v1", "Swarm", "swarms", ready_counters=("readyReplicas",), custom=True)


async def create_custom_kind(admin: ApiClient, kind: WorkloadKind) -> None:
    """Defines the kind and returns when it is served. Harmless when it is defined. Raises TimeoutError."""
    group, version = kind.api_version.split("/")
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    if kind.tells_selector:
        scale["labelSelectorPath"] = ".status.selector"
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    status = {
        "type": "object",
        "properties": {"replicas": {"type": "integer"}, "selector": {"type": "string"}},
    }
    spec = {**anything, "properties": {"replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": {**anything, **status}}}
    name = f"{kind.plural}.{group}"
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind.kind, "plural": kind.plural, "singular": kind.kind.lower()},
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}, "scale": scale},
                }
            ],
        },
    }
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    await admin.patch(f"{definitions}/{name}?fieldManager=e2e&force=true", definition, APPLY_PATCH)

    async def served() -> bool:
        resources = await admin.get(f"/apis/{kind.api_version}")
        listed = {resource["name"] for resource in resources["resources"]}
        await admin.get(f"/apis/{kind.api_version}/{kind.plural}")
        return {kind.plural, f"{kind.plural}/scale"} <= listed

    await wait_until(served, f"{name} to be served", ignoring=(ApiError,))
