"""What prometheus-adapter's rules are written in, at random: Go's regular expressions, and its templates."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from controller.sources.prometheus.go_regex import GoRegex, RegexError
from controller.sources.prometheus.rules import QUERY_FIELDS
from controller.sources.prometheus.template_tokens import TemplateError
from controller.sources.prometheus.templates import Template

if TYPE_CHECKING:
    from tests.e2e.reference.draws import Json

NAMES: Final = [
    *("http_requests_total", "container_cpu_usage_seconds_total", "a", "", "ab", "aab", "A", "_", "aa_bb", "0", "é"),
    *("a b", "$", ".", "{2}", "a]", "-", "\t", "\v", "x\n", "a\nb", "a{,2}", "ABAB", "ba"),
]
VALUES: Final[Json] = {
    "Series": "http_requests_total",
    "LabelMatchers": 'namespace="x",pod=~"a|b"',
    "LabelValuesByName": {"namespace": "x", "pod": "a|b", "le": "0.5", "é": "é"},
    "GroupBy": "pod,namespace",
    "GroupBySlice": ["pod", "namespace"],
}
_ATOMS: Final = [
    *("a", "b", "x", "_", "0", "http", "total", ".", "^", "$", " ", "é", "-", "]", "{", "}", "|", "#", "(", ")", "[a"),
    *("[ab]", "[^_]", "[a-z]+", "[]a]", "[^]a]", "[a-]", "[$]", "[.$a]", "[[a]", "[a&&b]", "[a--b]", "[~~]", "[z-a]"),
    *("[[:alpha:]]", "[[:^digit:]]", "[[:word:]]", "[:alpha:]", "[\\d_]", "[^\\w]", "[\\b]", "[\\x41-\\x5a]", "[\\h]"),
    *("\\d", "\\w", "\\s", "\\S", "\\b", "\\B", "\\A", "\\z", "\\Z", "\\.", "\\_", "\\-", "\\n", "\\a", "\\pL", "\\C"),
    *("\\x41", "\\x{62}", "\\u0061", "\\101", "\\1", "\\8", "\\Q.*\\E", "\\K", "\\h", "\\<", "\\ ", "\\"),
    *(
        "(a|b)",
        "(?:a|)",
        "(?i:A)",
        "(?P<n>a+)",
        "(?P<n>b)",
        "(?<k>a)",
        "()",
        "(?P=n)",
        "(?=a)",
        "(?!a)",
        "(?#x)",
        "(?>a)",
    ),
    *("(?m)", "(?s)", "(?i)", "(?U)", "(?x)", "(?a)", "(?-i)", "(?P<1a>x)", "(?P<>x)", "(?", "(?i"),
]
_TIMES: Final = [
    *("*", "+", "?", "{2}", "{1,2}", "{1,}", "{0}", "{,2}", "{2,1}", "{ 2}", "{1001}", "*?", "+?", "??", "{2}?"),
    *("**", "++", "?+", "{2}{2}"),
]
_EXPANSIONS: Final = [
    *("$1", "${1}_x", "$0", "$n", "$01", "${g1}$g2$g3", "${k}$2", "$$", "$1x", "$", "${", "${1", "${a b}"),
    *("$10", "$é", "$-1", "a"),
]
_OTHERWISE: Final = [
    *("is not supported", "are not supported", "cannot be understood", "cannot be read", "all fields together"),
    *("is not known here", "is not set", "has to be a function", "verbs than values", "are supported, found"),
    *("cannot show", "cannot go over", "it takes"),
]
"""Why we refuse what Go may take: what it knows and we do not, what it prints as wrong, or never comes to."""

_OPERANDS: Final = [
    *(".Series", ".LabelMatchers", ".GroupBy", ".LabelValuesByName", ".GroupBySlice", "$.Series", "$.GroupBySlice"),
    *(".LabelValuesByName.pod", ".LabelValuesByName.none", "$.LabelValuesByName.le", ".Serie", ".Series.x", ".", "$"),
    *("$x", "$i", "$v", "$x.Series", '"a"', '"a\\n"', '"é"', '""', "`r`", "1", "-1", "0", "+2", "08", "true", "false"),
    *("(.Series)", "(len .GroupBySlice)", '(index .LabelValuesByName "pod")', "(index .GroupBySlice 0)"),
    '(printf "%s" .Series)',
]
_FUNCTIONS: Final = ["len", "index", "eq", "ne", "not", "and", "or", "print", "printf"]
_FORMATS: Final = ['"%s"', '"%d"', '"%v"', '"%q"', '"%%"', '"%s-%s"', '"a"', "1"]
_BETWEEN: Final = [" text ", "a\n ", "sum(", "{", "} by (", ")", "\t", ">", "<", " >> ", '"', "`"]


def rule_text(seed: int, number: int) -> Json:
    """An expression with names and a text for its groups, or a template; the same for the same seed and number."""
    dice = random.Random(f"{seed} {number}")  # noqa: S311  # nothing secret
    if dice.random() < 0.5:
        expression = "".join([dice.choice(["", "", "^"]), _expression(dice, 0), dice.choice(["", "", "$"])])
        return {"expression": expression, "names": dice.sample(NAMES, 8), "as": dice.choice(_EXPANSIONS)}
    return {"template": _template(dice, 0) or ".", "values": VALUES}


def filled(text: Json) -> str:
    """What we fill a template to. Raises TemplateError."""
    return Template(text["template"], QUERY_FIELDS).fill(text["values"])


def unlike_rule(text: Json, theirs: Json) -> str | None:
    """How we read what a rule is written in otherwise than Go does; None where both read it alike.

    Go knows more functions, verbs of printf and literals, and prints what is wrong where we refuse it.
    """
    if "expression" in text:
        return _unlike_expression(text, theirs)
    try:
        ours = filled(text)
    except TemplateError as error:
        understood = "filled" not in theirs or any(reason in str(error) for reason in _OTHERWISE)
        return None if understood else f"we refuse it, {error}, Go: {theirs}"
    if ours == theirs.get("filled"):
        return None
    return f"we fill it, {ours!r}, Go: {theirs}"


def _unlike_expression(text: Json, theirs: Json) -> str | None:
    try:
        expression = GoRegex(text["expression"])
    except RegexError as error:
        return None if "refused" in theirs or "is there twice" in str(error) else f"we refuse it, {error}"
    ours = [expression.expanded(text["as"], name) for name in text["names"]]
    if ours == theirs.get("named"):
        return None
    return f"we make {ours}, Go: {theirs}"


def _expression(dice: random.Random, depth: int) -> str:
    return "".join(_piece(dice, depth) for _ in range(dice.randint(1, 5)))


def _piece(dice: random.Random, depth: int) -> str:
    if depth < 2 and dice.random() < 0.15:
        piece = f"({dice.choice(['', '?:', f'?P<g{dice.randint(1, 3)}>'])}{_expression(dice, depth + 1)})"
    else:
        # Half of them plain, or hardly any expression would be a valid one.
        piece = dice.choice("abx_0") if dice.random() < 0.5 else dice.choice(_ATOMS)
    return piece + dice.choice(_TIMES) if dice.random() < 0.2 else piece


def _template(dice: random.Random, depth: int) -> str:
    return "".join(_item(dice, depth) for _ in range(dice.randint(0 if depth else 1, 3)))


def _item(dice: random.Random, depth: int) -> str:
    kind = dice.random()
    if kind < 0.35:
        return dice.choice(_BETWEEN)
    if kind < 0.65 or depth > 1:
        return _action(dice, _pipeline(dice))
    if kind < 0.72:
        return _action(dice, f"{dice.choice(['$x', '$i', '$v'])} := {dice.choice(['.', '$', *[_pipeline(dice)] * 4])}")
    if kind < 0.74:
        return dice.choice(['<</* >> " */>>', "<<end>>", "<<else>>", "<<break>>", "<<>>", "<<", "<<print(1)>>"])
    keyword = dice.choice(["if", "range", "with"])
    two = keyword == "range" or dice.random() < 0.1
    head = dice.choice(["", "", "$x := ", "$i, $v := " if two else "$v := "])
    over = dice.choice([".GroupBySlice", ".LabelValuesByName" if keyword == "range" else ".", *[_pipeline(dice)] * 3])
    space = dice.choice([" ", " ", "\n", "\t"])
    block = _action(dice, f"{keyword}{space}{head}{over}") + _template(dice, depth + 1)
    if dice.random() < 0.4:
        otherwise = f"else if {_pipeline(dice)}" if keyword == "if" and dice.random() < 0.5 else "else"
        block += _action(dice, otherwise) + _template(dice, depth + 1)
    return block + _action(dice, "end")


def _action(dice: random.Random, body: str) -> str:
    return dice.choice(["<<", "<<", "<< ", "<<- "]) + body + dice.choice([">>", ">>", " >>", " ->>"])


def _pipeline(dice: random.Random) -> str:
    return " | ".join(_command(dice) for _ in range(dice.choice([1, 1, 1, 1, 2])))


def _command(dice: random.Random) -> str:
    if dice.random() < 0.5:
        return dice.choice(_OPERANDS)
    function = dice.choice(_FUNCTIONS)
    arguments = [dice.choice(_OPERANDS) for _ in range(dice.choice([0, 1, 1, 2, 2, 3]))]
    return " ".join([function, *([dice.choice(_FORMATS)] if function == "printf" else []), *arguments])
