"""Runs the built kubectl."""

from __future__ import annotations

import asyncio
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.server_process import run_to_end, tethered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path


class KubectlError(Exception):
    """kubectl said no; ``status`` is its exit status and ``stderr`` what it wrote there."""

    def __init__(self, arguments: Sequence[str], status: int, stderr: str) -> None:
        self.status = status
        self.stderr = stderr
        super().__init__(f"kubectl {' '.join(arguments)}: exit status {status}: {stderr.strip()}")


class Kubectl:
    """kubectl with a home of its own, so that nothing of the user's configuration or caches takes part."""

    def __init__(self, program: Path, home: Path) -> None:
        self._program = program
        self._environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "KUBECACHEDIR": str(home / "cache"),
            "KUBERC": "off",
        }

    async def run(
        self, kubeconfig: Path, arguments: Sequence[str], stdin: str | None = None, timeout_s: float = 30.0
    ) -> str:
        """What kubectl writes to standard output. Raises KubectlError, or TimeoutError after timeout_s."""
        ended = await run_to_end(
            self._program,
            "--kubeconfig",
            kubeconfig,
            *arguments,
            environment=self._environment,
            stdin=stdin,
            timeout_s=timeout_s,
        )
        if ended.status != 0:
            raise KubectlError(arguments, ended.status, ended.errors)
        return ended.output

    @asynccontextmanager
    async def follow(self, kubeconfig: Path, arguments: Sequence[str]) -> AsyncIterator[list[str]]:
        """The lines that kubectl has written to standard output so far, while it runs; it ends with the context.

        Raises KubectlError at the end if it had ended before.
        """
        process = await asyncio.create_subprocess_exec(
            *tethered(self._program, "--kubeconfig", kubeconfig, *arguments),
            env=self._environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        lines: list[str] = []
        reading = asyncio.create_task(_collect(process.stdout, lines))
        try:
            yield lines
            if process.returncode is not None:
                assert process.stderr is not None
                raise KubectlError(arguments, process.returncode, (await process.stderr.read()).decode())
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await reading


async def _collect(stream: asyncio.StreamReader, lines: list[str]) -> None:
    async for line in stream:
        lines.append(line.decode(errors="replace").rstrip("\n"))  # noqa: PERF401  # readers see each line at once
