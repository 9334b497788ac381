"""What stands between the braces of a rule's query."""

from __future__ import annotations

import pytest

from controller.decide import selectors
from controller.sources.prometheus.matchers import Matchers, QueryError
from controller.sources.prometheus.rules import QUERY_FIELDS
from controller.sources.prometheus.templates import Template


def filled(matchers: Matchers, text: str = "<<.LabelMatchers>>") -> str:
    return matchers.fill(Template(text, QUERY_FIELDS), "requests", ("pod", "container"))


@pytest.mark.parametrize(
    ("selector", "matcher"),
    [
        ("queue=mail", 'queue="mail"'),
        ("queue==mail", 'queue="mail"'),
        ("queue!=mail", 'queue!="mail"'),
        ("queue in (mail)", 'queue=~"mail"'),
        ("queue in (sms,mail)", 'queue=~"mail|sms"'),
        ("queue notin (mail)", 'queue!~"mail"'),
        ("queue notin (sms,mail)", 'queue!~"mail|sms"'),
        ("queue", 'queue!=""'),
        ("!queue", 'queue=""'),
        ("queue=mail,verb!=GET", 'queue="mail",verb!="GET"'),
    ],
)
def test_a_metrics_selector_in_the_words_of_promql(selector: str, matcher: str) -> None:
    assert filled(Matchers(selectors.parse(selector))) == matcher


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("size > 3", "compares 'size', which PromQL has no matcher for"),
        ("size < 3", "compares 'size', which PromQL has no matcher for"),
        ("example.com/queue=mail", "names 'example.com/queue', which no Prometheus label can be called"),
    ],
)
def test_what_promql_cannot_say_is_refused(selector: str, said: str) -> None:
    with pytest.raises(QueryError, match=said):
        Matchers(selectors.parse(selector))


def test_the_namespace_and_objects_come_after_the_selector_and_are_values_by_label_too() -> None:
    matchers = Matchers(selectors.parse("queue=mail"))
    matchers.add_equal("namespace", "shop")
    matchers.add_objects("pod", ["web-1", "web-2"])
    assert filled(matchers) == 'queue="mail",namespace="shop",pod=~"web-1|web-2"'
    assert matchers.values == {"queue": "mail", "namespace": "shop", "pod": "web-1|web-2"}
    one = Matchers()
    one.add_objects("pod", ["web-1"])
    assert filled(one) == 'pod="web-1"'


@pytest.mark.parametrize("name", ["", "web|.*", 'web"}', "web 1", "-web"])
def test_what_could_break_out_of_a_matcher_is_no_object(name: str) -> None:
    with pytest.raises(QueryError, match="cannot be the name of an object"):
        Matchers().add_objects("pod", ["web-1", name])


def test_what_a_query_is_filled_in_with() -> None:
    matchers = Matchers()
    matchers.add_equal("namespace", "shop")
    text = '<<.Series>> <<.GroupBy>> <<index .LabelValuesByName "namespace">> <<range .GroupBySlice>>(<<.>>)<<end>>'
    assert filled(matchers, text) == "requests pod,container shop (pod)(container)"


def test_a_query_that_cannot_be_filled_in_is_refused_with_the_reason() -> None:
    with pytest.raises(QueryError, match="the rule's query cannot be filled in: range cannot go over 'requests'"):
        filled(Matchers(), "<<range .Series>>1<<end>>")


def test_a_query_that_is_empty_is_none() -> None:
    with pytest.raises(QueryError, match="empty once filled in"):
        filled(Matchers(), " <<.LabelMatchers>> ")
