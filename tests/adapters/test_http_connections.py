"""Connections that are kept between requests: when one is used again, when not, and what an answer may look like."""

import asyncio
import gc
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvloop
from httptools import HttpResponseParser
from yarl import URL

from controller.kube.http_connection import BESIDE_BODY_BYTES_MAX, HttpConnection, Limits
from controller.kube.http_pool import CONNECT_TIMEOUT_S, SILENT_S, HttpPool
from controller.kube.sessions import trust
from controller.kube.traffic import Traffic
from controller.ports import NotLeading, Rejected, Unreachable
from tests.adapters.parts import access_to, connected, connected_to
from tests.adapters.raw_server import CHUNKED, WAIT_S, RawServer, Received, Say, answer, chunk, cut_after, serving
from tests.adapters.test_connection import serving_tls
from tests.lab.certificates import make_certificate

GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
LIMITS = Limits(success_bytes=100, error_bytes=10)


@asynccontextmanager
async def pool_to(
    server: RawServer, *, keep_alive_s: float = WAIT_S, silent_s: float = SILENT_S
) -> AsyncIterator[HttpPool]:
    pool = HttpPool(
        URL(server.url), tls=None, server_name=None, limits=LIMITS, keep_alive_s=keep_alive_s, silent_s=silent_s
    )
    try:
        async with asyncio.timeout(WAIT_S):
            yield pool
    finally:
        await pool.close()


def _left() -> int:
    """How many connections there are in memory."""
    return sum(isinstance(found, HttpConnection | HttpResponseParser) for found in gc.get_objects())


def closing_after(number: int, said: bytes = answer(b"{}")) -> Say:
    """Answers so many requests; then it closes the connection at the next one, once."""
    asked = 0

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        if asked == number + 1:
            writer.close()
        else:
            writer.write(said)

    return say


async def test_one_connection_serves_one_request_after_another_and_two_at_once_have_one_each() -> None:
    async with serving(answer(b"{}")) as server, pool_to(server) as pool:
        for _ in range(3):
            assert (await pool.ask(GET, resend=True)).body == b"{}"
        assert server.connections == 1
        await asyncio.gather(*(pool.ask(GET, resend=True) for _ in range(2)))
        assert server.connections == 2


@pytest.mark.parametrize(
    "said",
    [
        answer(b"{}", "Connection: close"),
        answer(b"{}").replace(b"HTTP/1.1", b"HTTP/1.0"),
        answer(b"{}") + b"more than was said",
        answer(b"{}") + answer(b'"an answer that nobody has asked for"', "Retry-After: 9"),
        answer(b"{}") + b"H",
        answer(b"{}") + b"HTTP/1.1 200 OK\r\nSwallows: ",
        answer(b"{}") + b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n",
    ],
    ids=["close", "1.0", "surplus", "two", "letter", "header", "body"],
)
async def test_a_connection_that_must_not_be_used_again_is_not(said: bytes) -> None:
    async with serving(said) as server, pool_to(server) as pool:
        for number in (1, 2):
            found = await pool.ask(GET, resend=True)
            assert (found.body, found.headers.get("Retry-After")) == (b"{}", None)
            assert server.connections == number


async def test_what_comes_on_a_connection_that_nobody_asks_ends_it() -> None:
    late = asyncio.Event()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"{}"))
        await late.wait()
        writer.write(answer(b'"late"'))

    async with serving(say) as server, pool_to(server) as pool:
        await pool.ask(GET, resend=True)
        late.set()
        while server.open:  # noqa: ASYNC110 - bounded by the pool's timeout
            await asyncio.sleep(0.01)
        assert (await pool.ask(GET, resend=True)).body == b"{}"
        assert server.connections == 2


@pytest.mark.parametrize(("method", "sent"), [("GET", 3), ("PUT", 3), ("PATCH", 2), ("POST", 2)])
async def test_what_may_arrive_twice_is_sent_again_when_a_kept_connection_turns_out_to_be_dead(
    method: str, sent: int
) -> None:
    async with serving(closing_after(1)) as server, connected_to(server.url) as client:
        await client.get("/first", Traffic.LIST)
        second = (
            client.get("/x", Traffic.LIST)
            if method == "GET"
            else client.write(method, "/x", Traffic.STATUS, b'{"whole":1}')
        )
        if sent == 3:
            assert await second == b"{}"
        else:
            with pytest.raises(Unreachable, match="closed before the answer was complete"):
                await second
        assert len(server.requests) == sent
        assert len({request.body for request in server.requests[1:]}) == 1


