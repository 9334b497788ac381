"""The lab on a terminal, as lines, and as JSON."""

import io
from typing import Any, Final, Protocol

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from controller.cli.lab_board import Board, Seen
from controller.cli.outlet import Outlet
from controller.lab.durations import format_duration
from controller.lab.lab import Happening, Lab
from controller.lab.snapshot import HpaView, Summary

_NOISE: Final = frozenset(("SuccessfulCreate", "SuccessfulDelete", "Scheduled", "Started", "Killing"))
"""What pods do all the time; the replica counts show it."""

_LINES_WIDTH: Final = 100
_WIDE: Final = 140
_NARROW: Final = 72
"""Columns of a terminal below which names and counts are all there is room for."""

_IN_NARROW: Final = frozenset(("HPA", "UPS", "DOWNS", "REPLICAS"))
_GOOD: Final = {"AbleToScale": "True", "ScalingActive": "True", "ScalingLimited": "False"}
_EVENTS_MIN: Final = 4


class View(Protocol):
    """One way of showing a lab."""

    def begin(self) -> None:
        """The lab listens now."""

    def refresh(self) -> None:
        """A little time has passed."""

    def end(self) -> None:
        """The lab stands still."""

    def summarise(self, summary: Summary) -> None:
        """Show what the run has come to."""


class JsonView:
    """A JSON object per line: `start`; `sync`, `event`, `timeline` and `fault` as they happen; `summary`."""

    def __init__(self, outlet: Outlet, board: Board, lab: Lab) -> None:
        self._outlet, self._board, self._lab = outlet, board, lab

    def begin(self) -> None:
        """See View."""
        lab = self._lab
        self._write(
            "start",
            kubeconfig=str(lab.kubeconfig),
            server=lab.server.url,
            prometheus=lab.prometheus.url,
            sources=self._board.sources,
            notes=lab.notes,
        )
        self._board.listen(self._told)

    def refresh(self) -> None:
        """See View."""

    def end(self) -> None:
        """See View."""

    def summarise(self, summary: Summary) -> None:
        """See View."""
        hpas = {
            key: {
                "syncs": self._board.syncs[key],
                "scaleUps": tally.ups,
                "scaleDowns": tally.downs,
                "replicas": {"min": tally.least, "max": tally.most, "average": round(tally.average, 2)},
                "secondsAtMax": round(tally.at_max_s, 1),
                "unservedShare": round(tally.unserved_share, 4),
            }
            for key, tally in summary.tallies.items()
        }
        self._write("summary", durationSeconds=round(summary.duration_s, 1), hpas=hpas, events=dict(summary.events))

    def _told(self, item: Seen | Happening) -> None:
        if isinstance(item, Happening):
            self._write(item.kind, object=item.subject, reason=item.reason, message=item.message, warning=item.warning)
            return
        self._write(
            "sync",
            hpa=item.key,
            replicas=item.replicas,
            desired=item.desired,
            scaledTo=item.scaled_to,
            metric=item.binding,
            why=item.why,
            metrics=item.metrics,
            conditions={
                kind: {"status": status, "reason": reason} for kind, (status, reason, _) in item.conditions.items()
            },
            error=item.error,
        )

    def _write(self, kind: str, **fields: Any) -> None:
        line = msgspec.json.encode({"type": kind, "t": round(self._lab.passed_s, 2), **fields})
        self._outlet.write(line.decode() + "\n")


