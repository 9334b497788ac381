"""`explain` finds the controller by itself, shows what it tells, and says in one line what is wrong."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import yaml
from aiohttp import web

from controller.cli.main import main
from controller.decide.instants import format_rfc3339_ms
from controller.explain.answer import Answer
from controller.ports import WatchedAutoscaler
from controller.telemetry.explanations import PATH, Standing, explain_route
from controller.telemetry.server import Listener
from tests import builders
from tests.cli.explain_cluster import (
    POD,
    FakeCluster,
    Follower,
    Say,
    fake_cluster,
    known,
    lease,
    page,
    pod,
    remembered,
    traced,
)

Capture = pytest.CaptureFixture[str]
LONG = "a-release-with-a-long-name-hpa-controller"


def saying(body: bytes, status: int = 200) -> Say:
    async def say(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, body=body)

    return say


@pytest.fixture
async def cluster() -> AsyncIterator[FakeCluster]:
    async with fake_cluster() as cluster:
        yield cluster


class Told:
    def __init__(self, code: int, capture: Capture) -> None:
        self.code = code
        self.out, self.err = capture.readouterr()


async def explain(
    cluster: FakeCluster,
    folder: Path,
    capture: Capture,
    *arguments: str,
    say: Say | None = None,
    hpa: tuple[str, ...] = ("shop/web",),
) -> Told:
    """The command against a cluster whose controller answers so; it runs beside the servers."""
    listener = Listener("127.0.0.1:0", {PATH: say or page()})
    await listener.start()
    capture.readouterr()
    cluster.ports[8082] = listener.port
    words = ["explain", *hpa, "--kubeconfig", str(cluster.kubeconfig(folder)), *arguments]
    try:
        return Told(await asyncio.wait_for(asyncio.to_thread(main, words), 30), capture)
    finally:
        await listener.stop()


async def test_the_holder_of_the_lease_is_asked(cluster: FakeCluster, tmp_path: Path, capsys: Capture) -> None:
    told = await explain(cluster, tmp_path, capsys)
    assert (told.code, told.err) == (0, "")
    lines = told.out.splitlines()
    assert lines[0] == "shop/web  2026-01-31T12:00:00.000Z"
    assert lines[1].startswith("Scaled from 3 to 6 replicas: average CPU is 160 %, target 60 %")
    assert "\x1b" not in told.out, "colour is for terminals"
    assert cluster.asked[0].endswith("/leases?fieldSelector=metadata.name=hpa-controller")
    assert cluster.asked[1].endswith(f"/namespaces/kube-system/pods/{POD}/portforward?ports=8082")


@pytest.mark.parametrize("hpa", [("web", "-n", "shop"), ("-n=shop", "web"), ("web",)])
async def test_an_hpa_is_named_as_kubectl_names_it(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture, hpa: tuple[str, ...]
) -> None:
    cluster.namespace = "shop" if len(hpa) == 1 else ""
    told = await explain(cluster, tmp_path, capsys, "-o", "json", hpa=hpa)
    assert (told.code, told.err) == (0, "")
    assert msgspec.json.decode(told.out, type=Answer).hpa == "shop/web"


@pytest.mark.parametrize("piece", [1, 7, 100_000])
async def test_answers_come_in_pieces_of_any_size(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture, piece: int
) -> None:
    cluster.piece = piece
    told = await explain(cluster, tmp_path, capsys, "--output", "json", "--last", "2")
    answer = msgspec.json.decode(told.out, type=Answer)
    assert [one.desired for one in answer.syncs] == [3, 6]
    assert answer.syncs[0].explained is not None
    assert not answer.syncs[0].explained.alternatives_complete, "only the newest is searched"
    assert json.loads(told.out)["syncs"][1]["observation"]["pods"], "everything is there"


async def test_earlier_syncs_are_a_line_each(cluster: FakeCluster, tmp_path: Path, capsys: Capture) -> None:
    told = await explain(cluster, tmp_path, capsys, "--last", "2")
    lines = told.out.splitlines()
    assert lines[0].startswith("12:00:00Z  Left at 3 replicas")
    assert sum("what would change it" in line for line in lines) == 1


async def test_yaml_has_the_same_content(cluster: FakeCluster, tmp_path: Path, capsys: Capture) -> None:
    told = await explain(cluster, tmp_path, capsys, "--output", "yaml")
    as_json = await explain(cluster, tmp_path, capsys, "--output", "json")
    assert yaml.safe_load(told.out) == json.loads(as_json.out)


async def test_the_port_is_read_from_the_command_line_of_the_pod(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster.pods[POD] = pod("--introspection-bind-address=127.0.0.1:9999")
    listener = Listener("127.0.0.1:0", {PATH: page()})
    await listener.start()
    cluster.ports[9999] = listener.port
    told = await explain(cluster, tmp_path, capsys)
    await listener.stop()
    assert told.code == 0
    assert cluster.asked[-1].endswith("ports=9999")


async def test_a_controller_without_a_lease_is_found_by_its_label(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster.leases = []
    cluster.labelled = [pod(phase="Pending"), pod()]
    assert (await explain(cluster, tmp_path, capsys)).code == 0


async def test_a_shadow_is_found_beside_the_lease_that_a_writer_has_left(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster.leases = [lease("")]
    cluster.labelled = [pod()]
    assert (await explain(cluster, tmp_path, capsys)).code == 0


async def test_a_pod_is_found_whose_lease_is_in_another_namespace(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster.leases = [lease(namespace="locks")]
    other = pod()
    other["metadata"] = {"name": "hpa-controller-7d9f-other", "namespace": "kube-system"}
    cluster.labelled = [other, pod()]
    assert (await explain(cluster, tmp_path, capsys)).code == 0
    assert cluster.asked[-1].partition("?")[0].endswith(f"/namespaces/kube-system/pods/{POD}/portforward")


@pytest.mark.parametrize(
    ("name", "host"),
    [
        (f"{LONG}-of-ours-5c9f4d7b6c-x2x4z", f"{LONG}-of-ours-5c9f4d7b6c-x2"),
        (f"{LONG}-in-the-eu-5c9f4d7b6c-x2x4z", f"{LONG}-in-the-eu-5c9f4d7b6c"),
    ],
    ids=["cut", "no hyphen at its end"],
)
async def test_a_pod_is_found_whose_name_is_longer_than_a_host_name_may_be(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture, name: str, host: str
) -> None:
    assert len(name) > 63
    cluster.leases = [lease(f"{host}_8f14e45f")]
    cluster.labelled = [pod(), pod(name=name)]
    assert (await explain(cluster, tmp_path, capsys)).code == 0
    assert cluster.asked[-1].partition("?")[0].endswith(f"/namespaces/kube-system/pods/{name}/portforward")


async def test_a_standby_is_said_to_be_one(cluster: FakeCluster, tmp_path: Path, capsys: Capture) -> None:
    told = await explain(cluster, tmp_path, capsys, say=page(Follower()))
    assert told.code == 0
    assert told.out.startswith("partial: this instance does not lead: other_1 holds the Lease and decides")


async def test_a_leader_that_cannot_renew_its_lease_says_so(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    """As far as it knows it is still the holder, which decides nothing."""
    cut_off = Follower()
    cut_off.holder = "us_1"
    told = await explain(cluster, tmp_path, capsys, say=page(cut_off))
    assert " ".join(told.out.split()).startswith(
        "partial: this instance could not renew its Lease and does not decide at present "
        "(is the API server reachable?) shop/web"
    )


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (None, "this HPA has been deleted; what follows is from before"),
        (
            msgspec.structs.replace(traced(3, 600).autoscaler, problem="spec.maxReplicas is missing"),
            "this HPA cannot be understood any more: spec.maxReplicas is missing; what follows is from before",
        ),
    ],
)
async def test_what_is_from_before_an_hpa_was_lost_is_said_to_be(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture, now: WatchedAutoscaler | None, said: str
) -> None:
    say = explain_route(remembered(traced(3, 600)), Standing(lambda _: now, None))
    told = await explain(cluster, tmp_path, capsys, say=say)
    assert told.code == 0
    assert " ".join(told.out.split()).startswith(f"partial: {said} shop/web 2026-01-31")


def test_what_the_leader_remembers_is_the_latest() -> None:
    class Leader:
        leading = True
        holder = "us_1"

    standing = Standing(known, Leader(), "us_1")
    assert (standing.partial(), standing.partial_of("shop/web"), standing.silence("shop/web")) == ("", "", "")


def test_where_nobody_leads_nothing_is_decided() -> None:
    nobody = Follower()
    nobody.holder = ""
    said = "this instance does not lead, and neither does another one: nothing is decided now"
    assert Standing(known, nobody, "us_1").partial() == said


def test_of_an_hpa_that_cannot_be_understood_no_sync_will_come() -> None:
    broken = msgspec.structs.replace(traced(3, 600).autoscaler, problem="spec.maxReplicas is missing")
    standing = Standing(lambda _: broken, None)
    assert standing.silence("shop/web") == "the HPA shop/web cannot be understood: spec.maxReplicas is missing"


async def test_what_would_be_too_long_with_all_inputs_begins_later_and_says_so() -> None:
    whole = await _bounded(2**20)
    told = msgspec.json.decode(whole, type=Answer)
    assert (len(told.syncs), told.partial) == (3, "")
    told = msgspec.json.decode(await _bounded(1), type=Answer)
    assert [one.time for one in told.syncs] == [format_rfc3339_ms(builders.now(45).wall_ns)]
    assert told.partial.startswith("2 older ones are left out")
    assert len(await _bounded(len(whole) // 2)) < len(whole), "one more is not added where the bound is passed already"


async def _bounded(bytes_max: int) -> bytes:
    """The answer about three of four syncs from a page with that bound."""
    traces = remembered(*(traced(3, 600, builders.now(15 * number)) for number in range(4)))
    _, body = await _asked("shop/web?last=3", explain_route(traces, Standing(known, None), bytes_max=bytes_max))
    return body


async def _asked(what: str, say: Say) -> tuple[int, bytes]:
    """The status and the body that the page answers with."""
    listener = Listener("127.0.0.1:0", {PATH: say})
    await listener.start()
    try:
        url = f"http://127.0.0.1:{listener.port}/explain/{what}"
        async with aiohttp.ClientSession(trust_env=False) as session, session.get(url) as answer:
            return answer.status, await answer.read()
    finally:
        await listener.stop()


@pytest.mark.parametrize(
    ("what", "status", "error"),
    [
        ("shop/web?last=0", 400, "last: '0' is not a whole number from 1 to 100"),
        ("shop/web?last=101", 400, "last: '101' is not a whole number from 1 to 100"),
        ("shop/web?last=all", 400, "last: 'all' is not a whole number from 1 to 100"),
        ("shop/gone", 404, "there is no HPA shop/gone"),
    ],
)
async def test_the_page_says_why_it_has_no_answer(what: str, status: int, error: str) -> None:
    answered, body = await _asked(what, page())
    assert (answered, msgspec.json.decode(body)) == (status, {"error": error})


@pytest.mark.parametrize(("detail", "whole"), [("", True), ("&detail=words", False)])
async def test_who_wants_words_gets_no_inputs(detail: str, *, whole: bool) -> None:
    _, body = await _asked(f"shop/web?last=2{detail}", page())
    syncs = msgspec.json.decode(body, type=Answer).syncs
    assert [one.explained is not None for one in syncs] == [True, True]
    assert [one.observation is not None for one in syncs] == [whole, whole]


async def test_an_older_controller_gives_what_it_has(cluster: FakeCluster, tmp_path: Path, capsys: Capture) -> None:
    sync_told: dict[str, Any] = {
        "time": "2026-01-31T12:00:00.000Z",
        "replicas": 3,
        "desired": 6,
        "scaledTo": 6,
        "why": "metrics want 8 (cpu)",
    }
    body = msgspec.json.encode({"hpa": "shop/web", "syncs": [sync_told]})
    told = await explain(cluster, tmp_path, capsys, say=saying(body))
    assert told.code == 0
    assert "3 → 6: metrics want 8 (cpu)" in told.out
    assert "older than this program" in told.out


@pytest.mark.parametrize(
    ("say", "said"),
    [
        (page(), "there is no HPA shop/gone"),
        (
            saying(b"404: Not Found", 404),
            "404; is that the port of --introspection-bind-address? If so, it is too old",
        ),
        (saying(b'{"hpa": 3}'), "answers in a form that this version does not know"),
        (saying(b"<html>"), "answers in a form that this version does not know"),
        (saying(b'{"x":' + b"[" * 100_000), "answers in a form that this version does not know"),
        (saying(b'{"x":' + b"[" * 100_000, 500), "HTTP status 500\n"),
        (saying(b'{"hpa": "shop/gone", "syncs": []}'), "no sync of shop/gone is remembered"),
    ],
)
async def test_what_cannot_be_told_is_one_line(capsys: Capture, say: Say, said: str) -> None:
    listener = Listener("127.0.0.1:0", {PATH: say})
    await listener.start()
    capsys.readouterr()
    words = ["explain", "shop/gone", "--introspection-address", f"127.0.0.1:{listener.port}"]
    told = Told(await asyncio.to_thread(main, words), capsys)
    await listener.stop()
    assert (told.code, told.out) == (1, "")
    assert said in told.err
    assert told.err.count("\n") == 1


async def test_an_hpa_that_was_never_synced(capsys: Capture) -> None:
    listener = Listener("127.0.0.1:0", {PATH: page()})
    await listener.start()
    words = ["explain", "shop/new", "--introspection-address", f"127.0.0.1:{listener.port}"]
    told = Told(await asyncio.to_thread(main, words), capsys)
    await listener.stop()
    assert (told.code, "it has not been synced yet" in told.err) == (1, True)


def _nobody(cluster: FakeCluster) -> None:
    cluster.leases = [lease("")]


def _nothing(cluster: FakeCluster) -> None:
    cluster.leases = []


def _outside(cluster: FakeCluster) -> None:
    cluster.leases = [lease("laptop_8f14e45f")]


def _outside_under_a_name_that_begins_alike(cluster: FakeCluster) -> None:
    cluster.leases = [lease(f"{POD}_2_8f14e45f")]


def _several(cluster: FakeCluster) -> None:
    cluster.leases = [lease(namespace="b"), lease(namespace="a")]


async def test_of_several_leases_the_one_that_is_held_says_who_decides(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    """One that was given up is left behind by a controller that was somewhere else before."""
    cluster.leases = [lease("", namespace="before"), lease()]
    told = await explain(cluster, tmp_path, capsys)
    assert (told.code, told.err) == (0, "")


def _forbidden(cluster: FakeCluster) -> None:
    cluster.forwarding = 403


def _refused(cluster: FakeCluster) -> None:
    cluster.pods[POD] = pod("--introspection-bind-address", "127.0.0.1:7777")


def _closed(cluster: FakeCluster) -> None:
    cluster.pods[POD] = pod("--introspection-bind-address=0")


def _dead(cluster: FakeCluster) -> None:
    cluster.pods[POD] = pod(phase="Failed")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (_nobody, "nobody holds the Lease kube-system/hpa-controller, and there is no pod of the chart"),
        (_nothing, "there is no Lease hpa-controller, and there is no pod of the chart"),
        (_outside, "is held by laptop_8f14e45f, which is no pod of the chart"),
        (_outside_under_a_name_that_begins_alike, f"is held by {POD}_2_8f14e45f, which is no pod of the chart"),
        (_several, "there are several Leases hpa-controller, in a, b; choose one with --lease-namespace"),
        (_forbidden, "that takes the verbs get and create on pods/portforward"),
        (_refused, f"error forwarding port 7777 to pod {POD}: connect: connection refused"),
        (_closed, "runs with --introspection-bind-address=0: it cannot be asked"),
        (_dead, f"pod kube-system/{POD} holds the Lease, but is Failed"),
    ],
)
async def test_a_controller_that_is_not_reached_is_one_line(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture, broken: Callable[[FakeCluster], None], said: str
) -> None:
    broken(cluster)
    told = await explain(cluster, tmp_path, capsys)
    assert (told.code, told.out) == (3, "")
    assert said in told.err
    assert told.err.count("\n") == 1


async def test_groups_that_are_acted_for_are_all_named_to_the_port(
    cluster: FakeCluster, tmp_path: Path, capsys: Capture
) -> None:
    cluster.user = {"as": "jane", "as-groups": ["a", "b"]}
    assert (await explain(cluster, tmp_path, capsys)).code == 0
    assert cluster.groups == ["a", "b"]


async def test_what_is_no_api_server_is_told_from_one(cluster: FakeCluster, tmp_path: Path, capsys: Capture) -> None:
    cluster.page = "<html>Log in</html>"
    told = await explain(cluster, tmp_path, capsys)
    assert (told.code, told.out, told.err.count("\n")) == (3, "", 1)
    assert "its answer, which is none of an API server, cannot be decoded" in told.err


@pytest.mark.parametrize(
    ("address", "said"),
    [("no-such-host.invalid:8082", "no controller answers at"), ("a..b:8082", "no controller answers at a..b:8082")],
)
async def test_an_address_of_nobody(address: str, said: str, capsys: Capture) -> None:
    told = Told(await asyncio.to_thread(main, ["explain", "a/b", "--introspection-address", address]), capsys)
    assert (told.code, told.err.count("\n")) == (3, 1)
    assert said in told.err
    assert "unknown error" not in told.err


async def test_an_address_where_nobody_listens(capsys: Capture) -> None:
    told = Told(await asyncio.to_thread(main, ["explain", "a/b", "--introspection-address", "127.0.0.1:1"]), capsys)
    assert told.code == 3
    assert "no controller answers at 127.0.0.1:1: connection refused" in told.err


async def test_an_address_where_somebody_else_listens(capsys: Capture) -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as server:
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        told = Told(await asyncio.to_thread(main, ["explain", "a/b", "--introspection-address", address]), capsys)
    assert (told.code, told.err.count("\n")) == (3, 1)
    assert f"no controller answers at {address}: the answer is no valid HTTP: Bad status line" in told.err


@pytest.mark.parametrize(
    "arguments", [[""], ["a/b/c"], ["/b"], ["../b"], ["Web"], ["a/b", "--last", "0"], ["a/b", "--last", "101"]]
)
def test_bad_arguments(arguments: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["explain", *arguments])
    assert ended.value.code == 2
    assert "hpa-controller explain" in capsys.readouterr().err


def test_a_namespace_is_given_once(capsys: Capture) -> None:
    assert main(["explain", "shop/web", "-n", "shop"]) == 2
    assert capsys.readouterr().err == (
        "hpa-controller: explain: shop/web names a namespace itself: leave --namespace out\n"
    )
