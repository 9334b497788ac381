"""Queries of others: what is understood is printed so that nothing but the namespace can be read."""

import promql_parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.promql.literals import TEXT_MAX, TOKENS_MAX, PromqlError, mask, quoted
from controller.promql.queries import QUERY_MAX, confined, understood
from controller.promql.rendering import Selector
from tests.promql.confinement import is_confined, selectors_of
from tests.promql.written import queries

FORCED = 'namespace="shop"'


@settings(max_examples=400, deadline=None)
@given(queries(), st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True))
def test_every_selector_of_every_query_is_confined(query: str, namespace: str) -> None:
    text = confined(query, namespace).text
    assert len(selectors_of(text)) == len(selectors_of(query)), "no selector came or went"
    assert is_confined(text, namespace)


@settings(max_examples=200, deadline=None)
@given(queries())
def test_what_is_printed_is_read_as_the_same_query(query: str) -> None:
    once = understood(query)
    assert understood(once.text) == once
    if not any(sign in query for sign in "\"'`#"):
        # Without strings the parser's own printing is sound, and tells what it has understood.
        assert _bare(once.text) == _bare(query)


def _bare(query: str) -> str:
    """What the parser understands, without parentheses."""

    def shed(node: promql_parser.Expr) -> promql_parser.Expr | None:
        return node.expr if isinstance(node, promql_parser.ParenExpr) else None

    return str(promql_parser.transform(promql_parser.parse(query), post_visit=shed))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=60))
def test_a_string_is_a_string_whatever_stands_in_it(text: str) -> None:
    query = f"up{{a={quoted(text)}}} + up{{b={quoted(text)}}}"
    assert mask(query).strings == (text, text)
    assert is_confined(confined(query, "shop").text, "shop")


@pytest.mark.parametrize("found", ["", "=", "0", "a", "=a", "=2", "=-1", "=0 "])
def test_only_what_stands_for_a_string_is_taken_for_one(found: str) -> None:
    masked = mask('up{a="0"} + up{a="=a"}')
    assert [masked.string("=0"), masked.string("=1")] == ["0", "=a"]
    with pytest.raises(PromqlError, match="out of place"):
        masked.string(found)


def test_a_comment_is_kept_from_the_parser() -> None:
    masked = mask('up # "or" {a=\'b\n + up{c="d"}')
    assert (masked.text.split(), masked.strings) == (["up", "+", 'up{c="=0"}'], ("d",))


