"""The lab's cluster as a Python object: what a simulation or a test does to it without HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from controller.lab.clock import LabClock
from controller.lab.metrics_feed import MetricsFeed
from controller.lab.objects import scale
from controller.lab.operations import bodies, deletion, reading, writing
from controller.lab.operations.deletion import DeleteOptions
from controller.lab.operations.world import World
from controller.lab.operations.writing import WriteOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from controller.lab.objects.resources import Endpoint, Object, ValidationSettings
    from controller.lab.storage.history import Change, ChangeType
    from controller.lab.storage.stored import Stored

_NAMESPACES = ("default", "kube-system", "kube-public", "kube-node-lease")


class Cluster:
    """Objects and metrics of a lab cluster.

    Resources are named as `pods`, `deployments.apps`, `horizontalpodautoscalers.autoscaling`. Objects go in
    and come out as dicts with apiVersion and kind in the preferred version of their resource; what comes out
    is a copy. Every write goes by the rules of the API server and raises `ApiError` when it would be refused.

    Args:
        clock: Gives timestamps; made from the running event loop when None.
        seed: Determines uids and generated names.
        history_limit: Changes remembered per resource; watching from before them is answered with 410.
        first_revision: The resourceVersion before the first write.
        settings: Feature gates that change what is valid.

    """

    def __init__(
        self,
        clock: LabClock | None = None,
        *,
        seed: int = 1,
        history_limit: int = 10_000,
        first_revision: int = 1,
        settings: ValidationSettings | None = None,
    ) -> None:
        self.clock = clock or LabClock(asyncio.get_running_loop().time)
        self.world = World(
            self.clock,
            seed=seed,
            history_limit=history_limit,
            first_revision=first_revision,
            settings=settings,
        )
        self.metrics = MetricsFeed()
        for name in _NAMESPACES:
            self.create("namespaces", {"metadata": {"name": name}})

    def create(self, resource: str, obj: Object, *, with_status: bool = False) -> Object:
        """The new object; its namespace is `default` unless it names one.

        It may be in any served version. `with_status` also writes the status that `obj` has, which creation alone
        ignores.
        """
        endpoint = self._endpoint(resource)
        group, _, version = obj.get("apiVersion", "").rpartition("/")
        written = self.world.registry.find(group, version, endpoint.plural) or endpoint
        body = bodies.to_hub(written, obj, "Strict")
        namespace = body.value["metadata"].get("namespace", "default")
        status = body.value.get("status")
        stored = writing.create(self.world, written, body.value, namespace, WriteOptions())
        if with_status and status:
            changed = {**stored.as_object(endpoint), "status": status}
            return self.update_status(resource, changed)
        return stored.as_object(endpoint)

    def get(self, resource: str, name: str, namespace: str = "default") -> Object:
        """The object of that name; raises a NotFound `ApiError` when there is none."""
        endpoint = self._endpoint(resource)
        where = namespace if endpoint.resource.namespaced else ""
        return reading.get(self.world, endpoint, where, name).as_object(endpoint)

    def find(self, resource: str, name: str, namespace: str = "default") -> Object | None:
        """The object of that name, or None."""
        endpoint = self._endpoint(resource)
        where = namespace if endpoint.resource.namespaced else ""
        stored = self.world.store.get(endpoint.resource, where, name)
        return stored.as_object(endpoint) if stored else None

    def list(
        self,
        resource: str,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        field_selector: str = "",
    ) -> list[Object]:
        """The selected objects of a namespace (of all when None), ordered by namespace and name."""
        endpoint = self._endpoint(resource)
        selection = reading.select(endpoint, namespace, label_selector, field_selector)
        page = reading.list_objects(self.world, endpoint, selection, reading.ListOptions())
        return [stored.as_object(endpoint) for stored in page.items]

    def view(self, resource: str, namespace: str | None = None) -> Sequence[Object]:
        """The objects of a namespace (of all when None) as they are stored, which costs no copy.

        Nothing inside of them may be changed. Ordered by namespace and name.
        """
        endpoint = self._endpoint(resource)
        return [_shown(endpoint, stored) for stored in self.world.store.items(endpoint.resource, namespace)]

    def glance(self, resource: str, name: str, namespace: str = "default") -> Object | None:
        """The object of that name as `view` gives it, or None."""
        endpoint = self._endpoint(resource)
        where = namespace if endpoint.resource.namespaced else ""
        stored = self.world.store.get(endpoint.resource, where, name)
        return _shown(endpoint, stored) if stored else None

    def owned(self, resource: str, uid: str) -> Sequence[Object]:
        """The objects of a resource that name this uid as an owner, as `view` gives them, ordered by name."""
        endpoint = self._endpoint(resource)
        found = [stored for stored in self.world.store.dependents(uid) if stored.resource.key == resource]
        return [_shown(endpoint, stored) for stored in sorted(found, key=lambda stored: stored.path)]

    def bind(self, name: str, node: str, namespace: str = "default") -> Object:
        """The pod after it was given to a node, as a scheduler does: its generation stays."""
        endpoint = self._endpoint("pods")
        value = reading.get(self.world, endpoint, namespace, name).as_object(endpoint)
        del value["apiVersion"], value["kind"]
        value["spec"]["nodeName"] = node
        return self.world.store.put(endpoint.resource, value).as_object(endpoint)

    def update(self, resource: str, obj: Object) -> Object:
        """The object after everything but its status was replaced.

        Its resourceVersion, if any, is a precondition.
        """
        return self._write(resource, obj, "")

    def update_status(self, resource: str, obj: Object) -> Object:
        """The object after its status was replaced."""
        return self._write(resource, obj, "status")

    def modify(self, resource: str, name: str, change: Callable[[Object], None], namespace: str = "default") -> Object:
        """The object after a function changed a copy of it in place; its status is not affected."""
        obj = self.get(resource, name, namespace)
        change(obj)
        return self.update(resource, obj)

    def delete(
        self, resource: str, name: str, namespace: str = "default", options: DeleteOptions | None = None
    ) -> bool:
        """Whether the object is gone; False while it waits for its grace period or finalizers."""
        endpoint = self._endpoint(resource)
        where = namespace if endpoint.resource.namespaced else ""
        current = reading.get(self.world, endpoint, where, name)
        return deletion.delete(self.world, endpoint, current, options or DeleteOptions()).gone

    def scale(self, resource: str, name: str, namespace: str = "default") -> Object:
        """The Scale of an object, as its subresource shows it."""
        endpoint = self._endpoint(resource)
        return scale.read_scale(endpoint.resource, reading.get(self.world, endpoint, namespace, name))

    def set_replicas(self, resource: str, name: str, replicas: int, namespace: str = "default") -> Object:
        """The Scale of an object after its replicas were set."""
        endpoint = self._endpoint(resource)
        stored = reading.get(self.world, endpoint, namespace, name)
        wanted = {"metadata": {"name": name}, "spec": {"replicas": replicas}}
        changed = scale.write_scale(endpoint.resource, stored, wanted)
        updated = writing.update(self.world, endpoint, stored, changed, WriteOptions(subresource="scale"))
        return scale.read_scale(endpoint.resource, updated)

    def subscribe(self, resource: str, listener: Callable[[ChangeType, Object], None]) -> Callable[[], None]:
        """Have every later change of a resource reported at once, as type and object.

        Calling the result ends that.
        """
        endpoint = self._endpoint(resource)

        def report(change: Change) -> None:
            listener(change.type, change.current.as_object(endpoint))

        return self.world.store.history(endpoint.resource).subscribe(report)

    def forget_history(self, resource: str = "") -> None:
        """Forget past states (of one resource, or of all): watches and pages from before now get 410."""
        self.world.store.forget_history(self._endpoint(resource).resource if resource else None)

    @property
    def revision(self) -> int:
        """The resourceVersion of the last write."""
        return self.world.store.revision

    def _write(self, resource: str, obj: Object, subresource: str) -> Object:
        endpoint = self._endpoint(resource)
        body = bodies.to_hub(endpoint, obj, "Strict")
        metadata = body.value["metadata"]
        namespace = metadata.get("namespace", "default") if endpoint.resource.namespaced else ""
        current = reading.get(self.world, endpoint, namespace, metadata.get("name", ""))
        options = WriteOptions(subresource=subresource)
        return writing.update(self.world, endpoint, current, body.value, options).as_object(endpoint)

    def _endpoint(self, resource: str) -> Endpoint:
        return self.world.registry.preferred(resource)


def _shown(endpoint: Endpoint, stored: Stored) -> Object:
    return {"apiVersion": endpoint.api_version, "kind": endpoint.kind, **stored.value}
