"""The part of Go's text/template that rules are written in, parsed into a tree.

Between `<<` and `>>`: fields (`.Series`), variables, strings, integers, pipelines, the functions of `FUNCTIONS`, and
`if`, `else`, `range`, `with`, `end`. Whatever else is refused when the rules are read, not when a query is made.
"""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.sources.prometheus.template_functions import FUNCTIONS, Value

_ACTION: Final = re.compile(
    r"<<(?P<left>-(?=\s))?\s*(?P<body>(?:\"(?:\\.|[^\"\\])*\"|`[^`]*`|.)*?)\s*(?P<right>(?<=\s)-)?>>", re.DOTALL
)
_TOKEN: Final = re.compile(
    r"""(?P<space>\s*)(?:(?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)|(?P<integer>[+-]?(?:0|[1-9][0-9]*))(?![\w.])"""
    r"""|(?P<variable>\$\w*(?:\.\w+)*)|(?P<chain>(?:\.\w+)+)|(?P<dot>\.)|(?P<word>[A-Za-z_]\w*)|(?P<mark>:=|[|(),=]))"""
)

_OPERANDS: Final = ("string", "integer", "variable", "chain", "dot", "word")


class TemplateError(ValueError):
    """The template cannot be parsed or filled in; `line` counts from 0 within its text."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Call(msgspec.Struct, frozen=True):
    """A command of a pipeline: a function with arguments, or a single operand."""

    function: str
    arguments: tuple[Any, ...]


class Literal(msgspec.Struct, frozen=True):
    """A string, an integer or a truth value that the template holds itself."""

    value: Value


class Path(msgspec.Struct, frozen=True):
    """A variable (empty: the dot) and the fields behind it."""

    variable: str
    fields: tuple[str, ...]


class Pipeline(msgspec.Struct, frozen=True):
    """Commands, each given the result of the one before; `declared` are the variables that it sets."""

    commands: tuple[Any, ...]
    declared: tuple[str, ...] = ()


class Block(msgspec.Struct):
    """`if`, `range` or `with`; an `else if` is a block inside of `otherwise`."""

    keyword: str
    pipeline: Pipeline
    body: list[Any]
    otherwise: list[Any]


class _Scope(msgspec.Struct, frozen=True):
    """The variables that are known; `top`: the dot is what it is at the top, as it is not in `range` and `with`."""

    variables: frozenset[str] = frozenset({"$"})
    top: bool = True


class _Open(msgspec.Struct, frozen=True):
    """A block that has not ended: where it stands, and what is known around it and inside of it."""

    block: Block
    around: list[Any]
    line: int
    scope_around: _Scope
    scope_inside: _Scope


def parsed(text: str, fields: Sequence[str]) -> list[Any]:
    """A template as a tree of texts, pipelines and blocks. `fields` are the names that the dot has at the top.

    Raises:
        TemplateError: something is not supported or not known.
    """
    return _Parser(text, frozenset(fields)).parse()


class _Parser:
    def __init__(self, text: str, fields: frozenset[str]) -> None:
        self._text = text
        self._fields = fields
        self._line = 0
        self._open: list[_Open] = []
        self._scope = _Scope()

    def parse(self) -> list[Any]:
        top: list[Any] = []
        current, position, trim = top, 0, False
        for matched in _ACTION.finditer(self._text):
            literal = self._text[position : matched.start()]
            if "<<" in literal:
                raise self._error("an action that begins with << has no end >>", self._text.index("<<", position))
            if trim:
                literal = literal.lstrip()
            current.append(literal.rstrip() if matched["left"] else literal)
            position, trim = matched.end(), matched["right"] is not None
            self._line = self._text.count("\n", 0, matched.start())
            current = self._action(matched["body"], current)
        rest = self._text[position:]
        if "<<" in rest:
            raise self._error("an action that begins with << has no end >>", self._text.index("<<", position))
        current.append(rest.lstrip() if trim else rest)
        if self._open:
            raise TemplateError(f"{self._open[-1].block.keyword} has no end", self._open[-1].line)
        return top

    def _action(self, body: str, current: list[Any]) -> list[Any]:
        """Put one action into the tree; returns the list that what follows belongs to."""
        if body.startswith("/*") and body.endswith("*/"):
            return current
        keyword, _, rest = body.partition(" ")
        match keyword:
            case "if" | "range" | "with":
                block = self._begin(keyword, rest, current, self._scope)
                current.append(block)
                return block.body
            case "else":
                return self._else(body, rest.strip(), current)
            case "end":
                if not self._open or rest.strip():
                    raise TemplateError("end without if, range or with", self._line)
                ended = self._open.pop()
                self._scope = ended.scope_around
                return ended.around
            case "template" | "block" | "define" | "break" | "continue":
                raise TemplateError(f"{keyword} is not supported", self._line)
            case _:
                current.append(self._pipeline(body))
                return current

    def _begin(self, keyword: str, head: str, around: list[Any], scope_around: _Scope) -> Block:
        block = Block(keyword, self._pipeline(head), [], [])
        self._scope = replace(self._scope, top=self._scope.top and keyword == "if")
        self._open.append(_Open(block, around, self._line, scope_around, self._scope))
        return block

    def _else(self, body: str, rest: str, current: list[Any]) -> list[Any]:
        if not self._open or current is self._open[-1].block.otherwise:
            raise TemplateError("else without if, range or with", self._line)
        opened = self._open[-1]
        self._scope = replace(opened.scope_inside, top=opened.scope_around.top)
        if not rest:
            return opened.block.otherwise
        keyword, _, condition = rest.partition(" ")
        if keyword != "if" or opened.block.keyword != "if":
            raise TemplateError(f"{body!r} is not supported", self._line)
        # One `end` closes them all: the inner block takes the outer one's place.
        self._open.pop()
        inner = self._begin("if", condition, opened.around, opened.scope_around)
        opened.block.otherwise.append(inner)
        return inner.body

    def _pipeline(self, text: str) -> Pipeline:
        tokens = self._tokens(text)
        declared: tuple[str, ...] = ()
        for count in (1, 3):
            if len(tokens) > count and tokens[count] == ("mark", ":=") and tokens[0][0] == "variable":
                if count > 1 and tokens[1] != ("mark", ","):
                    raise TemplateError(f"{text!r} cannot be understood", self._line)
                declared = tuple(value for kind, value in tokens[:count] if kind == "variable")
                if any("." in name for name in declared):
                    raise TemplateError(f"{text!r} cannot be understood", self._line)
                tokens = tokens[count + 1 :]
                break
        pipeline = self._commands(tokens)
        if tokens:
            raise TemplateError(f"{tokens[0][1]!r} is not expected in {text!r}", self._line)
        self._scope = replace(self._scope, variables=self._scope.variables | set(declared))
        return Pipeline(pipeline.commands, declared)

    def _tokens(self, text: str) -> list[tuple[str, str]]:
        tokens: list[tuple[str, str]] = []
        position = 0
        stripped = text.rstrip()
        while position < len(stripped):
            matched = _TOKEN.match(stripped, position)
            if matched is None:
                raise TemplateError(f"{stripped[position:].strip()!r} cannot be understood", self._line)
            kind = str(matched.lastgroup)
            glued = not matched["space"] and tokens and (tokens[-1][0] in _OPERANDS or tokens[-1] == ("mark", ")"))
            if glued and kind in _OPERANDS:
                raise TemplateError(f"{stripped!r}: a space is missing before {matched[kind]}", self._line)
            tokens.append((kind, matched[kind]))
            position = matched.end()
        return tokens

    def _commands(self, tokens: list[tuple[str, str]]) -> Pipeline:
        """Take commands off the tokens until they end or a parenthesis closes."""
        commands = [self._command(tokens)]
        while tokens and tokens[0] == ("mark", "|"):
            tokens.pop(0)
            commands.append(self._command(tokens))
        if any(not isinstance(command, Call) for command in commands[1:]):
            raise TemplateError("after | there has to be a function", self._line)
        return Pipeline(tuple(commands))

    def _command(self, tokens: list[tuple[str, str]]) -> Any:
        if not tokens:
            raise TemplateError("a value is missing", self._line)
        kind, word = tokens[0]
        if kind == "word" and word not in ("true", "false"):
            tokens.pop(0)
            if word not in FUNCTIONS:
                known = ", ".join(sorted(FUNCTIONS))
                raise TemplateError(f"the function {word} is not supported; known are {known}", self._line)
            arguments = []
            while tokens and tokens[0] not in (("mark", "|"), ("mark", ")")):
                arguments.append(self._operand(tokens))
            return Call(word, tuple(arguments))
        return self._operand(tokens)

    def _operand(self, tokens: list[tuple[str, str]]) -> Any:
        kind, text = tokens.pop(0)
        match kind:
            case "string":
                return Literal(self._unquoted(text))
            case "integer":
                return Literal(int(text))
            case "dot":
                return self._path("", "")
            case "chain":
                return self._path("", text)
            case "variable":
                variable, dot, chain = text.partition(".")
                if variable not in self._scope.variables:
                    raise TemplateError(f"the variable {variable} is not set", self._line)
                return self._path(variable, dot + chain)
            case "word" if text in ("true", "false"):
                return Literal(text == "true")
            case "mark" if text == "(":
                pipeline = self._commands(tokens)
                if not tokens or tokens.pop(0) != ("mark", ")"):
                    raise TemplateError("a parenthesis is not closed", self._line)
                return pipeline
            case _:
                raise TemplateError(f"{text!r} is not expected here", self._line)

    def _path(self, variable: str, chain: str) -> Path:
        names = tuple(chain.split(".")[1:])
        if (variable == "$" or (not variable and self._scope.top)) and (not names or names[0] not in self._fields):
            known = ", ".join(f".{name}" for name in sorted(self._fields))
            wrong = f".{names[0]} is not known here" if names else f"{variable or '.'} alone is no value"
            raise TemplateError(f"{wrong}; known are {known}", self._line)
        return Path(variable, names)

    def _unquoted(self, text: str) -> str:
        if text[0] == "`":
            return text[1:-1]
        try:
            return str(msgspec.json.decode(text))
        except msgspec.DecodeError as error:
            raise TemplateError(f"{text} is no string: {error}", self._line) from error

    def _error(self, message: str, position: int) -> TemplateError:
        return TemplateError(message, self._text.count("\n", 0, position))
