"""What a controller asked of the API server, from the audit log, and the rules that hold for all of it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.e2e.control_plane import ControlPlane

READS = {"get", "list", "watch"}
USER_AGENT = re.compile(r"hpa-controller/\d+\.\d+\.\d+ \(linux/\w+\)")
HISTORY = re.compile(r"[a-z0-9-]+-history-\d+")
# What §23 allows to be written, and Leases.
WRITES = {
    ("update", "horizontalpodautoscalers/status"),
    ("create", "events"),
    ("patch", "events"),
    ("create", "leases"),
    ("update", "leases"),
    # --keep-history
    ("create", "configmaps"),
    ("patch", "configmaps"),
    # Questions about those who want to read /metrics, which only look like writes.
    ("create", "tokenreviews"),
    ("create", "subjectaccessreviews"),
}


class RuleBrokenError(Exception):
    """A request that the controller must never make."""


@dataclasses.dataclass(frozen=True)
class Audited:
    """One request and its answer."""

    verb: str
    """get, list, watch, create, update, patch, …"""
    group: str
    """The API group; empty for the core group."""
    resource: str
    """Such as ``deployments/scale``; empty for paths without an object."""
    namespace: str
    name: str
    code: int
    """The HTTP status of the answer."""
    received: dt.datetime
    """When the API server got it."""
    answered: dt.datetime
    """When the answer was complete; of a watch, when it began."""
    sent: Mapping[str, Any]
    """The object in the request; empty where it is not logged."""
    got: Mapping[str, Any]
    """The object in the answer; empty where it is not logged."""
    query: Mapping[str, str]
    user_agent: str
    credential: str
    """The id of the token that the user came with; empty for others."""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Self:
        """The request that an entry of the audit log tells of."""
        at = entry.get("objectRef", {})
        uri = urlsplit(entry["requestURI"])
        extra = entry["user"].get("extra", {})
        return cls(
            verb=entry["verb"],
            group=at.get("apiGroup", ""),
            resource="/".join(part for part in (at.get("resource"), at.get("subresource")) if part),
            namespace=at.get("namespace", ""),
            name=at.get("name", ""),
            code=entry.get("responseStatus", {}).get("code", 0),
            received=dt.datetime.fromisoformat(entry["requestReceivedTimestamp"]),
            answered=dt.datetime.fromisoformat(entry["stageTimestamp"]),
            sent=entry.get("requestObject", {}),
            got=entry.get("responseObject", {}),
            query={name: values[0] for name, values in parse_qs(uri.query).items()},
            user_agent=entry.get("userAgent", ""),
            credential="".join(extra.get("authentication.kubernetes.io/credential-id", ())),
        )

    @property
    def accepted(self) -> bool:
        """Whether the API server did what was asked."""
        return 200 <= self.code < 300

    @property
    def writes(self) -> bool:
        """Whether the request is to change something."""
        return self.verb not in READS

    @property
    def lists(self) -> bool:
        """Whether it asks for all objects of a resource, by a list or by a watch that begins with one."""
        return self.verb == "list" or (self.verb == "watch" and "sendInitialEvents" in self.query)

    def about(self, *resources: str, name: str | None = None) -> bool:
        """Whether it is about one of the resources, and an object with this name if one is given."""
        return self.resource in resources and name in (None, self.name)


def requests_of(plane: ControlPlane, user: str, start: int = 0) -> list[Audited]:
    """A user's requests from a position in the audit log on, oldest first; each watch once."""
    seen: dict[str, Audited] = {}
    for entry in plane.audit_entries(start):
        if entry["user"].get("username") == user and entry["auditID"] not in seen:
            seen[entry["auditID"]] = Audited.of(entry)
    return list(seen.values())


def check_rules(requests: Iterable[Audited]) -> None:
    """Raises RuleBrokenError for the first request that breaks what holds for every controller in every test."""
    for request in requests:
        problem = _problem(request)
        if problem is not None:
            raise RuleBrokenError(f"{problem}: {request}")


def _history_problem(request: Audited, metadata: Mapping[str, Any]) -> str | None:
    if HISTORY.fullmatch(request.name or metadata.get("name", "")) is None:
        return "this is not for a controller of HPAs to write"
    if request.verb == "patch" and request.sent and not metadata.get("resourceVersion"):
        return "without a resourceVersion it overwrites whatever is there"
    return None


def _problem(request: Audited) -> str | None:
    if USER_AGENT.fullmatch(request.user_agent) is None:
        return "it does not say what program it is"
    if not request.writes:
        return None
    what = (request.verb, request.resource)
    is_scale = request.verb == "update" and request.resource.endswith("/scale")
    if what not in WRITES and not is_scale:
        return "this is not for a controller of HPAs to write"
    # A body that could not be decoded is not logged; neither is one that was refused for lack of a permission.
    metadata = request.sent.get("metadata", {})
    if request.resource == "configmaps":
        return _history_problem(request, metadata)
    if request.verb != "update" or not request.sent:
        return None
    if not metadata.get("resourceVersion"):
        return "without a resourceVersion it overwrites whatever is there"
    if is_scale and not metadata.get("uid"):
        return "without a uid it may scale another object of the same name"
    return None
