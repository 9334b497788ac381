"""One small story that is played before two API servers, kube-apiserver and the lab, in the same words."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from controller.lab.metrics_feed import MetricsFeed, ObjectKey, Sample
from tests.e2e import autoscalers, load
from tests.e2e.load import Load
from tests.e2e.metrics_values import DescribedObject, MetricsValues, PodUsage, Series
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT, FLEET, REPLICA_SET, STATEFUL_SET, WorkloadKind

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.e2e.api_client import ApiClient
    from tests.e2e.controller_process import ControllerProcess
    from tests.e2e.load import Publish

HIGH, LOW = 4, 1
UNKNOWN = "nobody-knows"
FAILING = {
    "gone": ("AbleToScale", "FailedGetScale"),
    "stranger": ("AbleToScale", "FailedGetScale"),
    "blind": ("ScalingActive", "FailedGetExternalMetric"),
}
"""The HPAs that cannot be followed, with the condition that says so."""


class FeedingValues(MetricsValues):
    """Values that the lab's metrics APIs answer with."""

    def __init__(self, feed: MetricsFeed) -> None:
        super().__init__()
        self._feed = feed

    def set_pod(self, namespace: str, name: str, usage: PodUsage) -> None:
        """See MetricsValues."""
        self._feed.set_pod(namespace, name, usage.containers)

    def remove_pod(self, namespace: str, name: str) -> None:
        """See MetricsValues."""
        self._feed.remove_pod(namespace, name)

    def set_custom(self, described: DescribedObject, metric: str, *series: Series) -> None:
        """See MetricsValues."""
        key = ObjectKey(described.resource, described.namespace, described.name)
        self._feed.set_custom(metric, key, *map(_sample, series))

    def set_external(self, namespace: str, metric: str, *series: Series) -> None:
        """See MetricsValues."""
        self._feed.set_external(namespace, metric, *map(_sample, series))


def _sample(series: Series) -> Sample:
    return Sample(series.value, dict(series.labels), series.window_s)


@dataclasses.dataclass(frozen=True)
class _Followed:
    """A target whose HPA follows a load of its own."""

    kind: WorkloadKind
    metric: Mapping[str, Any]
    publish: Publish
    milli_per_replica: int


class Story:
    """The story before one API server: targets of two replicas in a namespace, each with an HPA."""

    def __init__(self, client: ApiClient, values: MetricsValues, namespace: str) -> None:
        self._client = client
        self._namespace = namespace
        get, mail = {"verb": "GET"}, {"queue": "mail"}
        # Adapters differ in what they say of a metric that they do not know, so it is known and has no value.
        values.set_external(namespace, UNKNOWN)
        fleet = autoscalers.reference(FLEET, "parcels")
        described = DescribedObject(namespace, "fleets.e2e.example.com", "parcels", "Fleet", FLEET.api_version)
        self._followed = {
            "web": _Followed(
                DEPLOYMENT,
                autoscalers.resource("cpu", averageUtilization=50),
                load.usage(values, namespace, "cpu"),
                100,
            ),
            "queue": _Followed(
                STATEFUL_SET,
                autoscalers.external("messages", mail, averageValue="10"),
                load.external_total(values, namespace, "messages", mail),
                10_000,
            ),
            "orders": _Followed(
                REPLICA_SET,
                autoscalers.pods("requests", get, averageValue="10"),
                load.per_pod(values, namespace, "requests", get),
                10_000,
            ),
            "parcels": _Followed(
                FLEET,
                autoscalers.of_object(fleet, "parcels", averageValue="10"),
                load.object_total(values, described, "parcels"),
                10_000,
            ),
        }
        self._loads = {
            name: Load(target.publish, HIGH * target.milli_per_replica) for name, target in self._followed.items()
        }
        self._players: dict[str, WorkloadPlayer] = {}

    @asynccontextmanager
    async def begun(self) -> AsyncIterator[None]:
        """Everything is there, under the high load; no controller has to be."""
        async with AsyncExitStack() as stack:
            for name, target in self._followed.items():
                manifest = target.kind.manifest(name, 2, requests={"cpu": "200m"})
                await self._client.create(target.kind.path(self._namespace), manifest)
                player = WorkloadPlayer(
                    self._client, target.kind, self._namespace, name, pods_seen=self._loads[name].seen
                )
                self._players[name] = await stack.enter_async_context(player)
            await asyncio.gather(*(player.settled(2) for player in self._players.values()))
            for name, target in self._followed.items():
                await self._autoscaler(name, autoscalers.reference(target.kind, name), target.metric)
            unknown = autoscalers.external(UNKNOWN, averageValue="1")
            await self._autoscaler("blind", autoscalers.reference(DEPLOYMENT, "web-too"), unknown, target=DEPLOYMENT)
            await self._autoscaler("gone", autoscalers.reference(DEPLOYMENT, "gone"), unknown)
            stranger = {"apiVersion": "gadgets.example.com/v1", "kind": "Gadget", "name": "one"}
            await self._autoscaler("stranger", stranger, unknown)
            yield

    async def played(self, controller: ControllerProcess) -> dict[str, dict[str, Any]]:
        """The status of every HPA by name and chapter, after the load was high, low, and an HPA is deleted."""
        told = {}
        for chapter, replicas in (("high", HIGH), ("low", LOW)):
            for name, target in self._followed.items():
                self._loads[name].change(replicas * target.milli_per_replica)
            await wait_until(partial(self._told, replicas), f"all HPAs to have {replicas} replicas", timeout_s=30.0)
            # What a rescale leaves in conditions and events is over after further looks.
            await controller.synced(4 * (len(self._followed) + len(FAILING)))
            told[chapter] = await self._statuses()
        await self._client.delete(autoscalers.path(self._namespace, "gone"))
        await controller.synced(2 * (len(self._followed) + len(FAILING)))
        return told

    async def _autoscaler(
        self, name: str, reference: Mapping[str, str], metric: Mapping[str, Any], target: WorkloadKind | None = None
    ) -> None:
        if target is not None:
            await self._client.create(target.path(self._namespace), target.manifest(reference["name"], 2))
        manifest = autoscalers.manifest(name, reference, [metric])
        await self._client.create(autoscalers.path(self._namespace), manifest)

    async def _told(self, replicas: int) -> bool:
        items = (await self._client.get(autoscalers.path(self._namespace)))["items"]
        found = {item["metadata"]["name"]: item for item in items}
        for name in self._followed:
            status = found[name].get("status", {})
            if (status.get("currentReplicas"), status.get("desiredReplicas")) != (replicas, replicas):
                return False
        return all(
            autoscalers.conditions(found[name]).get(condition) == ("False", reason)
            for name, (condition, reason) in FAILING.items()
        )

    async def _statuses(self) -> dict[str, Any]:
        items = (await self._client.get(autoscalers.path(self._namespace)))["items"]
        text = json.dumps({item["metadata"]["name"]: _timeless(item["status"]) for item in items})
        found: dict[str, Any] = json.loads(text.replace(self._namespace, "{namespace}"))
        return found


def _timeless(status: Any) -> Any:
    """A status without the moments in it."""
    if isinstance(status, dict):
        times = ("lastTransitionTime", "lastScaleTime")
        return {name: name if name in times else _timeless(value) for name, value in status.items()}
    return [_timeless(item) for item in status] if isinstance(status, list) else status
