"""docs/lint.md tells of all advice that there is, and of no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
GIVEN = re.compile(r'Advice\(\s*"([a-z0-9-]+)"|_at_container\(\s*measured, \S+ "([a-z0-9-]+)"')


def test_the_document_tells_of_all_advice() -> None:
    sources = [path.read_text() for path in (ROOT / "controller" / "manifest").glob("*.py")]
    given = {first or second for text in sources for first, second in GIVEN.findall(text)}
    rows = re.findall(r"^\| (`.+`) \|", (ROOT / "docs" / "lint.md").read_text(), re.MULTILINE)
    told = [code for row in rows for code in re.findall(r"`([a-z0-9-]+)`", row)]
    assert "request-missing" in given
    assert sorted(told) == sorted(given)
