"""Whether two outcomes of a tick are equal, by the rule of docs/recording-format.md, and where they are not."""

import re
from collections.abc import Iterator
from typing import Any, Final

from controller.decide.instants import parse_rfc3339
from controller.recording.format_v1 import Outcome

OPEN_QUANTITY: Final = "-9223372036854775808m"
"""What the original reports as an average over no replicas (§7.4): any value and none agree with it."""

_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T")


def differences(recorded: Outcome, decided: Outcome, *, compare_writes: bool = True) -> list[str]:
    """One line per difference, `field: recorded …, decided …`; none when the outcomes agree.

    `compare_writes` False leaves `statusWrites` out: in ticks where the open quantity comes or goes.
    """
    found = []
    if recorded.scaled_to != decided.scaled_to:
        found.append(_line("scaledTo", recorded.scaled_to, decided.scaled_to))
    if compare_writes and recorded.status_writes != decided.status_writes:
        found.append(_line("statusWrites", recorded.status_writes, decided.status_writes))
    if recorded.events != decided.events:
        found.append(_line("events", _events(recorded), _events(decided)))
    found.extend(_walk("status", recorded.status, decided.status))
    return found


def open_quantities(outcome: Outcome | None) -> int:
    """How many open quantities an outcome's status holds."""
    return 0 if outcome is None else str(outcome.status).count(OPEN_QUANTITY)


def _walk(path: str, recorded: Any, decided: Any) -> Iterator[str]:
    if recorded == OPEN_QUANTITY:
        return
    if isinstance(recorded, dict) and isinstance(decided, dict):
        for key in dict.fromkeys((*recorded, *decided)):
            yield from _walk(f"{path}.{key}", recorded.get(key), decided.get(key))
    elif isinstance(recorded, list) and isinstance(decided, list) and len(recorded) == len(decided):
        for index, (left, right) in enumerate(zip(recorded, decided, strict=True)):
            yield from _walk(f"{path}[{index}]", left, right)
    elif _value(recorded) != _value(decided):
        yield _line(path, recorded, decided)


def _value(value: Any) -> Any:
    """Times as instants; zero values as absent."""
    if isinstance(value, str) and _TIME.match(value):
        try:
            return parse_rfc3339(value)
        except ValueError:
            return value
    return value or None


def _events(outcome: Outcome) -> list[str]:
    return [f"{kind} {reason}" for kind, reason in outcome.events]


def _line(path: str, recorded: Any, decided: Any) -> str:
    return f"{path}: recorded {recorded!r}, decided {decided!r}"
