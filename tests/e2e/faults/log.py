"""The audit log as the invariants want it."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from tests.e2e.audited import Audited
from tests.e2e.faults.invariants import Opened, Seen

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from tests.e2e.control_plane import ControlPlane


def read(
    plane: ControlPlane, users: Collection[str], start: int, kills: Sequence[dt.datetime] = ()
) -> tuple[list[Seen], list[Opened]]:
    """Requests and watches of some users from a position in the audit log on.

    kills are the moments at which the API server was killed: it then does not log the ends of its watches.
    """
    seen: dict[str, Seen] = {}
    opened: dict[str, Opened] = {}
    for entry in plane.audit_entries(start):
        user = entry["user"].get("username", "")
        if user not in users:
            continue
        request = Audited.of(entry)
        identity = entry["auditID"]
        if request.verb != "watch":
            seen.setdefault(identity, Seen(user, request))
            continue
        if not request.accepted:
            continue
        known = opened.get(identity)
        ended = request.answered if entry["stage"] == "ResponseComplete" else None
        since = request.received if known is None else known.since
        opened[identity] = Opened(user, request.resource, since, ended or _killed(since, kills))
    return list(seen.values()), list(opened.values())


def _killed(since: dt.datetime, kills: Sequence[dt.datetime]) -> dt.datetime | None:
    return min((moment for moment in kills if moment > since), default=None)
