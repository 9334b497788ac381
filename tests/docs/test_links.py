"""Whatever a document refers to in this repository is there, headings included."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def headings(document: Path) -> set[str]:
    """Those of a document as links name them."""
    titles = re.findall(r"^#+ (.*)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(document: Path) -> list[str]:
    """The links of a document that lead nowhere; those to other places than this repository are not followed."""
    found = []
    for link in re.findall(r"\]\(([^)\s]+)\)", document.read_text()):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = document.parent / path if path else document
        if not target.exists() or (heading and heading not in headings(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    assert broken(document) == []


def test_broken_links_are_found(tmp_path: Path) -> None:
    document = tmp_path / "one.md"
    (tmp_path / "two.md").write_text("# Two, and more\n")
    document.write_text("[a](two.md#two-and-more) [b](three.md) [c](two.md#no) [d](#no) [e](https://example.org/x)\n")
    assert broken(document) == ["three.md", "two.md#no", "#no"]
