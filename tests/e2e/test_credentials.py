"""The controller goes on when its credentials are replaced, wherever they come from."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e import autoscalers
from tests.e2e.controller_process import ControllerProcess
from tests.e2e.metrics_values import Series
from tests.e2e.renewals import certificate_files, certificate_plugin, token_file, token_plugin
from tests.e2e.waiting import alongside, wait_until
from tests.e2e.workload import WorkloadPlayer
from tests.e2e.workload_kinds import DEPLOYMENT

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer
    from tests.e2e.renewals import Renewal

# One Lease for all: they stand by for each other, and do not get into each other's way.
FLAGS = (
    "--leader-elect-resource-name=renewed",
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
    "--horizontal-pod-autoscaler-sync-period=500ms",
)


@asynccontextmanager
async def work(plane: ControlPlane, server: MetricsServer, namespace: str) -> AsyncIterator[None]:
    """An HPA that needs a status write in every sync."""
    await plane.admin.create(DEPLOYMENT.path(namespace), DEPLOYMENT.manifest("web", 2))
    metrics = [autoscalers.external("queue", averageValue="10")]
    manifest = autoscalers.manifest("web", autoscalers.reference(DEPLOYMENT, "web"), metrics, maximum=2)
    await plane.admin.create(autoscalers.path(namespace), manifest)

    async def change() -> None:
        for value in itertools.cycle(range(20, 1000)):
            server.values.set_external(namespace, "queue", Series(str(value)))
            await asyncio.sleep(0.2)

    async with WorkloadPlayer(plane.admin, DEPLOYMENT, namespace, "web") as player:
        await player.settled(2)
        async with alongside(change()):
            yield


async def test_credentials_are_renewed_while_the_controller_runs(
    control_plane: ControlPlane,
    controllers_may_control: None,  # noqa: ARG001  # it defines the roles
    metrics_server: MetricsServer,
    namespace: str,
    tmp_path: Path,
) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(work(control_plane, metrics_server, namespace))
        folders = {name: tmp_path / name for name in ("files", "plugins")}
        for folder in folders.values():
            folder.mkdir()
        renewals = [
            await stack.enter_async_context(token_file(control_plane, folders["files"])),
            certificate_files(control_plane, folders["files"]),
            await stack.enter_async_context(token_plugin(control_plane, folders["plugins"])),
            certificate_plugin(control_plane, folders["plugins"]),
        ]
        running: dict[str, ControllerProcess] = {}
        for renewal in renewals:
            start = ControllerProcess.start(
                control_plane,
                renewal.name,
                *FLAGS,
                kubeconfig=control_plane.kubeconfig(renewal.entry),
                user=renewal.user,
            )
            running[renewal.name] = await stack.enter_async_context(start)
        position = control_plane.audit_log.position()
        for renewal in renewals:
            await renewal.renew()

        async def all_renewed() -> set[str]:
            late = {renewal.name for renewal in renewals if not renewal.renewed(position)}
            if late:
                raise StillOldError(late)
            return set(running)

        # Files are looked at every ten seconds, and the API server believes a token as long.
        await wait_until(
            all_renewed, "the new credentials to be used", timeout_s=30.0, poll_s=0.5, ignoring=(StillOldError,)
        )
        for renewal in renewals:
            check_plugin(renewal, control_plane.url)
        await let_each_lead(running)
        for name, controller in running.items():
            complaints = [line for line in controller.logs() if line["level"] != "info"]
            assert complaints == [], f"{name} has gone on without a word"


class StillOldError(Exception):
    """Who has not come with new credentials yet."""


def check_plugin(renewal: Renewal, server: str) -> None:
    """It was called no more often than needed, and told what it wants to know."""
    if renewal.calls is None:
        return
    calls = [json.loads(line) for line in renewal.calls.read_text().splitlines()]
    assert len(calls) == 2, renewal.name
    for call in calls:
        assert call["spec"]["interactive"] is False
        assert call["spec"]["cluster"]["server"] == server


async def let_each_lead(running: dict[str, ControllerProcess]) -> None:
    """Stops whoever leads, until each has led and written something."""
    waiting = dict(running)
    while waiting:

        async def leader() -> str | None:
            leading = (name for name, controller in waiting.items() if controller.logs("leading"))
            return next(leading, None)

        name = await wait_until(leader, f"one of {list(waiting)} to lead")
        assert name is not None
        controller = waiting.pop(name)
        before = (await controller.metrics()).total(
            "hpa_controller_client_requests_total", traffic="status", code="200"
        )

        async def written(controller: ControllerProcess = controller, before: float = before) -> bool:
            sent = (await controller.metrics()).total(
                "hpa_controller_client_requests_total", traffic="status", code="200"
            )
            return sent > before

        await wait_until(written, f"{name} to write a status")
        await controller.stop()
