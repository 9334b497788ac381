"""Plays one story on one side and notes what has become of it after each step."""

from __future__ import annotations

import asyncio
import dataclasses
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tests.e2e import autoscalers
from tests.e2e.api_client import ApiError
from tests.e2e.keda.stories import (
    DOWNSCALE_STABILIZATION_S,
    HPA,
    TARGET,
    Place,
    Schedule,
    manifest,
    prometheus_trigger,
    requests,
)
from tests.e2e.kwok import Kwok, on_node
from tests.e2e.kwok_stages import READY_AFTER, USES_CPU
from tests.e2e.namespaces import create_namespace
from tests.e2e.side_by_side.compare import Observed
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.keda.stories import Step, Story
    from tests.e2e.prometheus.page import MetricsPage

KEPT_FINALIZER = "e2e.example.com/kept"
"""What the test adds to HPAs: KEDA gives them labels, annotations and an owner, but no finalizer."""

# Longer than a high recommendation, of which there is one at the start, holds the size; KEDA looks every second.
_QUIET_S = DOWNSCALE_STABILIZATION_S + 2.0
_POLL_S = 0.5
_APPEARS_TIMEOUT_S = 30.0
# A tenth of what a pod asks for: of any number of pods one is enough, whatever is lost in measuring.
_IDLE = "20m"
# An edit that meets a status write: whether it does hangs on milliseconds.
_BY_CHANCE = "FailedUpdateStatus"
# Two parts of KEDA write a ScaledObject's conditions at first, and either may find this one unset.
_OWN_RACE = "Fallback"
_SCALED_OBJECTS = "/apis/keda.sh/v1alpha1/namespaces/{}/scaledobjects"


@dataclasses.dataclass
class Side:
    """A control plane with KEDA and all it needs, and a controller of HPAs, which is `user` at the API server."""

    plane: ControlPlane
    kwok: Kwok
    page: MetricsPage
    prometheus: str
    user: str
    backlogs: dict[str, int] = dataclasses.field(default_factory=dict)
    """What the page says, by namespace."""

    def set_backlog(self, namespace: str, count: int) -> None:
        """From now on so much is to be done in a namespace."""
        self.backlogs[namespace] = count
        self.page.lines = [f'backlog{{namespace="{name}"}} {value}' for name, value in self.backlogs.items()]


