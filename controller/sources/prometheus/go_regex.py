"""Go's regular expressions as rules use them, by RE2: the same syntax, in a time that no text makes exponential."""

import re
from collections.abc import Collection
from typing import Final

_ANY_BYTE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\C")
_NAMED_GROUP: Final = re.compile(r"\(\?P?<(\w+)>")
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,7}")
_REFERENCE: Final = re.compile(r"\$(?:(\$)|(\w+)|\{(\w+)\})")


class RegexError(ValueError):
    """The expression cannot be used; the message says why."""


class GoRegex:
    """An expression. What it finds is the first match anywhere in a text, as Go's `Find` methods have it."""

    def __init__(self, text: str) -> None:
        """Raises RegexError."""
        import re2  # noqa: PLC0415 - three megabytes, for those who have rules

        if _ANY_BYTE.search(text) is not None:
            raise RegexError(f"{text!r} is no regular expression: \\C is not supported")
        names = _NAMED_GROUP.findall(text)
        if len(names) > len(set(names)):
            # Go takes the one of them that took part, RE2 tells only of the first.
            twice = next(name for index, name in enumerate(names) if name in names[:index])
            raise RegexError(f"{text!r}: a group named {twice!r} is there twice, which is not supported")
        options = re2.Options()
        options.log_errors = False
        try:
            # As bytes, both it and what it is held against: with str the library spends most of its time on positions.
            self._compiled = re2.compile(text.encode(), options)
        except (re2.error, UnicodeEncodeError) as error:
            said = error.args[0].decode() if isinstance(error, re2.error) else str(error)
            raise RegexError(f"{text!r} is no regular expression: {said}") from error
        self.groups: int = self._compiled.groups
        self._numbers: dict[str, int] = {name.decode(): number for name, number in self._compiled.groupindex.items()}

    @property
    def names(self) -> Collection[str]:
        """The names of its groups."""
        return self._numbers.keys()

    def matches(self, text: str) -> bool:
        """Whether it is found in a text."""
        return self._compiled.search(text.encode()) is not None

    def named(self, text: str) -> dict[str, str] | None:
        """What its named groups have found, nothing where one took no part; None where it is not found itself."""
        found = self._compiled.search(text.encode())
        return (
            None if found is None else {name: (found[number] or b"").decode() for name, number in self._numbers.items()}
        )

    def expanded(self, template: str, text: str) -> str | None:
        """The template with `$1`, `${1}` and `${name}` replaced by what was found; None where it is not found.

        A group that does not exist, or took no part, is empty (Go's `Expand`).
        """
        found = self._compiled.search(text.encode())
        if found is None:
            return None

        def one(reference: re.Match[str]) -> str:
            if reference[1]:
                return "$"
            name = reference[2] or reference[3]
            number = int(name) if _NUMBER.fullmatch(name) else self._numbers.get(name)
            return "" if number is None or number > self.groups else (found[number] or b"").decode()

        return _REFERENCE.sub(one, template)
