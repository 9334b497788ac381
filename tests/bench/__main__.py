"""`make bench`: a table for people, JSON for programs (`--json FILE`); exit code 1 if a goal is missed."""

import argparse
import platform
import sys
from pathlib import Path

import msgspec

from tests.bench import deciding, decoding, introspection, memory, recording, requesting, standstill, structures, usage
from tests.bench.measured import Figure
from tests.interpreter import interpreter


def main() -> int:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    parsed = parser.parse_args()
    figures = [
        *decoding.figures(),
        *deciding.figures(),
        *recording.figures(),
        *requesting.figures(),
        *structures.figures(),
        *introspection.figures(),
        *standstill.figures(),
        *usage.figures(),
        *memory.figures(),
    ]
    machine = f"{interpreter()}, {platform.machine()}"
    sys.stdout.write(f"{machine}\n\n{table(figures)}\n")
    if parsed.json is not None:
        parsed.json.write_bytes(msgspec.json.format(msgspec.json.encode({"machine": machine, "figures": figures})))
    missed = [figure.name for figure in figures if figure.reached is False]
    sys.stdout.write(f"\nmissed: {', '.join(missed)}\n" if missed else "\nall goals reached\n")
    return 1 if missed else 0


def table(figures: list[Figure]) -> str:
    """The figures as a Markdown table, which is readable as it stands."""
    rows = [("what", "measured", "ratio", "goal")]
    for figure in figures:
        measured = f"{figure.value:,.2f} {figure.unit}".strip()
        ratio = "" if figure.ratio is None else f"{figure.ratio:,.1f} {figure.yardstick}"
        sign = "≤" if figure.at_most else "≥"
        goal = "" if figure.goal is None else f"{sign} {figure.goal:,.1f}"
        rows.append((figure.name, measured, ratio, goal))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * width for width in widths) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
