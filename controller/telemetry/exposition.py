"""What `/metrics` shows, made in slices: an answer with tens of thousands of series never holds the loop."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from controller.telemetry.server import UNREAD_MAX_S, taking

SAMPLES_PER_ITERATION: Final = 50
"""About a millisecond's worth."""


def metrics_route(
    registry: CollectorRegistry, *, unread_max_s: float = UNREAD_MAX_S
) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """`/metrics` of a registry, sent while it is made; a visitor who takes nothing for so long is cut off.

    Not in a thread: that one and the loop would take the interpreter from each other, five milliseconds at a time.
    """

    async def metrics(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE_LATEST})
        await response.prepare(request)
        for part in parts(registry.collect()):
            async with taking(request, unread_max_s):
                await response.write(part)
            await asyncio.sleep(0)
        return response

    return metrics


def parts(families: Iterable[Metric]) -> Iterator[bytes]:
    """The text format, with so many samples at most in each part."""
    for family in families:
        samples = iter(family.samples)
        first = True
        while (some := list(islice(samples, SAMPLES_PER_ITERATION))) or first:
            text = generate_latest(_Part(family, some))
            # What names and explains a family stands before its first sample only: two lines.
            yield text if first else text.split(b"\n", 2)[2]
            first = False


class _Part(Collector):
    """Some samples of a family, in the shape that the library renders."""

    def __init__(self, family: Metric, samples: list[Sample]) -> None:
        self._part = Metric(family.name, family.documentation, family.type, family.unit)
        self._part.samples = samples

    def collect(self) -> Iterable[Metric]:
        return (self._part,)
