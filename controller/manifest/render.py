"""Verdicts as text for people and as JSON lines for programs."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from controller.manifest.lint import UNDECODABLE, Finding, Verdict
from controller.wire.errors import printable

_PREFIX = "FieldValue"
_MESSAGE_CHARACTERS_MAX = 1_000


def text(verdicts: Sequence[Verdict]) -> list[str]:
    """Lines `FILE:LINE: error: spec.maxReplicas: Required: …` and `FILE:LINE: advice: … [code]`, and a summary."""
    lines: list[str] = []
    for verdict in verdicts:
        for severity, findings in (("error", verdict.errors), ("advice", verdict.advice)):
            # From the top of the file to its end, other files last.
            in_order = sorted(findings, key=lambda finding: (finding.file != verdict.file, finding.file, finding.line))
            lines.extend(_line(finding, severity) for finding in in_order)
    lines.append(_summary(verdicts))
    return lines


def json_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """One JSON object per document.

    `errors` (`[field, kind]`), `defaulted` (object or null) and `advice` are what programs need; `file`, `line`, `name`
    and `details` (the errors in full) say where and why. An undecodable document has the one error
    `["", "Undecodable"]` and a `message`.
    """
    for verdict in verdicts:
        errors, advice = (tuple(map(_encodable, findings)) for findings in (verdict.errors, verdict.advice))
        shown = msgspec.structs.replace(verdict, file=_whole(verdict.file), errors=errors, advice=advice)
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


def _object(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {
        "file": verdict.file,
        "line": verdict.line,
        "name": verdict.name,
        "errors": [[error.field, error.kind] for error in verdict.errors],
        "details": verdict.errors,
        "defaulted": verdict.defaulted,
        "advice": verdict.advice,
    }
    if verdict.undecodable:
        found["errors"] = [["", UNDECODABLE]]
        found["message"] = "; ".join(
            f"{error.field}: {error.message}" if error.field else error.message for error in verdict.errors
        )
    return found


def _summary(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "no HorizontalPodAutoscaler found"
    errors = sum(len(verdict.errors) for verdict in verdicts)
    wrong = sum(bool(verdict.errors) for verdict in verdicts)
    advice = sum(len(verdict.advice) for verdict in verdicts)
    checked = f"{_count(len(verdicts), 'document')} checked"
    refused = f"{_count(errors, 'error')} in {wrong} of them" if errors else "no errors"
    advised = f"{_count(advice, 'piece')} of advice" if advice else "no advice"
    return f"{checked}: {refused}, {advised}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
