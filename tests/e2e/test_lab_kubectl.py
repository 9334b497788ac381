"""The real kubectl against the lab, as somebody uses it who has just started one."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest_asyncio

from tests.e2e.controller_process import PROGRAM
from tests.e2e.kubectl import Kubectl
from tests.e2e.programs import find_program
from tests.e2e.server_process import run_to_end, tethered
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_SPEED = "5"
MINE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: mine, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: mine}}
  template: {metadata: {labels: {app: mine}}, spec: {containers: [{name: app, image: "mine:1"}]}}
"""


class LabUser:
    """Somebody with a lab and a kubectl."""

    def __init__(self, kubectl: Kubectl, kubeconfig: Path, lines: list[dict[str, Any]]) -> None:
        self._kubectl = kubectl
        self.kubeconfig = kubeconfig
        self.lines = lines

    async def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        return await self._kubectl.run(self.kubeconfig, arguments, stdin)

    def follow(self, *arguments: str) -> Any:
        return self._kubectl.follow(self.kubeconfig, arguments)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def user(tmp_path_factory: Any) -> AsyncIterator[LabUser]:
    """A running lab with its built-in scenario, five times as fast."""
    folder: Path = tmp_path_factory.mktemp("lab")
    process = await asyncio.create_subprocess_exec(
        *tethered(PROGRAM, "lab", "--output", "json", "--speed", _SPEED),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=2**20,
    )
    assert process.stdout is not None
    lines: list[dict[str, Any]] = [json.loads(await process.stdout.readline())]

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            lines.append(json.loads(line))  # noqa: PERF401 - readers see each line as it comes

    reading = asyncio.create_task(read())

    async def measured() -> bool:
        return any("missing request" in line.get("why", "") for line in lines)

    try:
        await wait_until(measured, "metrics of the first pods")
        yield LabUser(Kubectl(find_program("kubectl"), folder), Path(lines[0]["kubeconfig"]), lines)
        assert process.returncode is None, "the lab has ended by itself"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await reading
    assert process.returncode == 0


def columns(table: str) -> list[str]:
    return table.splitlines()[0].split()


async def test_get_hpa_watch_shows_replicas_that_move(user: LabUser) -> None:
    async with user.follow("get", "hpa", "--watch") as lines:

        async def moved() -> bool:
            return len({line.split()[-2] for line in lines[1:] if line.startswith("web ")}) > 1

        await wait_until(moved, "two different counts of web")
    assert lines[0].split() == ["NAME", "REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"]
    assert any("Deployment/worker" in line and "(avg)" in line for line in lines)


async def test_get_pods_wide(user: LabUser) -> None:
    table = await user("get", "pods", "-o", "wide")
    assert columns(table)[:6] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE", "IP"]
    assert any("1/1" in line and "Running" in line and "node-" in line for line in table.splitlines())


async def test_describe_hpa_tells_what_is_wrong(user: LabUser) -> None:
    text = await user("describe", "hpa", "legacy")
    assert ["ScalingActive", "False", "FailedGetResourceMetric"] in [line.split()[:3] for line in text.splitlines()]
    assert "missing request for cpu" in text
    assert "horizontal-pod-autoscaler" in text, "where its events come from"


async def test_top_pods(user: LabUser) -> None:
    table = await user("top", "pods")
    assert columns(table) == ["NAME", "CPU(cores)", "MEMORY(bytes)"]
    assert len(table.splitlines()) > 3
    assert columns(await user("top", "nodes"))[0] == "NAME"


async def test_events(user: LabUser) -> None:
    table = await user("events", "--for", "hpa/legacy")
    assert columns(table) == ["LAST", "SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"]
    assert "FailedGetResourceMetric" in table


async def test_explain_and_api_resources(user: LabUser) -> None:
    assert "maxReplicas" in await user("explain", "hpa.spec")
    assert "horizontalpodautoscalers" in await user("api-resources", "--api-group=autoscaling")


async def test_apply_autoscale_scale_and_delete(user: LabUser) -> None:
    assert "created" in await user("apply", "-f", "-", stdin=MINE)
    assert "unchanged" in await user("apply", "-f", "-", stdin=MINE)
    assert "configured" in await user("apply", "-f", "-", stdin=MINE.replace("mine:1", "mine:2"))
    assert "successfully rolled out" in await user("rollout", "status", "deployment/mine", "--timeout=30s")
    assert "scaled" in await user("scale", "deployment/mine", "--replicas=3")
    assert "autoscaled" in await user("autoscale", "deployment/mine", "--min=2", "--max=4", "--cpu=70%")
    spec = json.loads(await user("get", "hpa", "mine", "-o", "json"))["spec"]
    assert (spec["minReplicas"], spec["maxReplicas"]) == (2, 4)

    async def synced() -> bool:
        return any(line.get("hpa") == "shop/mine" for line in user.lines)

    await wait_until(synced, "a sync of the new HPA")
    assert "deleted" in await user("delete", "hpa/mine", "deployment/mine")
    assert "mine" not in await user("get", "deployments", "-o", "name")


async def test_edit(user: LabUser, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        f"#!{sys.executable}\nimport pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('maxReplicas: 10', 'maxReplicas: 9'))\n"
    )
    editor.chmod(0o700)
    command = (find_program("kubectl"), "--kubeconfig", user.kubeconfig, "edit", "hpa", "api")
    environment = {"EDITOR": str(editor), "HOME": str(tmp_path), "PATH": ""}
    assert "edited" in (await run_to_end(*command, environment=environment, timeout_s=30.0)).good_output()
    assert json.loads(await user("get", "hpa", "api", "-o", "json"))["spec"]["maxReplicas"] == 9
