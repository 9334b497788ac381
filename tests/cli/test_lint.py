"""`hpa-controller lint` as a command: flags, exit codes."""

import json
from pathlib import Path

import pytest

from controller.cli.main import main
from tests.manifest.manifests import v2


@pytest.mark.parametrize("flag", ["-R", "--recursive"])
def test_folders_in_folders_are_read_if_asked_for(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps(v2()))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.json").write_text(json.dumps(v2({"spec.maxReplicas": 0})))
    assert main(["lint", "-f", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "1 document checked: no errors, no advice\n"
    assert main(["lint", "-f", str(tmp_path), flag]) == 1
    assert str(tmp_path / "b" / "c.json") in capsys.readouterr().out
