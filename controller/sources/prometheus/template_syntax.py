"""The part of Go's text/template that rules are written in, parsed into a tree.

Between `<<` and `>>`: fields (`.Series`), variables, strings, integers, pipelines, the functions of `FUNCTIONS`, and
`if`, `else`, `range`, `with`, `end`. Whatever else is refused when the rules are read, not when a query is made.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from controller.sources.prometheus.template_functions import FUNCTIONS, NAMES_OF_FUNCTIONS, Value, check_call
from controller.sources.prometheus.template_tokens import Action, TemplateError, Token, actions, tokens_of


class Call(msgspec.Struct, frozen=True):
    """A function with its arguments."""

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
    """The variables that are known, and which of them, and of the dot (""), are what the dot is at the top."""

    variables: frozenset[str] = frozenset({"$"})
    top: frozenset[str] = frozenset({"$", ""})

    def having(self, names: tuple[str, ...], *, top: bool) -> "_Scope":
        """With these variables, or the dot, set anew."""
        others = self.top - {*names}
        return _Scope(self.variables | {*names} - {""}, others | {*names} if top else others)


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
    return _Parser(frozenset(fields)).parse(text)


class _Parser:
    def __init__(self, fields: frozenset[str]) -> None:
        self._fields = fields
        self._line = 0
        self._open: list[_Open] = []
        self._scope = _Scope()

    def parse(self, text: str) -> list[Any]:
        top: list[Any] = []
        current = top
        for part in actions(text):
            if isinstance(part, str):
                current.append(part)
                continue
            self._line = part.line
            current = self._action(part, current)
        if self._open:
            raise TemplateError(f"{self._open[-1].block.keyword} has no end", self._open[-1].line)
        return top

    def _error(self, message: str) -> TemplateError:
        return TemplateError(message, self._line)

    def _action(self, action: Action, current: list[Any]) -> list[Any]:
        """Put one action into the tree; returns the list that what follows belongs to."""
        match action.keyword:
            case "if" | "range" | "with":
                block = self._begin(action, current, self._scope)
                current.append(block)
                return block.body
            case "else":
                return self._else(action, current)
            case "end":
                if not self._open or action.text:
                    raise self._error("end without if, range or with")
                ended = self._open.pop()
                self._scope = ended.scope_around
                return ended.around
            case "":
                current.append(self._pipeline(action))
                return current
            case keyword:
                raise self._error(f"{keyword} is not supported")

    def _begin(self, action: Action, around: list[Any], scope_around: _Scope) -> Block:
        block = Block(action.keyword, self._pipeline(action), [], [])
        if action.keyword != "if":
            is_top = action.keyword == "with" and self._is_top(block.pipeline)
            self._scope = self._scope.having(("",), top=is_top)
        self._open.append(_Open(block, around, action.line, scope_around, self._scope))
        return block

    def _else(self, action: Action, current: list[Any]) -> list[Any]:
        if not self._open or current is self._open[-1].block.otherwise:
            raise self._error("else without if, range or with")
        opened = self._open[-1]
        self._scope = opened.scope_inside.having(("",), top="" in opened.scope_around.top)
        if not action.text:
            return opened.block.otherwise
        inner = action.inner()
        if inner.keyword != "if" or opened.block.keyword != "if":
            raise self._error(f"'else {action.text}' is not supported")
        # One `end` closes them all: the inner block takes the outer one's place.
        self._open.pop()
        block = self._begin(inner, opened.around, opened.scope_around)
        opened.block.otherwise.append(block)
        return block.body

    def _pipeline(self, action: Action) -> Pipeline:
        tokens = tokens_of(action)
        declared = self._declared(tokens, action)
        pipeline = self._commands(tokens)
        if tokens:
            raise self._error(f"{tokens[0].text!r} is not expected in {action.text!r}")
        is_top = self._is_top(pipeline)
        if is_top and (action.keyword == "range" or not (declared or action.keyword)):
            raise self._no_value()
        self._scope = self._scope.having(declared, top=is_top)
        return Pipeline(pipeline.commands, declared)

    def _is_top(self, node: Any) -> bool:
        """Whether it is nothing but the dot as it is at the top, which may be kept and looked into, but not shown."""
        match node:
            case Path(variable=variable, fields=()):
                return variable in self._scope.top
            case Pipeline(commands=(only,)):
                return self._is_top(only)
            case _:
                return False

    def _no_value(self) -> TemplateError:
        return self._error(f"all fields together are no value, name one; {self._known()}")

    def _declared(self, tokens: list[Token], action: Action) -> tuple[str, ...]:
        """Take the variables before `:=` off the tokens."""
        kinds = [token.text if token.kind == "mark" else token.kind for token in tokens[:4]]
        if kinds[:2] == ["variable", "="] or kinds == ["variable", ",", "variable", "="]:
            raise self._error(f"{action.text!r}: = is not supported, := sets a variable anew")
        if kinds[:2] == ["variable", ":="]:
            count = 1
        elif kinds == ["variable", ",", "variable", ":="]:
            count = 3
        else:
            return ()
        if count > 1 and action.keyword != "range":
            raise self._error(f"{action.text!r}: only range sets two variables")
        declared = tuple(token.text for token in tokens[:count:2])
        if any("." in name for name in declared):
            raise self._error(f"{action.text!r} cannot be understood")
        del tokens[: count + 1]
        return declared

    def _commands(self, tokens: list[Token]) -> Pipeline:
        """Take commands off the tokens until they end or a parenthesis closes."""
        commands = [self._command(tokens, piped=0)]
        while tokens and tokens[0].is_mark("|"):
            if self._is_top(commands[0]):
                raise self._no_value()
            tokens.pop(0)
            commands.append(self._command(tokens, piped=1))
        if any(not isinstance(command, Call) for command in commands[1:]):
            raise self._error("after | there has to be a function")
        return Pipeline(tuple(commands))

    def _command(self, tokens: list[Token], piped: int) -> Any:
        if not tokens:
            raise self._error("a value is missing")
        if tokens[0].kind != "word" or tokens[0].text in ("true", "false"):
            return self._operand(tokens)
        function = tokens.pop(0).text
        if function not in FUNCTIONS:
            raise self._error(f"the function {function} is not supported; known are {NAMES_OF_FUNCTIONS}")
        arguments = []
        while tokens and not tokens[0].is_mark("|") and not tokens[0].is_mark(")"):
            arguments.append(self._operand(tokens))
            if self._is_top(arguments[-1]):
                raise self._no_value()
        try:
            check_call(function, [one.value if isinstance(one, Literal) else None for one in arguments], piped)
        except (TypeError, ValueError) as error:
            raise self._error(f"{function}: {error}") from error
        return Call(function, tuple(arguments))

    def _operand(self, tokens: list[Token]) -> Any:
        token = tokens.pop(0)
        match token.kind:
            case "string" | "integer":
                return Literal(token.value(self._line))
            case "word" if token.text in ("true", "false"):
                return Literal(token.text == "true")
            case "dot":
                return Path("", ())
            case "chain":
                return self._path("", token.text)
            case "variable":
                variable, dot, chain = token.text.partition(".")
                if variable not in self._scope.variables:
                    raise self._error(f"the variable {variable} is not set")
                return self._path(variable, dot + chain)
            case "mark" if token.text == "(":
                pipeline = self._commands(tokens)
                if not tokens or not tokens.pop(0).is_mark(")"):
                    raise self._error("a parenthesis is not closed")
                return pipeline
            case _:
                raise self._error(f"{token.text!r} is not expected here")

    def _path(self, variable: str, chain: str) -> Path:
        names = tuple(chain.split(".")[1:])
        if names and variable in self._scope.top and names[0] not in self._fields:
            raise self._error(f".{names[0]} is not known here; {self._known()}")
        return Path(variable, names)

    def _known(self) -> str:
        return f"known are {', '.join(f'.{name}' for name in sorted(self._fields))}"
