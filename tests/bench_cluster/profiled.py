"""Our controller under cProfile: `python -m tests.bench_cluster.profiled FILE run FLAG…` writes FILE when it ends.

It counts CPU time, so that neither waiting nor a machine that is busy with others shows.
"""

import cProfile
import sys
import time

from controller.cli import main


def profile() -> int:
    """Runs the rest of the command line."""
    _, file, *sys.argv[1:] = sys.argv
    profiler = cProfile.Profile(time.process_time)
    try:
        return profiler.runcall(main)
    finally:
        profiler.dump_stats(file)


if __name__ == "__main__":
    sys.exit(profile())
