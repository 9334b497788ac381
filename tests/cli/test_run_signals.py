"""Signals that come before the controller is at work."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from controller.cli.outcome import DONE

AS_THE_FIRST_PROCESS: Final = """
import os, signal, sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what the kernel does for whoever has no handler there

class Early:
    def find_spec(self, name, path=None, target=None):
        if name == "uvloop":
            os.kill(os.getpid(), signal.SIGTERM)

sys.meta_path.insert(0, Early())
from controller.cli.main import main
sys.exit(main(["run", "--kubeconfig", sys.argv[1]]))
"""


def test_a_container_that_is_ended_while_it_starts_ends(tmp_path: Path) -> None:
    """The signal comes while libraries are imported, which takes seconds where there is little CPU."""
    missing = str(tmp_path / "none")
    ended = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", AS_THE_FIRST_PROCESS, missing], timeout=60, check=False
    )
    assert ended.returncode == DONE
