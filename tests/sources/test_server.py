"""TLS to Prometheus, and what is written into the log when it is in trouble."""

import asyncio
from pathlib import Path

import pytest
import structlog

from controller.sources.complaints import CAUSES_MAX, PERIOD_S, Complaints
from controller.sources.prometheus.answers import PrometheusError, Vector
from controller.sources.prometheus.server import QUERY_BYTES_MAX, PrometheusServer
from controller.sources.prometheus.server_settings import ServerSettings
from controller.sources.shared import SharedReads
from tests.adapters.raw_server import Received, answer, serving, silent
from tests.lab.certificates import make_certificate
from tests.sources.tls import serving_tls
from tests.spine.tasks import leaving_none

EMPTY = answer(b'{"status":"success","data":{"resultType":"vector","result":[]}}')


async def test_only_the_named_authority_is_trusted_and_a_new_one_is_used_at_once(tmp_path: Path) -> None:
    (tmp_path / "ours").mkdir()
    (tmp_path / "other").mkdir()
    ours, other = make_certificate(tmp_path / "ours"), make_certificate(tmp_path / "other")
    authority = tmp_path / "ca.crt"
    authority.write_bytes(Path(other.certificate).read_bytes())  # noqa: ASYNC240 - a small file of the test
    async with serving(EMPTY, serving_tls(ours)) as served:
        server = PrometheusServer(ServerSettings(served.url, ca_file=str(authority)))
        try:
            with pytest.raises(PrometheusError, match="certificate is not trusted"):
                await server.query("up")
            authority.write_bytes(Path(ours.certificate).read_bytes())  # noqa: ASYNC240 - the same
            assert (await server.query("up")).points == ()
        finally:
            await server.close()


async def test_with_a_single_place_everybody_has_his_turn() -> None:
    async with serving(EMPTY) as served:
        server = PrometheusServer(ServerSettings(served.url, concurrent_max=1))
        try:
            async with asyncio.timeout(10):
                assert (await server.query("up", kind="shop")).points == ()
                assert (await server.query("up")).points == ()
        finally:
            await server.close()


async def test_files_that_are_half_written_stop_nothing(tmp_path: Path) -> None:
    ours = make_certificate(tmp_path)
    authority = tmp_path / "authority"
    good = Path(ours.certificate).read_bytes()  # noqa: ASYNC240 - a small file of the test
    authority.write_bytes(good)
    async with serving(EMPTY, serving_tls(ours)) as served:
        server = PrometheusServer(ServerSettings(served.url, ca_file=str(authority)))
        try:
            assert (await server.query("up")).points == ()
            for half in (b"", good[:100]):
                authority.write_bytes(half)
                with structlog.testing.capture_logs() as logs:
                    for _ in range(3):
                        assert (await server.query("up")).points == ()
                assert [line["event"].endswith("going on with those from before") for line in logs] == [True]
            assert len({id(await server._sessions.current()) for _ in range(3)}) == 1
            before = await server._sessions.current()
            authority.write_bytes(good + b"\n")
            assert (await server.query("up")).points == ()
            assert await server._sessions.current() is not before, "what is whole again is used"
        finally:
            await server.close()


