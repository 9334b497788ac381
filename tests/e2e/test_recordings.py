"""A run records itself: what it writes and what it streams replays to what it did, and holds nothing secret."""

from __future__ import annotations

import asyncio
import gzip
import json
import secrets
from typing import TYPE_CHECKING, Any

import pytest

from controller.recording.check import check_file
from controller.recording.lines import find
from tests.e2e import autoscalers
from tests.e2e.controller_process import PROGRAM, ControllerProcess, recordings_of
from tests.e2e.load import Load
from tests.e2e.roles import CONTROLLERS
from tests.e2e.scaling_cases import resource_cases
from tests.e2e.server_process import run_to_end
from tests.e2e.workload import WorkloadPlayer
from tests.recording.replaying import check_recordings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane
    from tests.e2e.metrics_server import MetricsServer

pytestmark = pytest.mark.usefixtures("controllers_may_control")
RECORD = "/record/{namespace}/{name}"


def planted(manifest: dict[str, Any], secret: str) -> dict[str, Any]:
    """The manifest with a secret wherever people put them: annotations, environment, arguments."""
    annotations = {"note": secret}
    manifest["metadata"].setdefault("annotations", {}).update(annotations)
    template = manifest["spec"].get("template")
    if template is not None:
        template["metadata"].setdefault("annotations", {}).update(annotations)
        for container in template["spec"]["containers"]:
            container["env"] = [{"name": "PASSWORD", "value": secret}]
            container["args"] = [f"--password={secret}"]
    return manifest


def read(folder: Path) -> bytes:
    """All that is in the recordings of a folder."""
    return b"".join(gzip.decompress(path.read_bytes()) for path in find([folder]))


async def test_a_run_records_itself_and_nothing_secret(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str, tmp_path: Path
) -> None:
    admin, name, secret = control_plane.admin, "controller-that-records", secrets.token_hex()
    case = resource_cases(metrics_server.values, namespace)[0]
    load = Load(case.publish, case.high_milli)
    streamed = tmp_path / "streamed.jsonl.gz"
    await admin.create(case.kind.path(namespace), planted(case.target(), secret))
    async with (
        WorkloadPlayer(admin, case.kind, namespace, case.name, pods_seen=load.seen) as player,
        ControllerProcess.start(control_plane, name) as controller,
    ):
        await player.settled(2)
        await admin.create(autoscalers.path(namespace), planted(case.autoscaler(), secret))
        await controller.synced(1)
        recording = asyncio.create_task(
            run_to_end(
                PROGRAM,
                "record",
                f"{namespace}/{case.name}",
                "--for=4s",
                f"--output={streamed}",
                f"--introspection-address={controller.address(RECORD)}",
            )
        )
        await player.settled(4)
        load.change(case.low_milli)
        await player.settled(1)
        ended = await recording
        numbers = await controller.metrics()
        assert numbers.total("hpa_controller_recording_dropped_total") == 0
    assert (ended.status, ended.errors) == (0, "")
    for folder in (recordings_of(control_plane, name), tmp_path):
        told = read(folder)
        assert check_recordings(folder) >= 2
        assert secret.encode() not in told
        assert f"{namespace}/{case.name}".encode() in told
    scaled = [
        json.loads(line)["outcome"]["scaledTo"] for line in read(recordings_of(control_plane, name)).splitlines()[1:]
    ]
    assert {4, 1} <= set(scaled), scaled


async def test_a_run_that_is_killed_leaves_what_it_recorded(
    control_plane: ControlPlane, metrics_server: MetricsServer, namespace: str
) -> None:
    admin, name = control_plane.admin, "controller-that-is-killed-recording"
    case = resource_cases(metrics_server.values, namespace)[0]
    await admin.create(case.kind.path(namespace), case.target())
    await admin.create(autoscalers.path(namespace), case.autoscaler())
    async with ControllerProcess.start(control_plane, name) as controller:
        await controller.synced(4)
        controller.process.kill()
    [path] = find([recordings_of(control_plane, name)])
    result = check_file(path)
    assert result.compared >= 1
    assert result.differing == 0
    [note] = result.notes
    assert note.endswith(f"partial: the {result.compared} syncs before are used")


async def test_no_secret_of_the_connection_is_recorded(control_plane: ControlPlane, namespace: str) -> None:
    """The key of the certificate that the controller connects with, and where it is kept."""
    name = "controller-with-a-key"
    kubeconfig = control_plane.kubeconfig_for(name, [CONTROLLERS])
    await control_plane.admin.create(
        autoscalers.path(namespace),
        autoscalers.manifest("nothing", {"apiVersion": "apps/v1", "kind": "Deployment", "name": "nothing"}),
    )
    async with ControllerProcess.start(control_plane, name, kubeconfig=kubeconfig, user=name) as controller:
        await controller.synced(2)
    told = read(recordings_of(control_plane, name))
    assert f"{namespace}/nothing".encode() in told
    keys = [
        line
        for line in kubeconfig.read_text().splitlines()
        if "-data:" in line or "token:" in line or "client-" in line
    ]
    assert keys
    for line in keys:
        assert line.split(": ", 1)[1].strip().encode() not in told
