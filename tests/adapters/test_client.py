import asyncio
import contextlib
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest
import tenacity

from controller import precedence
from controller.kube.attempts import ATTEMPTS_MAX, Attempts
from controller.kube.budget import SILENT_PLACES
from controller.kube.client import NO_ANSWER, PART_BYTES_MAX, Client
from controller.kube.credentials import CredentialsError, FileToken
from controller.kube.traffic import Traffic
from controller.ports import (
    SCALE_FIRST,
    Conflict,
    NotLeading,
    NotMandated,
    Refused,
    Rejected,
    ServerFailure,
    Throttled,
    Unreachable,
)
from controller.precedence import PER_ITERATION, Turns
from controller.sources.shared import SharedReads
from controller.version import USER_AGENT
from tests.adapters.parts import Answered, Recorder, SetLeadership, access_to, always, connected, connected_to
from tests.adapters.raw_server import CHUNKED, WAIT_S, RawServer, Received, answer, chunk, cut_after, serving, silent
from tests.spine.tasks import LoopIterations, leaving_none

BUSY = answer(b"busy", "Retry-After: 0", status="429 Too Many Requests")


async def test_no_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(answer(b"{}")) as server, serving(answer(b"proxy")) as proxy:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        async with connected_to(server.url) as client:
            assert await client.get("/version", Traffic.DISCOVERY) == b"{}"
        assert proxy.requests == []


async def test_a_proxy_of_the_kubeconfig_is_used() -> None:
    async with serving(answer(b"proxy")) as proxy, connected(access_to("http://192.0.2.1", proxy=proxy.url)) as client:
        assert await client.get("/version", Traffic.DISCOVERY) == b"proxy"
        assert proxy.requests[0].target == "http://192.0.2.1/version"


async def test_every_request_says_who_asks() -> None:
    headers = (("Impersonate-User", "jane"), ("Impersonate-Group", "a"), ("Impersonate-Group", "b"))
    async with serving(answer(b"{}")) as server, connected(access_to(server.url, headers=headers)) as client:
        await client.get("/version", Traffic.DISCOVERY)
        (request,) = server.requests
        assert request.header("user-agent") == USER_AGENT
        assert request.header("impersonate-user") == "jane"
        assert request.all("impersonate-group") == ["a", "b"]


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_a_server_that_says_when_is_asked_again_a_bounded_number_of_times(status: str) -> None:
    async with serving(answer(b"busy", "Retry-After: 0", status=status)) as server, connected_to(server.url) as client:
        with pytest.raises((Throttled, ServerFailure), match="busy"):
            await client.get("/x", Traffic.LIST)
        assert len(server.requests) == ATTEMPTS_MAX


@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable", "500 Internal Server Error"])
async def test_a_server_that_does_not_say_when_is_asked_once(status: str) -> None:
    async with serving(answer(b"busy", status=status)) as server, connected_to(server.url) as client:
        with pytest.raises((Throttled, ServerFailure)):
            await client.get("/x", Traffic.LIST)
        assert len(server.requests) == 1


async def test_nobody_waits_for_more_time_than_there_is() -> None:
    busy = answer(b"busy", "Retry-After: 600", status="429 Too Many Requests")
    async with serving(busy) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):
        with pytest.raises(Throttled):
            await client.get("/x", Traffic.LIST)
        assert len(server.requests) == 1


async def test_writes_stop_with_the_leadership() -> None:
    leadership = SetLeadership()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        leadership.leading = False
        writer.write(BUSY)

    async with serving(say) as server, connected_to(server.url, leadership=leadership) as client:
        with pytest.raises(NotLeading):
            await client.write("PUT", "/x", Traffic.STATUS, b"{}")
        assert len(server.requests) == 1
        with pytest.raises(NotLeading):
            await client.write("PUT", "/x", Traffic.STATUS, b"{}")
        assert len(server.requests) == 1


