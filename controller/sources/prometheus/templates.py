"""Templates that rules are written in (`template_syntax` says which): parsed once, filled in for every query."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from controller.sources.prometheus.template_functions import FUNCTIONS, SETTLED_BY, Value, printed
from controller.sources.prometheus.template_syntax import Block, Call, Literal, Path, Pipeline, parsed
from controller.sources.prometheus.template_tokens import TemplateError

_TOO_DEEP: Final = "blocks or parentheses stand too deep inside of each other"


class Template:
    """One template. `fields` are the names that the dot has at the top; others are refused at once."""

    def __init__(self, text: str, fields: Sequence[str]) -> None:
        """Raises TemplateError."""
        self.text = text
        try:
            self._nodes = parsed(text, fields)
        except RecursionError as error:
            raise TemplateError(_TOO_DEEP) from error

    def fill(self, values: Mapping[str, Value]) -> str:
        """The text for these values of the fields. Raises TemplateError."""
        parts: list[str] = []
        try:
            _run(self._nodes, values, {"$": values}, parts)
        except RecursionError as error:
            raise TemplateError(_TOO_DEEP) from error
        return "".join(parts)


def _run(nodes: list[Any], dot: Value, variables: dict[str, Value], parts: list[str]) -> None:
    for node in nodes:
        match node:
            case str():
                parts.append(node)
            case Pipeline():
                value = _evaluate(node, dot, variables)
                if node.declared:
                    variables[node.declared[0]] = value
                else:
                    parts.append(printed(value))
            case Block():
                _run_block(node, dot, dict(variables), parts)
            case _:
                raise AssertionError(node)


def _run_block(block: Block, dot: Value, variables: dict[str, Value], parts: list[str]) -> None:
    value, declared = _evaluate(block.pipeline, dot, variables), block.pipeline.declared
    if block.keyword != "range":
        if declared:
            variables[declared[0]] = value
        inside = value if block.keyword == "with" else dot
        _run(block.body if value else block.otherwise, inside if value else dot, variables, parts)
        return
    if not isinstance(value, Mapping | list | tuple | None):
        raise TemplateError(f"range cannot go over {printed(value)!r}")
    entries = sorted(value.items()) if isinstance(value, Mapping) else list(enumerate(value or ()))
    for key, item in entries:
        # One variable gets the item, two get key and item.
        variables.update(zip(declared, (item,) if len(declared) == 1 else (key, item), strict=False))
        _run(block.body, item, dict(variables), parts)
    if not entries:
        _run(block.otherwise, dot, variables, parts)


def _evaluate(node: Any, dot: Value, variables: Mapping[str, Value]) -> Value:
    match node:
        case Literal():
            return node.value
        case Path():
            value = variables[node.variable] if node.variable else dot
            for name in node.fields:
                if value is not None and not isinstance(value, Mapping):
                    raise TemplateError(f"{printed(value)!r} has no field .{name}; those at the top are behind $")
                value = None if value is None else value.get(name)
            return value
        case Call():
            return _call(node, dot, variables, ())
        case Pipeline():
            value = _evaluate(node.commands[0], dot, variables)
            for command in node.commands[1:]:
                value = _call(command, dot, variables, (value,))
            return value
        case _:
            raise AssertionError(node)


def _call(call: Call, dot: Value, variables: Mapping[str, Value], piped: tuple[Value, ...]) -> Value:
    arguments: list[Value] = []
    for argument in call.arguments:
        arguments.append(_evaluate(argument, dot, variables))
        if call.function in SETTLED_BY and bool(arguments[-1]) is SETTLED_BY[call.function]:
            return arguments[-1]
    try:
        return FUNCTIONS[call.function](*arguments, *piped)
    except (TypeError, IndexError, ValueError) as error:
        raise TemplateError(f"{call.function}: {error}") from error
