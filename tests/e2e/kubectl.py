"""Runs the built kubectl."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_TETHER = Path(__file__).with_name("tether.py")


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
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-I", "-S", str(_TETHER), str(os.getpid())),
            *(str(self._program), "--kubeconfig", str(kubeconfig), *arguments),
            env=self._environment,
            stdin=asyncio.subprocess.PIPE if stdin is not None else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(timeout_s):
                output, errors = await process.communicate(None if stdin is None else stdin.encode())
        except TimeoutError:
            raise TimeoutError(f"kubectl {' '.join(arguments)}: no end after {timeout_s:.0f} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode != 0:
            raise KubectlError(arguments, process.returncode or 0, errors.decode(errors="replace"))
        return output.decode()
