"""What people see of a lab: the table of HPAs, what is wrong with them, how to ask why, and the run in numbers."""

from typing import Final

from rich.console import Group
from rich.table import Table
from rich.text import Text

from controller.cli.lab_board import Board, Seen
from controller.lab.durations import format_duration
from controller.lab.snapshot import HpaView, Summary

NOISE: Final = frozenset(("SuccessfulCreate", "SuccessfulDelete", "Scheduled", "Started", "Killing"))
"""What pods do all the time; the replica counts show it."""

_WIDE: Final = 140
_NARROW: Final = 72
"""Columns of a terminal below which names and counts are all there is room for."""

_IN_NARROW: Final = frozenset(("HPA", "UPS", "DOWNS", "REPLICAS"))
_GOOD: Final = {"AbleToScale": "True", "ScalingActive": "True", "ScalingLimited": "False"}


def hpa_table(views: list[HpaView], board: Board, width: int) -> Table:
    """The HPAs; narrow terminals do without the reasons and the range, and the narrowest without bars and load."""
    wide, narrow = width >= _WIDE, width < _NARROW
    table = Table(expand=True, box=None, pad_edge=True, header_style="bold")
    table.add_column("HPA", no_wrap=True)
    if not narrow:
        table.add_column("LOAD", no_wrap=True, justify="right")
    table.add_column("TARGETS", no_wrap=True, overflow="ellipsis", ratio=2)
    table.add_column("READY", justify="right", no_wrap=True)
    table.add_column("DESIRED", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("REPLICAS", no_wrap=True)
    if wide:
        table.add_column("MIN-MAX", no_wrap=True)
        table.add_column("WHY", no_wrap=True, overflow="ellipsis", ratio=4)
    for view in views:
        seen = board.last.get(view.key)
        cells = [Text(view.name), Text(view.targets), Text(f"{view.ready}/{view.replicas}"), _desired(view, seen)]
        if not narrow:
            cells.insert(1, Text(view.load or "–"))
            cells.append(Text(_bar(view), style="green" if view.replicas < view.replicas_max else "yellow"))
        if wide:
            cells += [Text(f"{view.replicas_min}–{view.replicas_max}"), Text(seen.why if seen else "no sync yet")]
        table.add_row(*cells)
    return table


def explain_command(views: list[HpaView], board: Board) -> str:
    """How to ask why, for an HPA in trouble if there is one; empty while nobody could answer."""
    address = board.explains_at()
    if not (views and address):
        return ""
    asked = next((view for view in views if _failing(view)), views[0])
    return f"hpa-controller explain {asked.key} --introspection-address {address}"


def troubles(views: list[HpaView]) -> list[Text]:
    """A line for every condition that is not as it should be, and for what limits."""
    lines = []
    for view in views:
        for kind, condition in sorted(view.conditions.items()):
            if condition.status != _GOOD.get(kind, condition.status):
                style = "red" if kind != "ScalingLimited" else "yellow"
                text = Text(f" {view.name} ", no_wrap=True, overflow="ellipsis")
                text.append(f"{kind}={condition.status} {condition.reason}", style=style)
                text.append(f" {condition.message}")
                lines.append(text)
    return [Text("conditions", style="bold"), *lines] if lines else []


def _failing(view: HpaView) -> bool:
    kinds = ("AbleToScale", "ScalingActive")
    return any(kind in view.conditions and view.conditions[kind].status != _GOOD[kind] for kind in kinds)


def summary_table(summary: Summary, board: Board, width: int) -> Group:
    """The run in numbers; in narrow terminals the most important ones."""
    rows = [
        {
            "HPA": key,
            "SYNCS": str(board.syncs[key]),
            "UPS": str(tally.ups),
            "DOWNS": str(tally.downs),
            "REPLICAS": f"{tally.least}–{tally.most}",
            "AVERAGE": f"{tally.average:.1f}",
            "AT MAX": format_duration(tally.at_max_s),
            "UNSERVED": f"{tally.unserved_share:.1%}",
        }
        for key, tally in sorted(summary.tallies.items())
    ]
    shown = [name for name in (rows[0] if rows else ("HPA",)) if width >= _NARROW or name in _IN_NARROW]
    table = Table(box=None, header_style="bold", title_justify="left")
    for name in shown:
        if name == "HPA":
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    reasons = ", ".join(f"{reason} ×{count}" for reason, count in summary.events.most_common() if reason not in NOISE)
    return Group(
        Text(f"{format_duration(summary.duration_s)} of the lab's time"), table, Text(f"events: {reasons or 'none'}")
    )


def _desired(view: HpaView, seen: Seen | None) -> Text:
    desired = seen.desired if seen is not None and seen.desired is not None else view.replicas
    if desired == view.replicas:
        return Text(str(desired))
    return Text(f"{view.replicas}→{desired}", style="bold")


def _bar(view: HpaView) -> str:
    """Ready pods, those not yet ready, and room up to the maximum."""
    most = min(view.replicas_max, 20)
    scale = most / view.replicas_max
    ready = round(min(view.ready, view.replicas_max) * scale)
    replicas = max(ready, round(min(view.replicas, view.replicas_max) * scale))
    return "█" * ready + "▒" * (replicas - ready) + "·" * (most - replicas)
