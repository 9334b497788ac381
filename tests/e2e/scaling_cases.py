"""Targets of every kind, each with an HPA and a load that its metrics tell of: all the ways to scale."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tests.e2e import autoscalers, load
from tests.e2e.metrics_values import DescribedObject, MetricsValues, Series, namespace_object
from tests.e2e.workload_kinds import (
    DEPLOYMENT,
    FLEET,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
    WorkloadKind,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.load import Publish

REQUESTS = {"cpu": "200m", "memory": "128Mi"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A target with two replicas that a load makes four, and a quarter of it one."""

    name: str
    kind: WorkloadKind
    metrics: Sequence[Mapping[str, Any]]
    publish: Publish
    high_milli: int
    """The load for which four replicas are needed."""
    reported: str
    """The metric as the event of the first rescale names it."""
    containers: Sequence[str] = ("app",)
    behavior: Mapping[str, Any] | None = None
    grown: int = 4
    """The replicas that the HPA gets to under the high load."""
    shrunk: int = 1
    """The replicas that it then gets to under the low one."""
    limited_by: tuple[str, str] = ("False", "DesiredWithinRange")
    """ScalingLimited under the high load."""

    @property
    def low_milli(self) -> int:
        """The load for which one replica is enough."""
        return self.high_milli // 4

    def target(self) -> dict[str, Any]:
        """The manifest of the target."""
        return self.kind.manifest(self.name, 2, requests=REQUESTS, containers=self.containers)

    def autoscaler(self) -> dict[str, Any]:
        """The manifest of the HPA."""
        target = autoscalers.reference(self.kind, self.name)
        return autoscalers.manifest(self.name, target, self.metrics, behavior=self.behavior)


def resource_cases(values: MetricsValues, namespace: str) -> list[Case]:
    """Usage of pods and containers."""
    idle = {"sidecar": "900m"}
    return [
        Case(
            "cpu-utilization",
            DEPLOYMENT,
            [autoscalers.resource("cpu", averageUtilization=50)],
            load.usage(values, namespace, "cpu"),
            400,
            "cpu resource utilization (percentage of request)",
        ),
        Case(
            "memory-average",
            STATEFUL_SET,
            [autoscalers.resource("memory", averageValue="64Mi")],
            load.usage(values, namespace, "memory"),
            256 * 1024 * 1024 * 1000,
            "memory resource",
        ),
        Case(
            "container-utilization",
            REPLICA_SET,
            [autoscalers.container_resource("app", "cpu", averageUtilization=50)],
            load.usage(values, namespace, "cpu", idle),
            400,
            "cpu container resource utilization (percentage of request)",
            containers=("app", "sidecar"),
        ),
        Case(
            "container-average",
            REPLICATION_CONTROLLER,
            [autoscalers.container_resource("app", "cpu", averageValue="100m")],
            load.usage(values, namespace, "cpu", idle),
            400,
            "cpu resource",
            containers=("app", "sidecar"),
        ),
    ]


def custom_cases(values: MetricsValues, namespace: str) -> list[Case]:
    """The custom metrics API: of pods, of objects of several groups and of the namespace."""
    ingress = {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "name": "main"}
    fleet = autoscalers.reference(FLEET, "pods-average")
    service = {"apiVersion": "v1", "kind": "Service", "name": "front"}
    described = {
        "ingress": DescribedObject(namespace, "ingresses.networking.k8s.io", "main", "Ingress", "networking.k8s.io/v1"),
        "fleet": DescribedObject(namespace, "fleets.e2e.example.com", "pods-average", "Fleet", FLEET.api_version),
        "service": DescribedObject(namespace, "services", "front", "Service", "v1"),
    }
    anything = {"apiVersion": "v1", "kind": "Namespace", "name": "any-name-means-this-one"}
    get = {"verb": "GET"}
    return [
        Case(
            "pods-average",
            FLEET,
            [autoscalers.pods("requests", get, averageValue="10")],
            load.per_pod(values, namespace, "requests", get, Series("5k", {"verb": "POST"})),
            40_000,
            "pods metric requests",
        ),
        Case(
            "object-value",
            DEPLOYMENT,
            [autoscalers.of_object(ingress, "hits", value="10")],
            load.object_share(values, described["ingress"], "hits"),
            40_000,
            "Ingress metric hits",
        ),
        Case(
            "object-average",
            STATEFUL_SET,
            [autoscalers.of_object(fleet, "parcels", averageValue="2500m")],
            load.object_total(values, described["fleet"], "parcels"),
            10_000,
            "external metric parcels(nil)",
        ),
        Case(
            "core-object-value",
            DEPLOYMENT,
            [autoscalers.of_object(service, "sessions", value="10")],
            load.object_share(values, described["service"], "sessions"),
            40_000,
            "Service metric sessions",
        ),
        Case(
            "namespace-value",
            REPLICA_SET,
            [autoscalers.of_object(anything, "quota", value="100")],
            load.object_share(values, namespace_object(namespace), "quota"),
            400_000,
            "Namespace metric quota",
        ),
    ]


def external_cases(values: MetricsValues, namespace: str) -> list[Case]:
    """The external metrics API, more than one metric, and rules that hold a target back."""
    mail = {"queue": "mail"}
    selector = (
        "&LabelSelector{MatchLabels:map[string]string{queue: mail,},MatchExpressions:[]LabelSelectorRequirement{},}"
    )
    one_pod_a_minute = {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    return [
        Case(
            "external-value",
            REPLICATION_CONTROLLER,
            [autoscalers.external("backlog", value="10")],
            load.external_share(values, namespace, "backlog"),
            40_000,
            "external metric backlog(nil)",
        ),
        Case(
            "external-average",
            FLEET,
            [autoscalers.external("messages", mail, averageValue="10")],
            load.external_total(values, namespace, "messages", mail),
            40_000,
            f"external metric messages({selector})",
        ),
        Case(
            "largest-wins",
            DEPLOYMENT,
            [
                autoscalers.resource("cpu", averageUtilization=90),
                autoscalers.external("jobs", mail, averageValue="100m"),
                autoscalers.resource("cpu", averageValue="1"),
            ],
            load.all_of(
                load.usage(values, namespace, "cpu"),
                load.external_total(values, namespace, "jobs", mail),
            ),
            400,
            f"external metric jobs({selector})",
        ),
        Case(
            "held-back",
            STATEFUL_SET,
            [autoscalers.external("tickets", mail, averageValue="10")],
            load.external_total(values, namespace, "tickets", mail),
            40_000,
            f"external metric tickets({selector})",
            behavior={"scaleUp": one_pod_a_minute, "scaleDown": {**one_pod_a_minute, "stabilizationWindowSeconds": 0}},
            grown=3,
            # What went up a minute ago may come down again, and one more.
            shrunk=1,
            limited_by=("True", "ScaleUpLimit"),
        ),
    ]
