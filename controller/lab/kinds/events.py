"""Events of events.k8s.io/v1 from and to their stored form, which is that of the core group."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from controller.lab.objects.resources import Object

_RENAMED = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_BACK = {stored: served for served, stored in _RENAMED.items()}

TIME_TO_LIVE_S = 3600.0
"""How long an Event is kept after its last write, in seconds."""


def to_hub(event: Object) -> Object:
    """The stored form of an events.k8s.io/v1 object."""
    converted = {_RENAMED.get(name, name): value for name, value in event.items()}
    return {"reportingComponent": "", "reportingInstance": "", **converted}


def from_hub(event: Object) -> Object:
    """The events.k8s.io/v1 form of a stored Event."""
    converted = {_BACK.get(name, name): value for name, value in event.items()}
    for name in ("reportingController", "reportingInstance"):
        if not converted.get(name):
            converted.pop(name, None)
    return converted
