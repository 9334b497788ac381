"""Deployments: a replica set per template, and the way from one to the next."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from controller.lab.behaviour import rollout
from controller.lab.behaviour.deployment_status import deployment_status
from controller.lab.behaviour.ownership import reference_to
from controller.lab.behaviour.pod_status import is_active
from controller.lab.behaviour.rollout import Bounds, Part
from controller.lab.objects.resources import copied
from controller.lab.objects.selectors import LabelSelector, structured_selector

if TYPE_CHECKING:
    from controller.lab.behaviour.ownership import Claims
    from controller.lab.behaviour.recorder import Recorder
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
_DESIRED = "deployment.kubernetes.io/desired-replicas"
_MOST = "deployment.kubernetes.io/max-replicas"
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_COMPONENT = "deployment-controller"
_REPLICA_SETS = "replicasets.apps"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_HASH_LENGTH = 9


def template_hash(template: Object, salt: int = 0) -> str:
    """A short name for a pod template, of letters and digits that spell nothing."""
    text = json.dumps(template, sort_keys=True) + (str(salt) if salt else "")
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    letters = []
    for _ in range(_HASH_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[index])
    return "".join(letters)


class Deployments:
    """Reconciles Deployments.

    Args:
        cluster: Where they are.
        claims: Finds their replica sets.
        recorder: Writes Events.

    """

    def __init__(self, cluster: Cluster, claims: Claims, recorder: Recorder) -> None:
        self._cluster = cluster
        self._claims = claims
        self._recorder = recorder

    def reconcile(self, namespace: str, name: str) -> float | None:
        """Bring one Deployment in line by one step; seconds until it wants to be looked at again, or None."""
        deployment = self._cluster.glance("deployments.apps", name, namespace)
        if deployment is None:
            return None
        selector = structured_selector(deployment["spec"]["selector"]) or LabelSelector()
        sets = self._claims.claim(_REPLICA_SETS, deployment, selector)
        new, old = _divide(deployment, sets)
        if "deletionTimestamp" not in deployment["metadata"]:
            desired = deployment["spec"]["replicas"]
            active = [found for found in sets if found["spec"]["replicas"]]
            scaled = any(_annotation(found, _DESIRED) not in ("", str(desired)) for found in active)
            if scaled or deployment["spec"].get("paused"):
                self._scale(deployment, new, old)
            else:
                self._roll(deployment, new, old)
            sets = self._claims.claim(_REPLICA_SETS, deployment, selector)
            new, old = _divide(deployment, sets)
        # What was just written may have raised the generation, which the status has to name.
        fresh = self._cluster.glance("deployments.apps", name, namespace) or deployment
        status, again_s = deployment_status(fresh, new, old, self._cluster.clock.now())
        if status != fresh["status"]:
            self._cluster.update_status("deployments.apps", {**fresh, "status": status})
        return again_s

    def _roll(self, deployment: Object, new: Object | None, old: list[Object]) -> None:
        """One step of a rollout: the new set grows, else old ones shrink, else what is left over goes."""
        desired, limits = deployment["spec"]["replicas"], _bounds(deployment)
        recreate = deployment["spec"]["strategy"]["type"] == "Recreate"
        if recreate and (any(found["spec"]["replicas"] for found in old) or self._any_pods(old)):
            for found in old:
                self._resize(deployment, found, 0)
            return
        new = self._create(deployment, old) if new is None else self._number(deployment, new, old)
        part, parts = _part(new), [_part(found) for found in old]
        size = desired if recreate else rollout.new_size(desired, limits, part, [part, *parts])
        if self._resize(deployment, new, size) or recreate:
            return
        sizes = rollout.old_sizes(desired, limits, part, parts)
        for found in old:
            if found["metadata"]["name"] in sizes:
                self._resize(deployment, found, sizes[found["metadata"]["name"]])
        if not sizes and new["status"].get("availableReplicas", 0) == desired:
            self._forget(deployment, old)

    def _scale(self, deployment: Object, new: Object | None, old: list[Object]) -> None:
        """Give a Deployment another size without going on with its rollout."""
        desired = deployment["spec"]["replicas"]
        everything = [*old, *([new] if new else [])]
        active = [found for found in everything if found["spec"]["replicas"]]
        if len(active) <= 1:
            latest = active or ([new] if new else old[-1:])
            for found in latest:
                self._resize(deployment, found, desired)
        elif new and new["spec"]["replicas"] == new["status"].get("availableReplicas", 0) == desired:
            for found in old:
                self._resize(deployment, found, 0)
            self._resize(deployment, new, desired)
        elif deployment["spec"]["strategy"]["type"] == "RollingUpdate":
            before = deployment["status"].get("replicas", 0)
            parts = [_part(found, before) for found in active]
            sizes = rollout.proportional_sizes(desired, _bounds(deployment), parts)
            for found in active:
                self._resize(deployment, found, sizes[found["metadata"]["name"]])

    def _create(self, deployment: Object, old: list[Object]) -> Object:
        """The replica set of the present template, without pods yet."""
        namespace, name = deployment["metadata"]["namespace"], deployment["metadata"]["name"]
        template = copied(deployment["spec"]["template"])
        salt = 0
        while self._cluster.glance(_REPLICA_SETS, f"{name}-{template_hash(template, salt)}", namespace):
            # Somebody else's set has this name.
            salt += 1
        digest = template_hash(template, salt)
        labels = {**(template["metadata"].get("labels") or {}), HASH_LABEL: digest}
        template["metadata"]["labels"] = labels
        selector = copied(deployment["spec"]["selector"])
        selector["matchLabels"] = {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}
        metadata = {
            "name": f"{name}-{digest}",
            "namespace": namespace,
            "labels": dict(labels),
            "annotations": {**_inherited(deployment), **_sizes(deployment)},
            "ownerReferences": [reference_to(deployment)],
        }
        spec = {"replicas": 0, "selector": selector, "template": template}
        created = self._cluster.create(_REPLICA_SETS, {"metadata": metadata, "spec": spec})
        return self._number(deployment, created, old)

    def _number(self, deployment: Object, new: Object, old: list[Object]) -> Object:
        """The new set with a revision above all old ones; the Deployment shows it, too."""
        revision = max(map(_age, old), default=0) + 1
        if _age(new) < revision:
            new = self._annotate(_REPLICA_SETS, new, {REVISION: str(revision)})
        if _annotation(deployment, REVISION) != _annotation(new, REVISION):
            self._annotate("deployments.apps", deployment, {REVISION: _annotation(new, REVISION)})
        return new

    def _annotate(self, resource: str, obj: Object, annotations: dict[str, str]) -> Object:
        def change(found: Object) -> None:
            found["metadata"]["annotations"] = {**(found["metadata"].get("annotations") or {}), **annotations}

        return self._cluster.modify(resource, obj["metadata"]["name"], change, obj["metadata"]["namespace"])

    def _resize(self, deployment: Object, found: Object, size: int) -> bool:
        """Whether a replica set had another size; it remembers what the Deployment wanted at that time."""
        before = found["spec"]["replicas"]

        def change(current: Object) -> None:
            current["spec"]["replicas"] = size
            current["spec"]["minReadySeconds"] = deployment["spec"].get("minReadySeconds", 0)
            current["metadata"]["annotations"] = {
                **(current["metadata"].get("annotations") or {}),
                **_sizes(deployment),
            }

        name = found["metadata"]["name"]
        self._cluster.modify(_REPLICA_SETS, name, change, found["metadata"]["namespace"])
        if size != before:
            text = f"{name} is resized from {before} to {size} pods"
            self._recorder.record(_COMPONENT, deployment, "ScalingReplicaSet", text)
        return bool(size != before)

    def _any_pods(self, sets: list[Object]) -> bool:
        return any(is_active(pod) for found in sets for pod in self._cluster.owned("pods", found["metadata"]["uid"]))

    def _forget(self, deployment: Object, old: list[Object]) -> None:
        """Delete the oldest sets without pods beyond the history that is kept."""
        empty = [found for found in old if not found["spec"]["replicas"] and not found["status"].get("replicas")]
        limit = deployment["spec"].get("revisionHistoryLimit", 10)
        for found in sorted(empty, key=_age)[: max(0, len(empty) - limit)]:
            self._cluster.delete(_REPLICA_SETS, found["metadata"]["name"], found["metadata"]["namespace"])


def _divide(deployment: Object, sets: list[Object]) -> tuple[Object | None, list[Object]]:
    """The set of the present template, None when there is none yet, and the others, oldest first."""
    wanted = _plain(deployment["spec"]["template"])
    ordered = sorted(sets, key=_age)
    new = next((found for found in ordered if _plain(found["spec"]["template"]) == wanted), None)
    return new, [found for found in ordered if found is not new]


def _plain(template: Object) -> Object:
    metadata = template["metadata"]
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _age(found: Object) -> int:
    return _count(found, REVISION)


def _part(found: Object, most: int = 0) -> Part:
    return Part(
        name=found["metadata"]["name"],
        size=found["spec"]["replicas"],
        available=found["status"].get("availableReplicas", 0),
        age=_age(found),
        most=_count(found, _MOST) or most,
    )


def _bounds(deployment: Object) -> Bounds:
    rolling = deployment["spec"]["strategy"].get("rollingUpdate")
    if rolling is None:
        return Bounds(surge=0, unavailable=0)
    return rollout.bounds(deployment["spec"]["replicas"], rolling["maxSurge"], rolling["maxUnavailable"])


def _annotation(obj: Object, name: str) -> str:
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))


def _count(obj: Object, name: str) -> int:
    """A number in an annotation; 0 when it is missing or was tampered with."""
    text = _annotation(obj, name)
    return int(text) if text.isdecimal() else 0


def _inherited(deployment: Object) -> dict[str, str]:
    own = (REVISION, _LAST_APPLIED)
    return {key: text for key, text in (deployment["metadata"].get("annotations") or {}).items() if key not in own}


def _sizes(deployment: Object) -> dict[str, str]:
    desired = deployment["spec"]["replicas"]
    return {_DESIRED: str(desired), _MOST: str(desired + _bounds(deployment).surge)}
