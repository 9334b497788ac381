"""Let Kubernetes' own code and ours decide in worlds that nobody has seen, and judge manifests that nobody has written.

Let Go read what rules of prometheus-adapter are written in, too. It exits 1 where they differ, and keeps what does:
recordings for `hpa-controller replay`, manifests for its `lint`, texts of rules.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from controller.flag_values import count
from controller.recording.check import check_file
from controller.recording.lines import find
from tests.e2e.programs import ProgramError
from tests.e2e.reference.manifests import known_manifests, manifest
from tests.e2e.reference.program import ReferenceFailedError, admitted, decided, read, recorded, unlike
from tests.e2e.reference.rule_texts import rule_text, unlike_rule
from tests.e2e.reference.worlds import world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.reference.draws import Json


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.reference", description=__doc__)
    parser.add_argument("--worlds", type=count, default=10_000, metavar="N", help="how many, or 0 (default: 10000)")
    parser.add_argument("--manifests", type=count, default=10_000, metavar="N", help="how many, or 0 (default: 10000)")
    parser.add_argument(
        "--rules", type=count, default=10_000, metavar="N", help="texts of rules, or 0 (default: 10000)"
    )
    parser.add_argument("--seed", type=int, help="of all (default: another one each time, which is told)")
    parser.add_argument(
        "--keep", type=Path, default=Path("differing"), metavar="FOLDER", help="where what differs is kept"
    )
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311  # nothing secret
    _say(f"{options.worlds} worlds, {options.manifests} manifests and {options.rules} texts of rules of seed {seed}")
    try:
        differing = (
            _decide(options.worlds, seed, options.keep)
            + _admit(options.manifests, seed, options.keep)
            + _read(options.rules, seed, options.keep)
        )
    except (ProgramError, ReferenceFailedError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 1 if differing else 0


def _decide(asked: int, seed: int, keep: Path) -> int:
    if not asked:
        return 0
    known = recorded()
    compared = differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in find([decided((world(known, seed, number) for number in range(asked)), Path(folder))]):
            try:
                result = check_file(path)
                compared += result.compared
                found = result.lines
            except Exception as error:  # noqa: BLE001  # whatever it is, the world is what shows it
                found = [f"  {error!r}"]
            if found:
                differing += 1
                keep.mkdir(parents=True, exist_ok=True)
                _say("\n".join([f"differs: {shutil.copy(path, keep)}", *found]))
    _say(f"{compared} syncs compared, {differing} of {asked} worlds differ")
    return differing


def _admit(asked: int, seed: int, keep: Path) -> int:
    if not asked:
        return 0
    known = known_manifests()
    made = [manifest(known, seed, number) for number in range(asked)]
    with tempfile.TemporaryDirectory() as folder:
        outcomes, differing = _compared(made, admitted(made, Path(folder)), unlike, keep / f"manifest-{seed}")
    _say(
        f"{outcomes['refused']} manifests refused, {outcomes['errors']} with errors, {outcomes['stored']} stored; "
        f"{differing} differ"
    )
    return differing


def _read(asked: int, seed: int, keep: Path) -> int:
    if not asked:
        return 0
    made = [rule_text(seed, number) for number in range(asked)]
    with tempfile.TemporaryDirectory() as folder:
        outcomes, differing = _compared(made, read(made, Path(folder)), unlike_rule, keep / f"rule-{seed}")
    _say(
        f"{outcomes['refused']} texts of rules refused, {outcomes['failed']} failed, {outcomes['named']} named, "
        f"{outcomes['filled']} filled; {differing} differ"
    )
    return differing


def _compared(
    made: list[Json], answers: Iterator[Json], unlike: Callable[[Json, Json], str | None], keep: Path
) -> tuple[Counter[str], int]:
    """How often the original came to what, and how often we do otherwise; that is kept, its number behind `keep`."""
    outcomes: Counter[str] = Counter()
    differing = 0
    for number, (one, theirs) in enumerate(zip(made, answers, strict=True)):
        outcomes.update(theirs.keys())
        try:
            difference = unlike(one, theirs)
        except Exception as error:  # noqa: BLE001  # whatever it is, what was asked is what shows it
            difference = repr(error)
        if difference:
            differing += 1
            keep.parent.mkdir(parents=True, exist_ok=True)
            kept = keep.with_name(f"{keep.name}-{number}.json")
            kept.write_text(json.dumps(one, indent=2) + "\n")
            _say(f"differs: {kept}\n  {difference}")
    return outcomes, differing


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
