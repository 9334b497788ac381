"""What `modes`, `promote`, `demote` and `freeze` change and say where no controller runs."""

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from controller.modes import OBEYED
from tests.adapters.raw_server import Received, answer, serving
from tests.cli.explain_cluster import FakeCluster, lease
from tests.cli.said import Said

NAME = "hpa-controller-modes"
FORBIDDEN = (
    b'{"kind":"Status","code":403,"message":"x is forbidden: User \\"me\\" cannot get resource \\"configmaps\\" '
    b'in API group \\"\\" in the namespace \\"kube-system\\""}'
)


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


@pytest.mark.parametrize("command", [["modes"], ["freeze"], ["promote", "shop"], ["doctor"]])
@pytest.mark.parametrize("named", [[], ["--lease-namespace", "kube-system"]], ids=["anywhere", "there"])
@pytest.mark.parametrize(
    ("said", "status"),
    [
        (b'{"kind":"Status","message":"etcdserver: boom"}', "500 Internal Server Error"),
        (b'{"kind":"Status","message":"nope"}', "418 I am a teapot"),
        (b"<html>", "200 OK"),
        (FORBIDDEN, "403 Forbidden"),
    ],
    ids=["fails", "rejects", "is none", "refuses"],
)
async def test_a_server_that_does_not_do_it_is_named_with_its_kubeconfig(
    command: list[str], named: list[str], said: bytes, status: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No word of what the chart grants the controller: whoever types this has an account of their own."""
    async with serving(answer(said, status=status)) as server:
        cluster = FakeCluster()
        cluster.url = server.url
        words = [*command, *named, "--kubeconfig", cluster.kubeconfig(tmp_path)]
        told = await asyncio.to_thread(Said, capsys, *words)
    assert (told.code, told.output) == (3, "")
    assert told.errors.startswith("hpa-controller: the API server http://127.0.0.1:")
    assert "Helm" not in told.errors
    assert len(told.errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["promote"], "promote: name the namespaces, or give --all"),
        (["demote"], "demote: name the namespaces, or give --all"),
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


async def changed(
    data: dict[str, str], obeyed: str, *command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[dict[str, str], Said]:
    """What a ConfigMap of the modes has after a command, and what that said; the leader obeys the named one."""
    held = lease()
    held["metadata"]["annotations"] = {OBEYED: obeyed}
    modes: dict[str, Any] = {"metadata": {"namespace": "kube-system", "name": NAME}, "data": dict(data)}

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.method == "PATCH":
            patch = json.loads(received.body)["data"]
            merged = {**modes["data"], **patch}
            modes["data"] = {key: value for key, value in merged.items() if value is not None}
        writer.write(answer(json.dumps({"items": [held]} if "/leases" in received.target else modes).encode()))

    async with serving(say) as server:
        cluster = FakeCluster()
        cluster.url = server.url
        words = [*command, "--kubeconfig", cluster.kubeconfig(folder)]
        said = await asyncio.to_thread(Said, capsys, *words)
    return modes["data"], said


@pytest.mark.parametrize(
    ("command", "after"),
    [
        (["freeze"], {"mode": "freeze", "mode.shop": "shadow"}),
        (["freeze", "bank"], {"mode": "write", "mode.shop": "shadow", "mode.bank": "freeze"}),
        (["promote", "--all"], {"mode": "write"}),
        (["demote", "--all"], {"mode": "shadow"}),
        (["modes"], {"mode": "write", "mode.shop": "shadow"}),
    ],
)
async def test_freezing_all_keeps_what_was_said_of_single_namespaces_for_later(
    command: list[str], after: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {"mode": "write", "mode.shop": "shadow"}
    data, said = await changed(before, NAME, *command, folder=tmp_path, capsys=capsys)
    assert (data, said.code, said.errors) == (after, 0, "")


@pytest.mark.parametrize(
    ("obeyed", "started"), [("others", "with --modes-configmap=others"), ("", "without --modes-configmap")]
)
async def test_a_leader_that_obeys_another_configmap_or_none_is_named(
    obeyed: str, started: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, said = await changed({}, obeyed, "freeze", folder=tmp_path, capsys=capsys)
    assert said.code == 1
    assert f"which leads, was started {started} and goes on as before" in said.errors
