"""The original's code on recordings, manifests and texts of rules: what it makes of them, and whether we do too."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Final

from controller.manifest.admission import Admission, DefaultGates, admit
from controller.manifest.load import Document, documents
from controller.manifest.tree import show
from controller.recording.lines import read_lines
from tests.e2e.programs import find_program
from tests.manifest.manifests import without_empty
from tests.recording.recorded import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tests.e2e.reference.draws import Json

PROGRAM: Final = "hpa-reference"
_TIMEOUT_S: Final = 1800.0
_NO_STATUS: Final = {"desiredReplicas": 0, "currentMetrics": None}


class ReferenceFailedError(Exception):
    """The program failed; the message has what it said."""


def recorded() -> list[list[Json]]:
    """The lines of all recordings in tests/data."""
    return [lines_of(path) for path in paths()]


def lines_of(path: Path) -> list[Json]:
    """A recording: its header, and its ticks."""
    return [json.loads(line) for _, line in read_lines(path)]


def decided(worlds: Iterable[Sequence[Json]], folder: Path) -> Path:
    """A folder, made within another one, with a recording of each world by its name: what the original decides.

    Raises ProgramError when the program is not built, ReferenceFailedError when it fails.
    """
    given, recordings = folder / "worlds", folder / "recordings"
    given.mkdir()
    recordings.mkdir()
    for lines in worlds:
        (given / f"{lines[0]['name']}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    _run("TestDecisions", f"-worlds={given}", f"-recordings={recordings}")
    return recordings


def admitted(manifests: Iterable[Json], folder: Path) -> Iterator[Json]:
    """What the API server makes of manifests, one after the other: `refused`, `errors` or the `stored` object.

    Raises ProgramError when the program is not built, ReferenceFailedError when it fails.
    """
    return _answers("TestAdmission", "manifests", manifests, "admissions", folder)


def read(rule_texts: Iterable[Json], folder: Path) -> Iterator[Json]:
    """What Go makes of texts of rules, one after the other (`rule_texts.rule_text`).

    Of an expression: `refused`, or what it has `named`; of a template: `refused`, `failed` or `filled`.

    Raises ProgramError when the program is not built, ReferenceFailedError when it fails.
    """
    return _answers("TestRules", "rule-texts", rule_texts, "rule-says", folder)


def unlike(manifest: Json, theirs: Json) -> str | None:
    """How we see a manifest otherwise than the API server does; None where both say the same of it.

    Of what cannot be decoded no more is compared than that: texts are our own.
    """
    (document,) = documents("manifest", json.dumps(manifest).encode())
    ours = admit(document, DefaultGates()) if isinstance(document, Document) else document
    if not isinstance(ours, Admission):
        return None if "refused" in theirs else f"we refuse it, {ours}"
    if "refused" in theirs:
        return f"it is refused, {theirs['refused']}"
    found = sorted([show(problem.path), problem.kind] for problem in ours.problems)
    if found != sorted(theirs.get("errors", [])):
        return f"we find {found}, the API server {theirs.get('errors')}"
    if found:
        return None
    their_object = {name: field for name, field in theirs["stored"].items() if (name, field) != ("status", _NO_STATUS)}
    stored, their_stored = (json.dumps(without_empty(one), sort_keys=True) for one in (ours.stored, their_object))
    return None if stored == their_stored else f"we store {stored}, the API server {their_stored}"


def _answers(test: str, what: str, asked: Iterable[Json], into: str, folder: Path) -> Iterator[Json]:
    given, answers = folder / f"{what}.jsonl", folder / f"{into}.jsonl"
    given.write_text("".join(json.dumps(one) + "\n" for one in asked))
    _run(test, f"-{what}={given}", f"-{into}={answers}")
    return (json.loads(line) for line in answers.read_text().splitlines())


def _run(test: str, *arguments: str) -> None:
    command = [str(find_program(PROGRAM)), f"-test.run=^{test}$", *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)  # noqa: S603
    except subprocess.TimeoutExpired as error:
        raise ReferenceFailedError(f"{PROGRAM}: not done after {_TIMEOUT_S:.0f} s; ask for fewer") from error
    if ended.returncode != 0:
        # The last lines of the one say for whom, the first ones of the other what has happened.
        told = [*ended.stdout.splitlines()[-5:], *ended.stderr.splitlines()[:15]]
        raise ReferenceFailedError("\n".join([f"{PROGRAM} ended with status {ended.returncode}:", *told]))
