"""Prometheus and prometheus-adapter as processes of a test."""

from __future__ import annotations

import asyncio
import subprocess
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import aiohttp

from tests.e2e.api_client import CONNECTION_ERRORS
from tests.e2e.metrics_server import SERVICE_NAME, SERVICE_NAMESPACE
from tests.e2e.programs import find_program
from tests.e2e.server_process import ServerProcess, reserve_port
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from tests.e2e.control_plane import ControlPlane

_PROMTOOL_TIMEOUT_S = 60.0


async def make_blocks(text: str, folder: Path) -> None:
    """Puts samples into the storage that a Prometheus will start with. Raises CalledProcessError."""
    source = folder / "samples.txt"
    source.write_text(text)
    command = [
        str(find_program("promtool")),
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        str(source),
        str(folder / "data"),
    ]
    await asyncio.to_thread(
        subprocess.run, command, check=True, capture_output=True, timeout=_PROMTOOL_TIMEOUT_S, stdin=subprocess.DEVNULL
    )


class Prometheus:
    """A Prometheus that can be stopped and started again on the same port and storage."""

    def __init__(self, process: ServerProcess, url: str) -> None:
        self.process = process
        self.url = url

    @classmethod
    @asynccontextmanager
    async def start(cls, folder: Path, log: Path, configuration: str = "") -> AsyncIterator[Prometheus]:
        """Serves what is in the folder's `data`; the configuration is Prometheus's own, in YAML or JSON."""
        (folder / "prometheus.yml").write_text(configuration)
        with reserve_port() as holder:
            port = int(holder.getsockname()[1])
        command: list[str | Path] = [
            find_program("prometheus"),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=warn",
        ]
        found = cls(ServerProcess("prometheus", command, log), f"http://127.0.0.1:{port}")
        try:
            await found.begin()
            yield found
        finally:
            await found.process.stop()

    async def begin(self) -> None:
        """Starts it and returns when it is ready."""
        self.process.start()

        async def ready() -> bool:
            self.process.check()
            async with aiohttp.ClientSession() as session, session.get(f"{self.url}/-/ready") as answer:
                return answer.ok

        await wait_until(ready, "Prometheus to be ready", timeout_s=30.0, ignoring=CONNECTION_ERRORS)

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now. Raises QueryError."""
        return list((await self._get("/api/v1/query", {"query": expression}))["result"])

    async def rules(self) -> list[dict[str, Any]]:
        """All rules with their state and health. Raises QueryError."""
        groups = (await self._get("/api/v1/rules", {}))["groups"]
        return [rule for group in groups for rule in group["rules"]]

    async def _get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10.0)) as session,
            session.get(f"{self.url}{path}", params=query) as answer,
        ):
            body = await answer.json()
        if body["status"] != "success":
            raise QueryError(f"{dict(query)}: {body['error']}")
        found: dict[str, Any] = body["data"]
        return found


class QueryError(Exception):
    """Prometheus refused a query; the text is its own."""


@asynccontextmanager
async def adapter(
    plane: ControlPlane, rules: Path, prometheus_url: str, name: str, *, service: bool = False
) -> AsyncIterator[str]:
    """The address of a prometheus-adapter with these rules, which listens; the control plane's admin may ask it.

    service: its certificate is that of the Service that kube-apiserver forwards to.
    """
    authority = plane.files.authority
    serving = authority.issue_server(
        name, ["localhost", *([f"{SERVICE_NAME}.{SERVICE_NAMESPACE}.svc"] if service else [])]
    )
    kubeconfig = plane.admin_kubeconfig
    with reserve_port() as holder:
        port = int(holder.getsockname()[1])
        flags = {
            "config": rules,
            "prometheus-url": prometheus_url,
            "lister-kubeconfig": kubeconfig,
            "authentication-kubeconfig": kubeconfig,
            "authorization-kubeconfig": kubeconfig,
            "client-ca-file": authority.certificate,
            "bind-address": "127.0.0.1",
            "secure-port": port,
            "permit-port-sharing": "true",
            "tls-cert-file": serving.certificate,
            "tls-private-key-file": serving.key,
            "metrics-relist-interval": "2s",
            "metrics-max-age": "2h",
        }
        command = [str(find_program("prometheus-adapter")), *(f"--{flag}={value}" for flag, value in flags.items())]
        process = ServerProcess(name, command, plane.files.logs / f"{name}.log")
        process.start()
        try:
            client = plane.client(plane.files.admin, f"https://localhost:{port}")

            async def listening() -> bool:
                process.check()
                await client.get("/apis")
                return True

            await wait_until(listening, f"{name} to listen", timeout_s=40.0, ignoring=CONNECTION_ERRORS)
            yield f"https://localhost:{port}"
        finally:
            await process.stop()
