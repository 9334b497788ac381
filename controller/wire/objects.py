"""What all Kubernetes answers have in common: metadata, lists, watch events, Status."""

from typing import Final

import msgspec

from controller.decide.instants import parse_rfc3339
from controller.wire.errors import WireError, printable, wire_errors


class _Cause(msgspec.Struct):
    reason: str = ""


class _Details(msgspec.Struct):
    causes: list[_Cause] | None = None


class Status(msgspec.Struct, rename="camel"):
    """A metav1.Status: how a server reports an error. `code` 0 and empty texts: not said."""

    message: str = ""
    reason: str = ""
    code: int = 0
    details: _Details | None = None

    def has_cause(self, reason: str) -> bool:
        """Whether one of its causes has this reason."""
        return self.details is not None and any(cause.reason == reason for cause in self.details.causes or ())


class ListMetadata(msgspec.Struct, rename="camel"):
    """`continue_` is empty on the last part of a list."""

    resource_version: str = ""
    continue_: str | None = msgspec.field(default=None, name="continue")


class ObjectList(msgspec.Struct):
    """A list with its items still encoded, so that one bad item spoils no other."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class WatchLine(msgspec.Struct):
    """A line of a watch with its object still encoded."""

    type: str
    object: msgspec.Raw


class BookmarkMetadata(msgspec.Struct, rename="camel"):
    """What a bookmark tells."""

    resource_version: str = ""
    annotations: dict[str, str] | None = None


class BookmarkObject(msgspec.Struct):
    """The object of a BOOKMARK line."""

    metadata: BookmarkMetadata


class Identity(msgspec.Struct, rename="camel", gc=False):
    """The part of the metadata that tells one object from another."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name of what is in no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Identified(msgspec.Struct):
    metadata: Identity


class ConfigMapMetadata(msgspec.Struct, rename="camel"):
    """Which one it is."""

    name: str
    resource_version: str = ""


class ConfigMap(msgspec.Struct):
    """Texts by key."""

    metadata: ConfigMapMetadata
    data: dict[str, str] | None = None


SAID_CHARACTERS_MAX: Final = 1_000
"""How much of a server's message is kept: refused objects are explained at length."""

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"

_STATUS: Final = msgspec.json.Decoder(Status)
_LIST: Final = msgspec.json.Decoder(ObjectList)
_CONFIG_MAP: Final = msgspec.json.Decoder(ConfigMap)
_IDENTIFIED: Final = msgspec.json.Decoder(_Identified)
_LINE: Final = msgspec.json.Decoder(WatchLine)
_BOOKMARK: Final = msgspec.json.Decoder(BookmarkObject)


def decode_status(body: bytes) -> Status:
    """The Status in an error's body; whatever is no Status becomes one whose message is the body's beginning.

    The message is one line of at most SAID_CHARACTERS_MAX characters of the server's.
    """
    try:
        status = _STATUS.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        status = Status(message=body[:200].decode("utf-8", "replace").strip())
    status.message = printable(" ".join(status.message.split()), SAID_CHARACTERS_MAX)
    return status


@wire_errors
def decode_list(body: bytes) -> ObjectList:
    """A list's parts. Raises WireError if it is none."""
    return _LIST.decode(body)


@wire_errors
def decode_config_map(body: bytes) -> ConfigMap:
    """A ConfigMap. Raises WireError if it is none."""
    return _CONFIG_MAP.decode(body)


@wire_errors
def decode_identity(body: bytes) -> Identity:
    """Which object it is. Raises WireError if it does not say even that."""
    return _IDENTIFIED.decode(body).metadata


@wire_errors
def decode_watch_line(line: bytes) -> WatchLine:
    """A watch line's parts. Raises WireError if it is none."""
    return _LINE.decode(line)


@wire_errors
def decode_bookmark(body: bytes) -> tuple[str, bool]:
    """A bookmark's resourceVersion, and whether it ends the initial events (§20.2). Raises WireError."""
    metadata = _BOOKMARK.decode(body).metadata
    if not metadata.resource_version:
        raise WireError("a bookmark without resourceVersion")
    return metadata.resource_version, (metadata.annotations or {}).get(INITIAL_EVENTS_END) == "true"


class _Version(msgspec.Struct, rename="camel"):
    git_version: str = "unknown"


def git_version(body: bytes) -> str:
    """The server's version as `/version` says it, `unknown` if it does not."""
    try:
        return msgspec.json.decode(body, type=_Version).git_version
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return "unknown"


class _Creation(msgspec.Struct, rename="camel"):
    creation_timestamp: str = ""


_CREATION: Final = msgspec.json.Decoder(_Creation)


def created_ns(metadata: bytes) -> int | None:
    """When an object was created, by its metadata, to the second; None if that does not say it."""
    try:
        return parse_rfc3339(_CREATION.decode(metadata).creation_timestamp)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
