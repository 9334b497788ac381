"""What is kept per name that somebody wrote is given up again."""

from contextlib import suppress
from pathlib import Path

from controller.kube.discovery import VALID_S, Discovery, NoMatch
from controller.lab.server import LabServer
from tests.sweep.clients import connected


async def test_groups_that_do_not_exist_are_forgotten(tmp_path: Path) -> None:
    now_s = 0.0
    async with LabServer() as lab, connected(lab.url, tmp_path) as client:
        discovery = Discovery(client, lambda: now_s)
        for number in range(20):
            with suppress(NoMatch):
                await discovery.resources(f"group-{number}.example.com", "Widget")
            now_s += VALID_S + 1
        assert len(discovery._groups) <= 2
        assert await discovery.resources("apps", "Deployment")
