"""`make sweep`: damage by the million through every decoder, lint and replay, then minutes of it over a controller.

Exit code 1 if anything was raised, said badly or lost; the table shows the rest.
"""

import argparse
import asyncio
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

from tests.bench.calibration import json_loads_us
from tests.sweep.controlled import ROUND_S, Figures, Run
from tests.sweep.decoders import Tally, run

PROCESSES: Final = 2
RSS_GROWTH_MAX: Final = 1.25
RSS_GROWTH_FREE_MB: Final = 32.0
SLOWEST_JSON_LOADS_MAX: Final = 10_000
"""Per kilobyte of input, in json.loads of a kilobyte: far beyond any honest parser, far below what hangs."""


def main() -> int:
    """Sweep and print what came of it."""
    parser = argparse.ArgumentParser(prog="make sweep", description="Bad input by the million.")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for decoders, lint and replay (default 1000000)")
    parser.add_argument("--seed", type=int, default=1, help="which inputs (default 1)")
    parser.add_argument("--minutes", type=float, default=4.0, help="for the running controller (default 4)")
    parser.add_argument("--per-round", type=int, default=20, help="damaged HPAs per quarter of a second (default 20)")
    asked = parser.parse_args()
    yardstick_us = json_loads_us()
    half = -(-asked.inputs // PROCESSES)
    with ProcessPoolExecutor(PROCESSES) as pool:
        parts = list(pool.map(_part, [(asked.seed * PROCESSES + number, half) for number in range(PROCESSES)]))
    tallies = [_joined(tallies) for tallies in zip(*(part for part, _ in parts), strict=True)]
    sys.stdout.write(
        f"{table(tallies, yardstick_us)}\npeak memory of a process: {max(peak for _, peak in parts):.0f} MB\n"
    )
    problems = [failure for tally in tallies for failure in tally.failures]
    slow = [tally.name for tally in tallies if tally.slowest_us > SLOWEST_JSON_LOADS_MAX * yardstick_us]
    problems += [f"{name}: an input takes too long for its size" for name in slow]
    if asked.minutes > 0:
        with tempfile.TemporaryDirectory(prefix="sweep-") as folder:
            rounds = round(asked.minutes * 60 / ROUND_S)
            figures = asyncio.run(Run(asked.seed, rounds, asked.per_round, Path(folder)).run())
        sys.stdout.write(f"\n{described(figures)}\n")
        problems += figures.problems
        if figures.rss_end_mb > figures.rss_half_mb * RSS_GROWTH_MAX + RSS_GROWTH_FREE_MB:
            problems.append(
                f"memory grew from {figures.rss_half_mb:.0f} to {figures.rss_end_mb:.0f} MB in the second half"
            )
    sys.stdout.write("".join(f"\n{problem}" for problem in problems) or "\nnothing found")
    sys.stdout.write("\n")
    return 1 if problems else 0


def table(tallies: list[Tally], yardstick_us: float) -> str:
    """The figures as a Markdown table; `slowest` is per kilobyte, in json.loads of a kilobyte."""
    lines = [
        "| surface | inputs | refused | taken | kinds of message | slowest per kB |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {tally.name} | {tally.inputs:,} | {tally.refused:,} | {tally.taken:,} | {len(tally.shapes):,} "
        f"| {tally.slowest_us / yardstick_us:,.0f} |"
        for tally in tallies
    ]
    return "\n".join([*lines, f"| all | {sum(tally.inputs for tally in tallies):,} | | | | |"])


def described(figures: Figures) -> str:
    """A controller's run in lines."""
    poured = (
        f"damaged HPAs {figures.autoscalers:,} in watches, {figures.stored:,} stored ({figures.refused:,} refused); "
        f"damaged pods {figures.objects:,}; damaged answers {figures.answers:,}; "
        f"watches broken {figures.broken_watches}"
    )
    good = (
        f"the good HPA: {figures.decisions:,} decisions, {figures.turns:,} rescales, "
        f"at most {figures.gap_periods:.2f} periods between two decisions"
    )
    memory = f"memory {figures.rss_half_mb:.0f} MB at half, {figures.rss_end_mb:.0f} MB at the end"
    return f"{poured}\n{good}\nlog lines {figures.log_lines:,}; {memory}"


def _part(task: tuple[int, int]) -> tuple[list[Tally], float]:
    seed, count = task
    tallies = run(seed, count, timed=True)
    return tallies, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _joined(tallies: tuple[Tally, ...]) -> Tally:
    slowest = max(tallies, key=lambda tally: tally.slowest_us)
    return Tally(
        tallies[0].name,
        sum(tally.taken for tally in tallies),
        sum(tally.refused for tally in tallies),
        set().union(*(tally.shapes for tally in tallies)),
        slowest.slowest_us,
        slowest.slowest_bytes,
        [failure for tally in tallies for failure in tally.failures],
    )


if __name__ == "__main__":
    sys.exit(main())
