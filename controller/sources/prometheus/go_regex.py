"""Go's regular expressions as rules use them, made of Python's: what Go refuses or reads differently is refused."""

import re
from typing import Final

_POSIX: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r"\t ",
    "digit": "0-9",
    "lower": "a-z",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CLASS: Final = re.compile(r"\[:(\^?)(\w+):\]")
_UNSUPPORTED: Final = re.compile(
    r"(?<!\\)(?:\\\\)*(\\[1-9]|\\[pPQECG]|\(\?(?:=|!|<=|<!|<[A-Za-z]|>|\(|#|P=|[a-zA-Z]*U)|[*+?}]\+)"
)
_END: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\z")
_DOLLAR: Final = re.compile(r"(?<!\\)((?:\\\\)*)\$(?![^\[]*\])")
_REFERENCE: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")


class RegexError(ValueError):
    """The expression cannot be used; the message says why."""


def compile_go(text: str) -> re.Pattern[str]:
    """The pattern for a Go expression; use its `search`, as Go's matching is not anchored.

    Raises:
        RegexError: it is no such expression, or one that only Go has.
    """
    if (found := _UNSUPPORTED.search(text)) is not None:
        raise RegexError(f"{text!r}: {found[1]!r} is not supported")
    named = _CLASS.sub(_posix, text)
    # Without flags Go's $ is the end of the text, Python's also stands before a last line break.
    named = _DOLLAR.sub(r"\1\\Z", _END.sub(r"\1\\Z", named))
    try:
        return re.compile(named, re.ASCII)
    except re.error as error:
        raise RegexError(f"{text!r} is no regular expression: {error}") from error


def expand(template: str, matched: re.Match[str]) -> str:
    """The template with `$1`, `${1}` and `${name}` replaced; a group that does not exist is empty (Go's Expand)."""

    def one(reference: re.Match[str]) -> str:
        if reference[1]:
            return "$"
        name = reference[2] or reference[3]
        try:
            return matched[int(name) if name.isdigit() else name] or ""
        except IndexError:
            return ""

    return _REFERENCE.sub(one, template)


def _posix(matched: re.Match[str]) -> str:
    characters = _POSIX.get(matched[2])
    if characters is None or matched[1]:
        raise RegexError(f"{matched[0]} is not supported")
    return characters
