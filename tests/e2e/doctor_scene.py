"""A namespace with HPAs that are broken in one way each, one that is not, and a controller at work on all of them."""

from __future__ import annotations

import base64
import datetime as dt
import json
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.e2e import autoscalers
from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import PROGRAM, ControllerProcess
from tests.e2e.metrics_server import MetricsApi, MetricsServer
from tests.e2e.metrics_values import Series
from tests.e2e.namespaces import create_namespace
from tests.e2e.roles import define_controllers
from tests.e2e.server_process import Ended, run_to_end
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

# One of ten for each pod: nothing has to be scaled.
QUEUE = "queue"
BY_QUEUE = autoscalers.external(QUEUE, averageValue="10")
_CPU = autoscalers.resource("cpu", averageUtilization=50)
# What is not served is custom.metrics.k8s.io.
_SERVED = ((MetricsApi.RESOURCE, "v1beta1"), (MetricsApi.EXTERNAL, "v1beta1"))
# As JSON, an object can be put into etcd that kube-apiserver would refuse.
_AS_JSON = "--storage-media-type=application/json"
_GATES = {"HPAScaleToZero": True}
# It stays in other hands for as long as the tests run.
_FLAG = "--foreign-writer-silence-periods=600"
_LONG_AGO = dt.timedelta(minutes=20)