async def test_on_a_new_connection_nothing_is_sent_twice() -> None:
    async with serving(closing_after(0)) as server, pool_to(server) as pool:
        with pytest.raises(Unreachable, match="closed before the answer was complete"):
            await pool.ask(GET, resend=True)
        assert len(server.requests) == 1


async def test_whoever_sends_is_asked_before_each_sending_and_what_was_not_sent_harms_no_connection() -> None:
    asked = 0

    def may_send() -> None:
        nonlocal asked
        asked += 1
        if asked == 3:
            raise NotLeading("the test says so")

    async with serving(closing_after(1)) as server, pool_to(server) as pool:
        await pool.ask(GET, resend=True, may_send=may_send)
        with pytest.raises(NotLeading):
            await pool.ask(GET, resend=True, may_send=may_send)
        assert (asked, len(server.requests), server.connections) == (3, 2, 2)
        await pool.ask(GET, resend=True)
        assert server.connections == 2


async def test_connections_that_nobody_uses_are_closed() -> None:
    async with serving(answer(b"{}")) as server, pool_to(server, keep_alive_s=0.05) as pool:
        await asyncio.gather(*(pool.ask(GET, resend=True) for _ in range(3)))
        while server.open:  # noqa: ASYNC110 - bounded by the pool's timeout
            await asyncio.sleep(0.01)
        assert (await pool.ask(GET, resend=True)).body == b"{}"


async def test_whoever_gives_up_leaves_no_answer_to_the_next() -> None:
    go_on = asyncio.Event()

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target == "/slow":
            await go_on.wait()
        writer.write(answer(received.target.encode()))

    async with serving(say) as server, pool_to(server) as pool:
        slow = asyncio.create_task(pool.ask(GET.replace(b"/x", b"/slow"), resend=True))
        while not server.requests:  # noqa: ASYNC110 - bounded by the pool's timeout
            await asyncio.sleep(0.01)
        slow.cancel()
        await asyncio.wait([slow])
        go_on.set()
        assert (await pool.ask(GET, resend=True)).body == b"/x"


@pytest.mark.parametrize(("silent_s", "made"), [(0.04, 3), (SILENT_S, 2)], ids=["long", "for a moment"])
async def test_whoever_has_waited_long_has_those_connections_closed_that_may_have_died_with_his(
    silent_s: float, made: int
) -> None:
    """A network that has lost them says nothing: each could cost the next requests a timeout."""
    both = asyncio.Barrier(2)

    async def say_together(_: Received, writer: asyncio.StreamWriter) -> None:
        await both.wait()
        writer.write(answer(b"{}"))

    async def say_nothing(_: Received, __: asyncio.StreamWriter) -> None:
        pass

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(answer(b"{}"))

    async with serving(say_together) as server, pool_to(server, silent_s=silent_s) as pool:
        await asyncio.gather(*(pool.ask(GET, resend=True) for _ in range(2)))
        server.say = say_nothing
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await pool.ask(GET, resend=True)
        server.say = say
        assert (await pool.ask(GET, resend=True)).body == b"{}"
        assert server.connections == made


async def test_closing_ends_what_is_under_way_and_what_comes_later() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        del writer

    async with serving(say) as server, pool_to(server) as pool:
        waiting = asyncio.create_task(pool.ask(GET, resend=True))
        while not server.requests:  # noqa: ASYNC110 - bounded by the pool's timeout
            await asyncio.sleep(0.01)
        await pool.close()
        with pytest.raises(Unreachable, match="closed"):
            await waiting
        with pytest.raises(Unreachable, match="the connection is closed"):
            await pool.ask(GET, resend=True)


async def test_closing_ends_the_wait_for_a_connection_too() -> None:
    """It speaks TLS to a server that says nothing, which would end in the same words at the timeout of connecting."""
    async with serving(answer(b"")) as server, asyncio.timeout(WAIT_S):
        pool = HttpPool(URL(server.url), tls=trust(None), server_name=None, limits=LIMITS)
        waiting = asyncio.create_task(pool.ask(GET, resend=True))
        while not server.connections:  # noqa: ASYNC110 - bounded by the timeout
            await asyncio.sleep(0.01)
        async with asyncio.timeout(CONNECT_TIMEOUT_S / 2):
            await pool.close()
            with pytest.raises(Unreachable, match="the connection is closed"):
                await waiting


