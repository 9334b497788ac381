"""Two control planes that are alike but for who controls HPAs, each with KEDA, Prometheus, KWOK and metrics-server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.control_plane import ControlPlane
from tests.e2e.keda.programs import USER, keda
from tests.e2e.keda.stage import Side, Stage, reached
from tests.e2e.keda.stories import DOWNSCALE_STABILIZATION_S, Schedule, Writer
from tests.e2e.keda.writes import accepted, sizes, turns
from tests.e2e.kwok import Kwok
from tests.e2e.kwok_metrics_server import real_metrics_server
from tests.e2e.prometheus.page import MetricsPage
from tests.e2e.prometheus.programs import Prometheus
from tests.e2e.roles import define_controllers
from tests.e2e.side_by_side.compare import Observed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.e2e.keda.stories import Story
    from tests.e2e.side_by_side.compare import Recording

FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    f"--horizontal-pod-autoscaler-downscale-stabilization={DOWNSCALE_STABILIZATION_S}s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
)
"""What decides, the same for both controllers; all else is the default."""

_WORKLOADS = ("deployment-controller", "replicaset-controller")
_BUILTIN = "horizontal-pod-autoscaler-controller"
_BUILTIN_USER = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
_WRITES = "writes"


@asynccontextmanager
async def builtin_side(folder: Path) -> AsyncIterator[Side]:
    """The built-in controller is at work in it."""
    async with _side(folder, (_BUILTIN, *_WORKLOADS), _BUILTIN_USER) as side:
        yield side


@asynccontextmanager
async def our_side(folder: Path, user: str) -> AsyncIterator[Side]:
    """No controller of HPAs is at work in it; there are the roles for ours, which will be the user."""
    async with _side(folder, _WORKLOADS, user) as side:
        await define_controllers(side.plane.admin)
        yield side


@asynccontextmanager
async def _side(folder: Path, controllers: Sequence[str], user: str) -> AsyncIterator[Side]:
    plane_folder, stored = folder / "plane", folder / "prometheus"
    plane_folder.mkdir()
    stored.mkdir()
    started = ControlPlane.start(plane_folder, controllers=controllers, controller_manager_flags=FLAGS)
    async with (
        started as plane,
        Kwok.start(plane, nodes=2) as kwok,
        MetricsPage.serving() as page,
        Prometheus.start(stored, plane.files.logs / "prometheus.log", page.configuration()) as prometheus,
        real_metrics_server(plane),
        keda(plane),
    ):
        yield Side(plane, kwok, page, prometheus.url, user)


async def play(
    sides: Sequence[Side], stories: Sequence[Story], prefix: str = "with"
) -> tuple[list[dict[str, Sequence[Observed]]], list[str]]:
    """By side what was seen of all stories, played at once, and what did not come to where its story says.

    Who wrote which sizes is a last step of its own. The namespaces' names begin with prefix.
    """
    schedule = Schedule.soon()
    stages = [[Stage(side, story, schedule, prefix) for story in stories] for side in sides]
    async with asyncio.TaskGroup() as group:
        tasks = [[group.create_task(stage.run()) for stage in row] for row in stages]
    recordings: list[dict[str, Sequence[Observed]]] = []
    astray: list[str] = []
    for side, row, played in zip(sides, stages, tasks, strict=True):
        written = accepted(side.plane)
        recording: dict[str, Sequence[Observed]] = {}
        for story, stage, task in zip(stories, row, played, strict=True):
            found = sizes(written, stage.namespace, {USER: Writer.KEDA, side.user: Writer.HPA})
            shown = turns(found) if story.shared_load else found
            astray += [f"{side.user}: {line}" for line in reached(story, task.result())]
            if shown != list(story.writes):
                astray.append(f"{side.user}: {story.name}: not written as meant, but {_listed(found)}")
            recording[story.name] = [*task.result(), Observed(_WRITES, {_WRITES: _listed(shown)})]
        recordings.append(recording)
    return recordings, astray


def written_sizes(recording: Recording) -> dict[str, object]:
    """By story who wrote which sizes."""
    return {story: steps[-1].fields[_WRITES] for story, steps in recording.items()}


def _listed(written: Sequence[tuple[Writer, int]]) -> str:
    return ", ".join(f"{writer} {size}" for writer, size in written)
