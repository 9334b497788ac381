"""Views of what goes on are not disturbed by readers who leave; full disks are told of, not traced."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from controller.cli.outlet import Outlet


def test_a_reader_who_leaves_is_told_of_once_and_written_to_no_more() -> None:
    left: list[str] = []
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as stream:
        outlet = Outlet(stream, lambda: left.append("left"))
        outlet.write("one\n")
        assert os.read(reading, 100) == b"one\n"
        os.close(reading)
        for _ in range(3):
            outlet.write("two\n")
        assert left == ["left"]
        assert isinstance(outlet.error, BrokenPipeError)
        # What could not be written is still in the stream's buffer.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@pytest.mark.parametrize("closed", ["stdin", "stdout", "stderr"])
@pytest.mark.parametrize(("words", "code"), [(("version",), 0), (("lint", "-f", "/nowhere"), 2)])
def test_what_whoever_starts_it_has_closed_is_not_missed(closed: str, words: tuple[str, ...], code: int) -> None:
    """As cron and systemd do, and `>&-`."""
    number = ("stdin", "stdout", "stderr").index(closed)
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", "controller", *words],
        capture_output=True,
        preexec_fn=lambda: os.close(number),
        text=True,
        check=False,
        timeout=60,
    )
    assert (run.returncode, "Traceback" in run.stderr) == (code, False), run.stderr


def test_what_nobody_has_read_to_its_end_is_no_yes(tmp_path: Path) -> None:
    """As in `lint … | head -1` of a script with `set -o pipefail`: 141 is what shells say of SIGPIPE."""
    (tmp_path / "broken.json").write_text("{" * 100)
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "controller", "lint", "-f", str(tmp_path)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (141, "")


@pytest.mark.parametrize("command", ["--help", "version"])
def test_a_full_disk_is_said_in_a_line(command: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "controller", command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (run.returncode, run.stderr) == (2, "hpa-controller: standard output: no space left on device\n")
