"""The product as its users run it: the installed program in a process of its own."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from tests.e2e.api_client import CONNECTION_ERRORS
from tests.e2e.audited import Audited, check_rules, requests_of
from tests.e2e.roles import CONTROLLERS, LEASE_NAMESPACE
from tests.e2e.server_process import ServerError, ServerProcess
from tests.e2e.waiting import wait_until
from tests.recording.replaying import check_recordings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from tests.e2e.control_plane import ControlPlane

PROGRAM = Path(sys.executable).with_name("hpa-controller")
# What it has in hand when it is asked to stop is done in a moment; its own limit is far longer.
STOP_TIMEOUT_S = 5.0

# Without delays and windows that a test would have to wait for; the flags of a test come after these and win.
_FLAGS = (
    "--horizontal-pod-autoscaler-sync-period=1s",
    "--horizontal-pod-autoscaler-downscale-stabilization=0s",
    "--horizontal-pod-autoscaler-cpu-initialization-period=0s",
    "--horizontal-pod-autoscaler-initial-readiness-delay=0s",
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
    "--introspection-bind-address=127.0.0.1:0",
    f"--leader-elect-resource-namespace={LEASE_NAMESPACE}",
)


_FINDINGS = ("[i]", "[!]")
# A TLS connection that is given up while it is made, or to a server that does not answer, closes within half a minute.
# A process that ends before leaves it to the collector. That none stays while it runs is what counts of files show.
_WARNINGS = (
    "default,ignore:unclosed transport:ResourceWarning,ignore:unclosed <socket.socket:ResourceWarning"
    ",ignore:unclosed resource <TCPTransport:ResourceWarning"
)


class ControllerProcess:
    """A running controller; ``async with ControllerProcess.start(…) as controller`` makes one and ends it.

    ``user`` is who it is at the API server, ``process`` its process, ``recordings`` the folder of its recordings.
    """

    def __init__(self, plane: ControlPlane, user: str, process: ServerProcess) -> None:
        self.user = user
        self.process = process
        self.recordings = recordings_of(plane, process.name)
        self._plane = plane
        self._audited_from = plane.audit_log.position()

    @classmethod
    @asynccontextmanager
    async def start(
        cls,
        plane: ControlPlane,
        name: str,
        *flags: str,
        kubeconfig: Path | None = None,
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        ready: bool = True,
        program: Sequence[str | Path] = (),
    ) -> AsyncIterator[Self]:
        """A controller that is ready, or, if that is not asked for, one that listens.

        name must be new in the control plane: of the user that is made with all rights, of the log and of the
        Lease. With a kubeconfig of its own, user says whom it names. program is how to call another build than the
        installed one. A controller that still runs at the end is asked to stop. It records itself, and what it recorded
        is replayed, unless it is another build, which may decide otherwise. Raises ServerError when it does not start,
        does not stop in time, ends with another status than 0 or has logged a traceback, RuleBrokenError when it made a
        request that it must never make, and ReplayDiffersError.
        """
        if kubeconfig is None:
            kubeconfig = plane.kubeconfig_for(name, [CONTROLLERS])
        command: list[str | Path] = [
            *(program or (PROGRAM,)),
            "run",
            f"--kubeconfig={kubeconfig}",
            f"--leader-elect-resource-name={name}",
            *_FLAGS,
            f"--record={recordings_of(plane, name)}",
            *flags,
        ]
        # A library that warns would write lines that are no JSON, which `logs` takes for the mistake that it is.
        process = ServerProcess(
            name, command, plane.files.logs / f"{name}.log", {"PYTHONWARNINGS": _WARNINGS, **(environment or {})}
        )
        controller = cls(plane, user or name, process)
        process.start()
        try:
            await controller.listening()
            if ready:
                await controller.wait_ready()
            yield controller
            if process.running:
                await controller.stop()
            controller.check_log()
            check_rules(controller.requests())
            if not program:
                check_recordings(controller.recordings)
        finally:
            process.kill()

    # --- ending ---

    async def stop(self) -> None:
        """Asks it to stop, as a cluster would, and returns when it has. Raises ServerError if it does so badly."""
        self.process.signal(signal.SIGTERM)
        status = await self.process.ended(STOP_TIMEOUT_S)
        if status != 0:
            raise ServerError(f"{self.process.name} ended with status {status}; {self.process.last_lines()}")

    def check_log(self) -> None:
        """Raises ServerError when a traceback was logged: every failure that can be met has a line of its own."""
        for line in self.logs():
            if "exception" in line:
                raise ServerError(f"{self.process.name} has logged a traceback: {json.dumps(line, indent=1)}")

    # --- what it did ---

    def requests(self, start: int = 0) -> list[Audited]:
        """What it asked of the API server, all or from a position in the audit log on, oldest first.

        A request is there shortly after its answer.
        """
        return requests_of(self._plane, self.user, max(start, self._audited_from))

    # --- what it tells ---

    def logs(self, message: str | None = None) -> list[dict[str, Any]]:
        """The log's lines, all or those with a message. Raises ValueError if one is not JSON."""
        *complete, _unfinished = self.process.log.read_text().split("\n")
        lines: list[dict[str, Any]] = []
        for number, text in enumerate(complete):
            try:
                lines.append(json.loads(text))
            except ValueError as error:
                # A traceback says what it is about at its end.
                found = "\n".join(complete[number : number + 60])
                raise ValueError(f"{self.process.name} has logged what is no JSON: {found}") from error
        return [line for line in lines if message in (None, line["message"])]

    async def logged(self, message: str, timeout_s: float = 10.0, **values: object) -> dict[str, Any]:
        """The first log line with this message and these values, waited for. Raises TimeoutError or ServerError."""

        async def found() -> dict[str, Any] | None:
            if not self.process.running:
                self.process.check()
            matching = (line for line in self.logs(message) if values.items() <= line.items())
            return next(matching, None)

        line = await wait_until(found, f"{self.process.name} to log {message!r}", timeout_s=timeout_s)
        assert line is not None
        return line

    async def listening(self) -> None:
        """Returns when it listens on both of its addresses."""
        for paths in (["/metrics"], ["/healthz", "/livez", "/readyz"]):
            await self.logged("listening", timeout_s=20.0, paths=paths)

    async def health(self, path: str = "/readyz?verbose") -> tuple[int, str]:
        """Status and text of a health page, without the findings. Raises one of CONNECTION_ERRORS."""
        status, text = await self._get("/readyz", path)
        return status, "".join(line for line in text.splitlines(keepends=True) if not line.startswith(_FINDINGS))

    async def findings(self) -> list[str]:
        """What it says of the cluster in the details of its readiness. Raises one of CONNECTION_ERRORS."""
        _, text = await self._get("/readyz", "/readyz?verbose")
        return [line for line in text.splitlines() if line.startswith(_FINDINGS)]

    async def wait_ready(self) -> None:
        """Returns when it is ready. Raises TimeoutError, which shows the health page."""

        async def ready() -> bool:
            self.process.check()
            status, text = await self.health()
            if status != HTTPStatus.OK:
                raise _NotReadyError(text)
            return True

        await wait_until(ready, f"{self.process.name} to be ready", ignoring=(_NotReadyError, *CONNECTION_ERRORS))

    async def metrics(self) -> Metrics:
        """What it publishes now. Raises one of CONNECTION_ERRORS."""
        _, text = await self._get("/metrics", "/metrics")
        return Metrics(text)

    async def compared(self) -> dict[str, Any]:
        """What it says of its comparisons with another controller. Raises one of CONNECTION_ERRORS."""
        _, text = await self._get("/shadow", "/shadow")
        found: dict[str, Any] = json.loads(text)
        return found

    async def rows(self) -> list[dict[str, Any]]:
        """What it says of all HPAs, a row for each. Raises one of CONNECTION_ERRORS."""
        _, text = await self._get("/shadow", "/top")
        found: list[dict[str, Any]] = json.loads(text)["rows"]
        return found

    async def explained(self, key: str) -> dict[str, Any]:
        """What it says of the last sync of an HPA, by namespace/name. Raises one of CONNECTION_ERRORS."""
        _, text = await self._get("/shadow", f"/explain/{key}")
        found: dict[str, Any] = json.loads(text)
        return found

    async def synced(self, count: int = 1, timeout_s: float = 20.0) -> None:
        """Returns when so many more syncs than at the time of the call have ended. Raises TimeoutError."""
        before = (await self.metrics()).syncs()

        async def enough() -> bool:
            return (await self.metrics()).syncs() >= before + count

        await wait_until(enough, f"{count} more syncs of {self.process.name}", timeout_s=timeout_s)

    def address(self, route: str) -> str:
        """The host and port on which a page is served."""
        lines = self.logs("listening")
        return str(next(line["address"] for line in reversed(lines) if route in line["paths"]))

    async def _get(self, route: str, path: str) -> tuple[int, str]:
        address = self.address(route)
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5.0)) as session,
            session.get(f"http://{address}{path}") as response,
        ):
            return response.status, await response.text()


def recordings_of(plane: ControlPlane, name: str) -> Path:
    """The folder in which the controller of that name records itself."""
    return plane.files.logs / f"{name}-recordings"


class Metrics:
    """Numbers in the text format of Prometheus."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    def total(self, sample: str, **labels: str) -> float:
        """The sum of all samples of a name that have these labels; 0 if there are none."""
        return sum(one.value for one in self._samples if one.name == sample and labels.items() <= one.labels.items())

    def labels(self, sample: str) -> set[frozenset[str]]:
        """The sets of label names that the samples of a name have."""
        return {frozenset(one.labels) for one in self._samples if one.name == sample}

    def syncs(self) -> float:
        """How many syncs have ended."""
        return self.total("horizontal_pod_autoscaler_controller_reconciliations_total")


class _NotReadyError(Exception):
    """The health page that says so."""
