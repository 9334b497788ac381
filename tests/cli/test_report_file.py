"""A report is written whole, or what was there stays."""

import stat
from pathlib import Path

import pytest

from controller.cli.report_file import stored
from tests.recording.disks import files_no_larger_than


def test_a_page_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    page, link = tmp_path / "page.html", tmp_path / "link.html"
    page.write_text("old")
    page.chmod(0o640)
    link.symlink_to(page)
    assert stored(link, "new \udcff") == 0
    assert page.read_text() == "new \\udcff"
    assert stat.S_IMODE(page.stat().st_mode) == 0o640
    assert link.is_symlink()
    assert sorted(tmp_path.iterdir()) == [link, page]


@pytest.mark.parametrize("before", [None, "old"])
def test_what_does_not_fit_leaves_what_was_there(
    before: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    if before is not None:
        page.write_text(before)
    with files_no_larger_than(10_000):
        assert stored(page, "x" * 20_000) == 2
    assert capsys.readouterr().err == f"hpa-controller: --report: {page}: file too large\n"
    assert [file.read_text() for file in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_device_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert stored(Path("/dev/null"), "page") == 0
    assert stored(Path("/dev/full"), "page") == 2
    assert capsys.readouterr().err == "hpa-controller: --report: /dev/full: no space left on device\n"
    assert Path("/dev/null").is_char_device()
