"""`top`: rows of the HPAs that were asked for, in a table that fits, in the order that was asked for."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from msgspec import structs
from rich.text import Text

from controller.cli.main import main
from controller.cli.top import SORTS as CHOICES
from controller.cli.top_table import SORTS, age, order, table
from controller.explain.rows import Limit, Row
from controller.sources.flags import FAMILIES
from controller.telemetry.top import Top
from tests.builders import now
from tests.cli.explain_cluster import fake_cluster
from tests.cli.top_server import API, BROKEN, MAIL, WEB, listening, synced, topped, watched

Capture = pytest.CaptureFixture[str]


ALL = [WEB, API, MAIL, BROKEN]


@pytest.fixture
async def port() -> AsyncIterator[int]:
    top = topped()
    gone = watched("shop", "gone")
    top(synced(gone, 3, 900))
    top.changed(gone, None)
    assert top.of("shop/gone") is None
    async with listening(top, ALL) as listener:
        yield listener.port


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
    assert [line.split()[0] for line in lines[1:]] == names or (
        not names and lines == ["no HPAs in the namespace nowhere"]
    )


async def test_json_has_rows_in_order_and_says_why_nothing_was_written(port: int, capsys: Capture) -> None:
    _, lines, _ = await told(capsys, "-n", "shop", "--output", "json", "--introspection-address", f"127.0.0.1:{port}")
    answer = json.loads(lines[0])
    rows = answer["rows"]
    assert [row["name"] for row in rows] == ["api", "broken", "web"]
    assert rows[0]["notWritten"] == "shadow"
    assert (rows[1]["limitedBy"], rows[1]["error"]) == ("error", "spec.maxReplicas is missing")
    assert (answer["gates"]["scale_to_zero"], answer["fromApis"]) == (False, [*FAMILIES])


async def test_what_another_hpa_controller_scales_too_is_told(capsys: Capture) -> None:
    async with listening(topped(), ALL, twins=("shop/api",)) as listener:
        _, lines, _ = await told(
            capsys, "-A", "--output", "json", "--introspection-address", f"127.0.0.1:{listener.port}"
        )
    assert [row["name"] for row in json.loads(lines[0])["rows"] if row["twin"]] == ["api"]


def test_a_sync_is_as_long_after_the_one_before_as_the_hpa_is_known() -> None:
    top, first = Top(), synced(WEB, 3, 900)
    for after_s in (0.0, 18.5, 33.5):
        top(structs.replace(first, now=now(after_s)))
        summary = top.of("shop/web")
        assert summary is not None
        assert summary.gap_s == {0.0: 0.0, 18.5: 18.5, 33.5: 15.0}[after_s]
    top.changed(None, WEB)
    top.changed(WEB, WEB)
    assert top.of("shop/web") is summary, "an edit forgets nothing"
    for gone_for in (None, structs.replace(WEB, uid="another, made anew under its name")):
        top.changed(WEB, gone_for)
        top(structs.replace(first, now=now(60.0)))
        begun = top.of("shop/web")
        assert begun is not None
        assert begun.gap_s == 0.0


def test_a_bad_selector_is_a_bad_flag(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["top", "-A", "-l", "a b"])
    assert ended.value.code == 2
    assert "argument -l/--selector: found 'b', expected one of = == != in notin > <" in capsys.readouterr().err


async def test_a_bad_selector_is_refused_by_the_page_too(port: int) -> None:
    async with ClientSession() as http, http.get(f"http://127.0.0.1:{port}/top?labelSelector=a%20b") as answer:
        assert answer.status == 400
        assert "labelSelector: found 'b', expected one of" in await answer.text()


async def test_through_the_cluster_the_namespace_is_that_of_the_kubeconfig(
    port: int, capsys: Capture, tmp_path: Path
) -> None:
    async with fake_cluster() as cluster:
        cluster.ports[8082] = port
        cluster.namespace = "mail"
        _, lines, err = await told(capsys, "--kubeconfig", str(cluster.kubeconfig(tmp_path)))
        assert [line.split()[0] for line in lines] == ["NAME", "queue"], err


async def test_ten_thousand_hpas_are_shown_in_the_order_and_choice_asked_for(capsys: Capture) -> None:
    top = Top()
    many = [watched(f"n{number % 20}", f"web-{number:04}", {"tenth": str(number % 10)}) for number in range(10_000)]
    sample = synced(WEB, 3, 900)
    for number, one in enumerate(many):
        top(
            synced(one, 1, 600 + 100 * (number // 100))
            if number % 100 == 0
            else structs.replace(sample, autoscaler=one)
        )
    async with listening(top, many) as listener:
        where = ("--introspection-address", f"127.0.0.1:{listener.port}")
        code, lines, err = await told(capsys, "-A", *where)
        assert (code, len(lines), err) == (0, 10_001, "")
        _, lines, _ = await told(capsys, "-A", "-l", "tenth=7", "--sort", "change", *where)
        assert len(lines) == 1_001
        _, lines, _ = await told(capsys, "-n", "n0", "--sort", "ratio", *where)
        assert len(lines) == 501
        assert [line.split()[0] for line in lines[1:4]] == ["web-9900", "web-9800", "web-9700"]


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


@pytest.mark.parametrize("width", [60, 80, 120, 200])
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


def test_wide_tables_mark_what_another_hpa_controller_scales_too() -> None:
    [_, line] = table([structs.replace(a_row(1), twin=True)], 200, namespaced=True)
    assert isinstance(line, Text)
    assert (line.plain.endswith("another hpa-controller scales it, too"), line.style) == (True, "yellow")


def test_every_column_to_sort_by_can_be_chosen() -> None:
    assert set(CHOICES) == set(SORTS)


@pytest.mark.parametrize(
    ("by", "changes", "expected"),
    [
        ("name", {}, "abc"),
        ("ratio", {"a": {"ratio": 0.5}, "b": {"ratio": 2.0}, "c": {"ratio": None}}, "bac"),
        ("replicas", {"a": {"replicas": 1}, "b": {"replicas": None}, "c": {"replicas": 9}}, "cab"),
        ("change", {"a": {"desired": 3}, "b": {"desired": 1}, "c": {"desired": 7}}, "cba"),
        ("scaled", {"a": {"last_scale_s": None}, "b": {"last_scale_s": 9.0}, "c": {"last_scale_s": 1.0}}, "cba"),
        ("data", {"a": {"data_age_s": 1.0}, "b": {"data_age_s": None}, "c": {"data_age_s": 60.0}}, "cab"),
        ("lag", {"a": {"lag_s": 0.0}, "b": {"lag_s": 5.0}, "c": {"lag_s": None}}, "bac"),
        ("limit", {"a": {"limited_by": "rate"}, "b": {"limited_by": ""}, "c": {"limited_by": "max"}}, "cab"),
    ],
)
def test_orders(by: str, changes: dict[str, dict[str, Any]], expected: str) -> None:
    plain = structs.replace(a_row(3), namespace="shop", replicas=3, desired=3)
    rows = [structs.replace(plain, name=name, **changes.get(name, {})) for name in "cab"]
    assert "".join(row.name for row in order(rows, by)) == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (-3.5, "0s"),
        (0.0, "0s"),
        (0.4, "0.4s"),
        (59.0, "59s"),
        (120.0, "2m"),
        (7200.0, "2h"),
        (200_000.0, "2d"),
    ],
)
def test_ages_have_one_unit(seconds: float | None, text: str) -> None:
    assert age(seconds) == text
