"""ReplicaSets and ReplicationControllers, and custom resources that look like them: a number of equal pods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from controller.lab.behaviour.ownership import reference_to
from controller.lab.behaviour.pod_status import is_active, is_leaving, is_ready, unavailable_s
from controller.lab.objects.resources import copied, nested
from controller.lab.objects.selectors import LabelSelector, plain_selector, structured_selector

if TYPE_CHECKING:
    from controller.lab.behaviour.ownership import Claims
    from controller.lab.behaviour.recorder import Recorder
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object, Resource, ScalePaths

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_BURST = 500
"""Pods made or deleted at once."""
_COMPONENT = "replicaset-controller"


class Counts(msgspec.Struct, frozen=True):
    """Pods of one owner; `next_s` is how many seconds pass until another one counts as available, or infinite."""

    replicas: int
    labelled: int
    ready: int
    available: int
    leaving: int
    next_s: float


def count_pods(pods: list[Object], template: Object, minimum_s: int, cluster: Cluster) -> Counts:
    """How many of these pods are there, carry the labels of the template, are ready, are available."""
    active = [pod for pod in pods if is_active(pod)]
    labels = (template.get("metadata") or {}).get("labels") or {}
    now = cluster.clock.now()
    waits = [unavailable_s(pod, minimum_s, now) for pod in active]
    return Counts(
        replicas=len(active),
        labelled=sum(labels.items() <= (pod["metadata"].get("labels") or {}).items() for pod in active),
        ready=sum(map(is_ready, active)),
        available=sum(wait == 0 for wait in waits),
        leaving=sum(map(is_leaving, pods)),
        next_s=min((wait for wait in waits if wait), default=float("inf")),
    )


def deletion_order(pods: list[Object]) -> list[Object]:
    """The pods in the order in which they go: first those that are missed least.

    Unplaced, not yet running, not ready, cheap by annotation, often restarted, young.
    """

    def rank(pod: Object) -> tuple[object, ...]:
        status = pod["status"]
        cost = (pod["metadata"].get("annotations") or {}).get(DELETION_COST, "0")
        restarts = sum(item["restartCount"] for item in status.get("containerStatuses") or ())
        return (
            bool(pod["spec"].get("nodeName")),
            status.get("phase") == "Running",
            is_ready(pod),
            int(cost) if cost.lstrip("-").isdecimal() else 0,
            -restarts,
        )

    newest_first = sorted(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), reverse=True)
    return sorted(newest_first, key=rank)


class ReplicaSets:
    """Reconciles everything that is a number of equal pods.

    Args:
        cluster: Where it is.
        claims: Finds its pods.
        recorder: Writes Events.

    """

    def __init__(self, cluster: Cluster, claims: Claims, recorder: Recorder) -> None:
        self._cluster = cluster
        self._claims = claims
        self._recorder = recorder

    def reconcile(self, resource: str, namespace: str, name: str) -> float | None:
        """Bring one object's pods and status in line; seconds until it wants to be looked at again, or None."""
        owner = self._cluster.glance(resource, name, namespace)
        kind = self._cluster.world.registry.preferred(resource).resource
        if owner is None or kind.scale is None or not _is_number_of_pods(owner, kind.scale):
            return None
        template = owner["spec"]["template"]
        selector = _selector(owner)
        pods = self._claims.claim("pods", owner, selector)
        active = [pod for pod in pods if is_active(pod)]
        desired = nested(owner, *kind.scale.spec_replicas)
        desired = 1 if desired is None else desired
        if "deletionTimestamp" not in owner["metadata"] and len(active) != desired:
            self._resize(owner, template, active, desired)
            pods = self._claims.claim("pods", owner, selector)
        counts = count_pods(pods, template, owner["spec"].get("minReadySeconds", 0), self._cluster)
        self._report(kind, owner, selector, counts)
        return counts.next_s if counts.next_s < float("inf") else None

    def _resize(self, owner: Object, template: Object, active: list[Object], desired: int) -> None:
        name = owner["metadata"]["name"]
        for _ in range(min(desired - len(active), _BURST)):
            pod = self._cluster.create("pods", pod_from(template, owner, generate_name=f"{name}-"))
            self._recorder.record(_COMPONENT, owner, "SuccessfulCreate", f"pod {pod['metadata']['name']} is made")
        for pod in deletion_order(active)[: min(max(0, len(active) - desired), _BURST)]:
            self._cluster.delete("pods", pod["metadata"]["name"], pod["metadata"]["namespace"])
            text = f"pod {pod['metadata']['name']} is deleted"
            self._recorder.record(_COMPONENT, owner, "SuccessfulDelete", text)

    def _report(self, kind: Resource, owner: Object, selector: LabelSelector, counts: Counts) -> None:
        """Write the status if it changed; what a custom resource has beside these fields stays."""
        status = {
            "replicas": counts.replicas,
            "fullyLabeledReplicas": counts.labelled,
            "readyReplicas": counts.ready,
            "availableReplicas": counts.available,
            "terminatingReplicas": counts.leaving,
            "observedGeneration": owner["metadata"].get("generation", 1),
        }
        if kind.custom:
            changed = copied({**owner, "status": owner.get("status") or {}})
            changed["status"] |= status
            if kind.scale is not None and kind.scale.selector and kind.scale.selector[0] == "status":
                changed["status"][kind.scale.selector[-1]] = str(selector)
            if kind.scale is not None:
                changed["status"][kind.scale.status_replicas[-1]] = counts.replicas
        else:
            if kind.kind != "ReplicaSet":
                del status["terminatingReplicas"]
            # Zeroes that the kind leaves out would make every status look changed.
            always = ("replicas", "terminatingReplicas")
            kept = {field: value for field, value in status.items() if value or field in always}
            changed = {**owner, "status": kept}
        if changed["status"] != owner.get("status"):
            self._cluster.update_status(kind.key, changed)


def _is_number_of_pods(owner: Object, paths: ScalePaths) -> bool:
    """Whether an object has what it takes; a custom resource may have anything in these places."""
    replicas = nested(owner, *paths.spec_replicas)
    seconds = nested(owner, "spec", "minReadySeconds")
    return (
        isinstance(nested(owner, "spec", "template", "spec"), dict)
        and isinstance(nested(owner, "spec", "template", "metadata") or {}, dict)
        and isinstance(owner.get("status") or {}, dict)
        and all(value is None or type(value) is int for value in (replicas, seconds))
    )


def pod_from(template: Object, owner: Object, *, name: str = "", generate_name: str = "") -> Object:
    """A pod of a template that belongs to an owner."""
    metadata = copied(template.get("metadata") or {})
    metadata |= {"namespace": owner["metadata"]["namespace"], "ownerReferences": [reference_to(owner)]}
    metadata |= {"name": name} if name else {"generateName": generate_name}
    metadata.pop("creationTimestamp", None)
    return {"metadata": metadata, "spec": copied(template["spec"])}


def _selector(owner: Object) -> LabelSelector:
    """The selector of a ReplicaSet, of a ReplicationController, or of something like them.

    Without one, the labels of the template count.
    """
    selector = owner["spec"].get("selector")
    if isinstance(selector, dict) and ("matchLabels" in selector or "matchExpressions" in selector):
        return structured_selector(selector) or LabelSelector()
    if isinstance(selector, dict) and selector:
        return plain_selector(selector)
    return plain_selector((owner["spec"]["template"].get("metadata") or {}).get("labels"))
