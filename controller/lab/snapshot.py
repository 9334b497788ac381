"""What an outsider sees of HPAs at a moment, as plain data, and what a run has come to."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from controller.lab.behaviour.pod_status import is_ready
from controller.lab.objects.errors import ApiError
from controller.lab.scenario import Target
from controller.lab.serving.hpa_targets import targets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from controller.lab.cluster import Cluster
    from controller.lab.load.models import Outcome
    from controller.lab.load.traffic import Traffic
    from controller.lab.objects.resources import Object

HPAS = "horizontalpodautoscalers.autoscaling"


class Condition(msgspec.Struct, frozen=True):
    """A condition of an HPA."""

    status: str
    reason: str
    message: str


class HpaView(msgspec.Struct, frozen=True):
    """One HPA and its target.

    `load` says what its target has to carry, empty when nothing is known. `replicas` is the target's spec, `ready` its
    ready pods, `desired` what the HPA's status says; `targets` are current and wanted values as kubectl prints them.
    """

    namespace: str
    name: str
    target: str
    load: str
    replicas: int
    ready: int
    desired: int
    replicas_min: int
    replicas_max: int
    targets: str
    conditions: Mapping[str, Condition]
    last_scale: str

    @property
    def key(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}"


class Tally(msgspec.Struct):
    """What has become of one HPA's target over a run; times in seconds of the lab."""

    seen_s: float = 0.0
    replica_s: float = 0.0
    at_max_s: float = 0.0
    least: int = 0
    most: int = 0
    ups: int = 0
    downs: int = 0
    last: int | None = None
    unserved_share: float = 0.0

    def note(self, view: HpaView, step_s: float) -> None:
        """Count the time since the last look."""
        replicas = view.replicas
        if self.last is None:
            self.least = self.most = replicas
        else:
            self.ups += replicas > self.last
            self.downs += replicas < self.last
        self.last = replicas
        self.least, self.most = min(self.least, replicas), max(self.most, replicas)
        self.seen_s += step_s
        self.replica_s += replicas * step_s
        self.at_max_s += step_s * (replicas >= view.replicas_max)

    @property
    def average(self) -> float:
        """Replicas on average over time."""
        return self.replica_s / self.seen_s if self.seen_s else float(self.last or 0)


class Summary(msgspec.Struct, frozen=True):
    """A run in numbers: its length in the lab's time, every HPA's tally, and how often each reason was an event's."""

    duration_s: float
    tallies: Mapping[str, Tally]
    events: Counter[str]


def look(
    cluster: Cluster, traffic: Traffic, loads: Mapping[tuple[str, str, str], tuple[str, Outcome]]
) -> list[HpaView]:
    """All HPAs, by namespace and name; `loads` has what is known by namespace, kind and name of the target."""
    pods = cluster.view("pods")
    views = []
    for hpa in cluster.view(HPAS):
        metadata, spec, status = hpa["metadata"], hpa["spec"], hpa.get("status") or {}
        reference = spec["scaleTargetRef"]
        target = Target(reference["kind"], reference["name"], reference.get("apiVersion", ""))
        try:
            mine = traffic.pods_of(metadata["namespace"], target, pods)
            resource = traffic.resource_of(target)
            scale = cluster.scale(resource, target.name, metadata["namespace"]) if resource else {"spec": {}}
        except (ApiError, KeyError, ValueError):
            mine, scale = [], {"spec": {}}
        known = loads.get((metadata["namespace"], target.kind, target.name))
        views.append(
            HpaView(
                namespace=metadata["namespace"],
                name=metadata["name"],
                target=f"{target.kind}/{target.name}",
                load=_load_text(*known) if known else "",
                replicas=scale["spec"].get("replicas", 0),
                ready=sum(map(is_ready, mine)),
                desired=status.get("desiredReplicas", 0),
                replicas_min=spec.get("minReplicas", 1),
                replicas_max=spec["maxReplicas"],
                targets=targets(spec.get("metrics") or [], status.get("currentMetrics") or []),
                conditions=_conditions(status),
                last_scale=status.get("lastScaleTime") or "",
            )
        )
    return views


def _load_text(kind: str, outcome: Outcome) -> str:
    match kind:
        case "queue":
            return f"{outcome.backlog:.0f} queued"
        case "service":
            return f"{outcome.rate:.0f} req/s"
        case _:
            return f"{outcome.rate:.1f} pods' worth"


def _conditions(status: Object) -> dict[str, Condition]:
    return {
        item["type"]: Condition(item["status"], item.get("reason", ""), item.get("message", ""))
        for item in status.get("conditions") or ()
    }
