"""How commands end and what they print."""

import sys
from typing import Final

DONE: Final = 0
NO: Final = 1
BAD_INPUT: Final = 2
UNREACHED: Final = 3
INTERRUPTED: Final = 130


def complain(message: str, code: int) -> int:
    """Write one line about what is wrong to standard error; gives the exit code back."""
    sys.stderr.write(f"hpa-controller: {' '.join(message.splitlines())}\n")
    return code


def say(*lines: str) -> None:
    """Write lines to standard output."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
