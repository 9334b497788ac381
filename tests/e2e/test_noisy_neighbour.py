"""Beside somebody who asks an API server for far too much, the leader goes on leading and HPAs go on being scaled."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.e2e import autoscalers, roles
from tests.e2e.accounts import controller_account
from tests.e2e.aggregation import register_metrics_apis
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_server import MetricsServer
from tests.e2e.metrics_values import Series
from tests.e2e.namespaces import create_namespace
from tests.e2e.server_process import ServerProcess
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

WORKER, QUEUE = "worker", "queue"
# A small API server. Its priority and fairness queue some 300 requests of one user, and refuse what is beyond that.
SMALL = ("--max-requests-inflight=12", "--max-mutating-requests-inflight=6")
SHORT_LEASE = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
)
_OBJECTS = 400
_ROOT = Path(__file__).parents[2]


async def test_leadership_is_not_lost_by_throttling(tmp_path: Path) -> None:
    async with (
        ControlPlane.start(tmp_path, api_server_flags=SMALL) as plane,
        MetricsServer.start(plane.files) as server,
    ):
        admin = plane.admin
        await register_metrics_apis(admin, server.port, plane.files.authority)
        await roles.define_controllers(admin)
        namespace = await create_namespace(admin, "noisy")
        filling = {"data": {"text": "x" * 20_000}}
        for number in range(_OBJECTS):
            await admin.create(
                f"/api/v1/namespaces/{namespace}/configmaps", {"metadata": {"name": f"large-{number}"}, **filling}
            )
        server.values.set_external(namespace, QUEUE, Series("20"))
        await admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest(WORKER, 2))
        metric = autoscalers.external(QUEUE, averageValue="10")
        manifest = autoscalers.manifest(WORKER, autoscalers.reference(DEPLOYMENT, WORKER), [metric], maximum=50)
        await admin.create(autoscalers.path(namespace), manifest)
        # A service account of kube-system, to which API servers give priority by themselves; the chart's FlowSchema
        # does that for any other one.
        account = await controller_account(plane, "beside-noise", plane.url)
        noisy = plane.credential_for("noisy-neighbour")
        reads = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
        await roles.define_cluster_role(admin, "e2e:noise", [reads])
        await roles.bind_cluster_role(admin, "e2e:noise", roles.user("noisy-neighbour"))
        await roles.wait_allowed(admin, roles.user("noisy-neighbour"), "list", "configmaps")
        authority, log = plane.files.authority.certificate, plane.files.logs / "noise.log"
        files: list[str | Path] = [authority, noisy.certificate, noisy.key]
        command = [sys.executable, "-m", "tests.e2e.noise", plane.url, *files]
        noise = ServerProcess("noise", command, log, {"PYTHONPATH": str(_ROOT)})
        start = ControllerProcess.start(
            plane, "beside-noise", *SHORT_LEASE, kubeconfig=account.kubeconfig, user=account.user
        )
        async with WorkloadPlayer(admin, DEPLOYMENT, namespace, WORKER) as player, start as controller:
            await controller.synced()
            noise.start()
            try:
                for replicas in (5, 9, 14):
                    server.values.set_external(namespace, QUEUE, Series(str(10 * replicas)))
                    await player.settled(replicas, 60.0)
                await controller.synced(10, timeout_s=60.0)
            finally:
                noise.kill()
            assert "refused" in noise.log.read_text(), "without anybody being refused this shows nothing"
            assert len(controller.logs("leading")) == 1
            assert (await controller.metrics()).total("hpa_controller_leading") == 1
