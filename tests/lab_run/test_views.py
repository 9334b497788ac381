"""The live view fits its terminal, and shows what a person looks for."""

import io
from collections import Counter

import pytest
from rich.console import Console

from controller.cli.lab_board import Board
from controller.cli.lab_tables import summary_table
from controller.cli.lab_views import LiveView
from controller.lab.lab import BUILT_IN
from controller.lab.scenario_files import load_scenario
from controller.lab.snapshot import Summary, Tally
from tests.lab_run.runs import Run, in_fast_time, running

SCENARIO = load_scenario(BUILT_IN)


def screen(run: Run, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), record=True, force_terminal=True)
    console.print(LiveView(console, run.board, run.lab, 40.0).screen())
    return console.export_text().splitlines()


def _told(run: Run) -> bool:
    rescaled = any(reason == "SuccessfulRescale" for _, reason, _ in run.board.happenings)
    return rescaled and "missing request" in run.board.last["shop/legacy"].why


@pytest.fixture(scope="module")
def screens() -> dict[int, list[str]]:
    """The lab at 40, 80 and 200 columns, when the rolling update and the first rescales are over."""

    async def story() -> dict[int, list[str]]:
        async with running(SCENARIO) as run:
            await run.until(
                lambda: run.lab.passed_s > 40 and _told(run), "40 s with a rescale and the broken HPA's reason"
            )
            return {width: screen(run, width, 40) for width in (40, 80, 200)}

    return in_fast_time(story)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits(screens: dict[int, list[str]], width: int) -> None:
    assert all(len(line.rstrip()) <= width for line in screens[width])
    assert len(screens[width]) <= 40


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize(
    "words",
    [
        "get hpa -w",
        "hpa-controller explain shop/legacy --introspection-address 127.0.0.1:",
        "custom metrics from Prometheus at http://127.0.0.1:",
        "req/s",
        "queued",
        "READY",
        "DESIRED",
        "ScalingActive=False",
        "SuccessfulRescale",
        "█",
    ],
)
def test_it_shows(screens: dict[int, list[str]], width: int, words: str) -> None:
    assert words in "\n".join(screens[width])


def test_a_wide_terminal_has_room_for_reasons(screens: dict[int, list[str]]) -> None:
    text = "\n".join(screens[200])
    assert "metrics want" in text
    assert "2–12" in text
    assert "missing request for cpu in container app" in text


def test_a_narrow_terminal_shows_names_and_counts(screens: dict[int, list[str]]) -> None:
    words = {line.split()[0]: line.split() for line in screens[40] if line.strip()}
    assert words["HPA"] == ["HPA", "TARGETS", "READY", "DESIRED"]
    assert words.keys() >= {"api", "legacy", "web", "worker"}
    assert "█" not in "\n".join(screens[40])


@pytest.mark.parametrize(
    ("width", "columns"),
    [
        (40, ["HPA", "UPS", "DOWNS", "REPLICAS"]),
        (80, ["HPA", "SYNCS", "UPS", "DOWNS", "REPLICAS", "AVERAGE", "AT", "MAX", "UNSERVED"]),
    ],
)
def test_the_summary_has_whole_names_however_narrow_it_is(width: int, columns: list[str]) -> None:
    tallies = {f"shop/{name}": Tally(least=2, most=12, ups=3, downs=1) for name in ("legacy", "worker")}
    board = Board(15.0)
    console = Console(width=width, file=io.StringIO(), record=True)
    console.print(summary_table(Summary(60.0, tallies, Counter()), board, width))
    head, *rows = [line.split() for line in console.export_text().splitlines()[1:4]]
    assert head == columns
    assert [row[0] for row in rows] == ["shop/legacy", "shop/worker"]
    assert all("2–12" in row for row in rows)


def test_a_long_name_takes_no_room_from_the_numbers() -> None:
    key = "team-payments-production/checkout-frontend-api-gateway-v2"
    tally = Tally(least=2, most=12, ups=13, downs=11)
    board = Board(15.0)
    board.syncs[key] = 4321
    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(summary_table(Summary(60.0, {key: tally}, Counter()), board, 80))
    lines = console.export_text().splitlines()[2:-1]
    assert "".join(line.split()[0] for line in lines) == key
    assert lines[0].split()[1:5] == ["4321", "13", "11", "2–12"]
