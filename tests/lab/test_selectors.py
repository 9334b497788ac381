import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller.lab.objects.selectors import (
    parse_field_selector,
    parse_label_selector,
    plain_selector,
    structured_selector,
)

KEYS = st.sampled_from(["app", "tier", "example.com/role", "a-b"])
VALUES = st.sampled_from(["web", "db", "", "v1.2", "Z"])
EXPRESSIONS = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        KEYS,
        st.sampled_from(["In", "NotIn"]),
        st.lists(VALUES, min_size=1, max_size=3),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        KEYS,
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)
STRUCTURED = st.fixed_dictionaries(
    {
        "matchLabels": st.dictionaries(KEYS, VALUES, max_size=2),
        "matchExpressions": st.lists(EXPRESSIONS, max_size=3),
    }
)


@given(STRUCTURED, st.dictionaries(KEYS, VALUES))
def test_a_printed_selector_selects_what_the_structure_selects(
    structured: dict[str, object], labels: dict[str, str]
) -> None:
    selector = structured_selector(structured)
    assert selector is not None
    parsed = parse_label_selector(str(selector))
    assert parsed.matches(labels) == selector.matches(labels)
    # The structure keeps what a set names twice; the text that was parsed again does not.
    assert str(parse_label_selector(str(parsed))) == str(parsed)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("", ""),
        ("b=2,a=1", "a=1,b=2"),
        ("a == 1", "a==1"),
        ("a!=1", "a!=1"),
        ("a in (z, y)", "a in (y,z)"),
        ("a notin (x)", "a notin (x)"),
        ("a in ()", "a in ()"),
        ("a in (,x)", "a in (,x)"),
        ("in in (in, notin)", "in in (in,notin)"),
        ("!a", "!a"),
        ("a", "a"),
        ("a=", "a="),
        ("a>5", "a>5"),
        (" a = b , c ", "a=b,c"),
    ],
)
def test_texts_are_read_and_printed(text: str, printed: str) -> None:
    assert str(parse_label_selector(text)) == printed


@pytest.mark.parametrize(
    "text",
    [
        "a===b",
        "=b",
        "a in",
        "a in b",
        "a in (b",
        "a in (b c)",
        "a=b,",
        ",a",
        "a b",
        "a>x",
        "-a",
        "a=b b",
        "a/b/c=d",
        "a=-",
        "!",
    ],
)
def test_texts_that_are_no_selectors_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_label_selector(text)


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        ("a=1", {"a": "1"}, True),
        ("a=1", {}, False),
        ("a!=1", {}, True),
        ("a notin (1)", {"a": "2"}, True),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a in ()", {"a": ""}, True),
        ("a>5", {"a": "6"}, True),
        ("a<5", {"a": "6"}, False),
        ("a>5", {"a": "six"}, False),
        ("a>5", {}, False),
        ("a=1,b=2", {"a": "1", "b": "3"}, False),
    ],
)
def test_selection(text: str, labels: dict[str, str], selected: bool) -> None:  # noqa: FBT001 - a table
    assert parse_label_selector(text).matches(labels) is selected


def test_a_missing_structure_selects_nothing_and_an_empty_one_everything() -> None:
    assert structured_selector(None) is None
    everything = structured_selector({})
    assert everything is not None
    assert everything.matches({"a": "b"})
    assert str(plain_selector(None)) == ""


def test_an_operator_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="Sometimes"):
        structured_selector({"matchExpressions": [{"key": "a", "operator": "Sometimes"}]})


def test_field_selectors_are_taken_apart() -> None:
    terms = parse_field_selector(r"a=1,b!=2,c==x\,y,d=")
    assert [(term.field, term.value, term.negated) for term in terms] == [
        ("a", "1", False),
        ("b", "2", True),
        ("c", "x,y", False),
        ("d", "", False),
    ]
    with pytest.raises(ValueError, match="nonsense"):
        parse_field_selector("nonsense")
