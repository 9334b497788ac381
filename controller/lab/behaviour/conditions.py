"""Lists of conditions, as the status of most kinds has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object

Conditions = list[dict[str, Any]]


def find_condition(status: Object, kind: str) -> Object | None:
    """The condition of a type, or None."""
    found: Object | None = next((item for item in status.get("conditions") or () if item["type"] == kind), None)
    return found


def is_true(status: Object, kind: str) -> bool:
    """Whether a status has a condition of this type that is True."""
    found = find_condition(status, kind)
    return found is not None and found["status"] == "True"


def since(previous: Object, kind: str, status: str, now: str) -> str:
    """The lastTransitionTime of a condition: that of the previous status unless it changes now."""
    found = find_condition(previous, kind)
    if found is not None and found["status"] == status and found.get("lastTransitionTime"):
        return str(found["lastTransitionTime"])
    return now
