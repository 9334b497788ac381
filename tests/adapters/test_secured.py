"""`/metrics` over TLS for those who may read it."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestServer

from controller.cli.main import Parser
from controller.kube.reviews import REMEMBERED_MAX, REMEMBERED_S, Reviews
from controller.ports import ApiError, Refused, Unreachable
from controller.run_flags import add_flags
from controller.settings import SettingsError, from_arguments
from controller.telemetry.secured import CHECKED_S, ServingCertificate, guarded
from controller.telemetry.server import BindError, Listener
from tests.adapters.parts import SetLeadership, connected_to
from tests.lab.certificates import make_certificate

USERS = {"of-prometheus": "prometheus", "of-a-stranger": "stranger"}
LOST = {"lost"}
GROUPS = ["system:serviceaccounts", "system:authenticated"]


class Reviewer:
    """An API server that reviews; `asked` are the specs it got."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer: web.Response | None = None

    async def review_token(self, request: web.Request) -> web.Response:
        spec = (await request.json())["spec"]
        self.asked.append(spec)
        if self.answer is not None:
            return self.answer
        name = USERS.get(spec["token"])
        user = {"username": name, "uid": "1", "groups": GROUPS, "extra": {"pod": ["p"]}}
        return web.json_response({"status": {"authenticated": True, "user": user} if name else {}})

    async def review_access(self, request: web.Request) -> web.Response:
        spec = (await request.json())["spec"]
        self.asked.append(spec)
        return web.json_response({"status": {"allowed": spec["user"] == "prometheus"}})


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@asynccontextmanager
async def reviewing() -> AsyncIterator[tuple[Reviewer, Reviews, Clock]]:
    reviewer, clock = Reviewer(), Clock()
    app = web.Application()
    app.router.add_post("/apis/authentication.k8s.io/v1/tokenreviews", reviewer.review_token)
    app.router.add_post("/apis/authorization.k8s.io/v1/subjectaccessreviews", reviewer.review_access)
    standby = SetLeadership()
    standby.leading = False
    async with TestServer(app) as server, connected_to(str(server.make_url("")), leadership=standby) as client:
        yield reviewer, Reviews(client, clock), clock


async def test_the_api_server_says_who_may() -> None:
    async with reviewing() as (reviewer, reviews, _):
        assert await reviews.admission("of-prometheus", "/metrics") == "allowed"
        assert reviewer.asked == [
            {"token": "of-prometheus"},
            {
                "user": "prometheus",
                "uid": "1",
                "groups": GROUPS,
                "extra": {"pod": ["p"]},
                "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
            },
        ]
        assert await reviews.admission("of-a-stranger", "/metrics") == "forbidden"
        assert await reviews.admission("of-nobody", "/metrics") == "unknown"


async def test_a_token_that_is_no_text_is_unknown() -> None:
    """As aiohttp hands on what is no UTF-8; it could not even be sent on."""
    async with reviewing() as (reviewer, reviews, _):
        for token in ("caf\udce9", "café"):
            assert await reviews.admission(token, "/metrics") == "unknown"
        assert reviewer.asked == []


async def test_an_answer_holds_for_a_minute_and_for_its_token_and_path_only() -> None:
    async with reviewing() as (reviewer, reviews, clock):
        for _ in range(3):
            await reviews.admission("of-prometheus", "/metrics")
        assert len(reviewer.asked) == 2
        await reviews.admission("of-prometheus", "/other")
        assert len(reviewer.asked) == 4
        clock.now_s = REMEMBERED_S
        await reviews.admission("of-prometheus", "/metrics")
        assert len(reviewer.asked) == 6


async def test_guessing_takes_no_memory_without_bound() -> None:
    async with reviewing() as (_, reviews, _):
        for number in range(REMEMBERED_MAX + 5):
            assert await reviews.admission(f"guess-{number}", "/metrics") == "unknown"
        assert len(reviews._known) <= REMEMBERED_MAX


async def test_no_answer_is_no_verdict_and_is_not_remembered() -> None:
    async with reviewing() as (reviewer, reviews, _):
        reviewer.answer = web.Response(status=403, text="{}")
        with pytest.raises(Refused):
            await reviews.admission("of-prometheus", "/metrics")
        reviewer.answer = web.Response(text="[]")
        with pytest.raises(ApiError, match="cannot be decoded"):
            await reviews.admission("of-prometheus", "/metrics")
        reviewer.answer = None
        assert await reviews.admission("of-prometheus", "/metrics") == "allowed"


async def page(_: web.Request) -> web.Response:
    return web.Response(text="numbers")


async def examine(token: str, _: str) -> Any:
    if token in LOST:
        raise Unreachable("away")
    return {"good": "allowed", "other": "forbidden"}.get(token, "unknown")


@asynccontextmanager
async def listening(folder: Path) -> AsyncIterator[tuple[Listener, ServingCertificate]]:
    certificate = ServingCertificate(str(folder))
    listener = Listener("127.0.0.1:0", {"/metrics": guarded(page, examine)}, certificate.context)
    await listener.start()
    try:
        yield listener, certificate
    finally:
        await listener.stop()


