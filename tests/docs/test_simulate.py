"""docs/simulate.md shows what `simulate` says."""

import re
import shlex
from pathlib import Path

import pytest

from controller.cli.main import main

DOCUMENT = Path(__file__).parents[2] / "docs" / "simulate.md"
SHOWN = re.findall(r"^```\n\$ hpa-controller (simulate .+)\n((?:.+\n)+)```$", DOCUMENT.read_text(), re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(SHOWN) == 2


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=["one", "several"])
def test_an_example_is_what_it_says(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [manifest] = re.findall(r"^```yaml\n(.+?)^```$", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    (tmp_path / "web.yaml").write_text(manifest)
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(command)) == 0
    said = capsys.readouterr().out.splitlines()
    shown = output.splitlines()
    # Of several ways the timeline is left out.
    assert shown == said if len(shown) == len(said) else shown == [*said[:4], *said[-len(shown) + 4 :]]