class Stage:
    """One story on one side; ``await Stage(…).run()`` plays it in a new namespace, ``namespace`` from then on."""

    def __init__(self, side: Side, story: Story, schedule: Schedule, prefix: str) -> None:
        self.namespace = ""
        self._side = side
        self._admin = side.plane.admin
        self._story = story
        self._schedule = schedule
        self._prefix = prefix

    async def run(self) -> list[Observed]:
        """What is seen at the end of each step. Raises ApiError, and TimeoutError when KEDA makes no HPA."""
        story = self._story
        self.namespace = await create_namespace(self._admin, f"{self._prefix}-{story.name}")
        first, *others = story.steps
        self._set(first)
        whole = DEPLOYMENT.manifest(TARGET, story.minimum, requests=requests())
        behaves = {READY_AFTER: "1s"} if story.shared_load else {READY_AFTER: "1s", USES_CPU: _IDLE}
        target = on_node(whole, behaves, story.node)
        await self._admin.create(DEPLOYMENT.path(self.namespace), target)
        await self._admin.create(_SCALED_OBJECTS.format(self.namespace), manifest(story, self._place()))
        await self._adorn()
        observed = [await self._hold(first)]
        for step in others:
            await self._edit(step)
            self._set(step)
            observed.append(await self._hold(step))
        return observed

    # --- the world ---

    def _place(self) -> Place:
        return Place(self.namespace, self._side.prometheus, self._schedule)

    def _set(self, step: Step) -> None:
        if step.backlog is not None:
            self._side.set_backlog(self.namespace, step.backlog)

    async def _edit(self, step: Step) -> None:
        changes = dict(step.edit or {})
        if step.answerable is not None:
            changes["triggers"] = [prometheus_trigger(self._place(), answerable=step.answerable)]
        if changes:
            await self._admin.patch(f"{_SCALED_OBJECTS.format(self.namespace)}/{TARGET}", {"spec": changes})

    async def _adorn(self) -> None:
        """Gives the HPA a finalizer as soon as KEDA has made it."""
        path = autoscalers.path(self.namespace, HPA)

        async def adorned() -> bool:
            await self._admin.patch(path, {"metadata": {"finalizers": [KEPT_FINALIZER]}})
            return True

        await wait_until(adorned, f"KEDA to make {path}", timeout_s=_APPEARS_TIMEOUT_S, ignoring=(ApiError,))

    async def _share(self, target: Mapping[str, Any], load_milli: int) -> None:
        """Divides a load among the ready pods."""
        ready = target["status"].get("readyReplicas", 0)
        await self._side.kwok.use_cpu(f"{load_milli // max(ready, 1)}m", self._story.node)

    # --- what is seen ---

    async def _hold(self, step: Step) -> Observed:
        """The world at rest where the step says that it comes to rest; as it is then if it never does."""
        clock = asyncio.get_running_loop().time
        began = changed = clock()
        last: Mapping[str, object] = {}
        while True:
            seen = await self._look(step)
            now = clock()
            if seen != last:
                last, changed = seen, now
            at_rest = now - changed >= _QUIET_S
            if (at_rest and _reached(seen, step)) or now - began >= step.timeout_s:
                return Observed(step.name, last)
            await asyncio.sleep(_POLL_S)

    async def _look(self, step: Step) -> Mapping[str, object]:
        target = await self._admin.get(DEPLOYMENT.path(self.namespace, TARGET))
        if step.load_milli is not None:
            await self._share(target, step.load_milli)
        scaled = await self._admin.get(f"{_SCALED_OBJECTS.format(self.namespace)}/{TARGET}")
        found: dict[str, Any] = {}
        with suppress(ApiError):
            found = await self._admin.get(autoscalers.path(self.namespace, HPA))
        status = found.get("status", {})
        fields: dict[str, object] = {
            "target": target["spec"]["replicas"],
            "ready": target["status"].get("readyReplicas", 0),
            "desired": status.get("desiredReplicas"),
            "current": status.get("currentReplicas", 0),
            "conditions": _conditions(status),
            "of KEDA": [one for one in _conditions(scaled.get("status", {})) if one[0] != _OWN_RACE],
        }
        if self._story.by_cpu:
            fields["measured"] = await self._measured() if step.replicas else 0
        else:
            fields["metrics"] = status.get("currentMetrics")
            told = await autoscalers.events_of(self._admin, self.namespace, HPA)
            fields["events"] = sorted({_told(event) for event in told if event["reason"] != _BY_CHANCE})
        return fields

    async def _measured(self) -> int:
        """Of how many pods the CPU is known. Until it is of all, an HPA takes none away, and KEDA may be first."""
        items = (await self._admin.get(f"/apis/metrics.k8s.io/v1beta1/namespaces/{self.namespace}/pods"))["items"]
        return sum(bool(item["containers"]) for item in items)


def reached(story: Story, steps: Sequence[Observed]) -> list[str]:
    """The steps that did not come to where the story says that they come, with what was there instead."""
    return [
        f"{story.name} / {step.name}: not {step.replicas} replicas, but {dict(seen.fields)}"
        for step, seen in zip(story.steps, steps, strict=True)
        if not _reached(seen.fields, step)
    ]


def _reached(fields: Mapping[str, object], step: Step) -> bool:
    counted = {fields[name] for name in ("target", "ready", "desired", "current", "measured") if name in fields}
    wanted = step.scaling or ("ValidMetricFound" if step.replicas else "ScalingDisabled")
    conditions = fields["conditions"]
    assert isinstance(conditions, list)
    return counted == {step.replicas} and any(one[0] == "ScalingActive" and one[2] == wanted for one in conditions)


def _conditions(status: Mapping[str, Any]) -> list[list[str]]:
    return [[one["type"], one["status"], one.get("reason", "")] for one in status.get("conditions") or ()]


def _told(event: Mapping[str, Any]) -> str:
    """The reason of an event; that of a rescale with its text, which names the metric."""
    text = f": {event['message']}" if event["reason"] == "SuccessfulRescale" else ""
    return f"{event['type']} {event['reason']}{text}"
