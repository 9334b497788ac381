"""What `modes`, `promote`, `demote` and `freeze` say before they have reached a controller."""

import socket
from pathlib import Path

import pytest

from tests.cli.said import Said


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A kubeconfig whose server is not there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    path = tmp_path / "config"
    path.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: lab\n"
        "contexts: [{name: lab, context: {cluster: lab, user: lab}}]\nusers: [{name: lab, user: {}}]\n"
        f"clusters: [{{name: lab, cluster: {{server: 'http://127.0.0.1:{port}'}}}}]\n"
    )
    return path


@pytest.mark.parametrize("command", [["modes"], ["freeze"], ["promote", "shop"], ["demote", "--all"], ["doctor"]])
def test_a_server_that_is_not_there_is_named_with_its_kubeconfig(
    command: list[str], closed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Said(capsys, *command, "--kubeconfig", closed)
    assert (said.code, said.output) == (3, "")
    assert said.errors.startswith("hpa-controller: the API server http://127.0.0.1:")
    assert f"({closed}" in said.errors
    assert len(said.errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["promote"], "promote: name the namespaces, or give --all"),
        (["freeze", "shop", "--all"], "freeze: name the namespaces or give --all, not both"),
        (["demote", "Shop"], "demote: 'Shop' is no name of a namespace"),
    ],
)
def test_what_is_not_understood_is_said(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = Said(capsys, *arguments)
    assert (said.code, said.errors) == (2, f"hpa-controller: {words}\n")


def test_a_kubeconfig_that_cannot_be_looked_at_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", f"/{'x' * 5_000}")
    said = Said(capsys, "modes")
    assert said.code == 2
    assert "file name too long" in said.errors
    assert len(said.errors.splitlines()) == 1
