"""docs/replace-the-built-in-controller.md: its lists of controllers and its commands do what the page says."""

from __future__ import annotations

import asyncio
import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from tests.e2e import autoscalers
from tests.e2e.control_plane import ControlPlane
from tests.e2e.server_process import run_to_end
from tests.e2e.waiting import wait_until
from tests.e2e.workload_kinds import DEPLOYMENT

PAGE = (Path(__file__).parents[2] / "docs" / "replace-the-built-in-controller.md").read_text()
OFF = "-horizontal-pod-autoscaler-controller"
LISTS = sorted(set(re.findall(rf"(?:controllers=|controllers: \"|value: \")(\*[\w,*-]*{OFF})", PAGE)))
_DISABLED = '"Warning: controller is disabled" controller="{}"'


def commands(heading: str) -> list[str]:
    """The commands of the first block under a heading, without their remarks."""
    block = PAGE.partition(f"## {heading}\n")[2].partition("```\n")[2].partition("```")[0]
    return [line.partition(" #")[0].strip() for line in block.splitlines() if line.strip()]


def test_the_page_has_lists_for_every_kind_of_cluster() -> None:
    assert len(LISTS) == 3, "kubeadm, kind and minikube; k3s; a plain one"
    assert any("bootstrapsigner,tokencleaner" in one for one in LISTS)


@pytest.mark.parametrize("controllers", LISTS)
async def test_each_list_switches_the_controller_off_and_nothing_else(tmp_path: Path, controllers: str) -> None:
    async with ControlPlane.start(tmp_path, controllers=controllers.split(",")) as plane:
        assert plane.controller_manager is not None
        said = partial(_said, plane.controller_manager.log)
        await wait_until(partial(said, '"Starting controller" controller="deployment"'), "the others to start")
        assert await said(_DISABLED.format("horizontal-pod-autoscaler-controller"))
        for word, controller in (("bootstrapsigner", "bootstrap-signer"), ("tokencleaner", "token-cleaner")):
            # Off by default: what a list names stays, what it leaves out is gone.
            assert await said(_DISABLED.format(f"{controller}-controller")) != (f",{word}" in controllers)
        # How the page looks it up on a node; here the process is told by its id.
        [line] = [one for one in PAGE.splitlines() if one.strip().startswith("`ps -ww ")]
        command = line.strip().strip("`;").replace("-C kube-controller-manager", f"-p {plane.controller_manager.pid}")
        assert (await run_to_end("/bin/sh", "-c", command)).good_output().strip() == f"--controllers={controllers}"


async def test_the_commands_that_show_whether_it_worked_are_good_ones(control_plane: ControlPlane) -> None:
    await control_plane.ensure_running()
    namespace = "default"
    metric = autoscalers.external("queue", averageValue="10")
    manifest = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), [metric])
    await control_plane.admin.create(autoscalers.path(namespace), manifest)
    found = commands("See that it worked")
    assert len(found) >= 4
    for command in found:
        program, *arguments = shlex.split(command)
        assert program == "kubectl"
        await control_plane.kubectl(*arguments)
    await control_plane.admin.delete(autoscalers.path(namespace, "web"))


async def _said(log: Path, text: str) -> bool:
    return text in await asyncio.to_thread(log.read_text)
