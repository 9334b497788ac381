"""The controllers that are measured: the built-in one as it comes and tuned, and ours as it comes."""

import asyncio
import contextlib
import enum
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from tests.bench_cluster.populations import PERIOD_S
from tests.e2e.accounts import Account
from tests.e2e.api_client import CONNECTION_ERRORS, ApiClient, ApiError
from tests.e2e.commands import Ports, controller_manager_command
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import PROGRAM, ControllerProcess, Metrics
from tests.e2e.roles import LEASE_NAMESPACE
from tests.e2e.server_process import ServerError, ServerProcess
from tests.e2e.waiting import wait_until

_CONTROLLER = "horizontal-pod-autoscaler-controller"
_START_TIMEOUT_S = 240.0
_STOP_TIMEOUT_S = 60.0


class Contender(enum.StrEnum):
    """Who is measured."""

    DEFAULTS = "defaults"
    """kube-controller-manager with its default flags."""
    TUNED = "tuned"
    """kube-controller-manager with high limits and 50 workers."""
    OURS = "ours"
    """hpa-controller with its default flags."""
    NULL = "null"
    """A client that sends what ours has sent, and thinks nothing."""
    ASYNCIO = "asyncio"
    """Ours on asyncio's own event loop."""
    UNFROZEN = "unfrozen"
    """Ours without caches being frozen for the garbage collector."""
    EAGER = "eager"
    """Ours with the garbage collector asked as often as Python does by itself."""


UNDONE = (Contender.ASYNCIO, Contender.UNFROZEN, Contender.EAGER)
"""Ours with a setting undone, to see what it is worth; held to no goal."""

TUNED_FLAGS = ("--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-horizontal-pod-autoscaler-syncs=50")


class Profiling(msgspec.Struct, frozen=True):
    """How our controller is run when it is profiled."""

    module: str
    """Of this package: what runs it."""

    file: Path
    """Where that writes to."""


class Running:
    """A contender at work."""

    def __init__(self, process: ServerProcess, user: str, command: str) -> None:
        self.process = process
        self.user = user
        self.command = command
        """What was run, for people, without paths of this machine."""

    async def metrics(self) -> Metrics | None:
        """What it publishes; None if it is not ours, or does not answer in time.

        Controllers are asked in any case, as Prometheus would.
        """
        return None


class _BuiltIn(Running):
    def __init__(self, process: ServerProcess, command: str, client: ApiClient) -> None:
        super().__init__(process, "system:serviceaccount:kube-system:horizontal-pod-autoscaler", command)
        self._client = client

    async def metrics(self) -> None:
        with contextlib.suppress(ApiError, *CONNECTION_ERRORS):
            await self._client.get("/metrics", accept="text/plain")


class _Ours(Running):
    def __init__(self, controller: ControllerProcess, command: str) -> None:
        super().__init__(controller.process, controller.user, command)
        self._controller = controller

    async def metrics(self) -> Metrics | None:
        with contextlib.suppress(*CONNECTION_ERRORS):
            return await self._controller.metrics()
        return None


@asynccontextmanager
async def built_in(plane: ControlPlane, contender: Contender, period_s: float) -> AsyncIterator[Running]:
    """kube-controller-manager with nothing but the HPA controller, healthy. Raises ServerError."""
    flags = [*(TUNED_FLAGS if contender is Contender.TUNED else ()), *_period(period_s)]
    addresses = (urlsplit(url).port or 0 for url in (plane.url, plane.controller_manager_url))
    ports = Ports(0, 0, *addresses)
    command = [*controller_manager_command(plane.files, ports, {}, [_CONTROLLER]), *flags]
    name = f"kube-controller-manager-{contender}"
    process = ServerProcess(name, command, plane.files.logs / f"{name}.log")
    shown = " ".join(["kube-controller-manager", f"--controllers={_CONTROLLER}", *flags])
    client = plane.client(plane.files.admin, plane.controller_manager_url)
    running = _BuiltIn(process, shown, client)

    async def healthy() -> bool:
        process.check()
        await client.get("/healthz", timeout_s=5.0)
        return True

    process.start()
    try:
        await wait_until(healthy, f"{name} to serve", timeout_s=_START_TIMEOUT_S, ignoring=CONNECTION_ERRORS)
        yield running
    finally:
        await client.close()
        await process.stop(grace_s=_STOP_TIMEOUT_S)


