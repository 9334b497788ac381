"""An application with a /metrics page: what it says is set by the test, and a Prometheus reads it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web
from yarl import URL

from tests.e2e.forwarding import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class MetricsPage:
    """`lines` are the samples in the text format; `scrapes` counts the readings. `address` is host and port.

    `rates` are counters by their name and labels, each with its growth per second; a new one begins at zero.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.rates: dict[str, float] = {}
        self._counters: dict[str, float] = {}
        self._counted_s = 0.0
        self.scrapes = 0
        self.address = ""

    @classmethod
    @asynccontextmanager
    async def serving(cls) -> AsyncIterator[MetricsPage]:
        """A page on a port of loopback."""
        page = cls()
        app = web.Application()
        app.router.add_get("/metrics", page._answer)
        async with serving(app) as url:
            page.address = URL(url).authority
            yield page

    def configuration(self) -> str:
        """How Prometheus is told to read it, every second, with the labels as the page has them."""
        return (
            "global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
            "scrape_configs:\n"
            "- job_name: app\n"
            "  honor_labels: true\n"
            f"  static_configs: [{{targets: ['{self.address}']}}]\n"
        )

    async def _answer(self, _: web.Request) -> web.Response:
        self.scrapes += 1
        now_s = asyncio.get_running_loop().time()
        passed_s, self._counted_s = now_s - self._counted_s, now_s
        before = self._counters
        self._counters = {
            name: before[name] + rate * passed_s if name in before else 0.0 for name, rate in self.rates.items()
        }
        counted = [f"{name} {value!r}" for name, value in self._counters.items()]
        return web.Response(text="\n".join([*self.lines, *counted, ""]))
