"""Let Kubernetes' own controller and ours decide in worlds that nobody has seen, and show where they differ.

It exits 1 where they do, and keeps what differs as recordings, for `hpa-controller replay`.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from pathlib import Path

from tests.e2e.programs import ProgramError
from tests.e2e.reference.program import ReferenceFailedError, checked, decided, recorded
from tests.e2e.reference.worlds import world


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.reference", description=__doc__)
    parser.add_argument("--worlds", type=int, default=10_000, metavar="N", help="how many (default: 10000)")
    parser.add_argument("--seed", type=int, help="of the worlds (default: another one each time, which is told)")
    parser.add_argument(
        "--keep", type=Path, default=Path("differing"), metavar="FOLDER", help="where what differs is kept"
    )
    options = parser.parse_args()
    seed = random.randrange(10**6) if options.seed is None else options.seed  # noqa: S311  # nothing secret
    sys.stdout.write(f"{options.worlds} worlds of seed {seed}\n")
    try:
        return _hold(options.worlds, seed, options.keep)
    except (ProgramError, ReferenceFailedError) as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _hold(count: int, seed: int, keep: Path) -> int:
    known = recorded()
    compared = differing = 0
    with tempfile.TemporaryDirectory() as folder:
        worlds = ((f"bred-{seed}-{number}", world(known, seed, number)) for number in range(count))
        for path, result in checked(decided(worlds, Path(folder))):
            compared += result.compared
            if result.differing:
                differing += 1
                keep.mkdir(parents=True, exist_ok=True)
                kept = shutil.copy(path, keep)
                sys.stdout.write("\n".join([f"differs: {kept}", *result.lines]) + "\n")
    sys.stdout.write(f"{compared} syncs compared, {differing} of {count} worlds differ\n")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
