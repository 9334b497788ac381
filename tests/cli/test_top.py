"""`top`: rows of the HPAs that were asked for, in a table that fits, in the order that was asked for."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rich.text import Text

from controller.cli.main import main
from controller.cli.top import SORTS as CHOICES
from controller.cli.top_table import SORTS, age, order, table
from controller.clock import SystemClock
from controller.decide.result import Written
from controller.explain.rows import Limit, Row
from controller.ports import Sync, WatchedAutoscaler, Withheld
from controller.telemetry.explanations import Standing
from controller.telemetry.server import Listener
from controller.telemetry.top import PATH, Top, top_route
from tests.builders import DEFAULTS, cpu, history, hpa, now, observation, scale, usage
from tests.cli.explain_cluster import fake_cluster
from tests.decide.syncs import sync

Capture = pytest.CaptureFixture[str]


def watched(
    namespace: str, name: str, labels: dict[str, str] | None = None, problem: str | None = None
) -> WatchedAutoscaler:
    metadata = json.dumps({"name": name, "labels": labels or {}}).encode()
    asked = hpa(cpu(60), namespace=namespace, name=name)
    return WatchedAutoscaler(namespace, name, "uid", "1", asked.spec, observation(scale(1)).status, metadata, problem)


def synced(one: WatchedAutoscaler, replicas: int, used_milli: int, withheld: Withheld | None = None) -> Sync:
    seen = observation(scale(replicas), usage(*[used_milli] * replicas), overlapping=(one.key,))
    came = sync(hpa(cpu(60), namespace=one.namespace, name=one.name), seen, history((replicas, -15)))
    write = Written() if came.decision.rescales and withheld is None else None
    return Sync(one, seen, history((replicas, -15)), now(), came.decision, write, came.conclusion, now(), withheld)


WEB, API = watched("shop", "web", {"team": "front"}), watched("shop", "api", {"team": "back"})
MAIL, BROKEN = (
    watched("mail", "queue", {"team": "back"}),
    watched("shop", "broken", problem="spec.maxReplicas is missing"),
)
ALL = [WEB, API, MAIL, BROKEN]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    top = Top()
    top(synced(WEB, 3, 900))
    top(synced(API, 4, 590, Withheld("shadow", "it runs with --shadow")))
    gone = watched("shop", "gone")
    top(synced(gone, 3, 900))
    top.changed(gone, None)
    assert top.of("shop/gone") is None
    listener = Listener(
        "127.0.0.1:0", {PATH: top_route(top, ALL, Standing(lambda _: None, None), SystemClock(), DEFAULTS.gates, 15.0)}
    )
    await listener.start()
    yield listener.port
    await listener.stop()


async def told(capsys: Capture, *arguments: str) -> tuple[int, list[str], str]:
    capsys.readouterr()
    code = await asyncio.wait_for(asyncio.to_thread(main, ["top", *arguments]), 30)
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


async def test_all_hpas_have_a_line(port: int, capsys: Capture) -> None:
    code, lines, err = await told(capsys, "-A", "--introspection-address", f"127.0.0.1:{port}")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in lines] == [
        "NAMESPACE/NAME",
        "mail/queue",
        "shop/api",
        "shop/broken",
        "shop/web",
    ]
    assert "not synced yet" in lines[1]
    assert "error" in lines[3]
    assert "3 → 5" in lines[4]
    assert "90%/60%" in lines[4]


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (("-n", "shop", "-l", "team=back"), ["api"]),
        (("-A", "-l", "team in (back)"), ["mail/queue", "shop/api"]),
        (("-n", "nowhere"), []),
        (("-n", "shop", "--sort", "ratio"), ["web", "api", "broken"]),
    ],
)
async def test_some_of_them(port: int, capsys: Capture, arguments: tuple[str, ...], names: list[str]) -> None:
    code, lines, _ = await told(capsys, *arguments, "--introspection-address", f"127.0.0.1:{port}")
    assert code == 0
    assert [line.split()[0] for line in lines[1:]] == names or (not names and lines == ["no HPAs here"])


async def test_json_says_why_nothing_was_written(port: int, capsys: Capture) -> None:
    _, lines, _ = await told(capsys, "-n", "shop", "--output", "json", "--introspection-address", f"127.0.0.1:{port}")
    by_name = {row["name"]: row for row in json.loads(lines[0])["rows"]}
    assert by_name["api"]["notWritten"] == "shadow"
    assert by_name["broken"]["error"] == "spec.maxReplicas is missing"


async def test_a_bad_selector_is_one_line(port: int, capsys: Capture) -> None:
    code, lines, err = await told(capsys, "-A", "-l", "a b", "--introspection-address", f"127.0.0.1:{port}")
    assert (code, lines, err.count("\n")) == (1, [], 1)
    assert "labelSelector: unable to parse selector 'a b'" in err


async def test_through_the_cluster_the_namespace_is_that_of_the_kubeconfig(
    port: int, capsys: Capture, tmp_path: Path
) -> None:
    async with fake_cluster() as cluster:
        cluster.ports[8082] = port
        path = cluster.kubeconfig(tmp_path)
        path.write_text(path.read_text().replace('"user": "fake"}', '"user": "fake", "namespace": "mail"}', 1))
        _, lines, err = await told(capsys, "--kubeconfig", str(path))
        assert [line.split()[0] for line in lines] == ["NAME", "queue"], err


# --- the table -----------------------------------------------------------------------------------


def a_row(number: int, limit: Limit = "", error: str = "") -> Row:
    return Row(
        namespace=f"namespace-{number % 200}",
        name=f"application-with-a-long-name-{number}",
        replicas=number % 40,
        desired=number % 41,
        metric="http_requests_per_second_of_the_front per pod",
        current="1234.567",
        target="1000",
        ratio=number / 5000,
        limited_by=limit,
        last_scale_s=float(number),
        synced_s=3.0,
        data_age_s=12.0,
        lag_s=0.0,
        error=error,
    )


@pytest.mark.parametrize("width", [80, 120, 200])
def test_ten_thousand_rows_fit_the_width_and_keep_their_numbers(width: int) -> None:
    rows = [a_row(number) for number in range(10_000)]
    lines = [line.plain for line in table(rows, width, namespaced=True)]
    assert len(lines) == 10_001
    assert max(map(len, lines)) <= width
    assert all("1234.567/1000" in line for line in lines[1:])


def test_wide_tables_say_what_is_wrong() -> None:
    [_, line] = table([a_row(1, "failed", "the metric is gone")], 200, namespaced=True)
    assert isinstance(line, Text)
    assert (line.plain.endswith("the metric is gone"), line.style) == (True, "red")


def test_orders() -> None:
    rows = [a_row(1), a_row(3, "rate"), a_row(2, "max")]
    assert set(CHOICES) == set(SORTS)
    assert [row.last_scale_s for row in order(rows, "ratio")] == [3, 2, 1]
    assert [row.last_scale_s for row in order(rows, "scaled")] == [1, 2, 3]
    assert [row.limited_by for row in order(rows, "limit")] == ["max", "rate", ""]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, ""), (0.0, "0s"), (0.4, "0.4s"), (59.0, "59s"), (120.0, "2m"), (7200.0, "2h"), (200_000.0, "2d")],
)
def test_ages_have_one_unit(seconds: float | None, text: str) -> None:
    assert age(seconds) == text
