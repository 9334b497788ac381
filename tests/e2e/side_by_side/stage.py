"""Plays one scenario in a namespace of its own and notes what the controller makes of each step."""

from __future__ import annotations

import asyncio
import datetime as dt
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.e2e import autoscalers
from tests.e2e.api_client import ApiClient, ApiError
from tests.e2e.kwok import on_node, roll_out
from tests.e2e.kwok_workload import KwokWorkload, one_by_one
from tests.e2e.metrics_values import DescribedObject, PodUsage, Series, pod_object
from tests.e2e.pods import running_status
from tests.e2e.side_by_side import scenario as play
from tests.e2e.side_by_side.compare import Observed
from tests.e2e.workload import WorkloadPlayer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.metrics_server import MetricsServer

_Value: TypeAlias = (
    play.Usage | play.PodValue | play.ObjectValue | play.ExternalValue | play.Glimpse | play.Break | play.Repair
)

PERIOD_S = 1.0
"""The sync period of the controllers under comparison."""

# All scenarios are looked at by one process: more often, and looking is most of the load.
_POLL_S = 0.5
_QUIET_PERIODS = 2
_UNTOLD_PERIODS = 3
# A step whose world never comes to rest is noted as it is then; the comparison will show it.
_RESTLESS_PERIODS = 12
_OLD = dt.timedelta(minutes=10)
# An edit or deletion that meets a status write: whether it does hangs on milliseconds, not on what was decided.
_BY_CHANCE = "FailedUpdateStatus"


