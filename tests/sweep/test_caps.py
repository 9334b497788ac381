"""The caps of docs/reliability.md: what is beyond is refused, what is legitimately large is not."""

import asyncio
import gzip
from pathlib import Path

import msgspec
import pytest
from aiohttp import web

from controller.decide.observed import PodUsage
from controller.kube.connection import ANSWER_BYTES_MAX
from controller.kube.framing import LINE_BYTES_MAX, Lines, LineTooLong
from controller.kube.traffic import Traffic
from controller.lab.server import LabServer
from controller.ports import ApiError, Rejected, Unreachable
from tests.sweep import corpus
from tests.sweep.bad_answers import endless
from tests.sweep.clients import connected
from tests.sweep.damage import encoded
from tests.sweep.proxy import Proxy
from tests.wire.lists import all_pod_metrics, each_pod_metrics

MEBIBYTE = 1024 * 1024


async def test_a_body_without_end_is_left(tmp_path: Path) -> None:
    async with LabServer() as lab, Proxy(lab.url) as proxy, connected(proxy.url, tmp_path) as client:
        proxy.answers["/endless"] = endless(2 * ANSWER_BYTES_MAX)
        with pytest.raises(Rejected) as raised:
            await client.get("/endless", Traffic.CUSTOM_METRICS)
        assert str(raised.value) == f"the answer is larger than {ANSWER_BYTES_MAX} bytes"
        assert await client.get("/version", Traffic.DISCOVERY)


async def test_a_body_that_never_comes_is_given_up(tmp_path: Path) -> None:
    async def hold(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'{"items":[')
        await asyncio.Event().wait()
        return response

    async with LabServer() as lab, Proxy(lab.url) as proxy, connected(proxy.url, tmp_path) as client:
        proxy.answers["/silent"] = hold
        with pytest.raises(Unreachable):
            await client.get("/silent", Traffic.CUSTOM_METRICS, timeout_s=0.2)


async def test_cut_gzip_is_an_error_of_the_request(tmp_path: Path) -> None:
    packed = gzip.compress(encoded(corpus.pod_metrics(200)))

    async def cut(_: web.BaseRequest) -> web.StreamResponse:
        return web.Response(body=packed[: len(packed) // 2], headers={"Content-Encoding": "gzip"})

    async with LabServer() as lab, Proxy(lab.url) as proxy, connected(proxy.url, tmp_path) as client:
        proxy.answers["/cut"] = cut
        try:
            body = await client.get("/cut", Traffic.CUSTOM_METRICS)
        except ApiError as error:
            assert str(error).isprintable()  # noqa: PT017 - either is right: an error, or a body that is no JSON
        else:
            with pytest.raises(ValueError, match="truncated"):
                all_pod_metrics(body)


def test_a_line_without_end_is_left() -> None:
    lines, chunk = Lines(), b" " * MEBIBYTE
    for _ in range(LINE_BYTES_MAX // MEBIBYTE):
        assert list(lines.feed(chunk)) == []
    with pytest.raises(LineTooLong):
        list(lines.feed(chunk))


def test_a_hundred_thousand_pods_are_legitimate() -> None:
    """One of them damaged: all others are as they were."""
    count, damaged = 100_000, 31_415
    item = corpus.pod_metrics(1)["items"][0]
    before, _, after = encoded(item).partition(b'"web-0"')
    parts = [b'%s"web-%d"%s' % (before, number, after) for number in range(count)]
    parts[damaged] = parts[damaged].replace(b'"64Mi"', b'"NaN"')
    body = b'{"items":[' + b",".join(parts) + b"]}"
    assert len(body) < ANSWER_BYTES_MAX
    found = each_pod_metrics(body)
    assert len(found) == count
    sound = [usage for usage in found if isinstance(usage, PodUsage)]
    assert len(sound) == count - 1
    assert f"metrics of pod web-{damaged}: " in str(found[damaged])
    assert msgspec.json.encode(sound[0].containers) == msgspec.json.encode(sound[-1].containers)
