from pathlib import Path

import pytest

from controller.sources.prometheus.go_regex import GoRegex, RegexError
from controller.sources.prometheus.rules import RulesError, parse_rules, read_rules

WHOLE = """\
rules:
- seriesQuery: '{__name__=~"^http_.*",namespace!=""}'
  seriesFilters: [{isNot: _bucket$}]
  resources: {template: "kube_<<.Resource>>", overrides: {pod: {resource: pod}}, namespaced: false}
  name: {matches: "^(.*)_total$", as: "${1}_per_second"}
  metricsQuery: |
    sum(<<.Series>>{<<.LabelMatchers>>})
    by (<<.GroupBy>>)
externalRules:
resourceRules:
  cpu: {containerQuery: a, nodeQuery: b, resources: {template: <<.Resource>>}, containerLabel: container}
  memory: {containerQuery: c, resources: {overrides: {ns: {resource: Namespaces}, pod: {resource: pod}}}}
  window: 1m30s
"""


def test_a_whole_file() -> None:
    rules = parse_rules(WHOLE, "r.yaml")
    (rule,) = rules.custom
    assert rule.line == 2
    assert rule.metric_name("http_requests_total") == "http_requests_per_second"
    assert rule.metric_name("http_seconds_bucket") is None
    assert rule.metric_name("http_inflight") is None, "what `matches` does not match is not meant"
    assert rule.mapping.namespaced is False
    assert rule.mapping.overrides[0][0] == "pod"
    assert rules.external == ()
    assert rules.usage is not None
    assert rules.usage.window_ns == 90 * 10**9


@pytest.mark.parametrize(
    ("text", "place", "part"),
    [
        ("", "1", "empty"),
        ("rules: [", "1", "not YAML"),
        ("a: 1\n", "1", "unknown field 'a'"),
        ("Rules: []\n", "1", "known are externalRules, resourceRules, rules"),
        ("kind: ConfigMap\ndata: {}\n", "1", "config.yaml"),
        ("rules:\n- seriesQuery: a\n  metricQuery: b\n", "3", "unknown field 'metricQuery'"),
        ("rules:\n- seriesQuery: a\n", "2", "metricsQuery is missing"),
        ("rules:\n- metricsQuery: a\n", "2", "seriesQuery is missing"),
        ("rules:\n- seriesQuery: a\n  seriesQuery: b\n", "3", "twice"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: |\n    sum(\n    <<.Nothing>>)\n", "5", ".Nothing is not known"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: <<foo>>\n", "3", "the function foo is not supported"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: b\n  name: {matches: '('}\n", "4", "no regular expression"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: b\n  name: {matches: '(a)(b)'}\n", "4", "`as` is needed"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: b\n  seriesFilters: [{is: a, isNot: b}]\n", "4", "either"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: b\n  resources:\n    overrides: {pod: {}}\n", "5", "no resource"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: b\n  resources: {template: <<.Series>>}\n", "4", ".Series is not"),
        ("rules:\n- seriesQuery: a\n  metricsQuery: b\n  resources: {namespaced: 'no'}\n", "4", "true or false"),
        ("resourceRules: {cpu: {containerQuery: a}}\n", "1", "need memory"),
        (WHOLE.replace("1m30s", "5 m"), "13", "duration"),
        ("externalRules:\n- seriesQuery: a\n  metricsQuery: b\n", "2", "no label is said for namespace: res"),
        (
            (
                "externalRules:\n- seriesQuery: a\n  metricsQuery: b\n  resources:\n"
                "    overrides: {namespace: {group: a, resource: namespace}, pod: {resource: pod}}\n"
            ),
            "2",
            "no label is said for namespace",
        ),
        ("resourceRules:\n  cpu: {containerQuery: a}\n  memory: {}\n", "2", "no label is said for namespace"),
        (WHOLE.replace(", pod: {resource: pod}}}}", "}}}"), "12", "no label is said for pod"),
        ("rules: {}\n", "1", "a list is needed"),
        ("- rules\n", "1", "a mapping is needed"),
        ('rules:\n- seriesQuery: "\\ud800"\n  metricsQuery: b\n', "2", "half of a character"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_line(text: str, place: str, part: str) -> None:
    with pytest.raises(RulesError) as caught:
        parse_rules(text, "r.yaml")
    assert str(caught.value).startswith(f"r.yaml:{place}: ")
    assert part in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RulesError, match=r"none\.yaml: the rules cannot be read"):
        read_rules(str(tmp_path / "none.yaml"))


@pytest.mark.parametrize(
    ("pattern", "name", "template", "expected"),
    [
        ("^(.*)_total$", "a_total", "$1", "a"),
        ("^(.*)_total$", "a_total", "${1}_b", "a_b"),
        ("^(.*)_total$", "a_total", "$1_b", ""),
        ("^(?P<x>.*)_total$", "a_total", "$x-$$-${x}", "a-$-a"),
        ("tot", "a_total", "$0", "tot"),
        ("(a)|(b)", "b", "$1$2", "b"),
        ("^[[:alpha:]]+$", "abc", "$0", "abc"),
        ("[[:xdigit:]]+", "xyz_c0FFee_total", "$0", "c0FFee"),
        (r"\Aabc\z", "abc", "$0", "abc"),
        ("(?<n>a)b{,2}", "ab{,2}", "${n}", "a"),
        (r"\pL+|\x{5f}|[[:^digit:]]", "é_1", "$0", "é"),
        ("(?U)a+", "aa", "$0", "a"),
        (r"\Q.*\E(.)", "a.*b", "$1$2$10$1é$", "b$"),
        ("^(a+)+$", "a" * 60 + "b", "$0", None),
        ("(a)", "a", "$01${1}${01}$" + "1" * 5000, "a"),
    ],
)
def test_names_are_made_as_go_makes_them(pattern: str, name: str, template: str, expected: str | None) -> None:
    assert GoRegex(pattern).expanded(template, name) == expected


def test_a_name_of_two_groups_is_refused() -> None:
    with pytest.raises(RegexError, match="a group named 'x' is there twice"):
        GoRegex("^(?P<x>.*)_total$|^(?P<x>.*)_count$")


def test_what_is_wrong_with_an_expression_is_said_once(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RegexError, match="missing"):
        GoRegex("(a")
    assert capfd.readouterr() == ("", "")


def test_an_end_is_the_end_and_not_a_line_break_before_it() -> None:
    assert not GoRegex("a$").matches("a\n")
    assert GoRegex("(?m)a$").matches("a\nb")
    assert GoRegex("[$]a").matches("$a")
    assert GoRegex(r"\$a").matches("$a")


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        r"(a)\1",
        "a++",
        "a**",
        "a{1001}",
        r"a\Z",
        r"\u0061",
        r"\C",
        "(?x)a",
        "(?P=n)",
        "(?i",
        "[",
        "\ud800",
    ],
)
def test_what_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError, match="is no regular expression"):
        GoRegex(pattern)