class Stage:
    """One scenario on one control plane; ``await Stage(…).run()`` plays it."""

    def __init__(self, admin: ApiClient, server: MetricsServer, namespace: str, scenario: play.Scenario) -> None:
        self._admin = admin
        self._server = server
        self._namespace = namespace
        self._scenario = scenario
        self._target = scenario.kind.path(namespace, play.TARGET)
        self._autoscaler = autoscalers.path(namespace, play.TARGET)
        self._pods_path = f"/api/v1/namespaces/{namespace}/pods"
        self._pods: list[str] = []
        self._labels = {"app": play.TARGET}
        self._usages: dict[tuple[str, str], play.Usage] = {}
        self._pod_values: dict[str, play.PodValue] = {}
        self._states: Sequence[str] = ("ready",)
        self._known: set[str] = set()
        self._player: WorkloadPlayer | KwokWorkload = (
            WorkloadPlayer(
                admin, scenario.kind, namespace, play.TARGET, pod_status=self._status_of_pod, pods_seen=self._seen
            )
            if scenario.annotations is None
            else KwokWorkload(admin, namespace, play.TARGET, self._seen)
        )

    async def run(self) -> list[Observed]:
        """What is seen at the end of each step. Raises ApiError, and what breaks the player of the target."""
        scenario = self._scenario
        observed = []
        player = self._player
        first, *others = scenario.steps
        await self._act(first.actions)
        await self._create_target(scenario.replicas)
        async with player:
            if scenario.replicas:
                await player.settled(scenario.replicas, timeout_s=60.0)
            await self._create_autoscaler()
            observed.append(await self._hold(first))
            for step in others:
                await self._act(step.actions)
                observed.append(await self._hold(step))
        return observed

    # --- the world ---

    async def _act(self, actions: Sequence[play.Action]) -> None:
        """All changes of values first and at once, so that no sync sees half of them."""
        for action in actions:
            self._set(action)
        self._publish()
        for action in actions:
            await self._request(action)

    def _set(self, action: play.Action) -> None:
        namespace, server = self._namespace, self._server
        match action:
            case play.Usage():
                self._usages[action.container, action.resource] = action
            case play.PodValue():
                self._pod_values[action.metric] = action
            case play.ObjectValue(metric, value):
                described = DescribedObject(namespace, "services", "front", "Service", "v1")
                server.values.set_custom(described, metric, Series(value))
            case play.ExternalValue(metric, values):
                series = [Series(value, {"part": str(index)}) for index, value in enumerate(values)]
                server.values.set_external(namespace, metric, *series)
            case play.Glimpse(metric, value, then):
                server.values.set_external(namespace, metric, Series(value))
                server.once_answered(namespace, lambda: server.values.set_external(namespace, metric, Series(then)))
            case play.Break(api, fault):
                server.fail(api, fault, namespace)
            case play.Repair(api):
                server.recover(api, namespace)
            case play.PodStates(states):
                self._states = states
            case _:
                pass

    async def _request(self, action: play.Action) -> None:
        admin = self._admin
        match action:
            case play.EditAutoscaler(spec):
                await admin.patch(self._autoscaler, {"spec": dict(spec)})
            case play.SetReplicas(replicas):
                await admin.patch(self._target, {"spec": {"replicas": replicas}})
            case play.DeleteTarget():
                await admin.delete(self._target, {"propagationPolicy": "Background"})
                await admin.delete(self._pods_path, {"gracePeriodSeconds": "0"})
            case play.CreateTarget(replicas):
                await self._create_target(replicas)
            case play.DeleteAutoscaler():
                await admin.delete(self._autoscaler)
            case play.CreateAutoscaler():
                await self._create_autoscaler()
            case play.AddRival():
                await self._create_autoscaler("rival")
            case play.RemoveRival():
                await admin.delete(autoscalers.path(self._namespace, "rival"))
            case play.PodStates():
                await self._restate()
            case play.Surge(pods):
                await self._surge(pods)
            case play.RollOut(annotations):
                await roll_out(admin, self._target, annotations)
            case _:
                self._check_is_value(action)

    @staticmethod
    def _check_is_value(action: _Value) -> None:
        """Nothing is left to do for these; mypy sees here that no other action was forgotten."""

    async def _create_target(self, replicas: int) -> None:
        scenario = self._scenario
        target = scenario.kind.manifest(
            play.TARGET, replicas, requests=scenario.requests, containers=scenario.containers
        )
        if scenario.annotations is not None:
            target = on_node(one_by_one(target), scenario.annotations)
        await self._admin.create(scenario.kind.path(self._namespace), target)

    async def _create_autoscaler(self, name: str = play.TARGET) -> None:
        scenario = self._scenario
        manifest = autoscalers.manifest(
            name,
            autoscalers.reference(scenario.kind, play.TARGET),
            scenario.metrics,
            minimum=scenario.minimum,
            maximum=scenario.maximum,
            behavior=scenario.behavior,
        )
        await self._admin.create(autoscalers.path(self._namespace), manifest)

    async def _surge(self, pods: int) -> None:
        """Pods that match the selector and that no player counts, old and ready."""
        present = await self._admin.get(self._pods_path, {"labelSelector": "revision=old"})
        for pod in present["items"]:
            await self._admin.delete(f"{self._pods_path}/{pod['metadata']['name']}", {"gracePeriodSeconds": "0"})
        for index in range(pods):
            container = {"name": "app", "image": "unused", "resources": {"requests": dict(self._scenario.requests)}}
            metadata = {"name": f"old-{index}", "labels": {**self._labels, "revision": "old"}}
            spec = {"containers": [container], "nodeName": "on-paper"}
            pod = await self._admin.create(self._pods_path, {"metadata": metadata, "spec": spec})
            status = running_status(pod, since=_moment() - _OLD)
            await self._admin.patch(f"{self._pods_path}/old-{index}/status", {"status": status})

    # --- pods ---

    def _state(self, name: str) -> str:
        """Only a StatefulSet numbers its pods; those of other kinds are all in the first state."""
        number = name.removeprefix(f"{play.TARGET}-")
        index = int(number) if number.isdecimal() else 0
        return self._states[min(index, len(self._states) - 1)]

    def _status_of_pod(self, pod: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Old enough for no rule about young pods to apply by chance."""
        state = self._state(pod["metadata"]["name"])
        if state == "pending":
            return None
        return running_status(pod, ready=state == "ready", since=_moment() - _OLD)

    async def _restate(self) -> None:
        for pod in (await self._admin.get(self._pods_path))["items"]:
            status = self._status_of_pod(pod) or {"phase": "Pending", "conditions": []}
            with suppress(ApiError):  # it went meanwhile; anything else shows as a difference
                await self._admin.patch(f"{self._pods_path}/{pod['metadata']['name']}/status", {"status": status})

    def _seen(self, pods: Sequence[Mapping[str, Any]]) -> None:
        self._pods = sorted(str(pod["metadata"]["name"]) for pod in pods)
        self._publish()

    def _publish(self) -> None:
        """Sets the samples of the pods there are; those of pods that went are forgotten."""
        values, namespace = self._server.values, self._namespace
        containers: dict[str, dict[str, dict[str, str]]] = {}
        for (container, resource), usage in self._usages.items():
            names = [*self._pods, *(f"nobody-{index}" for index in range(usage.superfluous))]
            for index, name in enumerate(names):
                milli = _at(usage.milli, index if index < len(self._pods) else 0)
                if milli is not None:
                    containers.setdefault(name, {}).setdefault(container, {})[resource] = f"{milli}m"
        for gone in self._known - containers.keys():
            values.remove_pod(namespace, gone)
        for name, used in containers.items():
            values.set_pod(namespace, name, PodUsage(used, self._labels, window=self._scenario.sample_window))
        self._known = set(containers)
        for metric, value in self._pod_values.items():
            values.forget_custom(namespace, "pods", metric)
            for index, name in enumerate(self._pods):
                milli = _at(value.milli, index)
                if milli is not None:
                    values.set_custom(pod_object(namespace, name, self._labels), metric, Series(f"{milli}m"))

    # --- what is seen ---

    async def _hold(self, step: play.Step) -> Observed:
        """Holds the world for the step's periods and until it is at rest.

        Where metrics are read, periods are counted in reads, too: a controller that gets no time makes no syncs.
        """
        clock = asyncio.get_running_loop().time
        began = changed = clock()
        reads_before = reads_changed = self._server.asked[self._namespace]
        reads_per_sync = len(self._scenario.metrics)
        last: Mapping[str, object] = {}
        while True:
            seen = await self._look()
            now, reads = clock(), self._server.asked[self._namespace]
            if seen != last:
                last, changed, reads_changed = seen, now, reads
            held = now - began >= (step.hold_periods + 0.5) * PERIOD_S
            if reads > reads_before:
                held = held and reads - reads_before >= step.hold_periods * reads_per_sync
                quiet = now - changed >= _QUIET_PERIODS * PERIOD_S
                quiet = quiet and reads - reads_changed >= _QUIET_PERIODS * reads_per_sync
            else:
                # Nothing tells of syncs; at least one has to have been made of each HPA.
                held = held and all(seen[name] for name in seen if name.endswith("conditions"))
                quiet = now - changed >= _UNTOLD_PERIODS * PERIOD_S
            if (held and quiet) or now - began >= (step.hold_periods + _RESTLESS_PERIODS) * PERIOD_S:
                return Observed(step.name, last)
            await asyncio.sleep(_POLL_S)

    async def _look(self) -> Mapping[str, object]:
        fields: dict[str, object] = {"target": await self._replicas()}
        if isinstance(self._player, KwokWorkload):
            fields |= await self._player.counted()
        listed = (await self._admin.get(autoscalers.path(self._namespace)))["items"]
        for item in listed:
            name = item["metadata"]["name"]
            prefix = "" if name == play.TARGET else f"{name} "
            status = item.get("status", {})
            fields[f"{prefix}desired"] = status.get("desiredReplicas")
            fields[f"{prefix}current"] = status.get("currentReplicas")
            fields[f"{prefix}conditions"] = [
                [one["type"], one["status"], one["reason"]] for one in status.get("conditions", ())
            ]
            fields[f"{prefix}metrics"] = _measured(status)
        for name in (play.TARGET, *(["rival"] if self._scenario.has_rival else [])):
            events = await autoscalers.events_of(self._admin, self._namespace, name)
            by_chance = (_BY_CHANCE, *self._scenario.by_chance)
            fields[f"{name} events"] = sorted({_told(event) for event in events if event["reason"] not in by_chance})
        return fields

    async def _replicas(self) -> object:
        with suppress(ApiError):
            return (await self._admin.get(self._target))["spec"].get("replicas")
        return None


def _measured(status: Mapping[str, Any]) -> object:
    """The current metrics; without pods an average over them is undefined (docs/behaviour.md, §7.4) and left out."""
    metrics = status.get("currentMetrics")
    if status.get("currentReplicas", 0) > 0 or metrics is None:
        return metrics
    for source in (metric.get("external") or metric.get("object") for metric in metrics):
        if source is not None:
            source["current"].pop("averageValue", None)
    return metrics


def _told(event: Mapping[str, Any]) -> str:
    """The reason of an event; that of a rescale with its text, which the specification gives word by word."""
    if event["reason"] == "SuccessfulRescale":
        return f"{event['type']} {event['reason']}: {event['message']}"
    return f"{event['type']} {event['reason']}"


def _at(milli: int | Sequence[int | None], index: int) -> int | None:
    return milli if isinstance(milli, int) else milli[min(index, len(milli) - 1)]


def _moment() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251  # pods are dated by the wall clock
