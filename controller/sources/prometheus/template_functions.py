"""The functions that templates may call, and how values are printed, as Go's text/template has both."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from controller.promql.literals import needs_no_escape

_VERB: Final = re.compile(r"%([svqd%])")
_TAKES: Final[Mapping[str, tuple[type, ...]]] = {"s": (str, list, Mapping), "q": (str,), "d": (int,)}
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
    if container is None:
        raise TypeError("there is nothing to look into")
    for key in keys:
        if isinstance(container, Mapping):
            # A key that is missing gives the zero value of Go's map of strings.
            if not isinstance(key, str):
                raise TypeError(f"a key is a string, not {printed(key)}")
            container = container.get(key, "")
        elif type(key) is int and 0 <= key < _length(container):
            container = container.encode()[key] if isinstance(container, str) else container[key]
        else:
            raise IndexError(f"{printed(container)!r} has no element {printed(key)}")
    return container


def _length(value: Value) -> int:
    """Of a string Go counts bytes."""
    if value is None or isinstance(value, int):
        raise TypeError(f"{printed(value)} has no length")
    return len(value.encode() if isinstance(value, str) else value)


def _print(*values: Value) -> str:
    """With a space between two that are both no strings."""
    text = ""
    for before, value in zip(("", *values), values, strict=False):
        text += "" if isinstance(before, str) or isinstance(value, str) else " "
        text += _as_argument(value)
    return text


def _as_argument(value: Value) -> str:
    return "<nil>" if value is None else printed(value)


def _printf(form: Value, *values: Value) -> str:
    if not isinstance(form, str):
        raise TypeError(f"the format has to be a string, not {printed(form)}")
    rest = list(values)

    def one(matched: re.Match[str]) -> str:
        if matched[1] == "%":
            return "%"
        if not rest:
            raise ValueError(f"{form!r} has more verbs than values")
        value = rest.pop(0)
        if not isinstance(value, _TAKES.get(matched[1], object)) or (matched[1] == "d" and isinstance(value, bool)):
            raise TypeError(f"{matched[0]} cannot show {printed(value)}")
        return quoted(str(value)) if matched[1] == "q" else _as_argument(value)

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


def _equal(*values: Value) -> bool:
    """Whether the first one is equal to any of the others. Values of different kinds cannot be compared."""
    if len(values) < 2:  # noqa: PLR2004 - the one and the other
        raise TypeError("two values are needed")
    first, *others = values
    for other in others:
        if any(isinstance(value, list | Mapping) for value in (first, other)) or (
            None not in (first, other) and type(first) is not type(other)
        ):
            raise TypeError(f"{printed(first)} and {printed(other)} cannot be compared")
        if first == other:
            return True
    return False


def _not_equal(*values: Value) -> bool:
    if len(values) != 2:  # noqa: PLR2004 - the one and the other
        raise TypeError("two values are needed")
    return not _equal(*values)


def _not(*values: Value) -> bool:
    if len(values) != 1:
        raise TypeError("one value is needed")
    return not values[0]


def _first(*values: Value, until: bool) -> Value:
    """What `and` and `or` give: the first value that settles it, else the last."""
    if not values:
        raise TypeError("a value is needed")
    return next((value for value in values[:-1] if bool(value) is until), values[-1])


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "and": lambda *values: _first(*values, until=False),
    "eq": _equal,
    "index": _index,
    "len": _length,
    "ne": _not_equal,
    "not": _not,
    "or": lambda *values: _first(*values, until=True),
    "print": _print,
    "printf": _printf,
}
