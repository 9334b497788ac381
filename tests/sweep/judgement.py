"""Whether what was said about an input is fit for an operator: one line, short, with a place."""

import re
from typing import Final

from tests.sweep.surfaces import Said

MESSAGE_CHARACTERS_MAX: Final = 1_500
"""Room for a field's path and for what a server says at length; never for a value of any size."""

MESSAGES_MAX: Final = 2_000

_PLACE: Final = re.compile(r"at `\$\.|^sweep\.(jsonl|yaml):([1-9]| it is empty)|\(byte [0-9]+\)")
_OF_THE_WHOLE: Final = re.compile(
    r"^(Expected `|Object missing required field|Object contains|Input data was truncated|nested too deeply|"
    r"Invalid UTF-8|a bookmark without|Number out of range|a line is longer|'utf-8' codec|metrics of pod )"
)
"""Beginnings of messages about the document itself, which has no path."""

_NO_TEXT: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def complaint(said: Said) -> str | None:
    """What is wrong with what was said, None if nothing is."""
    if not said.taken and not said.messages:
        return "refused without a word"
    if len(said.messages) > MESSAGES_MAX:
        return f"{len(said.messages)} messages about one input"
    for message in said.messages:
        found = _about(message, said)
        if found is not None:
            return f"{found}: {message[:300]!r}"
    return None


def shape(message: str) -> str:
    """The message without the values in it: what counts as one kind of message."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`|[0-9]+", "…", message)[:80]


def _about(message: str, said: Said) -> str | None:
    if not message.strip():
        return "an empty message"
    if len(message) > MESSAGE_CHARACTERS_MAX:
        return f"a message of {len(message)} characters"
    odd = _NO_TEXT.search(message)
    if odd is not None:
        return f"the character {odd[0]!r} in a message"
    if said.placed and not said.taken and _PLACE.search(message) is None and _OF_THE_WHOLE.match(message) is None:
        return "a message without a place"
    return None
