"""The objects of a population on a control plane: made once, and put back to how they were between two controllers."""

import datetime as dt
import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from tests.bench_cluster.populations import (
    METRIC,
    TEMPLATE_NAME,
    TEMPLATE_NAMESPACE,
    TEMPLATE_POD,
    Application,
    Population,
    Source,
)
from tests.bench_cluster.stored import Etcd, exchanged
from tests.e2e import autoscalers, pods
from tests.e2e.control_plane import ControlPlane
from tests.e2e.waiting import wait_until

REPLICAS_MAX = 20
_CONTAINER = {"name": "app", "image": "app", "resources": {"requests": {"cpu": "4"}}}
# Older than any delay with which a pod's first minutes are treated.
_AGE = dt.timedelta(hours=2)
_DEPLOYMENT = {"apiVersion": "apps/v1", "kind": "Deployment", "name": TEMPLATE_NAME}
_SHOWN_TIMEOUT_S = 300.0


class _Record(msgspec.Struct, frozen=True):
    """What etcd holds of one object."""

    key: str
    value: bytes
    uid: str


class Cluster:
    """A control plane with a population. `create` makes it, `reset` puts Deployments and HPAs back."""

    def __init__(self, plane: ControlPlane, etcd: Etcd, population: Population) -> None:
        self.plane = plane
        self.population = population
        self._etcd = etcd
        self._namespace: _Record | None = None
        self._deployment: _Record | None = None
        self._autoscalers: dict[Source, _Record] = {}

    async def create(self) -> int:
        """Makes everything, and returns when the API server shows it; how many objects that were.

        Raises EtcdError, ApiError or TimeoutError.
        """
        pod = await self._make_templates()
        spaces = sorted({one.namespace for one in self.population.applications()})
        written = await self._etcd.put(
            _copy(self._known(self._namespace), {TEMPLATE_NAMESPACE: name}) for name in spaces
        )
        written += await self._etcd.put(self._pods(pod))
        return written + await self.reset()

    async def reset(self) -> int:
        """Writes Deployments and HPAs as they were before any controller, and returns when the API server shows it."""
        deployment = self._known(self._deployment)
        written = await self._etcd.put(_copy(deployment, _names(one)) for one in self.population.applications())
        written += await self._etcd.put(
            _copy(self._autoscalers[one.source], _names(one)) for one in self.population.applications()
        )
        *_, last = self.population.applications()
        await self._shown(autoscalers.path(last.namespace, last.name))
        return written

    async def _shown(self, path: str) -> None:
        """Waits until a list from the API server's watch cache has the object without a status."""
        collection, _, name = path.rpartition("/")

        async def untouched() -> bool:
            query = {"resourceVersion": "0", "fieldSelector": f"metadata.name={name}"}
            items = (await self.plane.admin.get(collection, query, timeout_s=_SHOWN_TIMEOUT_S))["items"]
            return bool(items) and "lastScaleTime" not in items[0]["status"]

        await wait_until(untouched, "the API server to show all objects", timeout_s=_SHOWN_TIMEOUT_S, poll_s=0.5)

    # --- templates ---

    async def _make_templates(self) -> _Record:
        """Makes one object of each sort through the API, keeps what is stored, takes it away; the pod's record."""
        admin = self.plane.admin
        await admin.create("/api/v1/namespaces", {"metadata": {"name": TEMPLATE_NAMESPACE}})
        in_namespace = f"/api/v1/namespaces/{TEMPLATE_NAMESPACE}"
        await admin.create(f"{in_namespace}/serviceaccounts", {"metadata": {"name": "default"}})
        self._namespace = await self._record("namespaces", in_namespace, TEMPLATE_NAMESPACE)
        deployments = f"/apis/apps/v1/namespaces/{TEMPLATE_NAMESPACE}/deployments"
        made = await admin.create(deployments, self._deployment_manifest())
        made["status"] = {"replicas": self.population.pods_each, "observedGeneration": 1}
        await admin.replace(f"{deployments}/{TEMPLATE_NAME}/status", made)
        self._deployment = await self._record("deployments", f"{deployments}/{TEMPLATE_NAME}")
        await admin.delete(f"{deployments}/{TEMPLATE_NAME}")
        for source in sorted({one.source for one in self.population.applications()}):
            path = autoscalers.path(TEMPLATE_NAMESPACE)
            await admin.create(path, _autoscaler(source))
            self._autoscalers[source] = await self._record("horizontalpodautoscalers", f"{path}/{TEMPLATE_NAME}")
            await admin.delete(f"{path}/{TEMPLATE_NAME}")
        return await self._pod_template(f"{in_namespace}/pods")

    async def _pod_template(self, collection: str) -> _Record:
        admin = self.plane.admin
        pod = await admin.create(
            collection,
            {
                "metadata": {"name": TEMPLATE_POD, "labels": {"app": TEMPLATE_NAME}},
                "spec": {"containers": [_CONTAINER]},
            },
        )
        since = dt.datetime.now(dt.UTC) - _AGE  # noqa: TID251  # pods are dated by the wall clock
        pod["status"] = pods.running_status(pod, since=since)
        await admin.replace(f"{collection}/{TEMPLATE_POD}/status", pod)
        record = await self._record("pods", f"{collection}/{TEMPLATE_POD}", f"{TEMPLATE_NAMESPACE}/{TEMPLATE_POD}")
        await admin.delete(f"{collection}/{TEMPLATE_POD}", {"gracePeriodSeconds": "0"})
        return record

    async def _record(self, resource: str, path: str, name: str = f"{TEMPLATE_NAMESPACE}/{TEMPLATE_NAME}") -> _Record:
        uid = str((await self.plane.admin.get(path))["metadata"]["uid"])
        key = f"/registry/{resource}/{name}"
        return _Record(key, await self._etcd.get(key), uid)

    def _deployment_manifest(self) -> dict[str, Any]:
        labels = {"app": TEMPLATE_NAME}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [_CONTAINER]}}
        spec = {"replicas": self.population.pods_each, "selector": {"matchLabels": labels}, "template": template}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": TEMPLATE_NAME}, "spec": spec}

    def _pods(self, pod: _Record) -> Iterator[tuple[str, bytes]]:
        for one in self.population.applications():
            for number in range(self.population.pods_each):
                yield _copy(pod, {TEMPLATE_POD: f"{one.name}-{number}", **_names(one)})

    @staticmethod
    def _known(record: _Record | None) -> _Record:
        if record is None:
            raise ValueError("the objects have not been created yet")
        return record


