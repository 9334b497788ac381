"""What `kubectl describe hpa` says, taken apart."""

from __future__ import annotations

import dataclasses
import re
from typing import Self

_COLUMN_GAP = re.compile(r" {2,}")


@dataclasses.dataclass(frozen=True, slots=True)
class DescribedEvent:
    """A line of the table of events."""

    type: str
    reason: str
    source: str
    message: str


@dataclasses.dataclass(frozen=True, slots=True)
class Described:
    """An HPA as an operator sees it."""

    fields: dict[str, str]
    """Lines ``name: value``; of a metric the name is how it is called, the value current and target."""
    conditions: dict[str, tuple[str, str, str]]
    """Status, reason and message by type."""
    events: list[DescribedEvent]

    @classmethod
    def parse(cls, text: str) -> Self:
        """What was described. Raises ValueError for lines that have another shape."""
        fields: dict[str, str] = {}
        tables: dict[str, list[list[str]]] = {"Conditions": [], "Events": []}
        table = ""
        for line in text.splitlines():
            name, separator, value = line.partition(":")
            if separator and name in tables:
                table = name
            elif table and line.startswith(" "):
                tables[table].append(_COLUMN_GAP.split(line.strip()))
            elif separator and not table:
                fields[_COLUMN_GAP.sub(" ", name.strip())] = value.strip()
            elif line.strip():
                raise ValueError(f"not a line of a described HPA: {line!r}")
        return cls(
            fields,
            {type_: (status, reason, message) for type_, status, reason, message in tables["Conditions"][2:]},
            [DescribedEvent(type_, reason, source, text) for type_, reason, _, source, text in tables["Events"][2:]],
        )

    @property
    def reasons(self) -> dict[str, tuple[str, str]]:
        """Status and reason of each condition."""
        return {name: (status, reason) for name, (status, reason, _) in self.conditions.items()}

    def messages(self, reason: str) -> list[str]:
        """The texts of all events with a reason."""
        return [event.message for event in self.events if event.reason == reason]