async def get(listener: Listener, authority: Path, authorization: str | None) -> tuple[int, str]:
    context = ssl.create_default_context(cafile=str(authority))
    headers = {} if authorization is None else {"Authorization": authorization}
    url = f"https://127.0.0.1:{listener.port}/metrics"
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers, ssl=context) as answer:
        if answer.status == 401:
            assert answer.headers["WWW-Authenticate"] == "Bearer"
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer good", (200, "numbers")),
        ("bearer good", (200, "numbers")),
        (None, (401, "a bearer token is needed\n")),
        ("Basic good", (401, "a bearer token is needed\n")),
        ("Bearer ", (401, "a bearer token is needed\n")),
        ("Bearer bad", (401, "the bearer token is not valid in this cluster\n")),
        ("Bearer other", (403, "the token's user may not get the non-resource URL /metrics\n")),
        ("Bearer lost", (503, "the API server could not be asked who you are\n")),
    ],
)
async def test_who_gets_the_page(tmp_path: Path, authorization: str | None, expected: tuple[int, str]) -> None:
    files = make_certificate(tmp_path)
    with structlog.testing.capture_logs() as lines:
        async with listening(tmp_path) as (listener, _):
            assert await get(listener, files.authority, authorization) == expected
    warned = [(line["path"], line["error"]) for line in lines if line["log_level"] == "warning"]
    assert warned == ([("/metrics", "away")] if expected[0] == 503 else [])


async def test_a_renewed_certificate_is_used_and_a_broken_one_is_not(tmp_path: Path) -> None:
    old = make_certificate(tmp_path).authority.read_bytes()
    async with listening(tmp_path) as (listener, certificate):
        make_certificate(tmp_path)
        certificate.refresh()
        renewed = tmp_path / "renewed.crt"
        renewed.write_bytes((tmp_path / "tls.crt").read_bytes())
        assert (await get(listener, renewed, "Bearer good"))[0] == 200
        before = tmp_path / "before.crt"
        before.write_bytes(old)
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await get(listener, before, "Bearer good")
        (tmp_path / "tls.key").write_text("half a k")
        certificate.refresh()
        assert (await get(listener, renewed, "Bearer good"))[0] == 200
        another = tmp_path / "another"
        another.mkdir()
        make_certificate(another)
        (tmp_path / "tls.crt").write_bytes((another / "tls.crt").read_bytes())
        certificate.refresh()
        assert (await get(listener, renewed, "Bearer good"))[0] == 200, "a certificate without its key is not taken"


def written_at(time_s: int, folder: Path) -> None:
    """Loop time takes no time: without it files would be as old as those that they replace."""
    for name in ("tls.crt", "tls.key"):
        os.utime(folder / name, (time_s, time_s))


@pytest.mark.looptime
async def test_each_change_of_the_files_is_noticed_while_it_runs_and_told_of_once(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    certificate = ServingCertificate(str(tmp_path))
    following = asyncio.create_task(certificate.follow())
    with structlog.testing.capture_logs() as lines:
        await asyncio.sleep(2.5 * CHECKED_S)
        assert lines == []
        make_certificate(tmp_path)
        written_at(1, tmp_path)
        await asyncio.sleep(2 * CHECKED_S)
        (tmp_path / "tls.key").write_text("half a k")
        written_at(2, tmp_path)
        await asyncio.sleep(2 * CHECKED_S)
        make_certificate(tmp_path)
        written_at(3, tmp_path)
        await asyncio.sleep(2 * CHECKED_S)
    following.cancel()
    await asyncio.wait([following])
    renewed = "the certificate has changed, new connections use the new one"
    broken = "the new certificate cannot be used, going on with the one from before"
    assert [line["event"] for line in lines] == [renewed, broken, renewed]


def test_a_missing_certificate_is_told_with_its_flag(tmp_path: Path) -> None:
    with pytest.raises(BindError, match=r"--metrics-cert-dir: the certificate .*tls\.crt and its key cannot be used"):
        ServingCertificate(str(tmp_path))


def test_a_key_with_a_pass_phrase_is_told_at_once_and_asks_nobody(tmp_path: Path) -> None:
    make_certificate(tmp_path, encrypted=True)
    with pytest.raises(BindError, match=r"--metrics-cert-dir: .*tls\.key is encrypted; keep it without a pass phrase"):
        ServingCertificate(str(tmp_path))
    make_certificate(tmp_path)
    certificate = ServingCertificate(str(tmp_path))
    make_certificate(tmp_path, encrypted=True)
    with structlog.testing.capture_logs() as lines:
        certificate.refresh()
    assert [line["event"] for line in lines] == [
        "the new certificate cannot be used, going on with the one from before"
    ]
    assert "tls.key is encrypted" in lines[0]["error"]


@pytest.mark.parametrize(
    ("flags", "missing"),
    [(["--metrics-secure"], "--metrics-cert-dir"), (["--metrics-cert-dir=/x"], "--metrics-secure")],
)
def test_one_flag_without_the_other_is_refused(flags: list[str], missing: str) -> None:
    parser = Parser()
    add_flags(parser)
    with pytest.raises(SettingsError, match=f"go together: {missing} is missing"):
        from_arguments(parser.parse_args(flags))
