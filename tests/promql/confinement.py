"""Whether a query reads one namespace only, by a walk of its own over everything that the parser finds."""

import promql_parser

from controller.promql.literals import mask


def selectors_of(query: str) -> list[promql_parser.VectorSelector]:
    """Every selector that the parser finds, also in what its own walk passes over."""
    found: list[promql_parser.VectorSelector] = []

    def look(node: object) -> None:
        match node:
            case promql_parser.VectorSelector():
                found.append(node)
            case promql_parser.MatrixSelector():
                found.append(node.vector_selector)
            case promql_parser.Call():
                for argument in node.args:
                    look(argument)
            case promql_parser.BinaryExpr():
                look(node.lhs)
                look(node.rhs)
            case promql_parser.AggregateExpr():
                look(node.param)
                look(node.expr)
            case promql_parser.ParenExpr() | promql_parser.UnaryExpr() | promql_parser.SubqueryExpr():
                look(node.expr)
            case promql_parser.NumberLiteral() | promql_parser.StringLiteral() | None:
                pass
            case _:
                raise AssertionError(f"a node of an unknown kind: {type(node).__name__}")

    masked = mask(query)
    look(promql_parser.parse(masked.text))
    for selector in found:
        # The parser has seen numbers for strings; here they stand for what was meant.
        for matcher in selector.matchers.matchers:
            assert masked.string(matcher.value) is not None
    return found


def is_confined(query: str, namespace: str) -> bool:
    """Whether each selector has the namespace as an equality. Strings are read as the program reads them."""
    masked = mask(query)
    return all(
        any(
            (matcher.name, str(matcher.op), masked.string(matcher.value)) == ("namespace", "MatchOp.Equal", namespace)
            for matcher in selector.matchers.matchers
        )
        and not selector.matchers.or_matchers
        for selector in selectors_of(query)
    )