async def test_closing_makes_no_whole_answer_of_half_a_one() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b'HTTP/1.1 200 OK\r\n\r\n{"items":[1,')

    async with serving(say) as server, pool_to(server) as pool:
        waiting = asyncio.create_task(pool.ask(GET, resend=True))
        while not server.requests:  # noqa: ASYNC110 - bounded by the pool's timeout
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)  # what was said has arrived, or it is the other case
        await pool.close()
        with pytest.raises(Unreachable, match="closed"):
            await waiting


@pytest.mark.parametrize("said", [answer(b"{}", "Connection: close"), b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"])
async def test_a_connection_that_has_ended_leaves_nothing_for_the_collector(said: bytes) -> None:
    """Who has long-lived caches asks the collector seldom."""
    async with serving(cut_after(said)) as server, pool_to(server) as pool:
        gc.collect()
        before = _left()
        gc.disable()
        try:
            for _ in range(10):
                await pool.ask(GET, resend=True)
            while server.open:  # noqa: ASYNC110 - bounded by the pool's timeout
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)
            assert _left() == before
        finally:
            gc.enable()


async def test_a_kept_connection_that_ends_is_forgotten_at_once() -> None:
    """A server that ends closes all of them, and nobody asks again for a while."""
    async with serving(answer(b"{}")) as server, pool_to(server) as pool:
        await asyncio.gather(*(pool.ask(GET, resend=True) for _ in range(5)))
        assert _left() >= 5
        await server.stop()
        while _left():  # noqa: ASYNC110 - bounded by the pool's timeout
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("said", "body"),
    [
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + answer(b"{}"), b"{}"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" + answer(b"{}", "Content-Encoding: "), b"{}"),
        (CHUNKED + chunk(b"{}") + b"0\r\nContent-Encoding: none that counts\r\n\r\n", b"{}"),
        (CHUNKED + chunk(b"{") + chunk(b"}") + b"0\r\nTrailer: x\r\n\r\n", b"{}"),
        (answer(b"x" * 100), b"x" * 100),
    ],
    ids=["interim", "none", "blank", "trailer", "chunks", "largest"],
)
async def test_answers_have_any_form_that_http_allows_however_they_are_cut(said: bytes, body: bytes) -> None:
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        step = len(said) if received.target == "/x" else 1
        for start in range(0, len(said), step):
            writer.write(said[start : start + step])
            await writer.drain()
            await asyncio.sleep(0)

    async with serving(say) as server, pool_to(server) as pool:
        for target in (b"/x", b"/byte-by-byte"):
            assert (await pool.ask(GET.replace(b"/x", target), resend=True)).body == body
        assert server.connections == 1


async def test_a_body_without_a_length_ends_with_the_connection() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it")
        await writer.drain()
        writer.close()

    async with serving(say) as server, pool_to(server) as pool:
        assert (await pool.ask(GET, resend=True)).body == b"all of it"


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (answer(b"x" * 101), "the answer is larger than 100 bytes"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * BESIDE_BODY_BYTES_MAX, "bytes beside its body"),
        (CHUNKED + chunk(b"{}") + b"0\r\nX: " + b"x" * BESIDE_BODY_BYTES_MAX, "bytes beside its body"),
        (CHUNKED + b"2;x=" + b"x" * BESIDE_BODY_BYTES_MAX, "bytes beside its body"),
    ],
    ids=["body", "head", "trailer", "chunk"],
)
async def test_what_is_too_large_is_refused(said: bytes, text: str) -> None:
    async with serving(said) as server, pool_to(server) as pool:
        with pytest.raises(Rejected, match=text):
            await pool.ask(GET, resend=True)


async def test_a_long_answer_in_the_smallest_chunks_is_whole() -> None:
    body = b"x" * 100_000
    async with serving(CHUNKED + chunk(b"x") * len(body) + chunk(b"")) as server:
        limits = Limits(success_bytes=len(body), error_bytes=10)
        pool = HttpPool(URL(server.url), tls=None, server_name=None, limits=limits)
        assert (await pool.ask(GET, resend=True)).body == body
        await pool.close()


