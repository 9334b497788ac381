"""`hpa-controller replay`: recordings through the decision code."""

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from controller.cli.outcome import BAD_INPUT, DONE, NO, complain, say
from controller.cli.replay_manifests import Asked, Manifest, ManifestError, check_stdin, parted
from controller.cli.replay_views import VARIANTS_MAX, comparison_lines, json_lines, listed, timeline_lines
from controller.cli.report_file import stored
from controller.decide.spec import Settings
from controller.flag_values import file_name, file_path, new_file
from controller.manifest.load import UnreadableError
from controller.recording.check import check_course
from controller.recording.course import Course, Frame, grouped
from controller.recording.lines import RecordingError, find
from controller.recording.report import Report
from controller.recording.variants import AS_RECORDED, NAMES, Variant, VariantError, varied
from controller.wire.errors import escaped

USAGE = "PATH... [--check] [FLAGS]"
NAMED_MAX = 3
WIDE = 120
"""Columns of a terminal from which on bars are drawn."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Paths, what to do with them, and what to change."""
    parser.add_argument("paths", nargs="+", type=file_path, metavar="PATH", help="recordings, or folders of them")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare with the recorded outcomes and end with `N passed, N failed`; exit 1 if any differ",
    )
    parser.add_argument("--name", default="", metavar="NAMESPACE/NAME", help="only the syncs of this HPA")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="a line per sync, for people or as JSON (default text)",
    )
    parser.add_argument(
        "--report", type=new_file, metavar="FILE.html", help="draw all of it into a page that needs no network"
    )
    variants = parser.add_argument_group(
        "what if", "Other settings, or another HPA, held against what was recorded. The recorded load does not react."
    )
    variants.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help=f"decide under another setting (repeatable), such as tolerance=0.05; NAME is one of {', '.join(NAMES)}",
    )
    variants.add_argument(
        "--hpa",
        type=file_name,
        metavar="FILE",
        help="decide for the HPA in this file instead of the recorded one; of several, for that of the same name",
    )
    variants.add_argument(
        "--variant",
        action="append",
        default=[],
        dest="variants",
        metavar="NAME=VALUE,…",
        help="one more way to decide, beside the others (repeatable): tolerance=0.2,hpa=FILE; it stands by itself: "
        "what --set and --hpa say is another one",
    )


def run(parsed: argparse.Namespace) -> int:
    """Replay every recording; one that cannot be read does not stop the others."""
    try:
        asked = _asked(parsed)
        paths = find(parsed.paths)
    except (RecordingError, VariantError, UnreadableError, ManifestError) as error:
        return complain(str(error), BAD_INPUT)
    if parsed.check:
        if parsed.name or parsed.report is not None or parsed.output == "json":
            return complain("--check compares every sync: it takes neither --name nor --report nor --output", BAD_INPUT)
        return _check(paths, asked)
    return _replay(parsed, grouped(paths), asked)


def _replay(parsed: argparse.Namespace, openings: Iterator[Callable[[], Course]], asked: tuple[Asked, ...]) -> int:
    """Show every recording; the report is written at the end."""
    report = None if parsed.report is None else Report([one.variant for one in asked])
    shown, code = 0, DONE
    seen: set[str] = set()
    for opening in openings:
        course: Course | None = None
        try:
            course = opening()
            if parsed.name and course.hpa not in ("", parsed.name):
                seen.add(course.hpa)
                continue
            variants = tuple(one.of(course, parsed.name, "choose it with --name NAMESPACE/NAME") for one in asked)
            counted = _Counted(course, parsed.name, _ways(parsed.output, variants, report), report)
            for line in _lines(parsed.output, course, counted, variants, parsed.name or course.hpa):
                say(line)
            shown += counted.count
            seen |= counted.seen
        except (RecordingError, ManifestError) as error:
            sys.stdout.flush()
            code = complain(str(error), BAD_INPUT)
        sys.stdout.flush()
        for note in () if course is None else course.notes:
            complain(note, DONE)
            if report is not None:
                report.note(note)
    if parsed.name and not shown and code == DONE:
        others = f", only of {listed(seen, parsed.name)}" if seen else ""
        return complain(f"--name: no sync of {parsed.name} is in these recordings{others}", BAD_INPUT)
    if report is not None:
        code = max(code, _write(parsed.report, report, parsed.paths))
    return code


