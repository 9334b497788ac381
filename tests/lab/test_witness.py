"""The lab shares nothing with the program it bears witness about, and has no clock but its own."""

import ast
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controller.lab.clock import LabClock, parse_timestamp
from tests.lab.hands import Hands

ROOT = Path(__file__).parents[2]
LAB = sorted((ROOT / "controller" / "lab").rglob("*.py"))
FOREIGN = {"aiohttp", "msgspec", "yaml"}


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


@pytest.mark.parametrize("path", LAB, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_nothing_else_of_ours(path: Path) -> None:
    for name in imported(path):
        top = name.partition(".")[0]
        if top == "controller":
            assert f"{name}.".startswith("controller.lab."), name
        else:
            assert top in FOREIGN | set(sys.stdlib_module_names), name
            assert top != "time" or path.name == "scaled_loop.py", "time comes from the event loop"


def test_time_follows_its_source() -> None:
    hands = Hands()
    hands.now_s = 100
    clock = LabClock(hands, datetime(2026, 5, 1, tzinfo=UTC))
    assert clock.timestamp() == "2026-05-01T00:00:00Z"
    hands.now_s += 90.75
    assert clock.timestamp() == "2026-05-01T00:01:30Z"
    assert clock.microtimestamp() == "2026-05-01T00:01:30.750000Z"
    assert clock.now() - datetime(2026, 5, 1, tzinfo=UTC) == timedelta(seconds=90.75)
    assert clock.monotonic_s() == 190.75


def test_a_start_without_a_time_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        LabClock(Hands(), datetime(2026, 5, 1))  # noqa: DTZ001 - the mistake under test
    with pytest.raises(ValueError, match="time zone"):
        parse_timestamp("2026-05-01T00:00:00")
