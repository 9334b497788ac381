"""A replay as a page that needs no network: replicas, variants and load of every HPA over time."""

import html
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from controller.chart_page import COLOURS, STEPS, layout, page, trace
from controller.decide.result import Decision
from controller.recording import timeline
from controller.recording.course import Frame
from controller.recording.differing import CAVEAT, Row, Tally, row
from controller.recording.variants import Variant

CHARTS_MAX: Final = 60
SYNCS_MAX: Final = 20_000
ROWS_MAX: Final = 200
_GREYS: Final = ("#333333", "#7f7f7f", "#0b5394", "#b45f06")


class _Story(msgspec.Struct):
    """One HPA's syncs as columns."""

    times: list[float] = []
    replicas: list[int | None] = []
    recorded: list[int | None] = []
    wished: list[list[int | None]] = []
    ratios: dict[str, list[float | None]] = {}
    rows: list[Row] = []
    tallies: list[Tally] = []
    differing: int = 0
    left_out: int = 0


class Report:
    """Collects frames whose first moment is the recorded one; `page` then draws them."""

    def __init__(self, variants: Sequence[Variant], *, syncs_max: int = SYNCS_MAX) -> None:
        """`variants`: those after the recorded one; `syncs_max`: how many are drawn of one HPA."""
        self._variants = tuple(variants)
        self._syncs_max = syncs_max
        self._recordings: list[str] = []
        self._stories: dict[tuple[int, str], _Story] = {}
        self._not_drawn: set[tuple[int, str]] = set()
        self._notes: list[str] = []

    def begin(self, recording: str) -> None:
        """What is taken from now on is of this recording; another one may have the same name."""
        self._recordings.append(recording)

    def take(self, frame: Frame) -> None:
        """Add a sync."""
        key = len(self._recordings), frame.hpa
        story = self._stories.get(key)
        if story is None:
            if len(self._stories) >= CHARTS_MAX:
                self._not_drawn.add(key)
                return
            tallies = [Tally(index) for index in range(len(self._variants))]
            story = self._stories[key] = _Story(wished=[[] for _ in self._variants], tallies=tallies)
        found = row(frame)
        for tally, moment in zip(story.tallies, frame.moments[1:], strict=True):
            tally.take(found, moment.decision)
        story.differing += found.differs
        if len(story.times) >= self._syncs_max:
            story.left_out += 1
            return
        _remember(story, found, frame.moments[0].decision)

    def note(self, text: str) -> None:
        """Say what is missing or damaged."""
        self._notes.append(text)

    def partial(self) -> list[str]:
        """What the page does not draw, a line each."""
        more = len(self._not_drawn)
        lines = [f"partial: {more} more HPAs are not drawn; choose one with --name"] if more else []
        for (_, hpa), story in self._stories.items():
            if story.left_out:
                lines.append(f"partial: the last {story.left_out} syncs of {hpa} are not drawn")
        return lines

    def page(self, title: str) -> str:
        """The whole page."""
        charts = {f"chart-{number}": self._figure(story) for number, story in enumerate(self._stories.values())}
        return page(title, "\n".join(self._body()), charts)

    def _body(self) -> Iterator[str]:
        if self._variants:
            yield f"<p><strong>{html.escape(CAVEAT)}</strong></p>"
        yield from (f'<p class="note">{html.escape(note)}</p>' for note in (*self._notes, *self.partial()))
        for number, ((count, hpa), story) in enumerate(self._stories.items()):
            recording = html.escape(self._recordings[count - 1])
            yield f"<h2>{html.escape(hpa)}</h2><p>recording {recording}, {len(story.times)} syncs</p>"
            yield f'<div class="chart" id="chart-{number}"></div>'
            yield from self._differences(story)

    def _differences(self, story: _Story) -> Iterator[str]:
        for variant, tally in zip(self._variants, story.tallies, strict=True):
            first = tally.first
            text = (
                tally.alike()
                if first is None
                else f"differs in {tally.differing} of {tally.syncs} syncs, first at {timeline.clock(first.t)}; "
                f"{tally.span()}"
            )
            if tally.unanswered:
                text += f"; partial: in {tally.unanswered} of them it asks for a metric that was not recorded"
            yield f"<p><b>{html.escape(variant.label)}</b>: {text}</p>"
        if not story.rows:
            return
        heads = "".join(f'<th class="n">{html.escape(variant.label)}</th>' for variant in self._variants)
        yield "<details open><summary>where they differ</summary><table>"
        yield '<tr><th class="n">time</th><th class="n">replicas</th><th class="n">recorded</th>'
        yield f"{heads}<th>why</th></tr>"
        for found in story.rows:
            yield _table_row(found)
        yield "</table></details>"
        if story.differing > len(story.rows):
            yield f'<p class="note">partial: only the first {len(story.rows)} differing syncs are listed</p>'

    def _figure(self, story: _Story) -> dict[str, Any]:
        lines: list[dict[str, Any]] = [
            trace("replicas there", story.times, story.replicas, {**STEPS, "color": "#aaaaaa", "width": 5}),
            trace("desired, as recorded", story.times, story.recorded, {**STEPS, "color": "#1f77b4"}),
        ]
        for index, variant in enumerate(self._variants):
            line = {**STEPS, "color": COLOURS[index % len(COLOURS)], "dash": "dash"}
            lines.append(trace(f"desired, {variant.label}", story.times, story.wished[index], line))
        for index, (name, ratios) in enumerate(story.ratios.items()):
            filled = [*ratios, *[None] * (len(story.times) - len(ratios))]
            line = {"width": 1.5, "color": _GREYS[index % len(_GREYS)]}
            lines.append({**trace(name, story.times, filled, line), "yaxis": "y2"})
        times = "seconds since the start of the recording"
        return {"data": lines, "layout": layout(times, "replicas", "usage / target")}


def _remember(story: _Story, found: Row, decision: Decision) -> None:
    story.times.append(round(found.t, 3))
    story.replicas.append(found.replicas)
    story.recorded.append(found.desired)
    for column, wish in zip(story.wished, found.wishes, strict=True):
        column.append(wish.desired)
    for name, ratio in timeline.ratios(decision).items():
        column_of = story.ratios.setdefault(name, [])
        column_of.extend([None] * (len(story.times) - 1 - len(column_of)))
        column_of.append(ratio)
    if found.differs and len(story.rows) < ROWS_MAX:
        story.rows.append(found)


def _table_row(found: Row) -> str:
    cells = [timeline.clock(found.t), _count(found.replicas), _count(found.desired)]
    cells += [_count(wish.desired) + (f" ({wish.by:+d})" if wish.by else "") for wish in found.wishes]
    numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    reasons = "<br>".join(html.escape(wish.why) for wish in found.wishes if wish.differs)
    return f"<tr>{numbers}<td>{reasons}</td></tr>"


def _count(replicas: int | None) -> str:
    return "?" if replicas is None else str(replicas)
