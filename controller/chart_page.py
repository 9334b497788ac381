"""Pages with charts that need no network: everything they show is in them."""

import html
from collections.abc import Mapping, Sequence
from importlib import resources
from string import Template
from typing import Any, Final

import msgspec

COLOURS: Final = ("#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2", "#bcbd22")
STEPS: Final = {"shape": "hv", "width": 2}
"""The line of a count, which changes at once and stays."""

_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:">
<title>$title</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h2 { margin-top: 2.5rem; } .chart { height: 26rem; } .note { color: #8a5a00; }
table { border-collapse: collapse; font-size: 13px; } td, th { padding: .2rem .7rem; text-align: left; }
th { border-bottom: 1px solid #999; } td.n, th.n { text-align: right; }
td.n { white-space: nowrap; } tr:nth-child(even) td { background: #f5f5f5; }
</style>
<script>$plotly</script>
</head>
<body>
<h1>$title</h1>
$body
<script>
const charts = $charts;
for (const [id, figure] of Object.entries(charts)) {
  Plotly.newPlot(id, figure.data, figure.layout, {
    displaylogo: false, responsive: true, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
  });
}
</script>
</body>
</html>
""")


def page(title: str, body: str, charts: Mapping[str, Any]) -> str:
    """A whole page; `body` is HTML, with an element of class `chart` for each of `charts`: figures of plotly by id."""
    encoded = msgspec.json.encode(charts).decode()
    return _PAGE.substitute(
        title=html.escape(title),
        plotly=_plotly(),
        body=body,
        # What names and labels hold must not end the script.
        charts=encoded.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
    )


def trace(
    name: str, times_s: Sequence[float], values: Sequence[float | None], line: Mapping[str, Any]
) -> dict[str, Any]:
    """A line of a chart; None is a gap."""
    return {"type": "scatter", "mode": "lines", "name": name, "x": times_s, "y": values, "line": line}


def layout(times: str, upper: str, lower: str) -> dict[str, Any]:
    """Two charts over the same times, with what their axes are called; a trace of the lower one has `yaxis` y2."""
    return {
        "margin": {"t": 20, "r": 20},
        "legend": {"orientation": "h", "y": -0.2},
        "xaxis": {"title": {"text": times}, "anchor": "y2"},
        "yaxis": {"title": {"text": upper}, "domain": [0.42, 1], "rangemode": "tozero"},
        "yaxis2": {"title": {"text": lower}, "domain": [0, 0.36], "rangemode": "tozero"},
        "hovermode": "x unified",
    }


def _plotly() -> str:
    """Plotly's own script, from its wheel."""
    return resources.files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")
