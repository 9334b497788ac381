"""A simulation as a page that needs no network: load, replicas and usage of every way over time."""

import html
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from controller.chart_page import COLOURS, STEPS, layout, page, trace
from controller.cli.replay_views import LETTERS
from controller.cli.simulate_views import HEADS, cells
from controller.decide.instants import NANOSECONDS
from controller.recording import timeline
from controller.simulation.loop import Step
from controller.simulation.tally import Tally


class _Story(msgspec.Struct):
    """One way as columns."""

    replicas: list[float | None] = []
    ready: list[float | None] = []
    ratios: list[float | None] = []


class Report:
    """Takes moments in their order; `page` then draws them."""

    def __init__(self, labels: Sequence[str]) -> None:
        """`labels`: what the ways are called, in their order."""
        self._labels = tuple(labels)
        self._stories = tuple(_Story() for _ in labels)
        self._times_s: list[float] = []
        self._loads: list[float | None] = []

    def take(self, moment: Sequence[Step]) -> None:
        """Add a sync of all ways."""
        self._times_s.append(moment[0].t_ns / NANOSECONDS)
        self._loads.append(round(moment[0].load, 3))
        for story, step in zip(self._stories, moment, strict=True):
            decision, scaled_to = step.decision, step.conclusion.scaled_to
            story.replicas.append(decision.replicas if scaled_to is None else scaled_to)
            story.ready.append(step.ready)
            story.ratios.append(timeline.highest_ratio(decision))

    def page(self, title: str, about: str, tallies: Sequence[Tally]) -> str:
        """The whole page; `about` says what is simulated, `tallies` are the ways', in their order."""
        body = (
            f"<p>{html.escape(about)}</p>",
            '<div class="chart" id="simulation"></div>',
            *self._table(tallies),
        )
        return page(title, "\n".join(body), {"simulation": self._figure()})

    def _table(self, tallies: Sequence[Tally]) -> Iterator[str]:
        yield (
            "<table><tr><th></th>" + "".join(f'<th class="n">{head.lower()}</th>' for head in HEADS) + "<th></th></tr>"
        )
        for letter, label, tally in zip(LETTERS, self._labels, tallies, strict=False):
            numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells(tally.summary()))
            yield f"<tr><td>{letter}</td>{numbers}<td>{html.escape(label)}</td></tr>"
        yield "</table>"

    def _figure(self) -> dict[str, Any]:
        lines = [trace("load, in replicas' worth", self._times_s, self._loads, {"color": "#aaaaaa", "width": 4})]
        for index, (letter, story) in enumerate(zip(LETTERS, self._stories, strict=False)):
            lines.extend(self._lines(letter, story, COLOURS[index % len(COLOURS)]))
        return {"data": lines, "layout": layout("seconds since the start", "replicas", "usage / target")}

    def _lines(self, letter: str, story: _Story, colour: str) -> Iterator[dict[str, Any]]:
        """Of one way; it has one entry in the legend, which shows and hides all of them."""
        group = {"legendgroup": letter}
        hidden = {**group, "showlegend": False}
        yield {**trace(f"{letter}: replicas", self._times_s, story.replicas, {**STEPS, "color": colour}), **group}
        ready = {**STEPS, "color": colour, "dash": "dot"}
        yield {**trace(f"{letter}: ready", self._times_s, story.ready, ready), **hidden}
        usage = {"width": 1.5, "color": colour}
        yield {**trace(f"{letter}: usage / target", self._times_s, story.ratios, usage), **hidden, "yaxis": "y2"}
