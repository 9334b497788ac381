"""Replays on a terminal and as JSON lines."""

import difflib
from collections.abc import Collection, Iterator, Sequence
from typing import Final

import msgspec

from controller.explain.findings import plural
from controller.recording import timeline
from controller.recording.course import Course, Frame
from controller.recording.differing import CAVEAT, Row, Tally, row
from controller.recording.lines import RecordingError
from controller.recording.variants import Variant
from controller.wire.errors import printable

_HEADING_MAX: Final = 4_000
LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
VARIANTS_MAX: Final = len(LETTERS)
LISTED_MAX: Final = 10


def json_lines(course: Course, frames: Iterator[Frame], variants: Sequence[Variant], *, named: bool) -> Iterator[str]:
    """`{"recording", "t", "outcome"}` per sync; with `hpa` if it is to be named, `variant` if there are several."""
    for frame in frames:
        # With a report, the recorded way comes before the variants.
        for variant, moment in zip(variants, frame.moments[-len(variants) :], strict=True):
            body: dict[str, object] = {"recording": course.name, "t": frame.t, "outcome": moment.outcome}
            if named:
                body["hpa"] = frame.hpa
            if len(variants) > 1:
                body["variant"] = variant.label
            yield msgspec.json.encode(body).decode()


def timeline_lines(course: Course, frames: Iterator[Frame], hpa: str, *, bars: bool) -> Iterator[str]:
    """A heading, then a line per sync, with a bar if there is room; each names its HPA unless all are of `hpa`."""
    yield _heading(course, hpa)
    for frame in frames:
        [moment] = frame.moments
        scaled_to = None if moment.outcome is None else moment.outcome.scaled_to
        yield timeline.line(frame.t, scaled_to, moment.decision, "" if hpa else frame.hpa, bars=bars)


def comparison_lines(course: Course, frames: Iterator[Frame], variants: Sequence[Variant], hpa: str) -> Iterator[str]:
    """What variants would have decided: a line per sync in which one of them differs, then what each comes to.

    `hpa` as for `timeline_lines`.
    """
    named = not hpa
    yield _heading(course, hpa)
    yield CAVEAT
    for letter, variant in _lettered(variants):
        yield f"  {letter}: {variant.label}"
    heading = f"{'TIME':>9}  {'HPA':<24} " if named else f"{'TIME':>9}  "
    yield (
        heading + f"{'REPLICAS':>8}  {'RECORDED':>8}" + "".join(f"  {letter:<10}" for letter, _ in _lettered(variants))
    )
    tallies = [Tally(index) for index in range(len(variants))]
    alike = 0
    failed: RecordingError | None = None
    try:
        for frame in frames:
            found = row(frame)
            for tally, moment in zip(tallies, frame.moments[1:], strict=True):
                tally.take(found, moment.decision)
            if not found.differs:
                alike += 1
                continue
            if alike:
                yield _alike(alike)
            alike = 0
            yield from _row_lines(found, named=named)
    except RecordingError as error:
        failed = error
    if alike:
        yield _alike(alike)
    for (letter, variant), tally in zip(_lettered(variants), tallies, strict=True):
        yield from summary_lines(f"{letter}: {variant.label}", tally, named=named)
    if failed is not None:
        raise failed


def summary_lines(label: str, tally: Tally, *, named: bool) -> Iterator[str]:
    """How much a variant differs, where it begins to, and what cannot be told."""
    first, wish = tally.first, tally.first_wish()
    if first is None or wish is None:
        yield f"{label}: {tally.alike()}"
    else:
        of = f" of {first.hpa}" if named else ""
        yield (
            f"{label}: differs in {tally.differing} of {tally.syncs} syncs, first at {timeline.clock(first.t)}{of}: "
            f"{_count(wish.desired)} instead of {_count(first.desired)} ({wish.why}); "
            f"{tally.span()}"
        )
    if tally.unanswered:
        yield f"   partial: in {tally.unanswered} of them it asks for a metric that was not recorded"


def listed(names: Collection[str], wanted: str) -> str:
    """At most LISTED_MAX of these names, those most like the one that is wanted, and how many more there are."""
    likely = sorted(difflib.get_close_matches(wanted, names, n=LISTED_MAX, cutoff=0.0))
    more = f" and {len(names) - LISTED_MAX} more" if len(names) > LISTED_MAX else ""
    return printable(f"{', '.join(likely)}{more}", _HEADING_MAX)


def _heading(course: Course, hpa: str) -> str:
    return printable(f"{course.name}: {', '.join(filter(None, (hpa, course.about)))}", _HEADING_MAX)


def _lettered(variants: Sequence[Variant]) -> list[tuple[str, Variant]]:
    return list(zip(LETTERS, variants, strict=False))


def _row_lines(found: Row, *, named: bool) -> Iterator[str]:
    hpa = f"{found.hpa:<24} " if named else ""
    cells = []
    for wish in found.wishes:
        by = f" ({wish.by:+d})" if wish.by else ""
        cells.append(f"  {_count(wish.desired) + by:<10}")
    start = f"{timeline.clock(found.t):>9}  {hpa}{_count(found.replicas):>8}  {_count(found.desired):>8}"
    if len(found.wishes) == 1:
        yield f"{start}{cells[0]}  {found.wishes[0].why}"
        return
    yield f"{start}{''.join(cells)}".rstrip()
    for letter, wish in zip(LETTERS, found.wishes, strict=False):
        if wish.differs:
            yield f"{'':>9}  {letter}: {wish.why}"


def _count(replicas: int | None) -> str:
    return "?" if replicas is None else str(replicas)


def _alike(count: int) -> str:
    return f"{'':>9}  … {count} {plural('sync', count)} alike"