def _names(application: Application) -> dict[str, str]:
    return {TEMPLATE_NAMESPACE: application.namespace, TEMPLATE_NAME: application.name}


def _copy(record: _Record, names: Mapping[str, str]) -> tuple[str, bytes]:
    """Key and value of an object that differs from a template in its names and its uid only."""
    key = exchanged(record.key.encode(), names).decode()
    # The same object is the same after a reset, to its uid.
    uid = str(uuid.uuid5(uuid.NAMESPACE_URL, key))
    return key, exchanged(record.value, {**names, record.uid: uid})


def _autoscaler(source: Source) -> dict[str, Any]:
    """The HPA of the template; the load at rest is half of what is requested, or 2."""
    labels = {"app": TEMPLATE_NAME}
    match source:
        case Source.CPU:
            metric = autoscalers.resource("cpu", averageUtilization=50)
        case Source.CONTAINER:
            metric = autoscalers.container_resource("app", "cpu", averageUtilization=50)
        case Source.PODS | Source.DEAD:
            metric = autoscalers.pods(METRIC, averageValue="2")
        case Source.OBJECT:
            metric = autoscalers.of_object(_DEPLOYMENT, METRIC, value="2")
        case Source.EXTERNAL | Source.SLOW:
            metric = autoscalers.external(source.value, labels, value="2")
    return autoscalers.manifest(TEMPLATE_NAME, _DEPLOYMENT, [metric], maximum=REPLICAS_MAX)
