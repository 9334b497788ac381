"""String literals and comments of PromQL: taken out before a query is parsed, and written again by ourselves.

Strings are where parsers disagree: the one that we use reads some escapes differently from Prometheus, prints none, and
compiles every regular expression, which may take seconds. So it never gets to see the strings.
"""

import re
from typing import Final

import msgspec

TEXT_MAX: Final = 100_000
TOKENS_MAX: Final = 300
"""The parser takes time with the square of the length, and nobody writes such queries by hand; strings, which may name
thousands of pods, are kept from it."""

_PART: Final = re.compile(
    r"""(?P<blank>\s+|\#[^\n]*)
    |(?P<quoted>"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+')
    |(?P<raw>`[^`]*`)
    |(?P<word>[A-Za-z0-9_:.]+)
    |(?P<sign>[^"'`\s\#])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[0-7]{3}|.)", re.DOTALL)
_PLAIN: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
}
_ASCII_MAX: Final = 0x7F
_UNICODE_MAX: Final = 0x10FFFF
_SURROGATES: Final = range(0xD800, 0xE000)


class PromqlError(ValueError):
    """The query is not taken; the message says why and, where that is not plain, what to write instead."""


class Masked(msgspec.Struct, frozen=True):
    """A query whose strings are numbers in quotes, and what those strings are."""

    text: str
    strings: tuple[str, ...]

    def string(self, found: str) -> str:
        """What stands for a number. Raises PromqlError for what is no number of ours."""
        digits = found.removeprefix("=")
        if digits == found or not digits.isdigit() or int(digits) >= len(self.strings):
            raise PromqlError(f"the string {found!r} is out of place")
        return self.strings[int(digits)]


def mask(query: str) -> Masked:
    """The query without its strings and comments. Raises PromqlError where it is no PromQL or far too long."""
    parts: list[str] = []
    strings: list[str] = []
    tokens = position = 0
    while position < len(query):
        found = _PART.match(query, position)
        if found is None:
            raise PromqlError(f"the string that begins with {query[position : position + 20]!r} has no end")
        position, kind, text = found.end(), found.lastgroup, found[0]
        tokens += kind != "blank"
        if kind in ("quoted", "raw"):
            # An equals sign: no name of a label can be taken for such a text.
            parts.append(f'"={len(strings)}"')
            strings.append(_unescaped(text[1:-1], text[0]) if kind == "quoted" else text[1:-1])
        else:
            parts.append(" " if kind == "blank" else text)
    if tokens > TOKENS_MAX:
        raise PromqlError(f"it consists of {tokens} names, numbers and signs, and {TOKENS_MAX} are the most")
    masked = "".join(parts)
    if len(masked) > TEXT_MAX:
        raise PromqlError(f"it has {len(masked)} characters beside its strings, and {TEXT_MAX} are the most")
    return Masked(masked, tuple(strings))


def needs_no_escape(text: str) -> bool:
    """Whether it can stand in double quotes as it is; told at once of a text that names thousands of pods."""
    return text.isprintable() and '"' not in text and "\\" not in text


def quoted(text: str) -> str:
    """The text as a string literal that every PromQL parser reads as it is meant."""
    if needs_no_escape(text):
        return f'"{text}"'
    written = "".join(
        f"\\{one}" if one in '"\\' else one if one.isprintable() or ord(one) > _ASCII_MAX else f"\\x{ord(one):02x}"
        for one in text
    )
    return f'"{written}"'


def _unescaped(text: str, quote: str) -> str:
    if "\\" not in text:
        return text

    def plain(found: re.Match[str]) -> str:
        escape = found[0][1:]
        if len(escape) == 1:
            other_quote = escape in "'\"" and escape != quote
            if escape not in _PLAIN or other_quote:
                raise PromqlError(f"\\{escape} is no escape; a backslash of a regular expression is written twice")
            return _PLAIN[escape]
        code = int(escape, 8) if escape.isdigit() else int(escape[1:], 16)
        one_byte = escape[0] not in "uU"
        if code > _UNICODE_MAX or code in _SURROGATES or (one_byte and code > _ASCII_MAX):
            raise PromqlError(f"\\{escape} stands for no character")
        return chr(code)

    return _ESCAPE.sub(plain, text)
