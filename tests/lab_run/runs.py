"""The lab and the controller in one event loop whose time runs faster, driven by a test."""

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import structlog

from controller.app import App
from controller.cli.lab_board import Board
from controller.cli.lab_run import LabTime
from controller.cli.lab_settings import asked_prometheus, pointed, settings_for
from controller.kube.kubeconfig import load
from controller.lab.lab import Lab
from controller.lab.scaled_loop import scaled_loop_factory
from controller.lab.scenario import Scenario
from controller.parts import Parts
from controller.traces import Traces
from tests.recording.replaying import check_recordings, check_unchanged

SPEED: Final = 40.0
_PATIENCE_S: Final = 7200.0
_LOOK_S: Final = 1.0

T = TypeVar("T")


class Run:
    """A lab with a controller at work in it."""

    def __init__(self, lab: Lab, board: Board, traces: Traces) -> None:
        self.lab = lab
        self.board = board
        self.traces = traces

    def desired(self) -> dict[str, int]:
        """What every HPA's target is to have now."""
        return {view.name: view.replicas for view in self.lab.look()}

    async def until(self, reached: Callable[[], bool], what: str) -> None:
        """Wait; the bound is in the lab's time, so a slow machine does not matter."""
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + _PATIENCE_S
        while not reached():
            assert loop.time() < deadline_s, f"{what}; now {self.desired()}, faults {self.lab.active_faults}"
            await asyncio.sleep(_LOOK_S)


@contextlib.asynccontextmanager
async def running(
    scenario: Scenario,
    faults: Sequence[str] = (),
    seed: int = 1,
    *,
    flags: Sequence[str] = (),
    speed: float = SPEED,
) -> AsyncIterator[Run]:
    """A lab and a controller, stopped at the end; what it has recorded has to replay to what it did.

    `speed` is that of the loop, see `in_fast_time`.
    """
    with tempfile.TemporaryDirectory() as folder:
        recordings = Path(folder) / "recordings"
        settings = settings_for(scenario, (f"--record={recordings}", *flags))
        board, traces = Board(settings.sync_period_s), Traces(settings.decide)
        lab = Lab(scenario, Path(folder), speed=speed, faults=faults, seed=seed, listener=board.happened)
        async with lab:
            access = load(str(lab.kubeconfig), environment={})
            settings = pointed(settings, lab.prometheus.url)
            board.sources = asked_prometheus(settings)
            parts = Parts(settings, access, clock=LabTime(lab), observers=(board.synced, traces))
            app, stop = App(parts), asyncio.Event()
            board.explains_at = parts.pages.explains_at
            tasks = [asyncio.create_task(app.run(stop)), asyncio.create_task(lab.run())]
            try:
                yield Run(lab, board, traces)
                assert not any(task.done() for task in tasks), [task for task in tasks if task.done()]
            finally:
                stop.set()
                await asyncio.wait(tasks[:1], timeout=60)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        assert check_recordings(recordings) == board.syncs.total() > 0
        check_unchanged(recordings)


def in_fast_time(story: Callable[[], Awaitable[T]], speed: float = SPEED) -> T:
    """Run a story in a loop of its own, whose time runs faster; the controller's log lines go nowhere.

    Requests do not get faster: a story in which none may take too long needs less speed.
    """

    async def told() -> T:
        return await story()

    with structlog.testing.capture_logs(), asyncio.Runner(loop_factory=scaled_loop_factory(speed)) as runner:
        return runner.run(told())
