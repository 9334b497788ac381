"""Requests as the API server's audit log tells them, read while it is being written and kept small."""

import datetime as dt
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

_CHUNK_BYTES = 1 << 24
_BEGUN: Final = "ResponseStarted"
_DONE: Final = "ResponseComplete"

AUDIT_POLICY: dict[str, Any] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}
"""Who asked for what and when, without bodies: writing these down would be a cost of its own."""


class Request(msgspec.Struct, frozen=True):
    """One request and how it was answered."""

    received_s: float
    """Wall time in seconds."""
    verb: str
    resource: str
    """With the subresource and the API group, such as ``deployments/scale.apps``."""
    key: str
    """Namespace/name; without a name for collections, and empty where there is no object."""
    code: int
    target: str
    """Path and query."""

    @property
    def accepted(self) -> bool:
        """Whether the API server did what was asked."""
        return 200 <= self.code < 300

    @property
    def reads(self) -> bool:
        """Whether it asks for something once."""
        return self.verb in ("get", "list")

    @property
    def is_status_write(self) -> bool:
        """Whether it is to change an HPA's status."""
        return self.resource == "horizontalpodautoscalers/status.autoscaling" and self.verb in ("update", "patch")

    @property
    def is_scale_write(self) -> bool:
        """Whether it is to change the replicas of something."""
        return "/scale." in self.resource and self.verb in ("update", "patch")


class _Reference(msgspec.Struct):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    apiGroup: str = ""  # noqa: N815  # as the log has it
    subresource: str = ""


class _User(msgspec.Struct):
    username: str = ""


class _Status(msgspec.Struct):
    code: int = 0


class _Line(msgspec.Struct):
    stage: str
    verb: str
    requestURI: str  # noqa: N815  # as the log has it
    requestReceivedTimestamp: dt.datetime  # noqa: N815  # as the log has it
    user: _User = msgspec.field(default_factory=_User)
    objectRef: _Reference = msgspec.field(default_factory=_Reference)  # noqa: N815  # as the log has it
    responseStatus: _Status = msgspec.field(default_factory=_Status)  # noqa: N815  # as the log has it


_decode = msgspec.json.Decoder(_Line).decode


def write_policy() -> Path:
    """A new file with the audit policy. It is for the caller to remove."""
    with tempfile.NamedTemporaryFile(prefix="hpa-controller-audit-", suffix=".json", delete=False) as file:
        file.write(msgspec.json.encode(AUDIT_POLICY))
    return Path(file.name)


class RequestLog:
    """What one user asked for, from the moment of construction on."""

    def __init__(self, path: Path, user: str) -> None:
        self.requests: list[Request] = []
        self._path = path
        self._user = user
        self._read_to = path.stat().st_size

    def update(self) -> list[Request]:
        """Reads what was written meanwhile; what that adds."""
        added = [*self._new()]
        self.requests.extend(added)
        return added

    def _new(self) -> Iterator[Request]:
        user = self._user.encode()
        with self._path.open("rb") as stream:
            stream.seek(self._read_to)
            rest = b""
            while chunk := stream.read(_CHUNK_BYTES):
                *lines, rest = (rest + chunk).split(b"\n")
                self._read_to = stream.tell() - len(rest)
                # Most lines of others need no decoding.
                yield from filter(None, (request_of(line, self._user) for line in lines if user in line))


def request_of(line: bytes, user: str) -> Request | None:
    """The request of a line; None if it is another user's or the end of a watch, whose begin has a line of its own.

    Raises msgspec.DecodeError for what is no audit log.
    """
    found = _decode(line)
    if found.user.username != user or found.stage != (_BEGUN if found.verb == "watch" else _DONE):
        return None
    about = found.objectRef
    resource = "/".join(filter(None, (about.resource, about.subresource)))
    return Request(
        received_s=found.requestReceivedTimestamp.timestamp(),
        verb=found.verb,
        resource=".".join(filter(None, (resource, about.apiGroup))),
        key=f"{about.namespace}/{about.name}" if about.resource else "",
        code=found.responseStatus.code,
        target=found.requestURI,
    )