class _Counted:
    """The frames that are to be shown, counted, and told to the report; `seen` are the HPAs of all others, too."""

    def __init__(self, course: Course, name: str, ways: tuple[Variant, ...], report: Report | None) -> None:
        self._course, self._name, self._ways, self._report = course, name, ways, report
        self.count = 0
        self.seen: set[str] = set()
        if report is not None:
            report.begin(course.name)

    def __iter__(self) -> Iterator[Frame]:
        for frame in self._course.frames(self._ways):
            self.seen.add(frame.hpa)
            if self._name in ("", frame.hpa):
                self.count += 1
                if self._report is not None:
                    self._report.take(frame)
                yield frame


def _ways(output: str, variants: tuple[Variant, ...], report: Report | None) -> tuple[Variant, ...]:
    """What a frame has to hold for what is shown: JSON of variants does without the recorded way."""
    if not variants:
        return (AS_RECORDED,)
    return variants if output == "json" and report is None else (AS_RECORDED, *variants)


def _lines(output: str, course: Course, frames: _Counted, variants: tuple[Variant, ...], hpa: str) -> Iterator[str]:
    """What is shown; `hpa`: the only one that the frames are of, empty if there may be several."""
    if output == "json":
        return json_lines(course, iter(frames), variants or (AS_RECORDED,), named=not hpa)
    wide = sys.stdout.isatty() and shutil.get_terminal_size().columns >= WIDE
    told = (
        comparison_lines(course, iter(frames), variants, hpa)
        if variants
        else timeline_lines(course, iter(frames), hpa, bars=wide)
    )
    return map(escaped, told)  # recordings quote what API servers and adapters said


def _write(path: Path, report: Report, replayed: list[Path]) -> int:
    names = [one.name for one in replayed[:NAMED_MAX]]
    more = "" if len(replayed) <= NAMED_MAX else ", …"
    code = stored(path, report.page(f"Replay of {', '.join(names)}{more}"))
    for text in report.partial() if code == DONE else ():
        complain(f"--report: {path}: {text}", DONE)
    return code


def _check(paths: list[Path], asked: tuple[Asked, ...]) -> int:
    """Compare every recording with its own outcomes."""
    passed = failed = 0
    code = DONE
    way = asked[0] if asked else Asked(AS_RECORDED)
    for path in paths:
        try:
            [opened] = grouped([path])
            course = opened()
            result = check_course(course, way.of(course, "", "without --check, --name chooses it"))
        except (RecordingError, ManifestError) as error:
            failed += 1
            code = complain(str(error), BAD_INPUT)
            continue
        for note in result.notes:
            complain(note, DONE)
        if result.damaged and not result.compared:
            failed += 1
            code = complain(f"{path}: none of its syncs can be compared", BAD_INPUT)
        elif result.inputs_only and not result.compared:
            failed += 1
            code = complain(f"{path}: only inputs: none of its syncs has an outcome to compare with", BAD_INPUT)
        elif result.differing:
            failed += 1
            code = max(code, NO)
            say(f"{path}: {result.differing} of {result.compared} ticks differ", *map(escaped, result.lines))
        else:
            passed += 1
    say(f"{passed} passed, {failed} failed")
    return code


def _asked(parsed: argparse.Namespace) -> tuple[Asked, ...]:
    """The ways to decide that were asked for, in their order; none: as recorded.

    Raises:
        VariantError: one cannot be understood, or there are too many.
        UnreadableError, ManifestError: a manifest cannot be used.
    """
    ways = [[part.strip() for part in text.split(",")] for text in parsed.variants]
    if parsed.assignments or parsed.hpa is not None:
        files = [] if parsed.hpa is None else [f"hpa={parsed.hpa}"]
        ways.insert(0, [*parsed.assignments, *files])
    check_stdin(chain.from_iterable(ways))
    asked = [_variant(parts) for parts in ways]
    if len(asked) > VARIANTS_MAX:
        raise VariantError(f"{len(asked)} variants are too many; {VARIANTS_MAX} can be held against each other")
    if parsed.check and len(asked) > 1:
        raise VariantError("--check compares with what was recorded: give one variant at most")
    return tuple(asked)


def _variant(parts: list[str]) -> Asked:
    assignments, files = parted(parts)
    if len(files) > 1:
        raise VariantError(f"{', '.join(files)}: one manifest at a time; use --variant for each")
    if files == [""]:
        raise VariantError("'hpa=' names no file")
    varied(Settings(), assignments)
    return Asked(Variant(", ".join(parts), assignments), Manifest(files[0]) if files else None)
