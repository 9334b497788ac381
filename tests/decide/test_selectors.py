"""Label selectors: read from a scale's text (§5) and from a metric's object (§6.3), matched and printed."""

import weakref
from collections.abc import Mapping

import pytest

from controller.decide import selectors
from controller.decide.selectors import LabelSelector, Selector, SelectorError
from tests.builders import label_selector

# text: canonical form
PRINTED = {
    "": "",
    " \t\r\n": "",
    "app=web": "app=web",
    "app==web": "app=web",
    " app = web ": "app=web",
    "app!=web": "app!=web",
    "app=": "app=",
    "app=,b=2": "app=,b=2",
    "app": "app",
    "!app": "!app",
    "! app": "!app",
    "b=2,a=1": "a=1,b=2",
    "a in (y,x,y)": "a in (x,y)",
    "a in(x)": "a in (x)",
    "a notin (x)": "a notin (x)",
    "a in ()": "a in ()",
    "a in (,)": "a in ()",
    "a in (x,)": "a in (,x)",
    "a in (x,,y)": "a in (,x,y)",
    "a in (x,,,)": "a in (,x)",
    "a in (,,x)": "a in (,x)",
    "a in (x,,)": "a in (,x)",
    "a in (,,)": "a in ()",
    "a in (x,,,,)": "a in (,x)",
    "a>5": "a>5",
    "a<007": "a<007",
    "in in (in,notin)": "in in (in,notin)",
    "notin": "notin",
    "example.com/a-b_c.d=1": "example.com/a-b_c.d=1",
    "A=Z": "A=Z",
    f"{'k' * 63}={'v' * 63}": f"{'k' * 63}={'v' * 63}",
    f"{'p' * 253}/k=v": f"{'p' * 253}/k=v",
}


@pytest.mark.parametrize("text", PRINTED)
def test_printed(text: str) -> None:
    parsed = selectors.parse(text)
    assert parsed.text == PRINTED[text]
    assert selectors.parse(parsed.text).requirements == parsed.requirements


REFUSED = {
    "cheddar cheese": "found 'cheese', expected one of = == != in notin > <",
    "==web": "found '==', expected a label key or '!'",
    "=web": "found '=', expected a label key or '!'",
    ",": "found ',', expected a label key or '!'",
    "app=web,": "found the end, expected a label key or '!' after ','",
    "app=web,,b=2": "found ',', expected a label key or '!' after ','",
    "app=web b=2": "found 'b', expected ',' or the end",
    "app=(": "found '(', expected a key or value",
    "app==!": "found '!', expected a key or value",
    "!": "found the end, expected a key or value",
    "!a=b": "found '=', expected ',' or the end",
    "!!a": "found '!', expected a key or value",
    "a in": "found the end, expected '('",
    "a in x": "found 'x', expected '('",
    "a in (x": "found the end, expected ',' or ')'",
    "a in (x y)": "found 'y', expected ',' or ')'",
    "a in (x,,": "found the end, expected a label value or ','",
    "a in (x))": "found ')', expected ',' or the end",
    "a==!=": "found '!=', expected a key or value",
    "!=a": "found '!=', expected a label key or '!'",
    "a in (==)": "found '==', expected a label value, ',' or ')'",
    "a in ((x)": "found '(', expected a label value, ',' or ')'",
    "a=)": "found ')', expected a key or value",
    "-a=1": "'-a' is not a label key",
    "a.=1": "'a.' is not a label key",
    "/a=1": "'/a' is not a label key",
    "a/=1": "'a/' is not a label key",
    "a/b/c=1": "'a/b/c' is not a label key",
    "a/b/c": "'a/b/c' is not a label key",
    "!a/b/c": "'a/b/c' is not a label key",
    "-a": "'-a' is not a label key",
    "!-a": "'-a' is not a label key",
    "A.example/a=1": "'A.example/a' is not a label key",
    "ä=1": "'ä' is not a label key",
    f"{'k' * 64}=1": f"'{'k' * 64}' is not a label key",
    f"{'p' * 254}/a=1": f"'{'p' * 254}/a' is not a label key",
    "a=-x": "values[0] of label 'a': '-x' is not a label value",
    "a=x-": "values[0] of label 'a': 'x-' is not a label value",
    "a=x/y": "values[0] of label 'a': 'x/y' is not a label value",
    f"a={'v' * 64}": f"values[0] of label 'a': '{'v' * 64}' is not a label value",
    "a in (x,-)": "values[0] of label 'a': '-' is not a label value",
    "a in (z-,b,y-)": (
        "values[1] of label 'a': 'y-' is not a label value; values[2] of label 'a': 'z-' is not a label value"
    ),
    "a>": "> and < need an integer, found ''",
    "a<x": "> and < need an integer, found 'x'",
    "a>1.5": "> and < need an integer, found '1.5'",
    "a>9223372036854775808": "> and < need an integer, found '9223372036854775808'",
    "a>-1": "values[0] of label 'a': '-1' is not a label value",
}


