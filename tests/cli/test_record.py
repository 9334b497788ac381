"""`hpa-controller record` against a controller's introspection page."""

import asyncio
import gzip
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
import pytest
import structlog
from aiohttp import web

from controller.cli.main import main
from controller.decide.instants import NANOSECONDS, Now
from controller.decide.observed import ReadFailure
from controller.decide.spec import Settings
from controller.recorder import Source
from controller.recording.check import check_file
from controller.recording.live_file import LiveRecording, header_of
from controller.telemetry.recordings import LISTENERS_MAX, PATH, PENDING_MAX, Broadcast
from controller.telemetry.server import Listener
from tests.bench.deciding import START_NS, Syncs
from tests.builders import observation, scale
from tests.cli.explain_cluster import FakeCluster, fake_cluster
from tests.recording.disks import files_no_larger_than
from tests.recording.lived import CPU, ticks

KEY = "shop/web"
BEAT_S = 0.02
DAYS_NS = 3 * 86_400 * NANOSECONDS
"""For how long the controller has been at work when somebody asks for a recording."""

MIB = 1024 * 1024
T = TypeVar("T")


def broadcast(*, silence_s: float = 10.0, unread_max_s: float = 60.0) -> Broadcast:
    source = Source(Settings(), 15.0, Now(START_NS - DAYS_NS, START_NS - DAYS_NS))
    return Broadcast(source, lambda: Now(START_NS, START_NS), silence_s=silence_s, unread_max_s=unread_max_s)


def silence(key: str) -> str:
    """There is one HPA."""
    return "" if key == KEY else f"there is no HPA {key}"


@contextmanager
def controller(*, beats: int = 10_000, deleted: bool = False) -> Iterator[str]:
    """The address of a page that tells of a sync every 20 ms, so many times after the first listener has come.

    `deleted`: then the HPA is, while the controller stays.
    """
    with at_work(beats=beats, deleted=deleted) as (address, _):
        yield address


@contextmanager
def in_a_thread(serve: Callable[[Callable[[T], None], threading.Event], Coroutine[Any, Any, None]]) -> Iterator[T]:
    """What a server says once it is ready; it serves in a loop of its own until the event is set."""
    ready, stop = threading.Event(), threading.Event()
    found: list[T] = []

    def begun(what: T) -> None:
        found.append(what)
        ready.set()

    thread = threading.Thread(target=lambda: asyncio.run(serve(begun, stop)))
    with structlog.testing.capture_logs():
        thread.start()
        try:
            assert ready.wait(10)
            yield found[0]
        finally:
            stop.set()
            thread.join(10)
            assert not thread.is_alive()


@contextmanager
def at_work(*, beats: int = 10_000, deleted: bool = False) -> Iterator[tuple[str, FakeCluster]]:
    """The same, and a cluster in which a pod has that page at its port 8082."""

    async def serve(begun: Callable[[tuple[str, FakeCluster]], None], stop: threading.Event) -> None:
        source, syncs, listeners, told = broadcast(silence_s=10 * BEAT_S), Syncs(), 0, 0
        page = source.route(lambda key: f"HPA {key} has been deleted" if deleted and told >= beats else silence(key))

        async def record(request: web.Request) -> web.StreamResponse:
            nonlocal listeners
            listeners += 1
            return await page(request)

        listener = Listener("127.0.0.1:0", {PATH: record})
        async with fake_cluster() as cluster:
            await listener.start()
            cluster.ports[8082] = listener.port
            cluster.piece = 4096
            begun((f"127.0.0.1:{listener.port}", cluster))
            while (told < beats or deleted) and not stop.is_set():
                await asyncio.sleep(BEAT_S)
                if told < beats:
                    told += listeners > 0
                    source(syncs.sync())
            await listener.stop()

    with in_a_thread(serve) as found:
        yield found


def record(address: str, *arguments: object) -> int:
    return main(["record", *map(str, arguments), f"--introspection-address={address}"])


