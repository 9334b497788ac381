"""Answers that no honest server gives: garbage, false lengths and encodings, bodies without end."""

import asyncio
import gzip
from contextlib import suppress
from random import Random
from typing import Final

from aiohttp import web

from tests.sweep import corpus
from tests.sweep.damage import bomb, broken, encoded, spoiled
from tests.sweep.proxy import Answer

_CHUNK: Final = b" " * 65_536


def garbage(random: Random, documents: tuple[bytes, ...]) -> Answer:
    """A damaged document each time, now and then with a wrong content type or cut gzip."""

    async def answer(_: web.BaseRequest) -> web.StreamResponse:
        document = random.choice(documents)
        body = spoiled(random, document, 2) if random.random() < 0.5 else broken(random, document)
        match random.randrange(12):
            case 0:
                # Nobody asked for gzip, and its end is missing.
                packed = gzip.compress(body)
                return web.Response(body=packed[: len(packed) // 2], headers={"Content-Encoding": "gzip"})
            case 1:
                return web.Response(body=body, headers={"Content-Encoding": "gzip"})
            case 2:
                return web.Response(body=body, content_type="text/html")
            case 3:
                return web.Response(body=bomb(random))
            case 4:
                return web.Response(status=random.choice((204, 300, 400, 418, 500, 599)), body=body)
            case 5:
                return await _cut(_, body)
            case _:
                return web.Response(body=body, content_type="application/json")

    return answer


def endless(bytes_max: int) -> Answer:
    """A body of blanks that goes on until the reader has had enough, or this many bytes are sent."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        with suppress(ConnectionError):
            for _ in range(bytes_max // len(_CHUNK)):
                await response.write(_CHUNK)
                await asyncio.sleep(0)
        return response

    return answer


def samples() -> tuple[bytes, ...]:
    """Sound answers of the metrics APIs, to be damaged."""
    return tuple(
        map(encoded, (corpus.metric_values(), corpus.external_values(), corpus.pod_metrics(), corpus.failure()))
    )


async def _cut(request: web.BaseRequest, body: bytes) -> web.StreamResponse:
    """More is promised than comes."""
    response = web.StreamResponse(headers={"Content-Length": str(len(body) + 100)})
    await response.prepare(request)
    await response.write(body)
    if request.transport is not None:
        request.transport.abort()
    return response