def refusal(text: str) -> str:
    with pytest.raises(SelectorError) as raised:
        selectors.parse(text)
    return str(raised.value)


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    assert refusal(text) == REFUSED[text]


SAME_FACTS = [
    ("cheddar cheese", "gouda cheese"),
    ("x in (a", "y notin (b"),
    ("app=web b", "app=api b"),
    ("a>x", "b<x"),
    ("a=(", "!("),
    ("a in (c-,x)", "a in (c-,y,z)"),
]
OTHER_FACTS = [
    ("cheddar cheese", "cheddar bread"),
    ("a=-x", "b=-x"),
    ("a in (-x)", "a in (,-x)"),
    (",a", "a,,b"),
    ("a>x", "a>y"),
]


@pytest.mark.parametrize(("one", "other"), SAME_FACTS)
def test_selectors_with_the_same_fault_have_the_same_message(one: str, other: str) -> None:
    """§15.3: whoever changes one into the other causes no status write, as with upstream."""
    assert refusal(one) == refusal(other)


@pytest.mark.parametrize(("one", "other"), OTHER_FACTS)
def test_selectors_with_different_faults_have_different_messages(one: str, other: str) -> None:
    """§15.3."""
    assert refusal(one) != refusal(other)


WEB = {"app": "web", "tier": "front"}

MATCHES: dict[str, list[tuple[Mapping[str, str], bool]]] = {
    "": [({}, True), (WEB, True)],
    "app=web": [(WEB, True), ({"app": "db"}, False), ({}, False)],
    "app=": [({"app": ""}, True), ({}, False)],
    "app!=web": [(WEB, False), ({"app": "db"}, True), ({}, True)],
    "app": [(WEB, True), ({"app": ""}, True), ({}, False)],
    "!app": [(WEB, False), ({}, True)],
    "app in (web,db)": [(WEB, True), ({"app": "db"}, True), ({"app": "x"}, False), ({}, False)],
    "app notin (web,db)": [(WEB, False), ({"app": "x"}, True), ({}, True)],
    "app in ()": [({"app": ""}, True), ({"app": "x"}, False), ({}, False)],
    "app notin ()": [({"app": ""}, False), ({"app": "x"}, True), ({}, True)],
    "app=web,tier=front": [(WEB, True), ({"app": "web"}, False)],
    "app=web,app=db": [(WEB, False)],
    "n>5": [({"n": "6"}, True), ({"n": "5"}, False), ({"n": "x"}, False), ({"n": "1.5"}, False), ({}, False)],
    "n<4": [({"n": "-9223372036854775808"}, True), ({"n": "-9223372036854775809"}, False)],
    "n<5": [({"n": "4"}, True), ({"n": "5"}, False), ({"n": "-9"}, True), ({}, False)],
    "n<007": [({"n": "0000000000000000000000006"}, True)],
    "n>1": [({"n": "9223372036854775807"}, True), ({"n": "9223372036854775808"}, False)],
}


@pytest.mark.parametrize("text", MATCHES)
def test_matches(text: str) -> None:
    parsed = selectors.parse(text)
    assert [parsed.matches(labels) for labels, _ in MATCHES[text]] == [expected for _, expected in MATCHES[text]]