async def test_of_a_long_error_the_beginning_is_enough() -> None:
    said = answer(b"no, since " + b"x" * 50, "Retry-After: 7", status="429 Too Many Requests")
    async with serving(said) as server, pool_to(server) as pool:
        found = await pool.ask(GET, resend=True)
        assert found.status == 429
        assert found.body.startswith(b"no, since")
        assert found.headers["retry-after"] == "7"
        await pool.ask(GET, resend=True)
        assert server.connections == 2


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            "it begins another protocol",
        ),
        (b"HTTP/1.1 099 Odd\r\n\r\n", "its status is 99"),
    ],
)
async def test_what_is_no_answer_is_told(said: bytes, text: str) -> None:
    async with serving(said) as server, pool_to(server) as pool:
        with pytest.raises(Unreachable, match=f"^the answer is no valid HTTP: {text}$"):
            await pool.ask(GET, resend=True)


async def test_addresses_may_have_a_path_and_values_no_line_breaks() -> None:
    async with serving(answer(b"{}")) as server:
        async with connected(access_to(f"{server.url}/k8s/clusters/c%20d")) as client:
            await client.get("/version", Traffic.DISCOVERY, query={"a": "b c"})
            (request,) = server.requests
            assert request.target == "/k8s/clusters/c%20d/version?a=b+c"
            assert request.header("host") == server.url.removeprefix("http://")
        headers = (("Impersonate-User", "jane\r\nImpersonate-Group: system:masters"),)
        async with connected(access_to(server.url, headers=headers)) as client:
            with pytest.raises(Unreachable, match=r"Impersonate-User.*line break"):
                await client.get("/version", Traffic.DISCOVERY)
        assert len(server.requests) == 1


async def test_a_server_that_is_not_there_is_told() -> None:
    async with connected_to("http://127.0.0.1:1") as client:
        with pytest.raises(Unreachable, match=r"^cannot connect to 127\.0\.0\.1:1: connection refused$"):
            await client.get("/x", Traffic.LIST)


def _on_asyncio(scenario: Callable[[], object]) -> None:
    asyncio.run(scenario())  # type: ignore[arg-type]  # as uvloop.run


def _on_uvloop(scenario: Callable[[], object]) -> None:
    uvloop.run(scenario())  # type: ignore[arg-type]  # a coroutine function's result


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
async def test_a_name_that_is_none_is_told(host: str) -> None:
    async with connected_to(f"http://{host}:1") as client:
        with pytest.raises(Unreachable, match="cannot connect to"):
            await client.get("/x", Traffic.LIST)


async def test_a_name_may_have_several_addresses_of_which_one_answers() -> None:
    """`localhost` has two on most machines, and only one of them is listened at."""
    async with (
        serving(answer(b"{}")) as server,
        connected_to(server.url.replace("127.0.0.1", "localhost")) as client,
    ):
        assert await client.get("/x", Traffic.LIST) == b"{}"


async def test_connections_that_there_never_were_leave_nothing_for_the_collector() -> None:
    pool = HttpPool(URL("http://127.0.0.1:1"), tls=None, server_name=None, limits=LIMITS)
    gc.collect()
    before = _left()
    gc.disable()
    try:
        for _ in range(10):
            with pytest.raises(Unreachable):
                await pool.ask(GET, resend=True)
        await asyncio.sleep(0.01)
        assert _left() == before
    finally:
        gc.enable()
        await pool.close()


@pytest.mark.parametrize("run", [_on_asyncio, _on_uvloop], ids=["asyncio", "uvloop"])
def test_both_event_loops_speak_tls(run: Callable[[Callable[[], object]], None], tmp_path: Path) -> None:
    files = make_certificate(tmp_path)

    async def scenario() -> None:
        async with serving(answer(b"{}"), serving_tls(files)) as server:
            context = trust(str(files.authority))
            pool = HttpPool(URL(server.url), tls=context, server_name=None, limits=LIMITS)
            for _ in range(2):
                assert (await pool.ask(GET, resend=True)).body == b"{}"
            await pool.close()
            assert server.connections == 1

    run(scenario)


async def test_whoever_still_knows_a_connection_that_has_ended_keeps_no_tls_with_it(tmp_path: Path) -> None:
    files = make_certificate(tmp_path)
    async with serving(answer(b"{}"), serving_tls(files)) as server:
        pool = HttpPool(URL(server.url), tls=trust(str(files.authority)), server_name=None, limits=LIMITS)
        await pool.ask(GET, resend=True)
        gc.collect()
        known = [found for found in gc.get_objects() if isinstance(found, HttpConnection)]
        await server.stop()
        async with asyncio.timeout(WAIT_S):
            while any(isinstance(found, SSLProtocol) for found in gc.get_objects()):
                await asyncio.sleep(0.01)
                gc.collect()
        assert known
        await pool.close()
