"""Our controller with one of its settings undone: `python -m tests.bench_cluster.undone SETTING run FLAG…`.

What a setting is worth can be measured only beside a run without it.
"""

import asyncio
import gc
import sys
from types import ModuleType

import uvloop

from controller.cli import main

# Where the product asks for it, and what it gets instead.
_INSTEAD: dict[str, tuple[ModuleType, str, object]] = {
    "asyncio": (uvloop, "new_event_loop", asyncio.new_event_loop),
    "unfrozen": (gc, "freeze", lambda: None),
    "eager": (gc, "set_threshold", lambda *_: None),
}


def run() -> int:
    """Runs the rest of the command line."""
    _, setting, *sys.argv[1:] = sys.argv
    setattr(*_INSTEAD[setting])
    return main()


if __name__ == "__main__":
    sys.exit(run())