class LineView:
    """A line when something changes, for files and pipes."""

    def __init__(self, outlet: Outlet, board: Board, lab: Lab) -> None:
        self._outlet, self._board, self._lab = outlet, board, lab
        self._said: dict[str, str] = {}
        self._told_how = False

    def begin(self) -> None:
        """See View."""
        self._write(f"kubectl --kubeconfig {self._lab.kubeconfig} get hpa --watch")
        for note in filter(None, (self._board.sources, *self._lab.notes)):
            self._write(note)
        self._board.listen(self._told)

    def refresh(self) -> None:
        """See View."""
        how = "" if self._told_how else explain_command(self._lab.look(), self._board)
        if how:
            self._write(how)
            self._told_how = True

    def end(self) -> None:
        """See View."""

    def summarise(self, summary: Summary) -> None:
        """See View."""
        console = Console(file=io.StringIO(), width=_LINES_WIDTH)
        with console.capture() as capture:
            console.print(summary_table(summary, self._board, _LINES_WIDTH))
        self._outlet.write(capture.get())

    def _told(self, item: Seen | Happening) -> None:
        if isinstance(item, Happening):
            if item.reason not in _NOISE:
                self._write(f"{_clock(item.at_s)}  {item.subject}: {item.reason}: {item.message}")
            return
        before = "?" if item.replicas is None else str(item.replicas)
        change = f"{before} → {item.scaled_to}" if item.scaled_to is not None else before
        text = f"{change}: {item.why}"
        if self._said.get(item.key) != text:
            self._said[item.key] = text
            self._write(f"{_clock(self._lab.passed_s)}  {item.key}: {text}")

    def _write(self, line: str) -> None:
        self._outlet.write(line + "\n")


class LiveView:
    """A table of HPAs that stays in place, with the latest events below it."""

    def __init__(self, console: Console, board: Board, lab: Lab, speed: float) -> None:
        self._console, self._board, self._lab, self._speed = console, board, lab, speed
        self._live = Live(console=self._console, auto_refresh=False, screen=True)

    def begin(self) -> None:
        """See View."""
        self._live.start()

    def refresh(self) -> None:
        """See View."""
        self._live.update(self.screen(), refresh=True)

    def end(self) -> None:
        """See View."""
        self._live.stop()

    def summarise(self, summary: Summary) -> None:
        """See View."""
        self._console.print(summary_table(summary, self._board, self._console.width))

    def screen(self) -> RenderableType:
        """All there is to see, as wide and high as the terminal."""
        width, height = self._console.size
        views = self._lab.look()
        table = hpa_table(views, self._board, width)
        below = troubles(views)
        head = self._head(explain_command(views, self._board))
        room = height - len(self._console.render_lines(Group(head, table, *below))) - 2
        return Group(head, table, *below, Text("events", style="bold"), *self._events(max(_EVENTS_MIN, room)))

    def _head(self, explain: str) -> Text:
        faults = self._lab.active_faults
        text = Text(overflow="fold")
        text.append(f" {_clock(self._lab.passed_s)} ", style="reverse")
        text.append(f" ×{self._speed:g}  sync every {format_duration(self._board.period_s)}  Ctrl-C ends it\n")
        text.append(f" kubectl --kubeconfig {self._lab.kubeconfig} get hpa -w\n", style="cyan")
        if explain:
            text.append(f" {explain}\n", style="cyan")
        if self._board.sources:
            text.append(f" {self._board.sources}\n", style="cyan")
        for note in self._lab.notes:
            text.append(f" {note}\n", style="yellow")
        if faults:
            text.append(f" fault: {', '.join(faults)}\n", style="bold red")
        return text

    def _events(self, count: int) -> list[Text]:
        shown = [told for told in self._board.happenings.values() if told[0].reason not in _NOISE][-count:]
        lines = []
        for item, times in shown:
            style = (
                "red"
                if item.kind == "fault"
                else "yellow"
                if item.warning
                else "cyan"
                if item.kind == "timeline"
                else ""
            )
            text = Text(f" {_clock(item.at_s)} {item.subject} ", no_wrap=True, overflow="ellipsis")
            text.append(item.reason, style=style or "green")
            text.append(f" ×{times}" if times > 1 else "")
            text.append(f" {item.message}")
            lines.append(text)
        return lines


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
    reasons = ", ".join(f"{reason} ×{count}" for reason, count in summary.events.most_common() if reason not in _NOISE)
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


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02}:{rest:02}"