@pytest.mark.parametrize("name", ["one.jsonl", "one.jsonl.gz"])
def test_what_is_decided_meanwhile_is_recorded(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / name
    with controller() as address:
        assert record(address, KEY, "--for=500ms", "-o", path) == 0
    said, errors = capsys.readouterr()
    *shown, last = said.splitlines()
    result = check_file(path)
    assert (result.compared, result.differing, result.notes) == (len(shown), 0, [])
    assert len(shown) > 1
    assert all("metrics want " in line for line in shown)
    assert last == f"{len(shown)} syncs of shop/web in {path}; `hpa-controller replay {path}` shows them"
    assert errors == ""
    assert header_of(path).hpa == KEY
    assert header_of(path).began == Now(START_NS, START_NS), "when it was asked for, and not when the controller began"
    [first, *_] = [tick.t for _, tick in LiveRecording(path).ticks()]
    assert 0 < first < 3600


def test_the_file_is_named_after_the_hpa_and_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with controller() as address:
        assert record(address, KEY, "--for=200ms") == 0
    [path] = tmp_path.glob("shop-web-20*Z.jsonl.gz")
    assert gzip.decompress(path.read_bytes()).startswith(b'{"format":"hpa-recording/2"')


def recorded(count: int) -> str:
    return "1 sync is recorded" if count == 1 else f"{count} syncs are recorded"


ENDED = "the recording has ended early: the controller stops or is out of reach"


def test_a_controller_that_stops_leaves_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.jsonl"
    with controller(beats=8) as address:
        assert record(address, KEY, "--for=30s", "-o", path) == 3
    said, errors = capsys.readouterr()
    count = len(said.splitlines()) - 1
    assert count >= 1
    assert errors == f"hpa-controller: {ENDED}; partial: {recorded(count)}\n"
    assert check_file(path).compared == count


def test_why_a_recording_ends_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.jsonl"
    with controller(beats=8, deleted=True) as address:
        assert record(address, KEY, "--for=30s", "-o", path) == 3
    count = check_file(path).compared
    assert count >= 1
    assert capsys.readouterr().err == (
        f"hpa-controller: the recording has ended early: HPA shop/web has been deleted; partial: {recorded(count)}\n"
    )


@pytest.mark.parametrize("named", [("web", "-n", "shop"), ("web", "--namespace=shop")])
def test_the_namespace_is_named_as_kubectl_has_it(named: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with controller() as address:
        assert record(address, *named, "--for=200ms", "-o", path) == 0
    assert header_of(path).hpa == KEY


def test_a_namespace_is_given_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert record("127.0.0.1:1", KEY, "-n", "shop") == 2
    assert "record: shop/web names a namespace itself: leave --namespace out" in capsys.readouterr().err


def test_the_controller_is_found_in_the_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By the Lease, through the API server: no address has to be known, no port to be open."""
    path = tmp_path / "forwarded.jsonl.gz"
    with at_work() as (_, cluster):
        kubeconfig = cluster.kubeconfig(tmp_path)
        assert main(["record", KEY, "--for=1s", "-o", str(path), f"--kubeconfig={kubeconfig}"]) == 0
        gone = main(["record", "shop/gone", "-o", str(tmp_path / "gone.jsonl"), f"--kubeconfig={kubeconfig}"])
    said, errors = capsys.readouterr()
    result = check_file(path)
    assert (result.differing, result.notes) == (0, [])
    assert result.compared == len(said.splitlines()) - 1 > 1
    assert (gone, errors) == (1, "hpa-controller: there is no HPA shop/gone\n")


def test_a_kubeconfig_may_name_any_namespace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with at_work() as (_, cluster):
        cluster.namespace = "müsli? x"
        kubeconfig = cluster.kubeconfig(tmp_path)
        assert main(["record", "web", "-o", str(tmp_path / "none.jsonl"), f"--kubeconfig={kubeconfig}"]) == 1
    assert capsys.readouterr().err == "hpa-controller: there is no HPA müsli? x/web\n"


def test_a_pod_that_goes_away_leaves_a_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "part.jsonl"
    with at_work(beats=8) as (_, cluster):
        kubeconfig = cluster.kubeconfig(tmp_path)
        assert main(["record", KEY, "--for=30s", "-o", str(path), f"--kubeconfig={kubeconfig}"]) == 3
    count = check_file(path).compared
    assert count >= 1
    assert capsys.readouterr().err == f"hpa-controller: {ENDED}; partial: {recorded(count)}\n"


def test_a_pod_that_cannot_be_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.jsonl"
    with at_work() as (_, cluster):
        kubeconfig = cluster.kubeconfig(tmp_path)
        cluster.ports.clear()
        assert main(["record", KEY, "-o", str(path), f"--kubeconfig={kubeconfig}"]) == 3
        cluster.forwarding = 403
        assert main(["record", KEY, "-o", str(path), f"--kubeconfig={kubeconfig}"]) == 3
    refused, forbidden = capsys.readouterr().err.splitlines()
    assert "connection refused" in refused
    assert "that takes the verbs get and create on pods/portforward" in forbidden
    assert not path.exists()


def unused() -> str:
    """An address where nobody listens."""
    with controller() as address:
        return address


def test_nobody_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = unused()
    path = tmp_path / "none.jsonl"
    assert record(address, KEY, "-o", path) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"hpa-controller: no controller answers at {address}: connection refused; ")
    assert said.count("\n") == 1
    assert not path.exists(), "nothing is no recording"


@pytest.mark.parametrize("lines", [0, 1])
def test_a_reader_of_standard_output_who_has_had_enough_ends_it_quietly(lines: int) -> None:
    """As in `record -o - | head`."""
    with controller() as address:
        process = subprocess.Popen(  # noqa: S603 - our own program
            [
                *(sys.executable, "-m", "controller", "record", KEY, "--for=60s", "-o", "-"),
                f"--introspection-address={address}",
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            for _ in range(lines):
                assert process.stdout.readline().startswith(b'{"format":"hpa-recording/2"')
            process.stdout.close()
            assert (process.wait(30), process.stderr.read()) == (141, b"")
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


def test_a_disk_that_is_full_is_not_taken_for_the_connection(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "full.jsonl"
    with controller() as address, files_no_larger_than(20_000):
        assert record(address, KEY, "--for=30s", "-o", path) == 2
    assert re.fullmatch(f"hpa-controller: {path}: file too large; [0-9]+ syncs are recorded\n", capsys.readouterr().err)


def test_a_file_without_a_header_is_not_left_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "full.jsonl"
    with controller() as address, files_no_larger_than(20):
        assert record(address, KEY, "--for=30s", "-o", path) == 2
        assert record(address, KEY, "--for=30s", "-o", "/dev/full") == 2
        assert list(tmp_path.iterdir()) == []
        link = tmp_path / "link.jsonl"
        link.symlink_to(path)
        assert record(address, KEY, "--for=30s", "-o", link) == 2
        assert link.is_symlink(), "it is not ours"
    assert capsys.readouterr().err == (
        f"hpa-controller: {path}: file too large\nhpa-controller: /dev/full: no space left on device\n"
        f"hpa-controller: {link}: file too large\n"
    )
    assert Path("/dev/full").is_char_device()


def test_an_hpa_that_does_not_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with controller() as address:
        assert record(address, "shop/gone", "-o", tmp_path / "none.jsonl") == 1
    assert capsys.readouterr().err == "hpa-controller: there is no HPA shop/gone\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("shop/web/x",), "argument [NAMESPACE/]NAME: 'shop/web/x' is not [NAMESPACE/]NAME"),
        (("../web",), "argument [NAMESPACE/]NAME: '../web' is not [NAMESPACE/]NAME"),
        (("web", "-n", "a b"), "argument -n/--namespace: 'a b' is no name of a namespace"),
        (("web", "-n", "shop?x"), "argument -n/--namespace: 'shop?x' is no name of a namespace"),
        (("web", "-n", "müsli"), "argument -n/--namespace: 'müsli' is no name of a namespace"),
        (("web", "-n", ".."), "argument -n/--namespace: '..' is no name of a namespace"),
        ((KEY, "--for=10"), "argument --for: '10' is not a duration such as 30s, 1m30s or 500ms"),
        ((KEY, "--for=-1s"), "argument --for: '-1s' is too short"),
    ],
)
def test_bad_arguments(arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        record("127.0.0.1:1", *arguments)
    assert ended.value.code == 2
    assert f"hpa-controller record: {said}" in capsys.readouterr().err


def test_a_file_that_cannot_be(capsys: pytest.CaptureFixture[str]) -> None:
    with controller() as address:
        assert record(address, KEY, "-o", "/nowhere/x.jsonl") == 2
    assert capsys.readouterr().err == "hpa-controller: /nowhere/x.jsonl: no such file or directory\n"


def test_a_file_from_before_stays_until_something_comes(tmp_path: Path) -> None:
    path = tmp_path / "before.jsonl"
    path.write_text("precious\n")
    assert record(unused(), KEY, "-o", path) == 3
    with controller() as address:
        assert record(address, "shop/gone", "-o", path) == 1
        assert path.read_text() == "precious\n"
        assert record(address, KEY, "--for=300ms", "-o", path) == 0
    assert header_of(path).hpa == KEY


@contextmanager
def talking(*lines: bytes) -> Iterator[str]:
    """The address of a page that gives these lines, whatever is asked."""

    async def say(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        await answer.write(b"".join(lines))
        return answer

    async def serve(begun: Callable[[str], None], stop: threading.Event) -> None:
        listener = Listener("127.0.0.1:0", {PATH: say})
        await listener.start()
        begun(f"127.0.0.1:{listener.port}")
        await asyncio.to_thread(stop.wait, 60)
        await listener.stop()

    with in_a_thread(serve) as address:
        yield address


@pytest.mark.parametrize("line", [b"<html>\n", b"<html>", b'{"x":' + b"[" * 100_000 + b"\n"])
def test_what_is_no_recording_is_said_and_leaves_no_file(
    line: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with talking(line) as address:
        assert record(address, KEY, "-o", tmp_path / "x") == 1
    errors = capsys.readouterr().err
    assert "what answers sends no recording" in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_sync_in_an_unknown_form_is_recorded_and_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "newer.jsonl"
    lines = (broadcast_header(), b'{"newer":true}\n', b'{"x":' + b"[" * 100_000 + b"\n")
    with talking(*lines) as address:
        assert record(address, KEY, "-o", path) == 3
    *shown, _ = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    assert all(line.startswith("recorded, but another version has to show it") for line in shown)
    assert path.read_bytes() == b"".join(lines)


def test_what_adapters_said_does_not_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ticks(CPU, [observation(scale(2), ReadFailure("\x1b[2J gone\nfor good"))])
    with talking(broadcast_header(), *lines) as address:
        assert record(address, KEY, "-o", tmp_path / "odd.jsonl") == 3
    shown, _ = capsys.readouterr().out.splitlines()
    assert "\\x1b[2J gone\\nfor good" in shown


def broadcast_header() -> bytes:
    return Source(Settings(), 15.0, Now(START_NS, START_NS)).header(hpa=KEY)


def test_who_reads_along_may_leave(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    with controller() as address:
        words = (
            "-m",
            "controller",
            "record",
            KEY,
            "--for=2s",
            f"--output={path}",
            f"--introspection-address={address}",
        )
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        with subprocess.Popen(  # noqa: S603 - our own code
            [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
        ) as command:
            assert command.stdout is not None
            assert b"metrics want" in command.stdout.readline()
            command.stdout.close()
            assert command.wait(30) == 0
            assert command.stderr is not None
            assert command.stderr.read() == b""
    assert check_file(path).compared > 20, "it went on"


def test_another_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with at_work() as (_, cluster):
        # The API server itself has no such page.
        address = cluster.url.removeprefix("http://")
        assert record(address, KEY, "-o", tmp_path / "x") == 1
    said = "answers 404 to a request for a recording: is that the port of --introspection-bind-address? If so,"
    assert said in capsys.readouterr().err


# --- the page itself -------------------------------------------------------------------------------


async def listened(
    story: Callable[[Broadcast], None], count: int, told_of: Callable[[str], str] = silence, silence_s: float = 10.0
) -> list[bytes]:
    """At most so many lines that a listener gets while a story happens before anything can be sent."""
    source = broadcast(silence_s=silence_s)
    listener = Listener("127.0.0.1:0", {PATH: source.route(told_of)})
    await listener.start()
    url = f"http://127.0.0.1:{listener.port}/record/{KEY}"
    lines: list[bytes] = []
    try:
        async with aiohttp.ClientSession(trust_env=False) as session, session.get(url) as answer:
            lines.append(await answer.content.readline())
            story(source)
            while len(lines) <= count and (line := await asyncio.wait_for(answer.content.readline(), 10)):
                lines.append(line)
    finally:
        await listener.stop()
    return lines


async def test_a_listener_that_is_too_slow_is_sent_away() -> None:
    """A gap would be taken for the whole."""

    def flood(source: Broadcast) -> None:
        syncs = Syncs()
        for _ in range(PENDING_MAX * 2):
            source(syncs.sync())

    _, *told, last = await listened(flood, PENDING_MAX * 2)
    assert len(told) == PENDING_MAX
    assert msgspec.json.decode(last) == {"error": "100 syncs were waiting to be read"}


async def test_a_listener_that_takes_nothing_any_more_gives_its_place_up() -> None:
    source, syncs = broadcast(unread_max_s=0.1), Syncs()
    listener = Listener("127.0.0.1:0", {PATH: source.route(silence)})
    await listener.start()
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port, limit=1024)
        writer.write(f"GET /record/{KEY} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        await reader.readline()
        async with asyncio.timeout(60):
            while source._listeners:
                if source._listeners[KEY][0].queue.qsize() < PENDING_MAX // 2:
                    source(syncs.sync())
                await asyncio.sleep(0)
            with suppress(ConnectionError):
                while await reader.read(MIB):
                    pass
        writer.close()
    finally:
        await listener.stop()


async def test_only_its_own_hpa_is_told() -> None:
    def two(source: Broadcast) -> None:
        sync = Syncs().sync()
        source(msgspec.structs.replace(sync, autoscaler=msgspec.structs.replace(sync.autoscaler, name="other")))
        source(sync)

    _, line = await listened(two, 1)
    assert msgspec.json.decode(line)["hpa"] == KEY


async def test_so_many_listen_at_most_and_one_that_leaves_makes_room() -> None:
    source = broadcast(silence_s=0.05)
    listener = Listener("127.0.0.1:0", {PATH: source.route(silence)})
    await listener.start()
    url = f"http://127.0.0.1:{listener.port}/record/{KEY}"
    try:
        async with AsyncExitStack() as stack, asyncio.timeout(60):
            connector = aiohttp.TCPConnector(limit=0)
            session = await stack.enter_async_context(aiohttp.ClientSession(trust_env=False, connector=connector))
            first, *_ = [await stack.enter_async_context(session.get(url)) for _ in range(LISTENERS_MAX)]
            async with session.get(url) as answer:
                assert answer.status == 429
                assert await answer.json() == {"error": "100 recordings are under way already"}
            first.close()
            status = 429
            while status == 429:
                async with session.get(url) as answer:
                    status = answer.status
            assert status == 200
    finally:
        await listener.stop()


async def test_it_ends_when_another_one_decides() -> None:
    """A recording that went on would have nothing in it, and look whole."""
    standing = [""]

    def overthrown(source: Broadcast) -> None:
        source(Syncs().sync())
        standing[0] = "this instance does not lead"

    lines = await listened(overthrown, 10_000, lambda _: standing[0], 0.05)
    *told, last = (line for line in lines if line != b"\n")
    assert len(told) == 2, "what was decided is still told, after the header"
    assert msgspec.json.decode(last) == {"error": "this instance does not lead"}
    assert await refusal(lambda _: "this instance does not lead") == (404, "this instance does not lead")


async def refusal(told_of: Callable[[str], str]) -> tuple[int, str]:
    listener = Listener("127.0.0.1:0", {PATH: broadcast().route(told_of)})
    await listener.start()
    try:
        url = f"http://127.0.0.1:{listener.port}/record/{KEY}"
        async with aiohttp.ClientSession(trust_env=False) as session, session.get(url) as answer:
            return answer.status, (await answer.json())["error"]
    finally:
        await listener.stop()
