"""The rights of the chart, which the accounts of all end-to-end tests are given, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_FILE = Path(__file__).parents[2] / "charts" / "hpa-controller" / "files" / "permissions.yaml"
PERMISSIONS: dict[str, list[dict[str, Any]]] = yaml.safe_load(_FILE.read_text())
"""The rules by section, as the file has them."""


def rules(section: str, *holding: str) -> list[dict[str, Any]]:
    """The rules of a section, as a role has them, of which all conditions are among those that hold."""
    return [
        {key: rule[key] for key in ("apiGroups", "resources", "verbs")}
        for rule in PERMISSIONS[section]
        if set(rule["when"]) <= set(holding)
    ]
