"""What is found in a manifest: problems, for which the API server refuses it, and advice about what it accepts."""

from typing import Final

import msgspec

from controller.manifest.tree import Path

REQUIRED: Final = "FieldValueRequired"
INVALID: Final = "FieldValueInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"


class Problem(msgspec.Struct, frozen=True):
    """Why the API server refuses an object: field, kind of error (`FieldValueInvalid` …), what is wrong and to do.

    `at` is the place in the object when it is known better than the API server names it.
    """

    path: Path
    kind: str
    message: str
    at: Path | None = None


class Advice(msgspec.Struct, frozen=True):
    """What will not work or surprise although it is valid, in one sentence with its remedy.

    `code` names the rule and never changes. `path` is in the manifest, or in the stored object where that has the
    field only there; or, with `file` and `line`, in another document.
    """

    code: str
    path: Path
    message: str
    file: str = ""
    line: int = 0
