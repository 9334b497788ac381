"""Let Kubernetes' own code and ours decide in worlds that nobody has seen, and judge manifests that nobody has written.

It exits 1 where they differ, and keeps what does: recordings for `hpa-controller replay`, manifests for its `lint`.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

from controller.flag_values import count
from controller.recording.check import check_file
from controller.recording.lines import find
from tests.e2e.programs import ProgramError
from tests.e2e.reference.manifests import known_manifests, manifest
from tests.e2e.reference.program import ReferenceFailedError, admitted, decided, recorded, unlike
from tests.e2e.reference.worlds import world


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.reference", description=__doc__)
    parser.add_argument("--worlds", type=count, default=10_000, metavar="N", help="how many, or 0 (default: 10000)")
    parser.add_argument("--manifests", type=count, default=10_000, metavar="N", help="how many, or 0 (default: 10000)")
    parser.add_argument("--seed", type=int, help="of both (default: another one each time, which is told)")
    parser.add_argument(
        "--keep", type=Path, default=Path("differing"), metavar="FOLDER", help="where what differs is kept"
    )
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311  # nothing secret
    _say(f"{options.worlds} worlds and {options.manifests} manifests of seed {seed}")
    try:
        differing = _decide(options.worlds, seed, options.keep) + _admit(options.manifests, seed, options.keep)
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
    refused = wrong = differing = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, theirs in enumerate(admitted(made, Path(folder))):
            refused += "refused" in theirs
            wrong += "errors" in theirs
            try:
                difference = unlike(made[number], theirs)
            except Exception as error:  # noqa: BLE001  # whatever it is, the manifest is what shows it
                difference = repr(error)
            if difference:
                differing += 1
                keep.mkdir(parents=True, exist_ok=True)
                kept = keep / f"manifest-{seed}-{number}.json"
                kept.write_text(json.dumps(made[number], indent=2) + "\n")
                _say(f"differs: {kept}\n  {difference}")
    _say(f"{refused} manifests refused, {wrong} with errors, {asked - refused - wrong} stored; {differing} differ")
    return differing


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