@settings(max_examples=600, deadline=None)
@given(st.text(alphabet="up{}()[]=~!\"'`\\#,:or and5m@ offsetnamespace\n-+*", max_size=80))
def test_whatever_is_written_is_confined_or_refused(query: str) -> None:
    try:
        text = confined(query, "shop").text
    except PromqlError:
        return
    assert is_confined(text, "shop")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("up", "up{%}"),
        ('up{job="a"}', 'up{job="a",%}'),
        ('up{namespace="kube-system"}', 'up{namespace="kube-system",%}'),
        ('up{namespace=~".*"}', 'up{namespace=~".*",%}'),
        ('{__name__=~".+"}', '{__name__=~".+",%}'),
        ("sum by (pod) (rate(hits_total[2m]))", "sum by (pod) (rate(hits_total{%}[120s]))"),
        ("sum without (pod) (up)", "sum without (pod) (up{%})"),
        ("topk(scalar(limit), up)", "topk(scalar(limit{%}), up{%})"),
        ("max_over_time(rate(up[1m])[10m:30s] offset 1h)", "max_over_time((rate(up{%}[60s]))[600s:30s] offset 3600s)"),
        ("up @ 12.5 offset -5m", "up{%} @ 12.500 offset -300s"),
        ("up offset -1ms", "up{%} offset -1ms"),
        ("up @ start()", "up{%} @ start()"),
        ("up[5m] @ end()", "up{%}[300s] @ end()"),
        ("rate(up[1500ms])", "rate(up{%}[1500ms])"),
        ("a + b * c ^ d", "(a{%} + (b{%} * (c{%} ^ d{%})))"),
        ("(-2) ^ up", "((-2) ^ up{%})"),
        ("(-0.5) ^ up", "((-0.5) ^ up{%})"),
        ("up * 1.5", "(up{%} * 1.5)"),
        ("1 / -0", "(1 / (-0))"),
        ("-2 ^ up", "(-(2 ^ up{%}))"),
        ("(a + b) * -c", "((a{%} + b{%}) * (-c{%}))"),
        ("a / on (pod) group_left (node) b", "(a{%} / on (pod) group_left (node) b{%})"),
        ("a unless ignoring (x) b > bool 1", "(a{%} unless ignoring (x) (b{%} > bool 1))"),
        ("absent(up) or vector(time())", "(absent(up{%}) or vector(time()))"),
        ('label_replace(up, "namespace", "x", "a", "(.*)")', 'label_replace(up{%}, "namespace", "x", "a", "(.*)")'),
        ('count_values("namespace", up)', 'count_values("namespace", up{%})'),
        ("-Inf + 1e400 + NaN + 0x1f + 1e20", "(((((-Inf) + Inf) + NaN) + 31) + 1e+20)"),
        ('up # {namespace="other"}\n + up', "(up{%} + up{%})"),
        # What would leave a string that is put together carelessly.
        (r'up{a="x\"} or secret{b=\"y"}', r'up{a="x\"} or secret{b=\"y",%}'),
        ("up{a='x\"} or secret{b=\"y'}", r'up{a="x\"} or secret{b=\"y",%}'),
        (r'up{a="\\"} or secret{b="\\"}', r'(up{a="\\",%} or secret{b="\\",%})'),
        ('up{a=`\\"} or secret{b="`}', r'up{a="\\\"} or secret{b=\"",%}'),
        (r'up{a="\u007d\x22\101\t"}', r'up{a="}\"A\x09",%}'),
        (r'up{a="a\tb"}', r'up{a="a\x09b",%}'),
        (r'up{a="\u00e9\u00ad\x7f\U0010ffff"}', 'up{a="\u00e9\u00ad\\x7f\U0010ffff",%}'),
    ],
)
def test_what_becomes_of_a_query(query: str, expected: str) -> None:
    assert confined(query, "shop").text == expected.replace("%", FORCED)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("", "no expression"),
        ("up{", "unexpected end"),
        ("up up", "no PromQL"),
        ('up{a="b}', "the string that begins with '\"b}' has no end"),
        (r'up{a="\d"}', "written twice"),
        (r'up{a="\xff"}', "no character"),
        (r'up{a="\ud800"}', "no character"),
        (r'up{a="\U00110000"}', "no character"),
        ("up{a='\\\"'}", "no escape"),
        ('{a="b" or c="d"}', "`or` between matchers"),
        ('up{"name.space"="x"}', "in quotes"),
        ('sum by ("name.space") (up)', "in quotes"),
        ('a + on ("name.space") b', "in quotes"),
        ('a + on (pod) group_left ("name.space") b', "in quotes"),
        ("info(up)", "experimental"),
        ('sort_by_label(up, "a")', "experimental"),
        ("a + fill(0) b", "experimental"),
        ("a + fill_left(0) b", "experimental"),
        ("a + fill_right(0) b", "experimental"),
        ("made_up(up)", "no PromQL"),
        ("up @ -5", "a time before 1970"),
        ("up @ 1e20", "cannot be printed"),
        ("rate(up[99999999y])", "cannot be printed"),
        ("+".join(["up"] * TOKENS_MAX), f"{TOKENS_MAX} are the most"),
        ("(" * QUERY_MAX + "up", f"{QUERY_MAX} are the most"),
    ],
)
def test_what_is_refused_says_why(query: str, part: str) -> None:
    for _ in range(2):  # a refusal is remembered
        with pytest.raises(PromqlError) as caught:
            confined(query, "shop")
        assert part in str(caught.value)


def test_selectors_tell_what_has_to_be_dated() -> None:
    query = understood('rate(hits{code="500"}[5m]) / (hits + hits)')
    assert query.selectors == (Selector('hits{code="500"}', ranged=True), Selector("hits{}", ranged=False))
    assert understood("vector(1)").selectors == ()
    of_subquery = understood("max_over_time(up[1h:]) + up").selectors
    assert of_subquery == (Selector("up{}", ranged=True), Selector("up{}", ranged=False)), "as far back as a range"
    assert understood("max_over_time(up[5m:] offset 5m)").selectors is None
    several = understood("max_over_time(a[1h:]) + max_over_time(max_over_time(b[1h:])[1h:]) + max_over_time(c[1h:])")
    assert [selector.ranged for selector in several.selectors or ()] == [True, True, True]


def test_queries_may_name_thousands_of_pods() -> None:
    pods = "|".join(f"web-5d89f6bdc8-{number:05}" for number in range(10_000))
    selectors = understood(f'sum(rate(hits{{pod=~"{pods}"}}[2m])) by (pod)').selectors
    assert selectors == (Selector(f'hits{{pod=~"{pods}"}}', ranged=True),)
    assert understood("x" * TEXT_MAX).text == f"{'x' * TEXT_MAX}{{}}"
    with pytest.raises(PromqlError, match=f"{TEXT_MAX} are the most"):
        understood(f"{'x' * TEXT_MAX}y")


def test_a_query_may_be_as_long_as_it_is_said_to_be() -> None:
    assert confined("up".ljust(QUERY_MAX), "shop").text == 'up{namespace="shop"}'
    most = "-" + "+".join(["up"] * (TOKENS_MAX // 2))
    assert len(understood(most).selectors or ()) == 1
    with pytest.raises(PromqlError, match=f"{TOKENS_MAX + 1} names, numbers and signs"):
        understood(f"-{most}")


def test_namespaces_are_never_mixed_up() -> None:
    assert confined("up", "a") != confined("up", "b")
    assert confined("up", "a").text == 'up{namespace="a"}'
