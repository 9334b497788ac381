"""The lab on a terminal, as lines, and as JSON."""

import io
from typing import Any, Final, Protocol

import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from controller.cli.lab_board import Board, Seen
from controller.cli.lab_tables import NOISE, explain_command, hpa_table, summary_table, troubles
from controller.cli.outlet import Outlet
from controller.lab.durations import format_duration
from controller.lab.lab import Happening, Lab
from controller.lab.snapshot import Summary

_LINES_WIDTH: Final = 100
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
            if item.reason not in NOISE:
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
        shown = [told for told in self._board.happenings.values() if told[0].reason not in NOISE][-count:]
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


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes:02}:{rest:02}"
