"""Which workloads want attention, and who gives it to them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from controller.lab.behaviour.alarms import Alarms
from controller.lab.behaviour.deployments import Deployments
from controller.lab.behaviour.ownership import Claims, controller_of
from controller.lab.behaviour.replica_sets import ReplicaSets
from controller.lab.behaviour.stateful_sets import StatefulSets
from controller.lab.kinds import custom
from controller.lab.objects.errors import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller.lab.behaviour.recorder import Recorder
    from controller.lab.cluster import Cluster
    from controller.lab.objects.resources import Object

POD_OWNERS = ("replicasets.apps", "replicationcontrollers", "statefulsets.apps")
_OWNED = {"pods": POD_OWNERS, "replicasets.apps": ("deployments.apps",)}
_RETRY_S = 5.0

Key = tuple[str, str, str]
"""Resource, namespace and name."""


class Workloads:
    """Everything that owns pods, kept in line with what it should be.

    Args:
        cluster: Where it is.
        recorder: Writes Events.

    """

    def __init__(self, cluster: Cluster, recorder: Recorder) -> None:
        self._cluster = cluster
        self._recorder = recorder
        self._claims = Claims(cluster)
        self._alarms: Alarms[Key] = Alarms()
        self._dirty: dict[Key, None] = {}
        self._followed: set[str] = set()
        replica_sets = ReplicaSets(cluster, self._claims, recorder).reconcile
        deployments = Deployments(cluster, self._claims, recorder)
        stateful_sets = StatefulSets(cluster, self._claims, recorder)
        self._reconcilers: dict[str, Callable[[str, str], float | None]] = {
            "deployments.apps": deployments.reconcile,
            "statefulsets.apps": stateful_sets.reconcile,
            "replicasets.apps": partial(replica_sets, "replicasets.apps"),
            "replicationcontrollers": partial(replica_sets, "replicationcontrollers"),
        }
        self._replica_sets = replica_sets
        for resource in ("pods", *self._reconcilers):
            self._follow(resource)
        cluster.subscribe(custom.DEFINITIONS, lambda _, definition: self._follow_custom(definition))
        for definition in cluster.view(custom.DEFINITIONS):
            self._follow_custom(definition)

    def step(self) -> bool:
        """Whether there was anything to do; what it leads to may want a further step."""
        now_s = self._cluster.clock.monotonic_s()
        keys = dict.fromkeys((*self._dirty, *self._alarms.due(now_s)))
        self._dirty.clear()
        served = self._cluster.world.registry.keys() if keys else set()
        for key in keys:
            resource, namespace, name = key
            if resource not in served:
                # A custom resource whose definition was deleted.
                continue
            try:
                again_s = self._reconcilers[resource](namespace, name)
            except ApiError as error:
                again_s = _RETRY_S
                about = self._cluster.glance(resource, name, namespace)
                if about is not None:
                    self._recorder.record("workload-controller", about, "FailedUpdate", error.message, warning=True)
            if again_s is not None:
                self._alarms.set(key, now_s + again_s)
        return bool(keys)

    def _follow(self, resource: str) -> None:
        if resource in self._followed:
            return
        self._followed.add(resource)
        self._cluster.subscribe(resource, partial(self._changed, resource))
        for obj in self._cluster.view(resource):
            self._changed(resource, "ADDED", obj)

    def _follow_custom(self, definition: Object) -> None:
        """Look after a custom resource that has a scale: with a pod template it is a number of equal pods."""
        spec = definition["spec"]
        resource = f"{spec['names']['plural']}.{spec['group']}"
        scaled = any((version.get("subresources") or {}).get("scale") for version in spec["versions"])
        served = self._cluster.world.registry.by_kind(spec["group"], spec["names"]["kind"])
        if scaled and served is not None and served.resource.namespaced:
            self._reconcilers.setdefault(resource, partial(self._replica_sets, resource))
            self._follow(resource)

    def _changed(self, resource: str, kind: str, obj: Object) -> None:
        namespace, name = obj["metadata"]["namespace"], obj["metadata"]["name"]
        if resource in self._reconcilers:
            self._dirty[resource, namespace, name] = None
        if resource not in _OWNED:
            return
        reference = controller_of(obj)
        if self._claims.note(resource, kind, obj):
            # Anybody in the namespace may want to adopt it.
            self._dirty.update(
                ((owner, namespace, found["metadata"]["name"]), None)
                for owner in _OWNED[resource]
                for found in self._cluster.view(owner, namespace)
            )
        if reference is not None:
            group = reference["apiVersion"].rpartition("/")[0]
            endpoint = self._cluster.world.registry.by_kind(group, reference["kind"])
            if endpoint is not None and endpoint.resource.key in self._reconcilers:
                self._dirty[endpoint.resource.key, namespace, reference["name"]] = None
