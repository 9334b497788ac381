"""Results as text for people and as JSON lines for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from controller.manifest.lint import UNDECODABLE, Finding, LintResult
from controller.wire.errors import printable

_PREFIX = "FieldValue"
_MESSAGE_CHARACTERS_MAX = 1_000


def text(results: Sequence[LintResult]) -> list[str]:
    """Lines `FILE:LINE: error: spec.maxReplicas: Required: …` and `FILE:LINE: advice: … [code]`, and a summary."""
    lines: list[str] = []
    for result in results:
        for severity, findings in (("error", result.errors), ("advice", result.advice)):
            # From the top of the file to its end, other files last.
            in_order = sorted(findings, key=lambda finding: (finding.file != result.file, finding.file, finding.line))
            lines.extend(_line(finding, severity) for finding in in_order)
    lines.append(_summary(results))
    return lines


def json_lines(results: Sequence[LintResult]) -> Iterator[str]:
    """One JSON object per document.

    `errors` (`[field, kind]`), `defaulted` (object or null) and `advice` are what programs need; `file`, `line`, `name`
    and `details` (the errors in full) say where and why. An undecodable document has the one error
    `["", "Undecodable"]` and a `message`.
    """
    for result in results:
        errors, advice = (tuple(map(_encodable, findings)) for findings in (result.errors, result.advice))
        shown = msgspec.structs.replace(result, file=_whole(result.file), errors=errors, advice=advice)
        yield msgspec.json.encode(_object(shown)).decode()


def _encodable(finding: Finding) -> Finding:
    """A message quotes what was written, which may hold bytes that are not UTF-8, as names of files may."""
    file, field, message = map(_whole, (finding.file, finding.field, finding.message))
    return msgspec.structs.replace(finding, file=file, field=field, message=message)


def _whole(written: str) -> str:
    return printable(written, len(written))


def _line(finding: Finding, severity: str) -> str:
    # Names, fields and values are whatever somebody wrote; a terminal must not obey them, nor a line be broken by them.
    field = f"{printable(finding.field)}: " if finding.field else ""
    kind = f"{finding.kind.removeprefix(_PREFIX)}: " if severity == "error" else ""
    code = f" [{finding.kind}]" if severity == "advice" else ""
    return (
        f"{_whole(finding.file)}:{finding.line}: {severity}: {field}{kind}"
        f"{printable(finding.message, _MESSAGE_CHARACTERS_MAX)}{code}"
    )


def _object(result: LintResult) -> dict[str, Any]:
    found: dict[str, Any] = {
        "file": result.file,
        "line": result.line,
        "name": result.name,
        "errors": [[error.field, error.kind] for error in result.errors],
        "details": result.errors,
        "defaulted": result.defaulted,
        "advice": result.advice,
    }
    if result.undecodable:
        found["errors"] = [["", UNDECODABLE]]
        found["message"] = "; ".join(
            f"{error.field}: {error.message}" if error.field else error.message for error in result.errors
        )
    return found


def _summary(results: Sequence[LintResult]) -> str:
    if not results:
        return "no HorizontalPodAutoscaler found"
    errors = sum(len(result.errors) for result in results)
    wrong = sum(bool(result.errors) for result in results)
    advice = sum(len(result.advice) for result in results)
    checked = f"{_count(len(results), 'document')} checked"
    refused = f"{_count(errors, 'error')} in {wrong} of them" if errors else "no errors"
    advised = f"{_count(advice, 'piece')} of advice" if advice else "no advice"
    return f"{checked}: {refused}, {advised}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