class DoctorScene:
    """``namespace`` holds what is broken, ``sound`` one HPA that is not."""

    def __init__(self, plane: ControlPlane, server: MetricsServer, namespace: str, sound: str) -> None:
        self.namespace = namespace
        self.sound = sound
        self._plane = plane
        self._admin = plane.admin
        self._server = server
        self._address = ""

    @classmethod
    @asynccontextmanager
    async def set_up(cls, folder: Path) -> AsyncIterator[DoctorScene]:
        """Everything made, and seen by a controller without the gates that the API server has."""
        started = ControlPlane.start(folder, feature_gates=_GATES, api_server_flags=[_AS_JSON])
        async with started as plane, MetricsServer.start(plane.files) as server, AsyncExitStack() as stack:
            await register_metrics_apis(plane.admin, server.port, plane.files.authority, _SERVED)
            await define_controllers(plane.admin)
            broken, sound = [await create_namespace(plane.admin, name) for name in ("broken", "sound")]
            scene = cls(plane, server, broken, sound)
            await scene._fill(stack)
            controller = await stack.enter_async_context(ControllerProcess.start(plane, "asked", _FLAG))
            scene._address = controller.address("/top")
            await controller.synced(30)
            await scene._interfere()
            yield scene

    async def doctor(self, *flags: str, namespace: str) -> Ended:
        """What the command says of a namespace."""
        return await run_to_end(
            PROGRAM,
            "doctor",
            f"--namespace={namespace}",
            f"--kubeconfig={self._plane.admin_kubeconfig}",
            f"--introspection-address={self._address}",
            *flags,
        )

    async def change(self, name: str, spec: Mapping[str, Any]) -> None:
        """Changes a broken namespace's HPA. Raises ApiError."""
        await self._admin.patch(autoscalers.path(self.namespace, name), {"spec": dict(spec)})

    async def _fill(self, stack: AsyncExitStack) -> None:
        long_ago = dt.datetime.now(dt.UTC) - _LONG_AGO  # noqa: TID251 - samples are dated by the wall clock
        self._server.values.set_external(self.namespace, QUEUE, Series("10"))
        self._server.values.set_external(self.namespace, "old", Series("10", timestamp=long_ago))
        self._server.values.set_external(self.namespace, "long", Series("100"))
        self._server.values.set_external(self.sound, QUEUE, Series("10"))
        for namespace in (self.namespace, self.sound):
            await self._target(stack, "healthy", namespace=namespace)
            await self._scaled("healthy", BY_QUEUE, namespace=namespace)
        await self._target(stack, "requestless", requests={})
        await self._scaled("requestless", _CPU)
        await self._target(stack, "containers")
        await self._scaled("containers", autoscalers.container_resource("sidecar", "cpu", averageUtilization=50))
        await self._target(stack, "broad", labels={"team": "front"})
        await self._scaled("broad", BY_QUEUE)
        await self._target(stack, "narrow", labels={"team": "front", "part": "search"})
        await self._scaled("narrow", BY_QUEUE)
        await self._target(stack, "shared")
        for name in ("twin-a", "twin-b"):
            await self._scaled(name, BY_QUEUE, target="shared")
        await self._scaled("orphan", BY_QUEUE)
        await self._scaled("agent", BY_QUEUE, kind="DaemonSet")
        for name, metric in {"contested": BY_QUEUE, "stale": autoscalers.external("old", averageValue="10")}.items():
            await self._target(stack, name)
            await self._scaled(name, metric)
        await self._target(stack, "adapterless")
        await self._scaled("adapterless", autoscalers.pods("requests", averageValue="1"))
        await self._target(stack, "applied", applied=True)
        await self._scaled("applied", BY_QUEUE)
        await self._pin(stack)
        await self._target(stack, "signless")
        await self._scaled("signless", BY_QUEUE, minimum=0)
        await self._without_signal("signless")

    async def _target(
        self,
        stack: AsyncExitStack,
        name: str,
        *,
        namespace: str = "",
        requests: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        applied: bool = False,
    ) -> None:
        """A Deployment with one pod that requests CPU, if nothing else is said."""
        at = namespace or self.namespace
        manifest = DEPLOYMENT.manifest(
            name, 1, requests={"cpu": "100m"} if requests is None else requests, labels=labels
        )
        if applied:
            await self._plane.kubectl("apply", "--namespace", at, "--filename=-", stdin=json.dumps(manifest))
        else:
            await self._admin.create(DEPLOYMENT.path(at), manifest)
        player = await stack.enter_async_context(WorkloadPlayer(self._admin, DEPLOYMENT, at, name))
        await player.settled(1)

    async def _scaled(
        self,
        name: str,
        metric: Mapping[str, Any],
        *,
        namespace: str = "",
        target: str = "",
        kind: str = "Deployment",
        minimum: int = 1,
        maximum: int = 10,
    ) -> None:
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": target or name}
        manifest = autoscalers.manifest(name, reference, [metric], minimum=minimum, maximum=maximum)
        await self._admin.create(autoscalers.path(namespace or self.namespace), manifest)

    async def _pin(self, stack: AsyncExitStack) -> None:
        """An HPA at its maximum, whose status says so for long; controllers keep that time while it is so."""
        await self._target(stack, "pinned")
        await self._scaled("pinned", autoscalers.external("long", averageValue="10"), maximum=1)
        since = dt.datetime.now(dt.UTC) - _LONG_AGO  # noqa: TID251 - conditions are dated by the wall clock
        condition = {
            "type": "ScalingLimited",
            "status": "True",
            "reason": "TooManyReplicas",
            "lastTransitionTime": since.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        status = {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [condition]}
        await self._admin.patch(autoscalers.path(self.namespace, "pinned", "status"), {"status": status})

    async def _without_signal(self, name: str) -> None:
        """Has an HPA, which may go to zero, measure nothing but CPU: behind kube-apiserver's back, which refuses it."""
        key = f"/registry/horizontalpodautoscalers/{self.namespace}/{name}"
        encoded = base64.b64encode(key.encode()).decode()
        async with aiohttp.ClientSession(f"{self._plane.etcd_url}/v3/kv/", raise_for_status=True) as etcd:
            async with etcd.post("range", json={"key": encoded}) as answer:
                [found] = (await answer.json())["kvs"]
            stored = json.loads(base64.b64decode(found["value"]))
            assert stored["apiVersion"] == autoscalers.GROUP_VERSION
            stored["spec"]["metrics"] = [_CPU]
            value = base64.b64encode(json.dumps(stored).encode()).decode()
            async with etcd.post("put", json={"key": encoded, "value": value}):
                pass

    async def _interfere(self) -> None:
        """Another controller writes a status; returns when ours has said so, and what takes a sync or two is there."""
        path = f"{autoscalers.path(self.namespace, 'contested', 'status')}?fieldManager=another-controller"
        await self._admin.patch(path, {"status": {"desiredReplicas": 3}})

        async def noticed() -> bool:
            events = await autoscalers.events_of(self._admin, self.namespace, "contested")
            return "ForeignWriter" in {event["reason"] for event in events}

        await wait_until(noticed, "the foreign writer to be noticed")
        for name, reason in {"narrow": "AmbiguousSelector", "adapterless": "FailedGetPodsMetric"}.items():
            what = f"{name} to be inactive: {reason}"
            await wait_until(partial(self._inactive, name, reason), what)

    async def _inactive(self, name: str, reason: str) -> bool:
        found = await self._admin.get(autoscalers.path(self.namespace, name))
        return autoscalers.conditions(found).get("ScalingActive") == ("False", reason)
