"""StatefulSets: pods with lasting names, made in order and removed in reverse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller.lab.behaviour.deployments import template_hash
from controller.lab.behaviour.pod_status import is_active, is_leaving, unavailable_s
from controller.lab.behaviour.replica_sets import count_pods, pod_from
from controller.lab.objects.selectors import LabelSelector, structured_selector

if TYPE_CHECKING:
    from controller.lab.behaviour.ownership import Claims
    from controller.lab.behaviour.recorder import Recorder
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

_REVISION_LABEL = "controller-revision-hash"
_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL = "apps.kubernetes.io/pod-index"
_COMPONENT = "statefulset-controller"


class StatefulSets:
    """Reconciles StatefulSets.

    Revisions are not kept, so a pod below a partition that has to be made again gets the present template.

    Args:
        cluster: Where they are.
        claims: Finds their pods.
        recorder: Writes Events.

    """

    def __init__(self, cluster: Cluster, claims: Claims, recorder: Recorder) -> None:
        self._cluster = cluster
        self._claims = claims
        self._recorder = recorder

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Bring one StatefulSet in line by one step; seconds until it wants to be looked at again, or None."""
        owner = self._cluster.glance("statefulsets.apps", name, namespace)
        if owner is None:
            return None
        revision = f"{name}-{template_hash(owner['spec']['template'])}"
        pods = self._pods(owner)
        if "deletionTimestamp" not in owner["metadata"]:
            self._move(owner, pods, revision)
            pods = self._pods(owner)
        minimum_s = owner["spec"].get("minReadySeconds", 0)
        counts = count_pods(list(pods.values()), owner["spec"]["template"], minimum_s, self._cluster)
        current = owner["status"].get("currentRevision") or revision
        revisions = [pod["metadata"]["labels"].get(_REVISION_LABEL) for pod in pods.values() if is_active(pod)]
        desired = owner["spec"]["replicas"]
        if counts.ready == desired and revisions == [revision] * desired:
            current = revision
        status = {
            "observedGeneration": owner["metadata"].get("generation", 1),
            "replicas": counts.replicas,
            "readyReplicas": counts.ready,
            "availableReplicas": counts.available,
            "currentReplicas": revisions.count(current),
            "updatedReplicas": revisions.count(revision),
            "currentRevision": current,
            "updateRevision": revision,
        }
        kept = {key: value for key, value in status.items() if value or key in ("replicas", "availableReplicas")}
        if kept != owner["status"]:
            self._cluster.update_status("statefulsets.apps", {**owner, "status": kept})
        return counts.next_s if counts.next_s < float("inf") else None

    def _pods(self, owner: Object) -> dict[int, Object]:
        """The pods by their number."""
        selector = structured_selector(owner["spec"]["selector"]) or LabelSelector()
        prefix, found = owner["metadata"]["name"] + "-", {}
        for pod in self._claims.claim("pods", owner, selector):
            number = pod["metadata"]["name"].removeprefix(prefix)
            if number.isdecimal():
                found[int(number)] = pod
        return dict(sorted(found.items()))

    def _move(self, owner: Object, pods: dict[int, Object], revision: str) -> None:
        """One step: make the next pod that is missing, else remove the last superfluous one, else update one.

        In order, each step waits until the pods before are available and none is on its way out.
        """
        first = (owner["spec"].get("ordinals") or {}).get("start", 0)
        wanted = range(first, first + owner["spec"]["replicas"])
        ordered = owner["spec"].get("podManagementPolicy") != "Parallel"
        for number in wanted:
            if number not in pods:
                self._create(owner, number, revision)
            if ordered and (number not in pods or not self._is_settled(owner, pods[number])):
                return
        superfluous = [number for number in reversed(pods) if number not in wanted]
        for number in superfluous:
            if is_active(pods[number]):
                self._delete(owner, pods[number])
            if ordered:
                return
        update = owner["spec"]["updateStrategy"]
        if superfluous or update["type"] != "RollingUpdate":
            return
        partition = (update.get("rollingUpdate") or {}).get("partition", 0)
        for number in reversed(wanted):
            pod = pods.get(number)
            if pod is None or number < partition:
                return
            if pod["metadata"]["labels"].get(_REVISION_LABEL) != revision and is_active(pod):
                self._delete(owner, pod)
                return
            if not self._is_settled(owner, pod):
                return

    def _is_settled(self, owner: Object, pod: Object) -> bool:
        minimum_s = owner["spec"].get("minReadySeconds", 0)
        return not is_leaving(pod) and not unavailable_s(pod, minimum_s, self._cluster.clock.now())

    def _create(self, owner: Object, number: int, revision: str) -> None:
        name = f"{owner['metadata']['name']}-{number}"
        pod = pod_from(owner["spec"]["template"], owner, name=name)
        own = {_REVISION_LABEL: revision, _NAME_LABEL: name, _INDEX_LABEL: str(number)}
        pod["metadata"]["labels"] = {**(pod["metadata"].get("labels") or {}), **own}
        pod["spec"]["hostname"] = name
        if owner["spec"].get("serviceName"):
            pod["spec"]["subdomain"] = owner["spec"]["serviceName"]
        self._cluster.create("pods", pod)
        self._recorder.record(_COMPONENT, owner, "SuccessfulCreate", f"pod {name} is made")

    def _delete(self, owner: Object, pod: Object) -> None:
        name = pod["metadata"]["name"]
        self._cluster.delete("pods", name, pod["metadata"]["namespace"])
        self._recorder.record(_COMPONENT, owner, "SuccessfulDelete", f"pod {name} is deleted")
