"""What is kept per name that somebody wrote is given up again."""

from contextlib import suppress
from pathlib import Path

from controller.clock import SystemClock
from controller.kube.client import Client, Measurements
from controller.kube.connection import Connection
from controller.kube.discovery import VALID_S, Discovery, NoMatch
from controller.kube.kubeconfig import load
from controller.kube.lease import AlwaysLeading
from controller.lab.server import LabServer


async def test_groups_that_do_not_exist_are_forgotten(tmp_path: Path) -> None:
    now_s = 0.0
    async with LabServer() as lab:
        lab.write_kubeconfig(tmp_path / "kubeconfig")
        connection = Connection(load(str(tmp_path / "kubeconfig"), environment={}), SystemClock())
        client = Client(
            connection,
            user_agent="sweep",
            leadership=AlwaysLeading(),
            random=lambda: 0.0,
            measurements=Measurements(lambda *_: None),
        )
        discovery = Discovery(client, lambda: now_s)
        try:
            for number in range(20):
                with suppress(NoMatch):
                    await discovery.resources(f"group-{number}.example.com", "Widget")
                now_s += VALID_S + 1
            assert len(discovery._known) <= 2
            assert discovery._known.keys() == discovery._locks.keys()
            assert await discovery.resources("apps", "Deployment")
        finally:
            await connection.close()
