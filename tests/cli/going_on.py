"""Commands that go on until they are told to end (`--watch`), in a process of their own."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.cli.explain_cluster import WAIT_S


class GoingOn:
    """A command that goes on; `status` is None until it has ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @property
    def status(self) -> int | None:
        return self._process.returncode

    async def line(self, fits: Callable[[str], bool]) -> str:
        """The next line on standard output that fits; empty if there is none and will be none.

        Raises:
            TimeoutError: none came.
        """
        assert self._process.stdout is not None
        async with asyncio.timeout(3 * WAIT_S):
            while line := (await self._process.stdout.readline()).decode():
                if fits(line):
                    return line
        return ""

    async def complaint(self) -> str:
        """The next line on standard error. Raises TimeoutError: none came."""
        assert self._process.stderr is not None
        async with asyncio.timeout(3 * WAIT_S):
            return (await self._process.stderr.readline()).decode()

    async def ended(self) -> tuple[int, str]:
        """Status and what it wrote to standard error, once it has ended by itself. Raises TimeoutError."""
        assert self._process.stderr is not None
        async with asyncio.timeout(3 * WAIT_S):
            errors = await self._process.stderr.read()
            return await self._process.wait(), errors.decode()


@asynccontextmanager
async def going_on(port: int, *words: str) -> AsyncIterator[GoingOn]:
    """`hpa-controller` with these words, which asks that port; it is interrupted at the end, as by Ctrl-C."""
    address = f"127.0.0.1:{port}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "controller", *words, "--introspection-address", address),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
        # A shell's background job, which runs the tests, may ignore it, and its children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    running = GoingOn(process)
    try:
        yield running
        if running.status is None:
            process.send_signal(signal.SIGINT)
            async with asyncio.timeout(WAIT_S):
                output, errors = await process.communicate()
            assert (process.returncode, errors) == (130, b""), output
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
