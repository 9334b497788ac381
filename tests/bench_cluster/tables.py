"""A report for people: Markdown that is readable as it stands, for the terminal and for docs/performance.md."""

from collections.abc import Sequence
from pathlib import Path

from tests.bench_cluster.goals import Goal, goals, largest_held
from tests.bench_cluster.results import Loop, Report, Result
from tests.bench_cluster.timings import Spread

BEGIN = "<!-- written by bench-cluster: begin -->"
END = "<!-- written by bench-cluster: end -->"
_REQUESTS_SHOWN = 6
_RESULT_HEADER = (
    "cell",
    "controller",
    "window",
    "interval p50, p99, max",
    "late p99",
    "reaction p50, p99, all",
    "reads a sync",
    "status writes a sync; at rest",
    "CPU per 1,000 syncs",
    "memory now, most",
)
_BESIDE = (
    "CPU of all processes, in seconds a second, how much was idle, and how much the machine's host gave to others; the "
    "load; how long ten million additions took a Python loop before; of ours, syncs put off and an event loop held for "
    "50 ms:"
)
_BESIDE_HEADER = (
    "cell",
    "controller",
    "itself",
    "kube-apiserver",
    "etcd",
    "metrics stub",
    "idle",
    "stolen",
    "load",
    "additions",
    "put off",
    "loop held",
)
CONTENDERS = {
    "defaults": "built-in, defaults",
    "tuned": "built-in, tuned",
    "ours": "ours, defaults",
    "null": "null client",
    "asyncio": "ours, asyncio's loop",
    "unfrozen": "ours, not frozen",
    "eager": "ours, eager collector",
}


class MarkersMissingError(Exception):
    """A document has no place for the figures."""


def text(report: Report) -> str:
    """Everything: machine, figures, requests, goals, what was left out."""
    found = goals(report)
    if not report.results:
        return f"`{report.command}`: nothing was measured."
    parts = [
        f"`{report.command}`, {report.seconds / 60:.0f} minutes on {report.cores} cores ({report.machine}).",
        table(_RESULT_HEADER, [_row(result) for result in report.results]),
        "What was run:",
        "\n".join(f"- {name}: `{command}`" for name, command in _commands(report)),
        "Requests a sync, the commonest first:",
        table(("cell", "controller", "requests", "refused in all"), [_requests(result) for result in report.results]),
        _BESIDE,
        table(_BESIDE_HEADER, _beside(report)),
        "What must be reached:",
        table(("cell", "what", "measured", "at most", ""), [_goal(goal) for goal in found]),
    ]
    held = largest_held(report.results)
    if held is not None:
        parts.append(f"The largest number of HPAs that were synced every period in all of its cells: {held:,}.")
    if report.left_out:
        parts.append("Left out: " + ", ".join(f"`{cell}`" for cell in report.left_out) + ".")
    return "\n\n".join(parts)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns of even width."""
    cells = [tuple(header), *map(tuple, rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


def write_into(document: Path, report: Report) -> None:
    """Replaces what stands between the markers of a document. Raises MarkersMissingError."""
    content = document.read_text(encoding="utf-8")
    before, begin, rest = content.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise MarkersMissingError(f"{document}: no place for the figures; it needs the lines {BEGIN} and {END}")
    document.write_text(f"{before}{BEGIN}\n\n{text(report)}\n\n{END}{after}", encoding="utf-8")


def _commands(report: Report) -> list[tuple[str, str]]:
    """Each controller's command line, in the order in which they are listed everywhere."""
    run = {result.contender: result.command for result in report.results}
    return [(name, run[contender]) for contender, name in CONTENDERS.items() if contender in run]


def _row(result: Result) -> tuple[str, ...]:
    reaction = result.reaction
    reacted = "" if reaction is None else _reaction(reaction.delay, reaction.all_done_s, reaction.missing)
    at_rest = "" if result.status_writes_at_rest is None else f"; {result.status_writes_at_rest}"
    return (
        result.cell,
        CONTENDERS[result.contender],
        f"{result.window_s:.0f} s",
        _spread(result.interval),
        "none" if result.lateness is None else f"{result.lateness.p99_s:.2f} s",
        reacted,
        f"{result.reads_per_sync:.3f}",
        f"{result.status_writes_per_sync:.3f}{at_rest}",
        f"{result.cpu_s_per_1000_syncs:.2f} s",
        f"{result.cost.resident_mib:.0f}, {result.cost.resident_max_mib:.0f} MiB",
    )


def _spread(found: Spread | None) -> str:
    return "none" if found is None else f"{found.p50_s:.1f}, {found.p99_s:.1f}, {found.max_s:.1f} s"


def _reaction(delay: Spread | None, all_done_s: float | None, missing: int) -> str:
    if delay is None:
        return "none"
    done = f"{missing} missing" if all_done_s is None else f"{all_done_s:.1f} s"
    return f"{delay.p50_s:.1f}, {delay.p99_s:.1f}, {done}"


def _requests(result: Result) -> tuple[str, ...]:
    shown = list(result.requests_per_sync.items())[:_REQUESTS_SHOWN]
    told = ", ".join(f"{number:.3f} {kind}" for kind, number in shown)
    refused = ", ".join(f"{number} × {kind}" for kind, number in result.refused.items()) or "none"
    return result.cell, CONTENDERS[result.contender], told, refused


def _beside(report: Report) -> list[tuple[str, ...]]:
    rows = []
    for result in report.results:
        put_off = "" if result.postponed is None else str(result.postponed)
        costs = [result.cost, *(result.others[name] for name in ("kube-apiserver", "etcd", "metrics stub"))]
        shares = [f"{cost.cpu_s / result.window_s:.2f}" for cost in costs]
        rows.append(
            (
                result.cell,
                CONTENDERS[result.contender],
                *shares,
                _or_nothing(result.idle_cores),
                _or_nothing(result.stolen_cores),
                f"{result.load_average:.1f}",
                _or_nothing(result.additions_s, " s"),
                put_off,
                _loop(result.loop),
            )
        )
    return rows


def _or_nothing(measured: float | None, unit: str = "") -> str:
    return "" if measured is None else f"{measured:.2f}{unit}"


def _loop(loop: Loop | None) -> str:
    if loop is None:
        return ""
    within = "beyond all bounds" if loop.within_s is None else f"within {loop.within_s:g} s"
    return f"{loop.late} of {loop.looks}, {within}"


def _goal(goal: Goal) -> tuple[str, ...]:
    measured = "nothing" if goal.measured is None else f"{goal.measured:.3f}"
    return goal.cell, goal.what, measured, f"{goal.at_most:.3f}", goal.verdict
