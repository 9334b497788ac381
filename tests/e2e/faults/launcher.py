"""``python -m tests.e2e.faults.launcher run FLAGS``: hpa-controller whose wall clock jumps, or broken in one place.

Environment: FAULTS_CLOCK names a file with the seconds by which the wall clock is off, read each time; FAULTS_BROKEN
names one of BROKEN.
"""

from __future__ import annotations

import asyncio
import functools
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from controller import run_flags, settings
from controller.app import App
from controller.backoff import GrowingWait
from controller.cli.main import Parser
from controller.cli.outcome import BAD_INPUT, DONE, UNREACHED
from controller.clock import SystemClock
from controller.decide.instants import NANOSECONDS, Now
from controller.kube.kubeconfig import load
from controller.kube.kubeconfig_files import ConfigurationError
from controller.kube.lease import Lease
from controller.kube.reach import Unreached
from controller.kube.scale import KubeScales, group_of
from controller.liveness import Liveness
from controller.parts import Parts
from controller.ports import ScaleReading
from controller.recorder import NotRecordableError
from controller.schedule import Schedule
from controller.telemetry import log
from controller.telemetry.server import BindError
from controller.worker import Workers
from tests.e2e.side_by_side.broken.builds import BUILDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tenacity import RetryCallState

    from controller.decide.spec import Reference
    from controller.delay_queue import Due


NOT_STARTED = "cannot start"
_MINUTES_S = 180.0
_MEGABYTE = 1_000_000
_LOOKS, _LOOK_S = 50, 0.05


class OffClock:
    """The machine's clock, its wall time off by what a file says; the monotonic time knows nothing of that."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._clock = SystemClock()

    def now(self) -> Now:
        """See controller.ports.Clock."""
        now = self._clock.now()
        if self._path is None or not self._path.exists():
            return now
        return Now(now.wall_ns + round(float(self._path.read_text() or "0") * NANOSECONDS), now.monotonic_ns)


def _write_without_lease() -> None:
    """Whoever has led once believes to lead for ever."""
    original = Lease.check

    def check(self: Lease) -> None:
        if self.term == 0:
            original(self)

    Lease.check = check  # type: ignore[method-assign]  # a broken build on purpose


def _decide_on_dead_caches() -> None:
    """A cache counts as alive from its first list on."""
    Liveness.alive = property(lambda self: self.synced)  # type: ignore[assignment,method-assign]  # the same


def _shrink_on_failure() -> None:
    """A failing metric does not keep the others from scaling down."""
    build = next(build for build in BUILDS if build.name == "shrinks-on-failure")
    original = getattr(build.module, build.function)
    setattr(build.module, build.function, functools.partial(build.instead, original))


def _trust_the_scale_cache() -> None:
    """No scale is ever read live: a cache that has just begun is waited for."""
    original = KubeScales.read

    async def read(self: KubeScales, namespace: str, target: Reference, *, live: bool) -> ScaleReading:
        for _ in range(_LOOKS):
            assert self._caches is not None
            scale = self._caches.get(group_of(target.api_version), target.kind, namespace, target.name)
            if scale is not None:
                return ScaleReading(scale, live=False)
            await asyncio.sleep(_LOOK_S)
        return await original(self, namespace, target, live=live)

    KubeScales.read = read  # type: ignore[method-assign]  # the same


def _wait_minutes_for_watches() -> None:
    """A watch that has failed is not tried again for minutes."""
    original = GrowingWait.__call__

    def wait_s(self: GrowingWait, retry_state: RetryCallState) -> float:
        return max(_MINUTES_S, original(self, retry_state))

    GrowingWait.__call__ = wait_s  # type: ignore[method-assign]  # the same


def _begin_late() -> None:
    """HPAs that a new process meets are first due after minutes, and a resync does not make them due before."""
    for name in ("first_due_s", "joins_due_s", "latest_due_s"):
        setattr(Schedule, name, lambda *_: asyncio.get_running_loop().time() + _MINUTES_S)


_LEAKED: list[object] = []


def _leak_with_every_sync() -> None:
    """Each sync leaves a task that never ends, an open file and a megabyte."""
    original = Workers._sync

    async def sync(self: Workers, due: Due) -> None:
        never = asyncio.create_task(asyncio.Event().wait())
        _LEAKED.append((never, os.open(os.devnull, os.O_RDONLY), b"x" * _MEGABYTE))
        await original(self, due)

    Workers._sync = sync  # type: ignore[method-assign]  # the same


BROKEN: dict[str, Callable[[], None]] = {
    "writes-without-lease": _write_without_lease,
    "decides-on-dead-caches": _decide_on_dead_caches,
    "shrinks-on-failure": _shrink_on_failure,
    "trusts-the-scale-cache": _trust_the_scale_cache,
    "waits-minutes-for-watches": _wait_minutes_for_watches,
    "begins-late": _begin_late,
    "leaks-with-every-sync": _leak_with_every_sync,
}


async def _run(chosen: settings.RunSettings, clock: OffClock) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await App(Parts(chosen, load(chosen.kubeconfig, environment=os.environ), clock=clock)).run(stop)


def main() -> int:
    """The exit status of `hpa-controller run`; why it could not start is a line of the log, which must be JSON here."""
    if broken := os.environ.get("FAULTS_BROKEN"):
        BROKEN[broken]()
    parser = Parser(allow_abbrev=False)
    run_flags.add_flags(parser)
    chosen = settings.from_arguments(parser.parse_args(sys.argv[2:]))
    log.configure(chosen.log_level, chosen.log_format)
    path = os.environ.get("FAULTS_CLOCK")
    try:
        asyncio.run(_run(chosen, OffClock(Path(path) if path else None)))
    except (ConfigurationError, BindError, NotRecordableError, Unreached) as error:
        structlog.get_logger(__name__).error(NOT_STARTED, error=str(error))
        return UNREACHED if isinstance(error, Unreached) else BAD_INPUT
    return DONE


if __name__ == "__main__":
    sys.exit(main())
