"""What `/explain/{namespace}/{name}` answers; `docs/explain-schema.json` is made from these types."""

from inspect import cleandoc
from typing import Any, Final

import msgspec

from controller.explain.sections import Explained

PATH: Final = "/explain/{namespace}/{name}"
LAST_DEFAULT: Final = 1
LAST_MAX: Final = 100
WORDS: Final = "words"
"""`?detail=words` leaves the inputs and reasons out."""


class SyncTold(msgspec.Struct, frozen=True, rename="camel"):
    """One sync.

    Attributes:
        time: when it was decided, RFC 3339.
        replicas: what the target had, None when that could not be read; `desired` what was decided, None when nothing.
        scaled_to: what was written, None when the scale was left alone.
        why: the reasons in short.
        withheld: why nothing was written although something was to be.
        explained: all of it in words; None from a controller that is older than that.
        spec, observation, history, decision, conclusion: what went in, and all reasons, as the core has them; their
            fields follow the core from version to version.
    """

    time: str
    replicas: int | None
    desired: int | None
    scaled_to: int | None
    why: str
    withheld: Any = None
    explained: Explained | None = None
    spec: Any = None
    observation: Any = None
    history: Any = None
    decision: Any = None
    conclusion: Any = None


class Answer(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The syncs of one HPA, oldest first. `partial` says what is missing from the answer, empty if nothing is."""

    hpa: str
    syncs: tuple[SyncTold, ...]
    version: str = ""
    partial: str = ""


class Refusal(msgspec.Struct, frozen=True):
    """Why there is no answer."""

    error: str


def schema() -> bytes:
    """The JSON schema of `Answer`."""
    told = msgspec.json.schema(Answer)
    for described in told["$defs"].values():
        if "description" in described:  # docstrings are indented as in the source, until Python 3.12
            described["description"] = cleandoc(described["description"])
    return msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n"
