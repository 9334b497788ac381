"""Label selectors mean what they mean to an API server."""

from __future__ import annotations

import pytest

from tests.e2e.label_selector import LabelSelector, SelectorError

LABELS = {"app": "web", "tier": "front", "example.com/size": "12"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=front", True),
        ("app=web,tier=back", False),
        ("app!=api", True),
        ("app!=web", False),
        ("missing!=web", True),
        ("missing=", False),
        ("app", True),
        ("missing", False),
        ("!missing", True),
        ("!app", False),
        ("in", False),
        ("app in (web,api)", True),
        ("app in (api)", False),
        ("app notin (api, db),tier in (front)", True),
        ("app notin (web)", False),
        ("missing notin (web)", True),
        ("missing in (web)", False),
        ("example.com/size=12", True),
        ("example.com/size>11", True),
        ("example.com/size<12", False),
        ("app>1", False),
    ],
)
def test_matching(text: str, matches: bool) -> None:  # noqa: FBT001  # a column of the table
    assert LabelSelector(text).matches(LABELS) is matches


@pytest.mark.parametrize("text", ["app=web,", "=web", "app in web", "app in (web", "app>big", "a b"])
def test_nonsense_is_refused(text: str) -> None:
    with pytest.raises(SelectorError):
        LabelSelector(text)


def test_as_object() -> None:
    assert LabelSelector("app=web,tier in (a,b),!old,new,zone!=x").as_object() == {
        "matchLabels": {"app": "web"},
        "matchExpressions": [
            {"key": "tier", "operator": "In", "values": ["a", "b"]},
            {"key": "old", "operator": "DoesNotExist"},
            {"key": "new", "operator": "Exists"},
            {"key": "zone", "operator": "NotIn", "values": ["x"]},
        ],
    }
    with pytest.raises(SelectorError):
        LabelSelector("size>1").as_object()
