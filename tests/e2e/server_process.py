"""A program that a test starts: a server, which it watches, stops and starts again, or one that it runs to its end."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TETHER = Path(__file__).with_name("tether.py")
_POLL_S = 0.02
_KILL_TIMEOUT_S = 10.0


class ServerError(Exception):
    """A server did not start, ended or did not stop; the message shows the end of its log."""


class ServerProcess:
    """One server program, which dies with this process. All of its lives write to one log file."""

    def __init__(
        self,
        name: str,
        command: Sequence[str | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = [str(part) for part in command]
        self.log = log
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id. Raises ServerError when it was never started."""
        return self._started().pid

    @property
    def running(self) -> bool:
        """Whether the process exists."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Starts the program; whether it serves is for the caller to see. Raises ServerError if it runs."""
        if self.running:
            raise ServerError(f"{self.name} runs already as process {self.pid}")
        with self.log.open("ab") as stream:
            self._process = subprocess.Popen(  # noqa: S603  # programs that the build made
                tethered(*self.command),
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                # Ctrl-C reaches the test run only, which then stops its servers in order.
                process_group=0,
            )

    def check(self) -> None:
        """Raises ServerError with the end of the log when the program has ended."""
        process = self._started()
        status = process.poll()
        if status is not None:
            raise ServerError(f"{self.name} ended with status {status}; {self.last_lines()}")

    def last_lines(self, count: int = 30) -> str:
        """The end of the log, for a message."""
        lines = self.log.read_text(errors="replace").splitlines()[-count:]
        return "\n  ".join([f"the last lines of {self.log} are:", *lines])

    async def stop(self, grace_s: float = 2.0) -> None:
        """Asks the program to end and kills it if it has not after grace_s. Harmless when it ended.

        Both kube-apiserver and etcd stop listening at once, but then wait long for open watches: the first up
        to 60 s, the second 7 s.
        """
        if self._process is None:
            return
        try:
            self.signal(signal.SIGTERM)
            # A paused program would never get to handle the signal above.
            self.signal(signal.SIGCONT)
            await self._ended(grace_s)
        finally:
            self.kill()

    async def ended(self, timeout_s: float) -> int:
        """The exit status, waited for: minus the number of a signal that ended it. Raises ServerError if it runs on."""
        await self._ended(timeout_s)
        status = self._started().poll()
        if status is None:
            raise ServerError(f"{self.name} has not ended within {timeout_s:.0f} s; {self.last_lines()}")
        return status

    def kill(self) -> None:
        """Ends the program at once, as a power cut would. Harmless when it ended."""
        if self._process is not None:
            self.signal(signal.SIGKILL)
            self._process.wait(_KILL_TIMEOUT_S)

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, such as SIGSTOP for a server that accepts connections but never answers."""
        self._started().send_signal(number)

    async def _ended(self, grace_s: float) -> None:
        deadline = asyncio.get_running_loop().time() + grace_s
        # asyncio's own child watchers belong to one loop; a server may be stopped by another than started it.
        while self.running and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServerError(f"{self.name} was never started")
        return self._process


def tethered(*command: str | Path) -> list[str]:
    """The command line that runs a program which cannot outlive this process."""
    # -I and -S: nothing of the caller's environment, and a start of a few milliseconds.
    return [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid()), *map(str, command)]


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a program ended and what it wrote."""

    status: int
    output: str
    errors: str

    def good_output(self) -> str:
        """What it wrote to standard output. Raises AssertionError with all that it wrote if its status is not 0."""
        assert self.status == 0, f"status {self.status}: {self.output}{self.errors}"
        return self.output


async def run_to_end(
    *command: str | Path,
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    timeout_s: float = 60.0,
) -> Ended:
    """Runs a program with nothing but this environment, or, if that is None, with the one of this process.

    It is killed when the caller gives up, or when it has not ended in time. Raises TimeoutError then.
    """
    process = await asyncio.create_subprocess_exec(
        *tethered(*command),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(timeout_s):
            output, errors = await process.communicate(None if stdin is None else stdin.encode())
    except TimeoutError:
        raise TimeoutError(f"{' '.join(map(str, command))}: no end after {timeout_s:.0f} s") from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Ended(process.returncode or 0, output.decode(errors="replace"), errors.decode(errors="replace"))


def reserve_port() -> socket.socket:
    """A socket that holds a free port of 127.0.0.1 until it is closed.

    It never listens. A server that sets SO_REUSEPORT can bind the same port, also after a restart, while
    nobody else is given it.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    holder.bind(("127.0.0.1", 0))
    return holder
