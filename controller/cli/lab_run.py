"""The lab and the controller in one event loop, and what is shown of them."""

import asyncio
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TextIO

import msgspec
from rich.console import Console

from controller import settings
from controller.app import App
from controller.cli.lab_board import Board
from controller.cli.lab_settings import asked_prometheus, pointed, settings_for
from controller.cli.lab_views import JsonView, LineView, LiveView, View
from controller.cli.outlet import Outlet
from controller.clock import SystemClock
from controller.decide.instants import NANOSECONDS, Now
from controller.kube.kubeconfig import load
from controller.lab.lab import BUILT_IN, Lab
from controller.lab.scenario_files import load_scenario
from controller.parts import Parts
from controller.recorder import NotRecordableError
from controller.telemetry.server import BindError

_STOP_S: Final = 3.0
_REFRESH_S: Final = 0.25


class LabEnded(Exception):
    """The lab or the controller in it ended by itself; the text says why."""


class Wanted(msgspec.Struct, frozen=True):
    """What the command line asked for. `duration_s` None: until a signal."""

    files: tuple[Path, ...]
    folder: Path
    duration_s: float | None
    speed: float
    faults: tuple[str, ...]
    output: str
    port: int
    seed: int
    log_file: Path
    run_flags: tuple[str, ...]


class LabTime:
    """The port `Clock`: wall time of the lab, monotonic time of its loop."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab

    def now(self) -> Now:
        """See ports.Clock."""
        clock = self._lab.cluster.clock
        return Now(round(clock.now().timestamp() * NANOSECONDS), round(clock.monotonic_s() * NANOSECONDS))


async def run_lab(wanted: Wanted, stop: asyncio.Event, stream: TextIO) -> None:
    """Run until `stop`, until the duration is over or `stream` takes no more; then show the summary.

    Raises:
        ScenarioError: a file cannot be used.
        SettingsError: flags for the controller contradict each other.
        ConfigurationError: a file that they name cannot be used, such as rules for Prometheus.
        LabEnded: something in it failed.
        OSError: the port is taken; or `stream` did not take what was shown to the end.
    """
    scenario = load_scenario(*(wanted.files or (BUILT_IN,)))
    run_settings = settings_for(scenario, wanted.run_flags)
    board = Board(run_settings.sync_period_s)
    lab = Lab(
        scenario,
        wanted.folder,
        start=datetime.fromtimestamp(SystemClock().now().wall_ns / NANOSECONDS, UTC),
        speed=wanted.speed,
        faults=wanted.faults,
        port=wanted.port,
        seed=wanted.seed,
        listener=board.happened,
    )
    outlet = Outlet(stream, stop.set)
    view = _view(wanted, stream, outlet, board, lab)
    async with lab:
        access = load(str(lab.kubeconfig), environment={})
        run_settings = pointed(run_settings, lab.prometheus.url)
        board.sources = asked_prometheus(run_settings)
        app = App(Parts(run_settings, access, clock=LabTime(lab), observers=(board.synced,)))
        board.explains_at = app.parts.pages.explains_at
        view.begin()
        app_stop = asyncio.Event()
        controller = asyncio.create_task(app.run(app_stop))
        others = [asyncio.create_task(lab.run()), asyncio.create_task(_refresh(view, wanted.speed))]
        stopped = asyncio.create_task(stop.wait())
        try:
            done, _ = await asyncio.wait(
                (controller, stopped, *others), timeout=wanted.duration_s, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done - {stopped}:
                error = task.exception()
                if isinstance(error, NotRecordableError | BindError):
                    raise settings.SettingsError(str(error)) from error
                raise LabEnded(f"{type(error).__name__}: {error}" if error else "the controller ended") from error
        finally:
            app_stop.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.wait((controller,)), _STOP_S * wanted.speed)
            for task in (controller, stopped, *others):
                task.cancel()
            await asyncio.gather(controller, stopped, *others, return_exceptions=True)
            view.end()
    # After the lab has stopped: that ends its faults, which is told of.
    view.summarise(lab.summary())
    if outlet.error is not None:
        raise outlet.error


async def _refresh(view: View, speed: float) -> None:
    while True:
        view.refresh()
        await asyncio.sleep(_REFRESH_S * speed)


def _view(wanted: Wanted, stream: TextIO, outlet: Outlet, board: Board, lab: Lab) -> View:
    if wanted.output == "json":
        return JsonView(outlet, board, lab)
    if stream is sys.stdout and stream.isatty():
        return LiveView(Console(), board, lab, wanted.speed)
    return LineView(outlet, board, lab)