@asynccontextmanager
async def ours(
    plane: ControlPlane,
    contender: Contender,
    account: Account,
    period_s: float,
    say: Callable[[str], None],
    profiling: Profiling | None = None,
) -> AsyncIterator[Running]:
    """Our controller, as it is or with a setting undone, ready; say is told of a traceback that it has logged.

    Raises ServerError when it ends badly.
    """
    flags = _period(period_s)
    program: Sequence[str | Path] = (PROGRAM,)
    if contender in UNDONE:
        program = (sys.executable, "-m", "tests.bench_cluster.undone", contender)
    elif profiling is not None:
        program = (sys.executable, "-m", f"tests.bench_cluster.{profiling.module}", profiling.file)
    command = [
        *program,
        "run",
        f"--kubeconfig={account.kubeconfig}",
        f"--leader-elect-resource-namespace={LEASE_NAMESPACE}",
        *(f"--{name}-bind-address=127.0.0.1:0" for name in ("metrics", "health-probe", "introspection")),
        *flags,
    ]
    process = ServerProcess("hpa-controller", command, plane.files.logs / "hpa-controller.log")
    controller = ControllerProcess(plane, account.user, process)
    process.start()
    try:
        await controller.listening()
        await _ready(controller)
        shown = f"python {' '.join(map(str, program[1:]))}" if contender in UNDONE else "hpa-controller"
        yield _Ours(controller, " ".join([shown, "run", *flags]))
        process.signal(signal.SIGTERM)
        status = await process.ended(_STOP_TIMEOUT_S)
        if status != 0:
            raise ServerError(f"{process.name} ended with status {status}; {process.last_lines()}")
        _tell_traceback(controller, say)
    except ValueError as error:
        # Something was logged that is none of its own lines, such as a traceback before it has begun to log.
        raise ServerError(str(error)) from error
    finally:
        process.kill()


def _tell_traceback(controller: ControllerProcess, say: Callable[[str], None]) -> None:
    """A failure that nobody foresaw is worth a line, but no reason to throw figures away."""
    found = [line for line in controller.logs() if "exception" in line]
    if found:
        what = "; ".join(str(one.get("exc_value")) for one in found[0]["exception"])
        say(f"  ours: has logged {len(found)} tracebacks, the first: {found[0]['message'].splitlines()[0]}: {what}")


async def _ready(controller: ControllerProcess) -> None:
    """Waits longer than tests do: lists of 50,000 pods take their time."""
    loop = asyncio.get_running_loop()
    deadline_s = loop.time() + _START_TIMEOUT_S
    text = "no answer"
    while loop.time() < deadline_s:
        controller.process.check()
        with contextlib.suppress(*CONNECTION_ERRORS):
            status, text = await controller.health()
            if status == 200:
                return
        await asyncio.sleep(0.25)
    raise ServerError(f"hpa-controller is not ready after {_START_TIMEOUT_S:.0f} s: {text}")


def _period(period_s: float) -> list[str]:
    """The flag for a period other than the default."""
    return [] if period_s == PERIOD_S else [f"--horizontal-pod-autoscaler-sync-period={period_s:g}s"]


@asynccontextmanager
async def null(plane: ControlPlane, account: Account, plan: Path) -> AsyncIterator[Running]:
    """A client that plays a plan."""
    command: list[str | Path] = [sys.executable, "-m", "tests.bench_cluster.null_client", plan]
    process = ServerProcess("null-client", command, plane.files.logs / "null-client.log")
    process.start()
    try:
        yield Running(process, account.user, "python -m tests.bench_cluster.null_client PLAN")
        process.check()
    finally:
        await process.stop()
