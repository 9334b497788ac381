"""`promote`, `demote` and `freeze` change what a running controller writes, at once and without a restart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e import autoscalers, roles
from tests.e2e.controller_process import PROGRAM, ControllerProcess
from tests.e2e.metrics_values import Series
from tests.e2e.roles import LEASE_NAMESPACE
from tests.e2e.server_process import Ended, run_to_end
from tests.e2e.waiting import wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")

QUEUE, WORKER = "queue", "worker"
USER = "has-modes"
CONFIG_MAPS = f"/api/v1/namespaces/{LEASE_NAMESPACE}/configmaps"


async def command(plane: ControlPlane, *arguments: str) -> Ended:
    kubeconfig = {"KUBECONFIG": str(plane.admin_kubeconfig)}
    return await run_to_end(PROGRAM, *arguments, "--modes-configmap=modes", environment=kubeconfig)


async def test_modes_are_obeyed_at_once(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin = control_plane.admin
    await admin.create(CONFIG_MAPS, {"metadata": {"name": "modes"}})
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["modes"], "verbs": ["list", "watch"]}
    await roles.define_cluster_role(admin, "e2e:modes", [rule])
    await roles.bind_role(admin, LEASE_NAMESPACE, "e2e:modes", roles.user(USER))
    metrics_server.values.set_external(namespace, QUEUE, Series("20"))
    await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest(WORKER, 2))
    metric = autoscalers.external(QUEUE, averageValue="10")
    manifest = autoscalers.manifest(WORKER, autoscalers.reference(DEPLOYMENT, WORKER), [metric])
    await admin.create(autoscalers.path(namespace), manifest)
    own = (f"--lease-namespace={LEASE_NAMESPACE}", f"--lease-name={USER}")
    async with (
        WorkloadPlayer(admin, DEPLOYMENT, namespace, WORKER) as player,
        ControllerProcess.start(control_plane, USER, "--modes-configmap=modes") as controller,
    ):

        async def holds_still(length: int) -> None:
            """Whatever the load is, nothing is written about HPAs."""
            mark = control_plane.audit_log.position()
            metrics_server.values.set_external(namespace, QUEUE, Series(str(length)))
            await controller.synced(4)
            writes = [request for request in controller.requests(mark) if request.writes]
            assert {request.resource for request in writes} <= {"leases"}

        async def follows(length: int) -> None:
            metrics_server.values.set_external(namespace, QUEUE, Series(str(length)))
            await player.settled(length // 10)

        await follows(30)
        frozen = await command(control_plane, "freeze", *own)
        assert (frozen.status, frozen.output, frozen.errors) == (0, f"{'all namespaces':<24} freeze\n", "")
        await controller.logged("frozen: nothing is written until somebody promotes")
        await holds_still(50)
        [line] = [line for line in await controller.findings() if "frozen" in line]
        assert "hpa-controller promote" in line
        assert (await controller.metrics()).total("hpa_controller_hpas", mode="freeze") == 1
        explained = await controller.explained(f"{namespace}/{WORKER}")
        assert explained["syncs"][-1]["withheld"]["reason"] == "frozen"

        assert (await command(control_plane, "promote", namespace, *own)).errors == (
            f"hpa-controller: note: {namespace}: still frozen, as all namespaces are, until `promote --all`\n"
        )
        assert (await command(control_plane, "promote", "--all", *own)).status == 0
        await player.settled(5)

        demoted = await command(control_plane, "demote", namespace, *own)
        assert demoted.output.splitlines() == [f"{'all namespaces':<24} write", f"{namespace:<24} shadow"]
        await wait_until(partial(_mode, controller, "shadow"), "the mode")
        await holds_still(70)
        shown = await command(control_plane, "modes", namespace, "elsewhere", *own)
        assert shown.output.splitlines() == [f"{namespace:<24} shadow", f"{'elsewhere':<24} write"]
        promoted = await command(control_plane, "promote", namespace, "elsewhere", *own)
        assert (promoted.status, promoted.errors) == (0, "hpa-controller: note: there is no namespace elsewhere\n")
        await player.settled(7)
    await admin.delete(f"{CONFIG_MAPS}/modes")


async def test_what_nobody_obeys_is_changed_but_not_without_a_word(control_plane: ControlPlane, namespace: str) -> None:
    await control_plane.admin.create(f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": "modes"}})
    frozen = await command(control_plane, "freeze", f"--lease-namespace={namespace}")
    assert (frozen.status, frozen.output) == (0, f"{'all namespaces':<24} freeze\n")
    assert frozen.errors.startswith(
        f"hpa-controller: note: there is no Lease {namespace}/hpa-controller: no controller"
    )


async def test_a_leader_that_reads_no_modes_is_not_frozen_and_who_tries_is_told(control_plane: ControlPlane) -> None:
    await control_plane.admin.create(CONFIG_MAPS, {"metadata": {"name": "modes"}})
    own = (f"--lease-namespace={LEASE_NAMESPACE}", "--lease-name=no-modes")
    async with ControllerProcess.start(control_plane, "no-modes") as controller:
        await controller.logged("leading")
        for arguments in (("freeze",), ("promote", "--all"), ("modes",)):
            ended = await command(control_plane, *arguments, *own)
            assert ended.status == 1, ended
            assert "this is not obeyed" in ended.errors
            assert "was started without --modes-configmap and goes on as before" in ended.errors
    await control_plane.admin.delete(f"{CONFIG_MAPS}/modes")


async def _mode(controller: ControllerProcess, mode: str) -> bool:
    return (await controller.metrics()).total("hpa_controller_hpas", mode=mode) == 1


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["freeze"], 1, "there is no ConfigMap kube-system/modes"),
        (["promote"], 2, "name the namespaces, or give --all"),
        (["promote", "--all", "shop"], 2, "name the namespaces or give --all, not both"),
        (["freeze", "--context=nowhere"], 2, "nowhere"),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_line(
    control_plane: ControlPlane, arguments: list[str], status: int, words: str
) -> None:
    await control_plane.ensure_running()
    ended = await command(control_plane, *arguments, f"--lease-namespace={LEASE_NAMESPACE}")
    assert ended.status == status
    assert words in ended.errors
    assert len(ended.errors.splitlines()) <= 2


async def test_without_rights_to_its_modes_nothing_is_written_and_the_verb_is_named(
    control_plane: ControlPlane, namespace: str
) -> None:
    await control_plane.ensure_running()
    async with ControllerProcess.start(control_plane, "no-modes", "--modes-configmap=modes") as controller:
        line: dict[str, Any] = await controller.logged("may not be watched")
        assert 'cannot list resource "configmaps"' in line["error"]
        assert "nothing is written" in line["otherwise"]
        assert any("modes" in found for found in await controller.findings())
    assert namespace
