"""`hpa-controller replay`: recordings through the decision code."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from controller.cli.outcome import BAD_INPUT, DONE, NO, complain, say
from controller.manifest import lint
from controller.manifest.load import UnreadableError
from controller.recording import timeline, variants
from controller.recording.check import check
from controller.recording.format import Recording, RecordingError, Settings, find
from controller.recording.replay import Replay, replayed, settings_of

USAGE = "PATH... [--check] [FLAGS]"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Paths, what to do with them, and what to change."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="recordings, or folders of them")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare with the recorded outcomes and end with `N passed, N failed`; exit 1 if any differ",
    )
    parser.add_argument(
        "--output",
        choices=("text", "json"),
        default="text",
        help="a line per sync, for people or as JSON (default text)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help="decide under another setting (repeatable): tolerance=0.05, downscaleStabilization=60s, …",
    )
    parser.add_argument("--hpa", type=Path, metavar="FILE", help="decide for this manifest instead of the recorded HPA")


def run(parsed: argparse.Namespace) -> int:
    """Replay every recording; one that cannot be read does not stop the others."""
    try:
        spec = None if parsed.hpa is None else _spec_of(parsed.hpa)
        variants.varied(Settings(), parsed.assignments)
        paths = find(parsed.paths)
    except (RecordingError, variants.VariantError, UnreadableError, _ManifestError) as error:
        return complain(str(error), BAD_INPUT)

    def begin(recording: Recording) -> Replay:
        header = recording.header
        return Replay(header, settings_of(variants.varied(header.settings, parsed.assignments)), spec)

    passed = failed = 0
    code = DONE
    for path in paths:
        try:
            recording = Recording(path)
            if not parsed.check:
                _show(recording, begin, parsed.output)
                continue
            verdict = check(recording, begin)
        except RecordingError as error:
            failed += 1
            code = complain(str(error), BAD_INPUT)
            continue
        if verdict.differing:
            failed += 1
            code = max(code, NO)
            say(f"{path}: {verdict.differing} of {verdict.compared} ticks differ", *verdict.lines)
        else:
            passed += 1
    if parsed.check:
        say(f"{passed} passed, {failed} failed")
    return code


def _show(recording: Recording, begin: Callable[[Recording], Replay], output: str) -> None:
    """A recording's syncs, one line each."""
    name = recording.header.name
    if output == "text":
        say(f"{name}: {recording.header.about}")
    for tick, outcome, decision in replayed(recording, begin):
        if output == "json":
            body = msgspec.json.encode({"recording": name, "t": tick.t, "outcome": outcome})
            say(body.decode())
        else:
            say(timeline.line(tick, outcome, decision))
    sys.stdout.flush()


def _spec_of(path: Path) -> dict[str, Any]:
    """The spec of the one HPA in a manifest, as the API server would store it.

    Raises:
        UnreadableError: the file cannot be read.
        _ManifestError: it holds no HPA, several, or one with errors.
    """
    verdicts = lint.lint_files([str(path)], sys.stdin.buffer)
    errors = [finding for verdict in verdicts for finding in verdict.errors]
    if errors:
        raise _ManifestError(f"{path}:{errors[0].line}: {errors[0].field}: {errors[0].message}")
    if len(verdicts) != 1 or verdicts[0].defaulted is None:
        raise _ManifestError(f"{path}: it holds {len(verdicts)} HorizontalPodAutoscalers, one is needed")
    spec: dict[str, Any] = verdicts[0].defaulted["spec"]
    return spec


class _ManifestError(ValueError):
    """The manifest of `--hpa` cannot be used."""
