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


@pytest.mark.parametrize("output", ["text", "json"])
@pytest.mark.parametrize("text", ["", "---\n# only a comment\n", "apiVersion: v1\nkind: List\nitems:\n"])
def test_whoever_checks_nothing_is_told(
    text: str, output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As after a `helm template` that failed, and as kubectl has it."""
    file = tmp_path / "empty.yaml"
    file.write_text(text)
    assert main(["lint", "-f", str(file), "-o", output]) == 2
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", f"hpa-controller: {file}: no objects to check\n")
    (tmp_path / "web.json").write_text(json.dumps(v2()))
    assert main(["lint", "-f", str(tmp_path), "-o", output]) == 0


def test_a_gate_that_is_not_known_names_its_flag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "web.json").write_text(json.dumps(v2()))
    assert main(["lint", "-f", str(tmp_path), "--feature-gates=Foo=true"]) == 2
    assert capsys.readouterr().err.startswith("hpa-controller: --feature-gates: 'Foo' is unknown; ")
