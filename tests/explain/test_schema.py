"""The published schema is that of the answers."""

from pathlib import Path

from controller.explain.answer import schema

PUBLISHED = Path(__file__).parents[2] / "docs" / "explain-schema.json"


def test_the_published_schema_is_current() -> None:
    told = "write controller.explain.answer.schema() to it: python -m controller.explain > docs/explain-schema.json"
    assert PUBLISHED.read_bytes() == schema(), told
