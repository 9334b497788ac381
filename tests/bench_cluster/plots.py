"""A report as a page with plots, which needs no network."""

import html
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec

from tests.bench_cluster.results import Report, Result
from tests.bench_cluster.tables import CONTENDERS
from tests.bench_cluster.timings import Spread

_HEIGHT_PX = 380


def _p99_s(found: Spread | None) -> float | None:
    return None if found is None else found.p99_s


def _reaction_p99_s(result: Result) -> float | None:
    return None if result.reaction is None else _p99_s(result.reaction.delay)


_PLOTS: Mapping[str, Callable[[Result], float | None]] = {
    "Achieved interval, p99, in seconds": lambda result: _p99_s(result.interval),
    "Lateness, p99, in seconds": lambda result: _p99_s(result.lateness),
    "From a change of the load to the scale write, p99, in seconds": _reaction_p99_s,
    "Reads per sync": lambda result: result.reads_per_sync,
    "CPU seconds per 1,000 syncs": lambda result: result.cpu_s_per_1000_syncs,
    "Resident memory at most, in MiB": lambda result: result.cost.resident_max_mib,
}


def write(path: Path, report: Report) -> None:
    """Writes the page: a plot of bars for each quantity, with a group for each cell."""
    library = resources.files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
    page = [
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>bench-cluster</title>',
        f"<script>{library}</script>",
        f"<p>{html.escape(report.command)}; {report.cores} cores, {html.escape(report.machine)}</p>",
        *(f'<div id="plot-{number}"></div>' for number in range(len(_PLOTS))),
        "<script>",
        *(_plot(number, title, value, report) for number, (title, value) in enumerate(_PLOTS.items())),
        "</script></html>",
    ]
    path.write_text("\n".join(page), encoding="utf-8")


def _plot(number: int, title: str, value: Callable[[Result], float | None], report: Report) -> str:
    """The statement that draws one plot; what was not measured leaves a gap."""
    traces: list[dict[str, Any]] = []
    for contender, name in CONTENDERS.items():
        found = [result for result in report.results if result.contender == contender]
        if found:
            values = [value(result) for result in found]
            traces.append({"type": "bar", "name": name, "x": [result.cell for result in found], "y": values})
    # Contenders can be apart by powers of ten.
    layout = {"title": {"text": title}, "barmode": "group", "height": _HEIGHT_PX, "yaxis": {"type": "log"}}
    drawn = ", ".join(msgspec.json.encode(part).decode() for part in (traces, layout))
    return f'Plotly.newPlot("plot-{number}", {drawn});'
