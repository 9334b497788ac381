"""Kubernetes' own code on recordings and manifests: what it makes of them, and whether we make the same of them."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Final

from controller.manifest.admission import Admission, DefaultGates, admit
from controller.manifest.load import Document, documents
from controller.manifest.tree import show
from controller.recording.check import CheckResult, check_file
from controller.recording.lines import find, read_lines
from tests.e2e.programs import find_program
from tests.manifest.manifests import without_empty
from tests.recording.recorded import paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.e2e.reference.draws import Json

PROGRAM: Final = "hpa-reference"
_TIMEOUT_S: Final = 1800.0


class ReferenceFailedError(Exception):
    """The program failed; the message is the end of what it said."""


def recorded() -> list[list[Json]]:
    """The lines of all recordings in tests/data."""
    return [[json.loads(line) for _, line in read_lines(path)] for path in paths()]


def decided(worlds: Iterable[tuple[str, Iterable[Json]]], folder: Path) -> Path:
    """The folder, made within another one, with a recording of each world by its name: what the original decides.

    Raises ProgramError when the program is not built, ReferenceFailedError when it fails.
    """
    given, recordings = folder / "worlds", folder / "recordings"
    given.mkdir()
    recordings.mkdir()
    for name, lines in worlds:
        (given / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    _run("TestDecisions", f"-worlds={given}", f"-recordings={recordings}")
    return recordings


def checked(recordings: Path) -> Iterator[tuple[Path, CheckResult]]:
    """Every recording of a folder, and where we decide something else."""
    for path in find([recordings]):
        yield path, check_file(path)


def admitted(manifests: Iterable[Json], folder: Path) -> Iterator[Json]:
    """What the API server makes of manifests, one after the other: `refused`, `errors` or the `stored` object.

    Raises ProgramError when the program is not built, ReferenceFailedError when it fails.
    """
    given, admissions = folder / "manifests.jsonl", folder / "admissions.jsonl"
    given.write_text("".join(json.dumps(manifest) + "\n" for manifest in manifests))
    _run("TestAdmission", f"-manifests={given}", f"-admissions={admissions}")
    for line in admissions.read_text().splitlines():
        yield json.loads(line)


def unlike(manifest: Json, theirs: Json) -> str | None:
    """How we see a manifest otherwise than the API server does; None where both say the same of it."""
    (document,) = documents("manifest", json.dumps(manifest).encode())
    ours = admit(document, DefaultGates()) if isinstance(document, Document) else None
    if not isinstance(ours, Admission):
        return None if "refused" in theirs else f"we refuse it, {ours}"
    if "refused" in theirs:
        return f"it is refused, {theirs['refused']}"
    found = sorted([show(problem.path), problem.kind] for problem in ours.problems)
    if found != sorted(theirs.get("errors", [])):
        return f"we find {found}, the API server {theirs.get('errors')}"
    if not found and without_empty(ours.stored) != without_empty(theirs["stored"] | {"status": None}):
        return f"we store {json.dumps(ours.stored)}, the API server {json.dumps(theirs['stored'])}"
    return None


def _run(test: str, *arguments: str) -> None:
    command = [str(find_program(PROGRAM)), f"-test.run=^{test}$", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S)  # noqa: S603
    if ended.returncode != 0:
        raise ReferenceFailedError("\n".join((ended.stdout + ended.stderr).splitlines()[-20:]))