async def test_a_client_certificate_is_shown(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    (tmp_path / "client").mkdir()
    theirs, own = make_certificate(tmp_path / "server"), make_certificate(tmp_path / "client")
    async with serving(EMPTY, serving_tls(theirs, own)) as served:
        settings = ServerSettings(served.url, ca_file=str(theirs.certificate))
        shown = ServerSettings(
            served.url,
            ca_file=str(theirs.certificate),
            certificate_file=str(own.certificate),
            key_file=str(own.key),
        )
        for tried, works in ((settings, False), (shown, True)):
            server = PrometheusServer(tried)
            try:
                if works:
                    assert (await server.query("up")).points == ()
                else:
                    with pytest.raises(PrometheusError):
                        await server.query("up")
            finally:
                await server.close()


async def test_a_client_key_with_a_pass_phrase_is_told_and_asks_nobody(tmp_path: Path) -> None:
    own = make_certificate(tmp_path, encrypted=True)
    settings = ServerSettings("https://127.0.0.1:1", certificate_file=str(own.certificate), key_file=str(own.key))
    server = PrometheusServer(settings)
    try:
        with pytest.raises(PrometheusError, match=r"tls\.key is encrypted; keep it without a pass phrase"):
            await server.query("up")
    finally:
        await server.close()


async def test_no_more_requests_than_allowed_are_under_way() -> None:
    under_way, most, release = 0, 0, asyncio.Event()

    async def say(_: object, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most == 3:
            release.set()
        async with asyncio.timeout(10):
            await release.wait()
        under_way -= 1
        writer.write(EMPTY)

    async with serving(say) as served:
        server = PrometheusServer(ServerSettings(served.url, concurrent_max=3))
        try:
            await asyncio.gather(*(server.query(f"up + {number}") for number in range(12)))
        finally:
            await server.close()
    assert most == 3


async def test_queries_of_one_kind_that_hang_leave_places_to_others() -> None:
    hung, over = 0, asyncio.Event()

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal hung
        if "slow" in received.target:
            hung += 1
            async with asyncio.timeout(10):
                await over.wait()
        writer.write(EMPTY)

    async with serving(say) as served:
        server = PrometheusServer(ServerSettings(served.url, concurrent_max=4))
        slow = [asyncio.create_task(server.query(f"slow{number}", kind=1)) for number in range(8)]
        try:
            for number in range(10):
                assert (await server.query(f"quick{number}", kind=2)).points == ()
            assert list(server._shares) == [1], "who has no query under way needs no share"
            assert hung == 2, "half of the places"
        finally:
            over.set()
            await asyncio.gather(*slow)
            await server.close()
    assert hung == 8


async def test_listings_that_hang_leave_places_to_queries() -> None:
    listing, over = 0, asyncio.Event()

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal listing
        if "/series" in received.target:
            listing += 1
            async with asyncio.timeout(10):
                await over.wait()
            writer.write(answer(b'{"status":"success","data":[]}'))
            return
        writer.write(EMPTY)

    async with serving(say) as served:
        server = PrometheusServer(ServerSettings(served.url, concurrent_max=4))
        listings = [asyncio.create_task(server.families(f"{{a='{number}'}}", 0.0)) for number in range(8)]
        try:
            for number in range(10):
                assert (await server.query(f"quick{number}")).points == ()
            assert listing == 2, "half of the places"
        finally:
            over.set()
            assert await asyncio.gather(*listings) == [()] * 8
            await server.close()


def test_one_line_per_cause_and_period() -> None:
    now_s = 0.0
    complaints = Complaints("Prometheus", lambda: now_s)
    with structlog.testing.capture_logs() as lines:
        for number in range(1000):
            complaints.say("no usable answer", f"timeout of query {number}", "timeout")
        complaints.say("no usable answer", "another", "status 500")
        now_s = PERIOD_S
        complaints.say("no usable answer", "again", "timeout")
    assert [line["error"] for line in lines] == ["timeout of query 0", "another", "again"]


def test_causes_are_forgotten_when_there_are_too_many() -> None:
    complaints = Complaints("Prometheus", lambda: 0.0)
    with structlog.testing.capture_logs() as lines:
        for number in [*range(CAUSES_MAX), 0, CAUSES_MAX, 0]:
            complaints.say("no usable answer", str(number), str(number))
    assert [line["error"] for line in lines[CAUSES_MAX - 1 :]] == [str(CAUSES_MAX - 1), str(CAUSES_MAX), "0"]


async def test_a_query_may_give_so_much_and_a_listing_more() -> None:
    nothing = {"query": b'{"status":"success","data":{"resultType":"vector","result":[]}}'}
    nothing["series"] = b'{"status":"success","data":[]}'
    length = QUERY_BYTES_MAX

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        body = next(body for path, body in nothing.items() if path in received.target)
        writer.write(answer(body.ljust(length)))

    async with serving(say) as served:
        server = PrometheusServer(ServerSettings(served.url))
        try:
            assert (await server.query("up")).points == ()
            length += 1
            with pytest.raises(PrometheusError, match=f"is larger than {QUERY_BYTES_MAX} bytes"):
                await server.query("up")
            assert await server.families("up", 0.0) == ()
        finally:
            await server.close()


async def test_after_closing_nothing_is_sent() -> None:
    async with serving(EMPTY) as served:
        server = PrometheusServer(ServerSettings(served.url))
        await server.query("up")
        asked = len(served.requests)
        await server.close()
        with pytest.raises(PrometheusError, match="closed"):
            await server.query("up")
        assert len(served.requests) == asked


async def test_a_listing_may_take_three_times_as_long_as_a_query() -> None:
    async with serving(silent) as served:
        server = PrometheusServer(ServerSettings(served.url, timeout_s=0.05))
        try:
            with pytest.raises(PrometheusError, match=r"did not answer within 0\.05 s"):
                await server.query("up")
            with pytest.raises(PrometheusError, match=r"did not answer within 0\.15 s"):
                await server.families("up", 0.0)
        finally:
            await server.close()


async def test_a_query_without_an_answer_leaves_nothing_for_the_collector() -> None:
    """Else the task that asked, and all that it was doing, would stay until the oldest generation is collected."""
    async with serving(silent) as served:
        server = PrometheusServer(ServerSettings(served.url, timeout_s=0.05))
        asked = SharedReads[str, Vector](server.query, asyncio.get_running_loop().time, 1.0)
        try:
            with leaving_none(PrometheusError):
                with pytest.raises(PrometheusError, match="did not answer within"):
                    await asked.get("up")
                await asyncio.sleep(0)
        finally:
            await server.close()
