"""A real Prometheus on loopback that scrapes what a test names."""

from __future__ import annotations

import json
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import aiohttp

from tests.e2e.programs import find_program
from tests.e2e.server_process import ServerProcess
from tests.e2e.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path


class Prometheus:
    """A running Prometheus; ``async with Prometheus.start(…) as prometheus`` makes one and ends it."""

    def __init__(self, process: ServerProcess, url: str) -> None:
        self.process = process
        self._url = url

    @classmethod
    @asynccontextmanager
    async def start(
        cls, folder: Path, scraped: Sequence[Mapping[str, Any]], rules: Sequence[Path] = ()
    ) -> AsyncIterator[Self]:
        """Prometheus with these scrape configs and rule files, which it looks at every second. folder must be empty."""
        configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": list(scraped),
        }
        path = folder / "prometheus.yaml"
        path.write_text(json.dumps(configuration))
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{holder.getsockname()[1]}"
        flags = {"config.file": path, "storage.tsdb.path": folder / "data", "web.listen-address": address}
        written = [f"--{name}={value}" for name, value in flags.items()]
        process = ServerProcess("prometheus", [find_program("prometheus"), *written], folder / "prometheus.log")
        process.start()
        prometheus = cls(process, f"http://{address}")
        try:
            await prometheus._ready()
            yield prometheus
        finally:
            process.kill()

    async def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression gives now. Raises QueryError."""
        return list((await self._get("/api/v1/query", {"query": expression}))["result"])

    async def rules(self) -> list[dict[str, Any]]:
        """All rules with their state and health."""
        groups = (await self._get("/api/v1/rules", {}))["groups"]
        return [rule for group in groups for rule in group["rules"]]

    async def _ready(self) -> None:
        async def ready() -> bool:
            self.process.check()
            async with aiohttp.ClientSession() as session, session.get(f"{self._url}/-/ready") as answer:
                return answer.ok

        await wait_until(ready, "Prometheus to be ready", ignoring=(aiohttp.ClientError,))

    async def _get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        timeout = aiohttp.ClientTimeout(total=10.0)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(f"{self._url}{path}", params=query) as answer,
        ):
            body = await answer.json()
        if body["status"] != "success":
            raise QueryError(f"{dict(query)}: {body['error']}")
        found: dict[str, Any] = body["data"]
        return found


class QueryError(Exception):
    """Prometheus refused a query; the text is its own."""
