"""An application with a /metrics page: what it says is set by the test, and a Prometheus reads it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from aiohttp import web
from yarl import URL

from tests.e2e.forwarding import serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


class MetricsPage:
    """`lines` are the samples in the text format; `scrapes` counts the readings. `address` is host and port."""

    def __init__(self) -> None:
        self.lines: list[str] = []
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
        return web.Response(text="\n".join([*self.lines, ""]))