OBJECTS: dict[str, tuple[LabelSelector, str, str]] = {
    "empty": (label_selector(), "", "{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{},}"),
    "labels": (
        label_selector({"b": "2", "a": "1"}),
        "a=1,b=2",
        "{MatchLabels:map[string]string{a: 1,b: 2,},MatchExpressions:[]LabelSelectorRequirement{},}",
    ),
    "expressions": (
        label_selector({"a": "1"}, ("b", "In", ["y", "x"]), ("c", "Exists", [])),
        "a=1,b in (x,y),c",
        (
            "{MatchLabels:map[string]string{a: 1,},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:b,Operator:In,Values:[y x],},"
            "LabelSelectorRequirement{Key:c,Operator:Exists,Values:[],},},}"
        ),
    ),
    "repeated values": (
        label_selector(None, ("a", "In", ["y", "x", "y"])),
        "a in (x,y,y)",
        (
            "{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:a,Operator:In,Values:[y x y],},},}"
        ),
    ),
    "negations": (
        label_selector(None, ("b", "NotIn", ["x"]), ("a", "DoesNotExist", [])),
        "!a,b notin (x)",
        (
            "{MatchLabels:map[string]string{},MatchExpressions:[]LabelSelectorRequirement{"
            "LabelSelectorRequirement{Key:b,Operator:NotIn,Values:[x],},"
            "LabelSelectorRequirement{Key:a,Operator:DoesNotExist,Values:[],},},}"
        ),
    ),
}


@pytest.mark.parametrize(("written", "text", "debug_text"), OBJECTS.values(), ids=OBJECTS)
def test_from_an_object(written: LabelSelector, text: str, debug_text: str) -> None:
    parsed = selectors.from_object(written)
    assert parsed.text == text
    for labels in (WEB, {"a": "1", "b": "x", "c": ""}, {"a": "y"}, {}):
        assert parsed.matches(labels) == selectors.parse(text).matches(labels)
    assert selectors.debug_text(written) == f"&LabelSelector{debug_text}"


def test_no_selector_prints_as_nil() -> None:
    assert selectors.debug_text(None) == "nil"


REFUSED_OBJECTS = {
    "unknown operator": (label_selector(None, ("a", "Gt", ["1"])), "'Gt' is not a valid label selector operator"),
    "no operator": (label_selector(None, ("a", "", ["1"])), "'' is not a valid label selector operator"),
    "In without values": (label_selector(None, ("a", "In", [])), "in and notin need values"),
    "NotIn without values": (label_selector(None, ("a", "NotIn", [])), "in and notin need values"),
    "Exists with values": (label_selector(None, ("a", "Exists", ["x"])), "exists and ! take no values, found 'x'"),
    "DoesNotExist with values": (
        label_selector(None, ("a", "DoesNotExist", ["x"])),
        "exists and ! take no values, found 'x'",
    ),
    "bad key": (label_selector({"-": "x"}), "'-' is not a label key"),
    "no key": (label_selector({"": "x"}), "'' is not a label key"),
    "bad value": (label_selector({"a": "x y"}), "values[0] of label 'a': 'x y' is not a label value"),
    "bad value in an expression": (
        label_selector(None, ("a", "In", ["ok", "!"])),
        "values[1] of label 'a': '!' is not a label value",
    ),
}


@pytest.mark.parametrize(("written", "text"), REFUSED_OBJECTS.values(), ids=REFUSED_OBJECTS)
def test_refused_object(written: LabelSelector, text: str) -> None:
    with pytest.raises(SelectorError) as raised:
        selectors.from_object(written)
    assert text in str(raised.value)


def test_canonical_forms_tell_selectors_apart() -> None:
    """§5.3: selectors with the same text match the same labels, so the text may stand for the selector."""
    by_text: dict[str, Selector] = {}
    for text in PRINTED:
        parsed = selectors.parse(text)
        assert by_text.setdefault(parsed.text, parsed) == parsed


def test_a_parsed_selector_is_shared_and_forgotten_with_the_last_who_holds_it() -> None:
    held = selectors.parse("app=held")
    assert selectors.parse("app=held") is held
    watcher = weakref.ref(selectors.parse("app=gone"))
    assert watcher() is None


def test_what_an_object_stands_for_is_shared_and_forgotten_with_the_object() -> None:
    written = LabelSelector((("app", "web"),))
    watcher = weakref.ref(selectors.from_object(written))
    assert selectors.from_object(LabelSelector((("app", "web"),))) is watcher()
    del written
    assert watcher() is None