async def test_a_write_that_may_not_go_out_says_so_where_there_is_no_server() -> None:
    """That is how a Lease is lost, and whoever retries what does not arrive would do so for minutes."""
    leadership, recorder = SetLeadership(), Recorder()
    leadership.leading = False
    async with connected_to("http://127.0.0.1:1", leadership=leadership, recorder=recorder) as client:
        with pytest.raises(NotLeading):
            await client.write("POST", "/x", Traffic.EVENT, b"{}")
    assert recorder.answers == []


class EndingLeadership(SetLeadership):
    """Ends after so many checks."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self._last = checks

    def check(self) -> None:
        self.leading = self.checks < self._last
        super().check()


@pytest.mark.parametrize(("proxied", "checks"), [(False, 0), (False, 1), (True, 0), (True, 1), (True, 2)])
async def test_a_leadership_that_ends_while_a_write_is_let_go_stops_it_up_to_its_first_byte(
    *, checks: int, proxied: bool
) -> None:
    """As when the process is stopped in between, for longer than its Lease lasts."""
    leadership = EndingLeadership(checks)
    async with serving(answer(b"{}")) as server, AsyncExitStack() as stack:
        access = access_to("http://192.0.2.1", proxy=server.url) if proxied else access_to(server.url)
        client = await stack.enter_async_context(connected(access, leadership=leadership))
        async with asyncio.timeout(WAIT_S):
            with pytest.raises(NotLeading):
                await client.write("PUT", "/x", Traffic.STATUS, b"{}")
            assert leadership.checks == checks + 1
            # What could have been half a request is behind: the next one has a connection of its own.
            assert await client.get("/x", Traffic.LIST) == b"{}"
        assert [request.method for request in server.requests] == ["GET"]


async def test_a_write_that_waits_to_be_sent_again_is_stopped_by_who_may_no_longer_want_it() -> None:
    frozen = False

    def may_send() -> None:
        if frozen:
            raise NotMandated("an operator says so")

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        nonlocal frozen
        frozen = True
        writer.write(BUSY)

    async with serving(say) as server, connected_to(server.url) as client:
        for _ in range(2):
            with pytest.raises(NotMandated):
                await client.write("PUT", "/x", Traffic.SCALE, b"{}", may_send=may_send)
        assert len(server.requests) == 1


async def test_reads_and_leases_need_no_leadership() -> None:
    leadership = SetLeadership()
    leadership.leading = False
    async with serving(answer(b"{}")) as server, connected_to(server.url, leadership=leadership) as client:
        await client.get("/x", Traffic.LIST)
        await client.contend("PUT", "/lease", b"{}", 5.0)
        assert [request.method for request in server.requests] == ["GET", "PUT"]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-", "closed before the answer was complete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}", "cut off or damaged"),
        (CHUNKED + b"5\r\n{", "cut off or damaged"),
        (CHUNKED + chunk(b"{}"), "cut off or damaged"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "no valid HTTP"),
        (b"", "closed before the answer was complete"),
    ],
    ids=["headers", "body", "chunk", "last-chunk", "ssh", "nothing"],
)
async def test_half_answers_are_told(said: bytes, text: str) -> None:
    recorder = Recorder()
    async with serving(cut_after(said)) as server, connected_to(server.url, recorder=recorder) as client:
        with pytest.raises(Unreachable, match=text):
            await client.get("/x", Traffic.LIST)
        assert recorder.answers[-1].traffic == "list"


async def test_compression_that_nobody_has_asked_for_is_told() -> None:
    said = answer(b"no gzip at all", "Content-Encoding: gzip")
    async with serving(said) as server, connected_to(server.url) as client:
        with pytest.raises(Unreachable, match="encoded in a way that was not asked for"):
            await client.get("/x", Traffic.LIST)


async def test_redirections_are_not_followed() -> None:
    async with serving(answer(b"{}")) as elsewhere:
        moved = answer(b"", f"Location: {elsewhere.url}/", status="302 Found")
        async with serving(moved) as server, connected_to(server.url) as client:
            with pytest.raises(Rejected, match="not followed"):
                await client.get("/x", Traffic.LIST)
            with pytest.raises(Rejected, match="not followed"):
                await client.get_in_parts("/x", Traffic.LIST, lambda _: None)
        assert elsewhere.requests == []


async def test_an_answer_beyond_all_reason_is_not_read_to_its_end() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED)
        part = chunk(b"x" * 2**20)
        for _index in range(200):
            writer.write(part)
            await writer.drain()

    async with serving(say) as server, connected_to(server.url) as client:
        with pytest.raises(Rejected, match="larger than"):
            await client.get("/x", Traffic.LIST)


async def test_a_token_that_is_refused_is_read_again_at_once(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("old\n")

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        good = received.header("authorization") == "Bearer new"
        writer.write(answer(b"{}") if good else answer(b"no", status="401 Unauthorized"))

    async with serving(say) as server, connected(access_to(server.url, tokens=FileToken(str(path)))) as client:
        with pytest.raises(Refused):
            await client.get("/x", Traffic.LIST)
        path.write_text("new\n")
        # The client looks at the file once more because of the refusal, not because a minute has passed.
        assert await client.get("/x", Traffic.LIST) == b"{}"
        assert server.requests[-1].header("authorization") == "Bearer new"


async def test_nothing_is_sent_without_the_credentials_that_are_configured(tmp_path: Path) -> None:
    tokens = FileToken(str(tmp_path / "gone"))
    async with serving(answer(b"{}")) as server, connected(access_to(server.url, tokens=tokens)) as client:
        with pytest.raises(Unreachable, match="token file") as caught:
            await client.get("/x", Traffic.LIST)
        assert isinstance(caught.value.__cause__, CredentialsError)
        assert server.connections == 0


async def test_the_loop_turns_between_the_small_parts_of_all_long_answers() -> None:
    loop, taken, sizes = LoopIterations(), Counter[int](), list[int]()

    def take(part: bytes) -> None:
        taken.update([loop.number])
        sizes.append(len(part))

    async with serving(answer(b"x" * 1_000_000)) as server, connected_to(server.url) as client:
        reads = (client.get_in_parts("/long", Traffic.RESOURCE_METRICS, take) for _ in range(10))
        await asyncio.wait_for(asyncio.gather(*reads), WAIT_S)
    await loop.stop()
    assert sum(sizes) == 10_000_000
    assert max(sizes) <= PART_BYTES_MAX
    # One that had to wait, and one that did not.
    assert max(taken.values()) <= 2


@pytest.mark.parametrize("status", ["200 OK", "409 Conflict"])
async def test_of_syncs_that_are_answered_all_at_once_few_go_on_in_an_iteration_and_the_lease_at_once(
    status: str,
) -> None:
    loop, ended, order, together = LoopIterations(), Counter[int](), list[int](), 10 * PER_ITERATION
    asking: dict[int, asyncio.StreamWriter] = {}
    everybody_asks = asyncio.Event()

    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        asking[int(received.target.removeprefix("/"))] = writer
        if len(asking) == together + 1:
            for number in sorted(asking):  # the Lease last
                asking[number].write(answer(b"{}", status=status))
            everybody_asks.set()
        await everybody_asks.wait()

    async def sync(client: Client, number: int) -> None:
        precedence.begin(-number)  # the one that is answered last has been due longest
        with contextlib.suppress(Conflict):
            await client.write("PUT", f"/{number}", Traffic.STATUS, b"{}")
        ended.update([loop.number])
        order.append(number)

    async def renew(client: Client) -> int:
        with contextlib.suppress(Conflict):
            await client.write("PUT", f"/{together}", Traffic.LEASE, b"{}")
        return loop.number

    async with serving(say) as server, connected_to(server.url) as client:
        syncs = [asyncio.create_task(sync(client, number)) for number in range(together)]
        renewed = await asyncio.wait_for(renew(client), WAIT_S)
        await asyncio.wait_for(asyncio.gather(*syncs), WAIT_S)
    await loop.stop()
    assert ended.total() == together
    # Those that had to wait, and those that did not.
    assert max(ended.values()) <= 2 * PER_ITERATION
    assert renewed < max(ended) - together // PER_ITERATION // 2
    early = sum(number < together // 2 for number in order[: together // 2])
    assert early > 0.8 * together // 2, "the order is not that of the answers"


@pytest.mark.parametrize("traffic", [Traffic.EXTERNAL_METRICS, Traffic.CUSTOM_SCALE])
async def test_a_metrics_api_or_a_custom_resource_that_hangs_delays_nobody_else(traffic: Traffic) -> None:
    async def say(received: Received, writer: asyncio.StreamWriter) -> None:
        if received.target != "/hang":
            writer.write(answer(b"{}"))

    async with serving(say) as server, connected_to(server.url) as client, asyncio.TaskGroup() as group:
        hanging = [group.create_task(client.get("/hang", traffic)) for _ in range(100)]
        async with asyncio.timeout(WAIT_S):
            await _arrived(server, 32)
            await client.get("/scale", Traffic.SCALE)
            await client.write("PUT", "/status", Traffic.STATUS, b"{}")
            await client.contend("PUT", "/lease", b"{}", 5.0)
        assert not any(task.done() for task in hanging)
        for task in hanging:
            task.cancel()


async def test_a_scale_that_is_written_is_told_from_one_that_is_read_before_anything_is_decided() -> None:
    """A read may hang for as long as it is given, and events must not give way to that."""
    go_on = asyncio.Event()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        await go_on.wait()
        writer.write(answer(b"{}"))

    async def write(client: Client, turns: Turns) -> None:
        async with turns.held(SCALE_FIRST, 0.0):
            await client.write("PUT", "/scale", Traffic.SCALE, b"{}")

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):
        read = asyncio.create_task(client.get("/scale", Traffic.SCALE))
        await _arrived(server, 1)
        assert not client.writes_scales
        written = asyncio.create_task(write(client, Turns(1)))
        await _arrived(server, 2)
        assert client.writes_scales
        go_on.set()
        await asyncio.gather(read, written)
        assert not client.writes_scales


async def _arrived(server: RawServer, count: int) -> None:
    while len(server.requests) < count:  # noqa: ASYNC110 - bounded by the caller
        await asyncio.sleep(0.01)


async def test_a_silent_metrics_api_takes_few_places_and_nobody_waits_for_it_twice() -> None:
    awake = asyncio.Event()

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        await awake.wait()
        writer.write(answer(b"{}"))

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):

        async def ask(count: int, timeout_s: float) -> Sequence[object]:
            asked = (client.get(f"/{n}", Traffic.CUSTOM_METRICS, timeout_s=timeout_s) for n in range(count))
            answers: Sequence[object] = await asyncio.gather(*asked, return_exceptions=True)
            return answers

        silence = await ask(100, 0.5)
        assert all(isinstance(one, Unreachable) for one in silence)
        assert len(server.requests) == 32
        assert sum("not asked: other custom-metrics requests had no answer" in str(one) for one in silence) == 100 - 32
        await ask(20, 0.5)
        assert len(server.requests) == 32 + SILENT_PLACES
        awake.set()
        assert await ask(100, WAIT_S) == [b"{}"] * 100


async def test_too_many_requests_time_out_in_line_and_say_so() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        del writer

    async with serving(say) as server, connected_to(server.url) as client:
        first = [asyncio.create_task(client.get("/x", Traffic.EVENT, timeout_s=60)) for _ in range(4)]
        await asyncio.sleep(0)  # they take all places
        with pytest.raises(Unreachable, match=r"not sent within 0\.5 s: too many event requests"):
            await client.get("/x", Traffic.EVENT, timeout_s=0.5)
        for task in first:
            task.cancel()
        await asyncio.gather(*first, return_exceptions=True)
        with pytest.raises(Unreachable, match=r"no answer within 0\.5 s"):
            await client.get("/x", Traffic.EVENT, timeout_s=0.5)


async def test_reads_of_syncs_wait_for_their_turn_as_long_as_it_takes() -> None:
    """Who gave up would come back as the youngest; the server has its time once it is asked."""
    async with serving(answer(b"{}")) as server, connected_to(server.url, qps=5, burst=1) as client:
        reads = [client.get("/x", Traffic.EXTERNAL_METRICS, timeout_s=1.0) for _ in range(10)]
        async with asyncio.timeout(WAIT_S):
            assert await asyncio.gather(*reads) == [b"{}"] * 10


async def test_a_watch_that_falls_silent_ends() -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + chunk(b'{"a":1}\n'))

    async with serving(say) as server, connected_to(server.url) as client, asyncio.timeout(WAIT_S):
        got = list[bytes]()
        with pytest.raises(Unreachable, match="no answer in time"):
            await client.stream("/w", {}, 0.2, lambda: got.append(b"accepted"), got.append)
        assert got == [b"accepted", b'{"a":1}']


async def test_a_watch_brings_lines_of_any_length_and_tells_when_it_is_cut() -> None:
    large = b'{"a":"' + b"x" * (6 * 2**20) + b'"}'

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + chunk(large + b"\n" + b'{"half') + b"0\r\n\r\n")

    async with serving(say) as server, connected_to(server.url) as client:
        got = list[bytes]()
        with pytest.raises(Unreachable, match="in the middle of a line"):
            await client.stream("/w", {}, 5.0, lambda: got.append(b"accepted"), got.append)
        assert got == [b"accepted", large]


async def test_of_watches_as_of_lists_it_is_counted_what_was_answered() -> None:
    said = [CHUNKED + chunk(b'{"a":1}\n') + b"0\r\n\r\n", answer(b"{}", status="403 Forbidden"), b""]

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(said.pop(0))
        writer.close()

    recorder = Recorder()
    async with serving(say) as server, connected_to(server.url, recorder=recorder) as client, asyncio.timeout(WAIT_S):
        await client.stream("/w", {}, 5.0, always, list[bytes]().append)
        for expected in (Refused, Unreachable):
            with pytest.raises(expected):
                await client.stream("/w", {}, 5.0, always, list[bytes]().append)
    assert recorder.answers == [Answered("list", "GET", code) for code in ("200", "403", NO_ANSWER)]


async def test_a_watch_that_is_cut_leaves_nothing_for_the_collector() -> None:
    """Else connections would stay until the oldest generation is collected, which may be hours."""

    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + chunk(b'{"a":1}\n'))
        await writer.drain()
        writer.close()

    async with serving(say) as server, connected_to(server.url) as client:
        with leaving_none(aiohttp.ClientResponse):
            for _ in range(10):
                with pytest.raises(Unreachable, match="cut off"):
                    await client.stream("/w", {}, 5.0, always, list[bytes]().append)
            await asyncio.sleep(0)


async def test_a_request_without_an_answer_leaves_nothing_for_the_collector() -> None:
    """Else the task that asked, and all that it was doing, would stay until the oldest generation is collected."""
    async with serving(silent) as server, connected_to(server.url) as client:
        asked = SharedReads[str, bytes](
            lambda path: client.get(path, Traffic.EXTERNAL_METRICS, timeout_s=0.05),
            asyncio.get_running_loop().time,
            1.0,
        )
        with leaving_none(Unreachable):
            with pytest.raises(Unreachable, match="no answer within"):
                await asked.get("/a")
            await asyncio.sleep(0)


@pytest.mark.parametrize("refused", [1, ATTEMPTS_MAX], ids=["made good", "to the end"])
async def test_further_attempts_leave_nothing_for_the_collector(refused: int) -> None:
    async def say(_: Received, writer: asyncio.StreamWriter) -> None:
        number = len(server.requests) - 1
        writer.write(BUSY if number % ATTEMPTS_MAX < refused else answer(b"{}"))

    async def ask(client: Client) -> None:
        for _ in range(3):
            with contextlib.suppress(Throttled):
                await client.get("/a", Traffic.EXTERNAL_METRICS)
            del server.requests[:]

    async with serving(say) as server, connected_to(server.url) as client:
        await ask(client)  # the server's side of a connection is a task as well
        with leaving_none(Throttled, Attempts, asyncio.Task, tenacity.AsyncRetrying):
            await asyncio.create_task(ask(client))
            await asyncio.sleep(0)
