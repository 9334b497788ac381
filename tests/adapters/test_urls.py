"""Paths lead only where they should, and queries arrive as they were meant."""

from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller.kube.urls import path_of, query_of
from controller.ports import Rejected


def test_paths_lead_only_where_they_should() -> None:
    assert path_of("a", "b/c?", "*") == "/a/b%2Fc%3F/*"
    with pytest.raises(Rejected):
        path_of("a", "..")


@given(st.dictionaries(st.sampled_from(["labelSelector", "watch", "limit"]), st.text()))
@example({"labelSelector": "app.kubernetes.io/name=web,tier!=canary,zone"})
@example({"labelSelector": "zone in (a,b)"})
@example({"labelSelector": "a&b=c"})
@example({"labelSelector": "100%25;+"})
def test_queries_arrive_as_they_were_meant(query: dict[str, str]) -> None:
    assert dict(parse_qsl(query_of(query), keep_blank_values=True)) == query


def test_what_needs_no_encoding_stays_readable() -> None:
    assert query_of({"labelSelector": "app=web", "limit": "500"}) == "labelSelector=app=web&limit=500"
    assert query_of({"labelSelector": "zone in (a,b)"}) == urlencode({"labelSelector": "zone in (a,b)"})
