from typing import Any

import pytest

from controller.sources.prometheus.rules import QUERY_FIELDS
from controller.sources.prometheus.template_functions import quoted
from controller.sources.prometheus.template_syntax import TemplateError
from controller.sources.prometheus.templates import Template

VALUES: dict[str, Any] = {
    "Series": "http_requests_total",
    "LabelMatchers": 'namespace="default",pod=~"a|b"',
    "LabelValuesByName": {"pod": "a|b", "namespace": "default"},
    "GroupBy": "pod,container",
    "GroupBySlice": ["pod", "container"],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("up", "up"),
        ("<<.Series>>{<<.LabelMatchers>>}", 'http_requests_total{namespace="default",pod=~"a|b"}'),
        ("<< .GroupBy >>", "pod,container"),
        ("<<.GroupBySlice>>", "[pod container]"),
        ("<<.LabelValuesByName>>", "map[namespace:default pod:a|b]"),
        ("<<index .GroupBySlice 1>>", "container"),
        ('<<index .LabelValuesByName "pod">>', "a|b"),
        ('<<.LabelValuesByName | len>> <<index .LabelValuesByName "none">>!', "2 !"),
        ("<<.LabelValuesByName.pod>><<.LabelValuesByName.none>>", "a|b<no value>"),
        ("a <<- `b` ->> c", "abc"),
        ("a<</* nothing */>>b", "ab"),
        ("<<range .GroupBySlice>><<.>>;<<end>>", "pod;container;"),
        ("<<range $i, $l := .GroupBySlice>><<if $i>>,<<end>><<$l>><<end>>", "pod,container"),
        ("<<range $k, $v := .LabelValuesByName>><<$k>>=<<$v>> <<end>>", "namespace=default pod=a|b "),
        ("<<range $.GroupBySlice>><<$.Series>> <<else>>none<<end>>", "http_requests_total http_requests_total "),
        ('<<if eq .Series "x">>1<<else if eq .GroupBy "pod,container">>2<<else>>3<<end>>', "2"),
        ("<<if and .Series (not .GroupBy)>>1<<else>>2<<end>>", "2"),
        ('<<with index .LabelValuesByName "pod">>[<<.>>]<<end>>', "[a|b]"),
        ("<<$s := .Series>><<$s>>", "http_requests_total"),
        ('<<printf "%s-%q-%d%%" .Series .GroupBy 3>>', 'http_requests_total-"pod,container"-3%'),
        ('<<.Series | printf "%v/%v" "x">>', "x/http_requests_total"),
        ('<<or "" .Series>> <<ne .Series "x">>', "http_requests_total true"),
        ('a < b > c << ">>" >>', "a < b > c >>"),
    ],
)
def test_what_go_makes_of_it(text: str, expected: str) -> None:
    assert Template(text, QUERY_FIELDS).fill(VALUES) == expected


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("<<.LabelMatchersByName>>", 0, "known are .GroupBy"),
        ("a\nb <<.Series", 1, "has no end >>"),
        ("\n\n<<regexReplaceAll .Series>>", 2, "the function regexReplaceAll is not supported"),
        ("<<if .Series>>", 0, "if has no end"),
        ("<<end>>", 0, "end without"),
        ("<<else>>", 0, "else without"),
        ('<<template "x">>', 0, "not supported"),
        ("<<.Series | .GroupBy>>", 0, "has to be a function"),
        ("<<(.Series>>", 0, "not closed"),
        ("<<>>", 0, "a value is missing"),
        ("<<1.5>>", 0, "cannot be understood"),
        ("<<range .GroupBySlice>><<break>><<end>>", 0, "break is not supported"),
    ],
)
def test_what_is_refused_when_it_is_read(text: str, line: int, part: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Template(text, QUERY_FIELDS)
    assert caught.value.line == line
    assert part in str(caught.value)


@pytest.mark.parametrize("text", ["<<index .GroupBySlice 7>>", "<<$x>>", '<<printf "%s">>', "<<range .Series>><<end>>"])
def test_what_fails_when_it_is_filled_in(text: str) -> None:
    with pytest.raises(TemplateError):
        Template(text, QUERY_FIELDS).fill(VALUES)


def test_quoting_is_that_of_go() -> None:
    assert quoted('a"b\\c\n\x01é\u200b') == '"a\\"b\\\\c\\n\\x01é\\u200b"'
