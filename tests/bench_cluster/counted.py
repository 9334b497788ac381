"""Our controller with what it executes counted: `python -m tests.bench_cluster.counted FILE run FLAG…` writes FILE.

How many instructions of Python's a sync takes, and in which functions, is the same in every hour of a machine. What C
does is not seen. Needs Python 3.12.
"""

import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import CodeType
from typing import Final

from controller.cli import main
from controller.decide.decision import decide

BEGINS_S: Final = 50.0
"""Three periods after the start, when every HPA has been synced and caches are full."""

LASTS_S: Final = 45.0
FUNCTIONS_SHOWN: Final = 200
_TOOL: Final = 3
_FOLDERS: Final = re.compile(r".*/(?=controller/)|.*/(?=[^/]+/[^/]+$)")


def count() -> int:
    """Runs the rest of the command line."""
    _, file, *sys.argv[1:] = sys.argv
    threading.Thread(target=_count_for_a_while, args=(Path(file),), daemon=True).start()
    return main()


def _count_for_a_while(file: Path) -> None:
    instructions, calls = Counter[CodeType](), Counter[CodeType]()

    def executed(code: CodeType, _: int) -> None:
        instructions[code] += 1

    def called(code: CodeType, _: int) -> None:
        calls[code] += 1

    monitoring = sys.monitoring  # type: ignore[attr-defined, unused-ignore]  # from Python 3.12 on
    events = monitoring.events
    monitoring.use_tool_id(_TOOL, "counted")
    monitoring.register_callback(_TOOL, events.INSTRUCTION, executed)
    monitoring.register_callback(_TOOL, events.PY_START, called)
    monitoring.register_callback(_TOOL, events.PY_RESUME, called)
    time.sleep(BEGINS_S)
    monitoring.set_events(_TOOL, events.INSTRUCTION | events.PY_START | events.PY_RESUME)
    time.sleep(LASTS_S)
    monitoring.set_events(_TOOL, 0)
    file.write_text("\n".join(report(instructions, calls, calls[decide.__code__])) + "\n")


def report(instructions: Counter[CodeType], calls: Counter[CodeType], syncs: int) -> Iterable[str]:
    """The counts of each function by so many syncs, the largest first, for people."""
    if not syncs:
        yield "no syncs"
        return
    yield f"{syncs} syncs, each {instructions.total() / syncs:.0f} instructions and {calls.total() / syncs:.0f} calls"
    for code, number in instructions.most_common(FUNCTIONS_SHOWN):
        place = f"{_FOLDERS.sub('', code.co_filename, count=1)}:{code.co_firstlineno}"
        yield f"{number / syncs:8.1f} in {calls[code] / syncs:6.2f} calls of {place} {code.co_qualname}"


if __name__ == "__main__":
    sys.exit(count())
