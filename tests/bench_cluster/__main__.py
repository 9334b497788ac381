"""`make bench-cluster`: the built-in HPA controller and ours on a real control plane, with thousands of HPAs.

A cell is written HPAS-SHAPE-METRICS, with pods for each HPA and contenders if not the usual ones:
1000-small-mixed, 10000-one-cpu-10pods, 3000-hundred-cpu:tuned,ours,null. Shapes: small (namespaces of 1 to 3), hundred,
one (all in one namespace). Metrics: cpu, mixed (all kinds in turn), slow (CPU, beside HPAs whose metrics are slow or
never come).
Contenders: defaults and tuned (kube-controller-manager), ours, null (sends what ours has sent), and ours with a setting
undone: asyncio (not uvloop), unfrozen (caches are not kept from the garbage collector), eager (it runs as often as
Python has it by default).
Exits 1 when a goal is missed, 2 for a mistake on the command line, 3 when a cell could not be measured.
"""

import argparse
import asyncio
import os
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tests.bench_cluster import plots, tables
from tests.bench_cluster.cells import CHOSEN, Cell, cell_of, fitting, left_out
from tests.bench_cluster.contenders import Profiling
from tests.bench_cluster.goals import goals
from tests.bench_cluster.metrics_process import StubError
from tests.bench_cluster.populations import PERIOD_S
from tests.bench_cluster.processes import model_name
from tests.bench_cluster.results import Report, Result
from tests.bench_cluster.rounds import Manner, measure
from tests.bench_cluster.stored import EtcdError
from tests.e2e.api_client import CONNECTION_ERRORS, ApiError
from tests.e2e.programs import ProgramError
from tests.e2e.server_process import ServerError
from tests.interpreter import interpreter

_MINUTES = 75.0
_FAILED = " (failed)"
_FAILURES = (ApiError, ServerError, ProgramError, StubError, EtcdError, ExceptionGroup, OSError, *CONNECTION_ERRORS)


def main() -> int:
    """Measure, or read what was measured; print it and write it down."""
    parser = _parser()
    arguments = parser.parse_args()
    if arguments.instructions is not None and sys.version_info < (3, 12):
        parser.error("--instructions: needs Python 3.12, for instance PYTHON=python3.13 VENV=.venv-3.13")
    if arguments.read is not None:
        try:
            report = msgspec.json.decode(arguments.read.read_bytes(), type=Report)
        except (OSError, msgspec.MsgspecError) as error:
            parser.error(f"--from {arguments.read}: {error}; it must be a file that --json has written")
    else:
        try:
            cells = [cell_of(text) for text in arguments.cells] if arguments.cells else CHOSEN
        except ValueError as error:
            parser.error(str(error))
        if len({cell.population for cell in cells}) < len(cells):
            parser.error("--cells: a population is there twice; name all of its contenders at once")
        for cell in cells if arguments.logs else ():
            if (arguments.logs / str(cell.population)).exists():
                parser.error(f"--logs {arguments.logs}: has logs of {cell.population} already; name another folder")
        report = asyncio.run(_measured(cells, arguments))
    sys.stdout.write(f"\n{tables.text(report)}\n")
    try:
        _write(report, arguments)
    except (OSError, tables.MarkersMissingError) as error:
        sys.stderr.write(f"bench-cluster: {error}\n")
        return 2
    missed = [goal for goal in goals(report) if goal.verdict == "missed"]
    sys.stdout.write(f"\n{len(missed)} of {len(goals(report))} goals missed\n" if missed else "\nno goal missed\n")
    if any(cell.endswith(_FAILED) for cell in report.left_out):
        return 3
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench_cluster",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cells", nargs="+", metavar="CELL", help=f"default: {' '.join(map(str, CHOSEN))}")
    parser.add_argument(
        "--minutes",
        type=float,
        default=_MINUTES,
        help=f"cells that do not fit are left out and named (default {_MINUTES:.0f})",
    )
    parser.add_argument(
        "--period",
        type=float,
        default=PERIOD_S,
        metavar="SECONDS",
        help=f"sync period of all controllers (default {PERIOD_S:.0f}; others are for trying this out)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, after each cell")
    parser.add_argument("--plots", type=Path, metavar="FILE", help="write a page with plots there")
    parser.add_argument("--write-docs", type=Path, metavar="FILE", help="replace the figures in docs/performance.md")
    parser.add_argument(
        "--from", dest="read", type=Path, metavar="FILE", help="measure nothing; take figures from there"
    )
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="keep the logs of all programs there")
    watched = parser.add_mutually_exclusive_group()
    watched.add_argument(
        "--profile", type=Path, metavar="FILE", help="run ours under cProfile; its figures are then worthless"
    )
    watched.add_argument(
        "--instructions",
        type=Path,
        metavar="FILE",
        help="count what ours executes (Python 3.12, a few hundred HPAs); its figures are then worthless",
    )
    return parser


async def _measured(cells: Sequence[Cell], arguments: argparse.Namespace) -> Report:
    began_s = time.monotonic()
    taken, dropped = fitting(cells, arguments.period, arguments.minutes * 60)
    expected_s = sum(cell.seconds(arguments.period) for cell in taken)
    _say(f"{len(taken)} cells, at most {expected_s / 60:.0f} minutes")
    missing = [f"{cell} (no time)" for cell in dropped] + left_out(cells)
    results: list[Result] = []
    profiling = _profiling(arguments)

    def report() -> Report:
        seconds = time.monotonic() - began_s
        machine = f"{model_name() or platform.machine()}, {interpreter()}"
        return Report(_command(arguments), machine, os.cpu_count() or 0, seconds, results, missing)

    def done(result: Result) -> None:
        interval = "no syncs" if result.interval is None else f"interval p99 {result.interval.p99_s:.1f} s"
        _say(f"  {result.contender}: {interval}, {result.cpu_s_per_1000_syncs:.2f} CPU seconds per 1,000 syncs")
        results.append(result)
        # What an hour has found must not be lost with the last cell.
        _write_json(report(), arguments)

    manner = Manner(arguments.period, _say, done, profiling)
    with tempfile.TemporaryDirectory(prefix="hpa-controller-bench-") as temporary:
        for cell in taken:
            _say(f"{cell}, {time.monotonic() - began_s:.0f} s")
            folder = (arguments.logs or Path(temporary)) / str(cell.population)
            try:
                folder.mkdir(parents=True)
                await measure(cell, folder, manner)
            except _FAILURES as error:
                sys.stderr.write(f"bench-cluster: {cell} was given up: {type(error).__name__}: {error}\n")
                missing.append(f"{cell}{_FAILED}")
    return report()


def _profiling(arguments: argparse.Namespace) -> Profiling | None:
    if arguments.instructions is not None:
        return Profiling("counted", arguments.instructions)
    return None if arguments.profile is None else Profiling("profiled", arguments.profile)


def _command(arguments: argparse.Namespace) -> str:
    """What to run for the same figures, without the files of this run."""
    options = ["--cells", *arguments.cells] if arguments.cells else []
    if arguments.period != PERIOD_S:
        options += ["--period", f"{arguments.period:g}"]
    if arguments.minutes != _MINUTES:
        options += ["--minutes", f"{arguments.minutes:g}"]
    return f"make bench-cluster BENCH_CLUSTER='{' '.join(options)}'" if options else "make bench-cluster"


def _write(report: Report, arguments: argparse.Namespace) -> None:
    _write_json(report, arguments)
    if arguments.plots is not None:
        plots.write(arguments.plots, report)
    if arguments.write_docs is not None:
        tables.write_into(arguments.write_docs, report)


def _write_json(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.json is not None:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
