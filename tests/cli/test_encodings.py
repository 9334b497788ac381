"""Whatever a terminal cannot show is escaped, and ends nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("encoding", ["ascii", "utf-8:strict"])
def test_names_and_texts_that_cannot_be_shown_are_escaped(tmp_path: Path, encoding: str) -> None:
    odd = tmp_path / os.fsdecode(b"b\xff\x1b[31m.yaml")
    odd.write_text("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nspec: {scaleTargetRef: {name: wéb/}}\n")
    for output in ("text", "json"):
        run = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "controller", "lint", "-f", str(tmp_path), "--output", output],
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (run.returncode, run.stderr) == (1, b"")
        assert b"yaml" in run.stdout
        assert b"\x1b" not in run.stdout
