"""A template of rules taken apart: what is text, what is an action, and what words and marks an action is made of."""

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from controller.decide.quantity import INT64_MAX, INT64_MIN
from controller.sources.prometheus.template_functions import Value

_SPACE: Final = " \t\r\n"
_ACTION: Final = re.compile(
    r"<<(?P<left>-(?=[ \t\r\n]))?"
    r"(?P<body>[ \t\r\n]*/\*.*?\*/[ \t\r\n]*|(?:\"(?:\\.|[^\"\\])*\"|`[^`]*`|[^\"`])*?)"
    r"(?P<right>(?<=[ \t\r\n])-)?>>",
    re.DOTALL,
)
_KEYWORD: Final = re.compile(r"(if|range|with|else|end|template|block|define|break|continue)(?![\w.])[ \t\r\n]*")
_TOKEN: Final = re.compile(
    r"""(?P<space>[ \t\r\n]*)(?:(?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)|(?P<integer>[+-]?(?:0|[1-9][0-9]*))(?![\w.])"""
    r"""|(?P<variable>\$\w*(?:\.\w+)*)|(?P<chain>(?:\.\w+)+)|(?P<dot>\.)|(?P<word>[A-Za-z_]\w*)|(?P<mark>:=|[|(),=]))"""
)
_OPERANDS: Final = ("string", "integer", "variable", "chain", "dot", "word")
_DIGITS_MAX: Final = 19


class TemplateError(ValueError):
    """The template cannot be parsed or filled in; `line` counts from 0 within its text."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Action(msgspec.Struct, frozen=True):
    """What stands between `<<` and `>>`: a keyword, or none, and the text behind it. Comments are left out."""

    keyword: str
    text: str
    line: int

    def inner(self) -> "Action":
        """What follows an `else`, as an action of its own."""
        return _action(self.text, self.line)


class Token(msgspec.Struct, frozen=True):
    """A word, a value or a mark of an action. `kind` is a group of the token's expression."""

    kind: str
    text: str

    def is_mark(self, text: str) -> bool:
        """Whether it is this mark."""
        return self.kind == "mark" and self.text == text

    def value(self, line: int) -> Value:
        """The value of a string or an integer. Raises TemplateError."""
        if self.kind == "integer":
            if len(self.text.lstrip("+-")) > _DIGITS_MAX or not INT64_MIN <= int(self.text) <= INT64_MAX:
                raise TemplateError(f"{self.text[: _DIGITS_MAX + 2]} is too large", line)
            return int(self.text)
        if self.text[0] == "`":
            return self.text[1:-1]
        try:
            return str(msgspec.json.decode(self.text))
        except msgspec.DecodeError as error:
            raise TemplateError(
                f"{self.text} cannot be read: known escapes are those of JSON, \\n, \\t, \\u0041 and so on", line
            ) from error


def actions(text: str) -> Iterator[str | Action]:
    """Texts and actions in turn, with the space around `<<-` and `->>` cut off.

    Raises:
        TemplateError: an action has no end.
    """
    position, trim = 0, False
    for matched in _ACTION.finditer(text):
        yield _text(text, position, matched.start(), trim_left=trim, trim_right=matched["left"] is not None)
        position, trim = matched.end(), matched["right"] is not None
        body = matched["body"].strip(_SPACE)
        if not (body.startswith("/*") and body.endswith("*/")):
            yield _action(body, text.count("\n", 0, matched.start()))
    yield _text(text, position, len(text), trim_left=trim, trim_right=False)


def tokens_of(action: Action) -> list[Token]:
    """The tokens of an action. Raises TemplateError."""
    tokens: list[Token] = []
    position = 0
    while position < len(action.text):
        matched = _TOKEN.match(action.text, position)
        if matched is None:
            raise TemplateError(f"{action.text[position:].strip(_SPACE)!r} cannot be understood", action.line)
        token = Token(str(matched.lastgroup), matched[str(matched.lastgroup)])
        if tokens and not matched["space"]:
            _check_glued(tokens[-1], token, action)
        tokens.append(token)
        position = matched.end()
    return tokens


def _check_glued(before: Token, token: Token, action: Action) -> None:
    if token.kind not in _OPERANDS and not token.is_mark("("):
        return
    if before.is_mark(")") and token.kind in ("chain", "dot"):
        raise TemplateError(f"{action.text!r}: fields behind a parenthesis are not supported", action.line)
    if before.kind in _OPERANDS or before.is_mark(")"):
        raise TemplateError(f"{action.text!r}: a space is missing before {token.text}", action.line)


def _action(body: str, line: int) -> Action:
    matched = _KEYWORD.match(body)
    return Action("", body, line) if matched is None else Action(matched[1], body[matched.end() :], line)


def _text(text: str, start: int, end: int, *, trim_left: bool, trim_right: bool) -> str:
    part = text[start:end]
    if "<<" in part:
        line = text.count("\n", 0, text.index("<<", start))
        raise TemplateError("an action that begins with << has no end >>", line)
    part = part.lstrip(_SPACE) if trim_left else part
    return part.rstrip(_SPACE) if trim_right else part
