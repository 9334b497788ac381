"""docs/metrics.md has every metric of ours, and none that there is not."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PUBLISHED = re.compile(r'f"\{OURS\}_([a-z_]+)"')
TOLD = re.compile(r"^\| `hpa_controller_([a-z_]+)` \|", re.MULTILINE)


def test_the_document_has_all_metrics_of_ours_and_no_others() -> None:
    published = {name for path in (ROOT / "controller").rglob("*.py") for name in PUBLISHED.findall(path.read_text())}
    told = TOLD.findall((ROOT / "docs" / "metrics.md").read_text())
    assert len(published) > 20
    assert sorted(name.removesuffix("_total") for name in told) == sorted(
        name.removesuffix("_total") for name in published
    )
