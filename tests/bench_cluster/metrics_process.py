"""The stub of the metrics APIs, started, told and ended from the benchmark."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

from tests.bench_cluster.populations import Population
from tests.e2e.commands import Files
from tests.e2e.metrics_server import SERVICE_NAME, SERVICE_NAMESPACE
from tests.e2e.server_process import tethered

_ANSWER_TIMEOUT_S = 20.0


class StubError(Exception):
    """The stub has ended or does not obey."""


class MetricsProcess:
    """A running stub: ``async with MetricsProcess.start(…) as stub`` makes one and ends it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.port = 0

    @classmethod
    @asynccontextmanager
    async def start(cls, files: Files, population: Population, tick_s: float) -> AsyncIterator[Self]:
        """A stub that listens on `port`; its load moves every tick_s seconds. Raises StubError."""
        serving = files.authority.issue_server("bench-metrics", [f"{SERVICE_NAME}.{SERVICE_NAMESPACE}.svc"])
        arguments = (str(population), str(serving.certificate), str(serving.key), str(tick_s))
        process = await asyncio.create_subprocess_exec(
            *tethered(sys.executable, "-m", "tests.bench_cluster.stub", *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        stub = cls(process)
        try:
            stub.port = int(await stub._line())
            yield stub
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    async def order(self, line: str) -> float:
        """Tells it a line; the wall time in seconds from which on it may have obeyed. Raises StubError."""
        assert self._process.stdin is not None
        before_s = time.time()  # noqa: TID251  # compared with the API server's audit log
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()
        if await self._line() != "done":
            raise StubError(f"the metrics stub does not obey {line!r}")
        return before_s

    async def _line(self) -> str:
        assert self._process.stdout is not None
        async with asyncio.timeout(_ANSWER_TIMEOUT_S):
            line = await self._process.stdout.readline()
        if not line:
            raise StubError("the metrics stub has ended; its message is above")
        return line.decode().strip()
