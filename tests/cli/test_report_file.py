"""A report is in its file, or there is none."""

import os
from pathlib import Path

import pytest

from controller.cli.report_file import stored
from tests.recording.disks import files_no_larger_than


def test_what_does_not_fit_is_not_left_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    with files_no_larger_than(10_000):
        assert stored(page, "x" * 20_000) == 2
    assert capsys.readouterr().err == f"hpa-controller: --report: {page}: file too large\n"
    assert list(tmp_path.iterdir()) == []
    assert stored(page, "odd \udcff") == 0
    assert page.read_text() == "odd \\udcff"


def test_what_was_there_before_stays_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A link, for one; and `--report >(gzip)` is a pipe."""
    link = tmp_path / "link.html"
    link.symlink_to(tmp_path / "page.html")
    with files_no_larger_than(10_000):
        assert stored(link, "x" * 20_000) == 2
    assert link.is_symlink()
    assert stored(Path("/dev/full"), "page") == 2
    assert capsys.readouterr().err.endswith("hpa-controller: --report: /dev/full: no space left on device\n")
    assert Path("/dev/full").is_char_device()
    reading, writing = os.pipe()
    assert stored(Path(f"/dev/fd/{writing}"), "page") == 0
    os.close(writing)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == "page"
