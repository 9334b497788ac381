"""Simulations on a terminal and as JSON lines."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from controller.cli.replay_views import LETTERS
from controller.decide.instants import NANOSECONDS
from controller.decide.result import Decision
from controller.explain.findings import plural
from controller.recording import timeline
from controller.recording.format_v2 import outcome_of
from controller.simulation.loop import Step
from controller.simulation.meter import Plan
from controller.simulation.tally import Summary, Tally
from controller.wire.durations import format_duration

Moments = Iterable[tuple[Step, ...]]


def heading(key: str, loads: str, plan: Plan, duration_ns: int, sync_period_ns: int) -> str:
    """What is simulated."""
    length, period = format_duration(duration_ns), format_duration(sync_period_ns)
    start_up, resolution = format_duration(plan.start_up_ns), format_duration(plan.resolution_ns)
    return (
        f"{key}: {length} under a load of {loads} replicas' worth, a sync every {period}; "
        f"pods are ready after {start_up}, metrics are measured every {resolution}"
    )


def json_lines(key: str, labels: Sequence[str], moments: Moments, tallies: Sequence[Tally]) -> Iterator[str]:
    """A line per sync and way, then a summary of each way; with `variant` if there are several."""
    for moment in moments:
        for label, step in zip(labels, moment, strict=True):
            body: dict[str, object] = {
                "simulation": key,
                "t": step.t_ns / NANOSECONDS,
                "load": round(step.load, 3),
                "ready": step.ready,
                "replicas": step.decision.replicas,
                "desired": step.decision.desired,
                "why": timeline.why(step.decision),
                "outcome": outcome_of(step.conclusion),
            }
            yield _json(body, label, labels)
    for label, tally in zip(labels, tallies, strict=True):
        yield _json({"simulation": key, "summary": tally.summary()}, label, labels)


def timeline_lines(moments: Moments) -> Iterator[str]:
    """A line for every sync that scales, or whose count comes about in another way than that of the one before."""
    yield f"{'TIME':>9}  {'LOAD':>6}  {'READY':>5}  {'OF TARGET':>9}  {'REPLICAS':<12}  WHY"
    known: tuple[object, ...] | None = None
    alike = 0
    for [step] in moments:
        found = _kind(step.decision)
        if step.conclusion.scaled_to is None and found == known:
            alike += 1
            continue
        if alike:
            yield _alike(alike)
        alike, known = 0, found
        yield (
            f"{_start(step)}  {step.ready:>5}  {_of_target(step.decision):>9}  "
            f"{timeline.change(step.conclusion.scaled_to, step.decision):<12}  {timeline.why(step.decision)}"
        )
    if alike:
        yield _alike(alike)


def comparison_lines(labels: Sequence[str], moments: Moments) -> Iterator[str]:
    """A line for every sync at which one of the ways scales; the ways have letters."""
    lettered = list(zip(LETTERS, labels, strict=False))
    yield from (f"  {letter}: {label}" for letter, label in lettered)
    yield f"{'TIME':>9}  {'LOAD':>6}" + "".join(f"  {letter:<9}" for letter, _ in lettered).rstrip()
    alike = 0
    for moment in moments:
        if all(step.conclusion.scaled_to is None for step in moment):
            alike += 1
            continue
        if alike:
            yield _alike(alike)
        alike = 0
        cells = (f"  {timeline.change(step.conclusion.scaled_to, step.decision):<9}" for step in moment)
        yield f"{_start(moment[0])}{''.join(cells)}".rstrip()
    if alike:
        yield _alike(alike)


def summary_lines(tallies: Sequence[Tally]) -> Iterator[str]:
    """What each way comes to: one in a sentence, several as a table."""
    summaries = [tally.summary() for tally in tallies]
    if len(summaries) == 1:
        yield from _sentences(summaries[0])
        return
    rows = [("", *HEADS), *((f"{letter}:", *cells(one)) for letter, one in zip(LETTERS, summaries, strict=False))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))


HEADS: Final = ("REPLICAS", "MEAN", "POD-HOURS", "UP", "DOWN", "REVERSALS", "TOO FEW FOR", "WORST", "LOST")
"""Of the columns that `cells` fills."""


def cells(summary: Summary) -> tuple[str, ...]:
    """A summary as a row of a table."""
    return (
        f"{summary.replicas_least} to {summary.replicas_most}",
        f"{summary.replicas_mean:.1f}",
        f"{summary.pod_hours:.1f}",
        str(summary.scale_ups),
        str(summary.scale_downs),
        str(summary.reversals),
        _length(summary.short_s),
        "none ready" if summary.worst is None else f"{summary.worst:.0%}",
        f"{summary.lost:.1%}",
    )


def _sentences(summary: Summary) -> Iterator[str]:
    yield (
        f"{summary.replicas_least} to {summary.replicas_most} replicas, {summary.replicas_mean:.1f} on average, "
        f"{summary.pod_hours:.1f} pod-hours; scaled up {_times(summary.scale_ups)} and down "
        f"{_times(summary.scale_downs)}, with {summary.reversals} {plural('reversal', summary.reversals)}"
    )
    worst = "none was ready" if summary.worst is None else f"a ready pod had {summary.worst:.0%} of its target"
    yield (
        f"too few pods were ready for {_length(summary.short_s)} of {_length(summary.duration_s)}; at worst {worst}; "
        f"{summary.lost:.1%} of the load was more than they could carry"
    )


def _kind(decision: Decision) -> tuple[object, ...]:
    """How a count comes about, without its numbers."""
    stabilization, limit = decision.stabilization, decision.limit
    held = stabilization is not None and stabilization.stabilized != stabilization.desired
    return decision.path, held, None if limit is None else limit.reason


def _start(step: Step) -> str:
    return f"{format_duration(step.t_ns):>9}  {step.load:>6.1f}"


def _of_target(decision: Decision) -> str:
    highest = timeline.highest_ratio(decision)
    return "?" if highest is None else f"{highest:.0%}"


def _alike(count: int) -> str:
    return f"{'':>9}  … {count} {plural('sync', count)} without a change"


def _times(count: int) -> str:
    return f"{count} {plural('time', count)}"


def _length(time_s: float) -> str:
    return format_duration(round(time_s * NANOSECONDS))


def _json(body: dict[str, object], label: str, labels: Sequence[str]) -> str:
    if len(labels) > 1:
        body["variant"] = label
    return msgspec.json.encode(body).decode()
