from typing import Any

import pytest

from controller.sources.prometheus.rules import QUERY_FIELDS
from controller.sources.prometheus.template_functions import quoted
from controller.sources.prometheus.template_tokens import TemplateError
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
        ('<<print 1 2 "a" 3>> <<print .LabelValuesByName.none>>', "1 2a3 <nil>"),
        ('<<len "é">> <<index "é" 0>>', "2 195"),
        (
            "<<if $s := .Series>><<$s>><<else if $g := .GroupBy>><<$g>><<else>><<$.GroupBy>><<end>>",
            "http_requests_total",
        ),
        ('<<or (index .LabelValuesByName "x") $.GroupBy>>', "pod,container"),
        ("<<range .GroupBySlice>><<if eq . `pod`>><<.>><<else>>;<<.>><<end>><<end>>", "pod;container"),
        ("<<with .LabelValuesByName.none>><<else>><<.Series>><<end>>", "http_requests_total"),
        ("<<$root := .>><<range .GroupBySlice>><<$root.Series>> <<end>>", "http_requests_total http_requests_total "),
        ("<<with $.GroupBySlice>><<with $>><<.GroupBy>><<end>><<end>><<if .>>!<<end>>", "pod,container!"),
        ("<<if or .Series (index .GroupBySlice 7)>>1<<end>>", "1"),
        ('<<if and .LabelValuesByName.none (eq (index .GroupBySlice 7) "x")>>1<<else>>2<<end>>', "2"),
        ("<<eq .LabelValuesByName.none .GroupBySlice>> <<.LabelValuesByName.none.x>>", "false <no value>"),
        ("<<.Series | and true>> <<.Series | or true>>", "http_requests_total true"),
        ("<<if\n.Series>>1<<end>> <<if(.Series)>>2<<end>>", "1 2"),
        ("a<</* << a >> b \" ' */>>b<</*\n*/ ->> c", "abc"),
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
        ("<<$x>>", 0, "the variable $x is not set"),
        ("<<$x := $x>>", 0, "the variable $x is not set"),
        ("<<if $x := .Series>><<else if $y := $x>><<$y>><<end>>\n<<$y>>", 1, "the variable $y is not set"),
        ("<<range $i, $l := .GroupBySlice>><<$l>><<end>><<$l>>", 0, "the variable $l is not set"),
        ("<<if .Series>>\n<<$x := 1>><<else>><<$x>><<end>>", 1, "the variable $x is not set"),
        ("<<if .Series>><<if .Serie>><<end>><<end>>", 0, ".Serie is not known here"),
        ("<<range .Serie>><<end>>", 0, ".Serie is not known here"),
        ("<<with .Serie>><<end>>", 0, ".Serie is not known here"),
        ("<<with .Series>><<else>><<.Serie>><<end>>", 0, ".Serie is not known here"),
        ("<<range .GroupBySlice>><<if .>><<else>><<end>><<end>><<.Serie>>", 0, ".Serie is not known here"),
        ("<<len .>>", 0, "all fields together are no value"),
        ("<<len (.)>>", 0, "all fields together are no value"),
        ("<<. | len>>", 0, "all fields together are no value"),
        ("<<range $i, $v := .>><<end>>", 0, "all fields together are no value"),
        ("<<range $>><<end>>", 0, "all fields together are no value"),
        ("<<$root := .>><<$root>>", 0, "all fields together are no value"),
        ("<<$root := .>><<range .GroupBySlice>><<$root.Serie>><<end>>", 0, ".Serie is not known here"),
        ("<<with $>><<.Serie>><<end>>", 0, ".Serie is not known here"),
        ("<<range .GroupBySlice>><<$>><<end>>", 0, "all fields together are no value"),
        ("<<$a, $b := .Series>><<$b>>", 0, "only range sets two variables"),
        ("<<with $a, $b := .Series>><<end>>", 0, "only range sets two variables"),
        ("<<range $a, 1 := .GroupBySlice>><<end>>", 0, "the variable $a is not set"),
        ("<<$s := .Series>><<$s = .GroupBy>>", 0, ":= sets a variable anew"),
        ("<<print 9223372036854775808>>", 0, "9223372036854775808 is too large"),
        (f"<<print {'9' * 5000}>>", 0, "is too large"),
        ("<<print(1)>>", 0, "a space is missing before ("),
        ("<<len .Series\u00a0>>", 0, "cannot be understood"),
        ('<<print "\\x41">>', 0, "known escapes are those of JSON"),
        ("<<len>>", 0, "len: it takes 1 value, not 0"),
        ("<<.Series | len .GroupBy>>", 0, "len: it takes 1 value, not 2"),
        ("<<eq .Series>>", 0, "eq: it takes 2 or more values, not 1"),
        ("<<ne .Series .Series .Series>>", 0, "ne: it takes 2 values, not 3"),
        ("<<not .Series .Series>>", 0, "not: it takes 1 value, not 2"),
        ("<<and>>", 0, "and: it takes 1 or more values, not 0"),
        ('<<printf "%s">>', 0, "more verbs than values"),
        ('<<printf "%%" .Series>>', 0, "fewer verbs than values"),
        ('<<.Series | printf "%x">>', 0, "only %s, %v, %q, %d and %% are supported"),
        (f"<<{'(' * 3000}.Series{')' * 3000}>>", 0, "too deep"),
        (
            '<<.Series}{a="b",c="d",e="f",g="h",i="j",k="l",m="n",o="p",q="r",s="t",u="v",w="x",y="z",A="B"}',
            0,
            "no end",
        ),
        ("<<len (print 1).x>>", 0, "fields behind a parenthesis are not supported"),
        ("<<print 08>>", 0, "cannot be understood"),
        ("<<$x.y := 1>>", 0, "cannot be understood"),
    ],
)
def test_what_is_refused_when_it_is_read(text: str, line: int, part: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Template(text, QUERY_FIELDS)
    assert caught.value.line == line
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("<<index .GroupBySlice 7>>", "has no element 7"),
        ("<<index .GroupBySlice true>>", "has no element true"),
        ("<<index .LabelValuesByName 1>>", "a key is a string, not 1"),
        ("<<index .Series -1>>", "has no element -1"),
        ("<<printf .Series 1>>", "fewer verbs than values"),
        ("<<printf 1 .Series>>", "the format has to be a string, not 1"),
        ('<<printf "%d" .Series>>', "%d cannot show http_requests_total"),
        ('<<printf "%d" true>>', "%d cannot show true"),
        ('<<printf "%s" 1>>', "%s cannot show 1"),
        ('<<printf "%q" .GroupBySlice>>', "%q cannot show [pod container]"),
        ("<<range .Series>><<end>>", "range cannot go over"),
        ("<<range .GroupBySlice>><<.Series>><<end>>", "'pod' has no field .Series; those at the top are behind $"),
        ('<<eq 1 "1">>', "the number 1 and the string 1 cannot be compared"),
        ("<<ne .GroupBySlice .GroupBySlice>>", "cannot be compared"),
        (f"{'<<if .Series>>' * 600}{'<<end>>' * 600}", "too deep"),
        ("<<len 1>>", "1 has no length"),
        ("<<len .LabelValuesByName.none>>", "<no value> has no length"),
    ],
)
def test_what_fails_when_it_is_filled_in(text: str, part: str) -> None:
    with pytest.raises(TemplateError) as caught:
        Template(text, QUERY_FIELDS).fill(VALUES)
    assert part in str(caught.value)


def test_quoting_is_that_of_go() -> None:
    assert quoted('a"b\\c\n\x01é\u200b') == '"a\\"b\\\\c\\n\\x01é\\u200b"'
