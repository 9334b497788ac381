"""The functions that templates may call, and how values are printed, as Go's text/template has both."""

import re
from collections.abc import Callable, Mapping, Sequence
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


def check_call(function: str, arguments: Sequence[Value], piped: int) -> None:
    """Return if a function may be called like this: the values of literals, None for what is not known yet.

    Raises:
        TypeError, ValueError: with fewer or more values, or a format that does not go with them.
    """
    least, most = _ARITIES[function]
    count = len(arguments) + piped
    if count < least or (most is not None and count > most):
        wanted = f"{least}" if most == least else f"{least} or more"
        raise TypeError(f"it takes {wanted} value{'' if wanted == '1' else 's'}, not {count}")
    if function == "printf" and arguments and isinstance(arguments[0], str):
        _check_format(arguments[0], count - 1)


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


def _check_format(form: str, count: int) -> None:
    if re.search(r"%(?![svqd%])", form.replace("%%", "")):
        raise ValueError(f"only %s, %v, %q, %d and %% are supported, found {form!r}")
    verbs = sum(verb != "%" for verb in _VERB.findall(form))
    if verbs != count:
        raise ValueError(f"{form!r} has {'more' if verbs > count else 'fewer'} verbs than values")


def _printf(form: Value, *values: Value) -> str:
    if not isinstance(form, str):
        raise TypeError(f"the format has to be a string, not {printed(form)}")
    _check_format(form, len(values))
    rest = iter(values)

    def one(matched: re.Match[str]) -> str:
        if matched[1] == "%":
            return "%"
        value = next(rest)
        if not isinstance(value, _TAKES.get(matched[1], object)) or (matched[1] == "d" and isinstance(value, bool)):
            raise TypeError(f"{matched[0]} cannot show {printed(value)}")
        return quoted(str(value)) if matched[1] == "q" else _as_argument(value)

    return _VERB.sub(one, form)


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
    """Whether the first one is equal to any of the others. Neither lists nor different kinds can be compared."""
    for other in others:
        if None not in (first, other) and (type(first) is not type(other) or isinstance(first, list | Mapping)):
            raise TypeError(f"{_kind(first)} {printed(first)} and {_kind(other)} {printed(other)} cannot be compared")
        if first == other:
            return True
    return False


def _kind(value: Value) -> str:
    match value:
        case bool():
            return "the truth value"
        case str():
            return "the string"
        case int():
            return "the number"
        case Mapping():
            return "the mapping"
        case _:
            return "the list"


FUNCTIONS: Final[Mapping[str, Callable[..., Value]]] = {
    "and": lambda *values: values[-1],
    "eq": _equal,
    "index": _index,
    "len": _length,
    "ne": lambda first, second: not _equal(first, second),
    "not": lambda value: not value,
    "or": lambda *values: values[-1],
    "print": _print,
    "printf": _printf,
}
"""By name. Of `and` and `or` this is what they give where no value before the last one has settled it."""

SETTLED_BY: Final[Mapping[str, bool]] = {"and": False, "or": True}
"""These look at one value after the other, and no further than at the first one that is as true as this."""

NAMES_OF_FUNCTIONS: Final = ", ".join(sorted(FUNCTIONS))

_ARITIES: Final[Mapping[str, tuple[int, int | None]]] = {
    "and": (1, None),
    "eq": (2, None),
    "index": (1, None),
    "len": (1, 1),
    "ne": (2, 2),
    "not": (1, 1),
    "or": (1, None),
    "print": (0, None),
    "printf": (1, None),
}
"""The least and the most values of each; None: any number."""
