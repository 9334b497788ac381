"""`lint`: what the API server and the controller will make of HorizontalPodAutoscaler manifests."""

from collections.abc import Sequence
from typing import Any, BinaryIO

import msgspec

from controller.manifest import advice as single
from controller.manifest import neighbours
from controller.manifest.admission import Admission, DefaultGates, Gates, Refused, admit, is_autoscaler
from controller.manifest.findings import Advice
from controller.manifest.load import STDIN, Document, Loaded, Undecodable, UnreadableError, load
from controller.manifest.tree import show, text_at, why_no_text

UNDECODABLE = "Undecodable"
"""The kind of the one error of a document that cannot be decoded."""


class Finding(msgspec.Struct, frozen=True):
    """An error or a piece of advice: where, what, and what to do.

    `kind` is that of the API server's cause (`FieldValueInvalid`) or the code of the advice. `field` is empty where
    the whole document is meant.
    """

    file: str
    line: int
    field: str
    kind: str
    message: str


class LintResult(msgspec.Struct, frozen=True):
    """What was found about one document.

    `name` is `namespace/name` or `name`. `defaulted` is the object as the API server stores it, in autoscaling/v2 and
    without status; None when there are errors. An undecodable document has errors of kind `Undecodable` only.
    """

    file: str
    line: int
    name: str
    errors: tuple[Finding, ...] = ()
    advice: tuple[Finding, ...] = ()
    defaulted: dict[str, Any] | None = None

    @property
    def undecodable(self) -> bool:
        """Whether the document cannot be decoded at all."""
        return any(error.kind == UNDECODABLE for error in self.errors)


def lint_files(
    paths: Sequence[str], stdin: BinaryIO, gates: Gates | None = None, *, recursive: bool = False
) -> list[LintResult]:
    """What is found in the manifests of files, folders and, for `-`, stdin; gates as of 1.36 when None.

    `recursive` adds the folders in folders. What a command calls: `render.text` or `render.json_lines` shows the
    result, and any errors mean exit code 1.

    Raises:
        UnreadableError: a file cannot be read at all, or there is no object in any of them: whoever checks nothing
            would take it for checked.
    """
    loaded = load(paths, stdin, recursive=recursive)
    if not loaded:
        raise UnreadableError(f"{', '.join('stdin' if path == STDIN else path for path in paths)}: no objects to check")
    return lint(loaded, gates or DefaultGates())


def lint(loaded: Sequence[Loaded], gates: Gates) -> list[LintResult]:
    """One result per HorizontalPodAutoscaler and undecodable part, in their order; other kinds serve as context."""
    known = neighbours.workloads(item for item in loaded if isinstance(item, Document))
    outcomes = [_outcome(item, gates) for item in loaded]
    rivalries = iter(neighbours.among_autoscalers([item for item in outcomes if isinstance(item, Admission)]))
    results = []
    for outcome in outcomes:
        if isinstance(outcome, Admission):
            about = [
                *single.advise(outcome, gates),
                *next(rivalries),
                *neighbours.with_workload(outcome, known, gates),
            ]
            results.append(_result(outcome, about))
        elif outcome is not None:
            results.append(outcome)
    return results


def failed(results: Sequence[LintResult]) -> bool:
    """Whether any document has errors."""
    return any(result.errors for result in results)


def _outcome(item: Loaded, gates: Gates) -> Admission | LintResult | None:
    """What is to be judged, or judged already; None for documents of other kinds."""
    if isinstance(item, Undecodable):
        error = Finding(item.file, item.line, "", UNDECODABLE, item.message)
        return LintResult(item.file, item.line, "", (error,))
    if is_autoscaler(item):
        admission = admit(item, gates)
        return _refused(item, admission) if isinstance(admission, Refused) else admission
    if not item.kind:
        problem = why_no_text(item.root, "kind", "Deployment", ": this is no Kubernetes object")
        error = Finding(item.file, item.line, "kind", UNDECODABLE, problem)
        return LintResult(item.file, item.line, _name(item), (error,))
    return None


def _result(admission: Admission, about: Sequence[Advice]) -> LintResult:
    document = admission.document
    errors = tuple(
        Finding(
            document.file, admission.line(problem.at or problem.path), show(problem.path), problem.kind, problem.message
        )
        for problem in admission.problems
    )
    advice = tuple(
        Finding(
            item.file or document.file, item.line or admission.line(item.path), show(item.path), item.code, item.message
        )
        for item in about
    )
    return LintResult(
        document.file, document.line, _name(document), errors, advice, None if errors else admission.stored
    )


def _refused(document: Document, refused: Refused) -> LintResult:
    errors = tuple(
        Finding(document.file, mismatch.line, show(mismatch.path), UNDECODABLE, mismatch.message)
        for mismatch in refused.mismatches
    )
    return LintResult(document.file, document.line, _name(document), errors)


def _name(document: Document) -> str:
    parts = (text_at(document.root, "metadata", "namespace"), text_at(document.root, "metadata", "name"))
    return "/".join(part for part in parts if part)
