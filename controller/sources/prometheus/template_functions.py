"""The functions that templates may call, and how values are printed, as Go's text/template has both."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from controller.promql.literals import needs_no_escape

_VERB: Final = re.compile(r"%([svqd%])")
NO_VALUE: Final = "<no value>"
"""What Go prints for a key that a map lacks."""

Value = Any
"""A string, an integer, a truth value, a list or a mapping of strings, or None for what a mapping lacks."""


def printed(value: Value) -> str:
    """The value as Go prints it: lists as `[a b]`, mappings as `map[k:v]` by key."""
    match value:
        case None:
            return NO_VALUE
        case bool():
            return "true" if value else "false"
        case str() | int():
            return str(value)
        case Mapping():
            return f"map[{' '.join(f'{key}:{printed(item)}' for key, item in sorted(value.items()))}]"
        case _:
            return f"[{' '.join(map(printed, value))}]"


def _index(container: Value, *keys: Value) -> Value:
    for key in keys:
        if isinstance(container, Mapping):
            # A key that is missing gives the zero value of Go's map of strings.
            container = container.get(key, "")
        elif isinstance(key, int) and 0 <= key < len(container):
            container = container[key]
        else:
            raise IndexError(f"{printed(container)!r} has no element {printed(key)}")
    return container


def _printf(form: str, *values: Value) -> str:
    rest = list(values)

    def one(matched: re.Match[str]) -> str:
        if matched[1] == "%":
            return "%"
        if not rest:
            raise ValueError(f"{form!r} has more verbs than values")
        value = rest.pop(0)
        return quoted(printed(value)) if matched[1] == "q" else printed(value)

    if re.search(r"%(?![svqd%])", form.replace("%%", "")):
        raise ValueError(f"only %s, %v, %q, %d and %% are supported, found {form!r}")
    text = _VERB.sub(one, form)
    if rest:
        raise ValueError(f"{form!r} has fewer verbs than values")
    return text


def quoted(text: str) -> str:
    """The text in double quotes with Go's escapes, which are those of PromQL."""
    if needs_no_escape(text):
        return f'"{text}"'
    escapes = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b"}
    escapes |= {"\f": "\\f", "\v": "\\v"}
    shown = (
        escapes.get(character) or (character if character.isprintable() else _escaped(character)) for character in text
    )
    return f'"{"".join(shown)}"'


def _escaped(character: str) -> str:
    code = ord(character)
    if code <= 0x7F:  # noqa: PLR2004 - the last ASCII character
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - the last of four digits


def _equal(first: Value, *others: Value) -> bool:
    if not others:
        raise TypeError("two values are needed")
    return any(first == other for other in others)


def _first(*values: Value, until: bool) -> Value:
    """What `and` and `or` give: the first value that settles it, else the last."""
    return next((value for value in values[:-1] if bool(value) is until), values[-1])


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "and": lambda *values: _first(*values, until=False),
    "eq": _equal,
    "index": _index,
    "len": len,
    "ne": lambda first, second: first != second,
    "not": lambda value: not value,
    "or": lambda *values: _first(*values, until=True),
    "print": lambda *values: "".join(map(printed, values)),
    "printf": _printf,
}
