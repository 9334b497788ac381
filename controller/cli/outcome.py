"""How commands end and what they print."""

import io
import os
import sys
from typing import Final

DONE: Final = 0
NO: Final = 1
BAD_INPUT: Final = 2
UNREACHED: Final = 3
INTERRUPTED: Final = 130


def escape_what_cannot_be_shown() -> None:
    """Have what a terminal's encoding lacks, and names of files that are not UTF-8, escaped instead of refused."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def complain(message: str, code: int) -> int:
    """Write one line about what is wrong to standard error; gives the exit code back."""
    sys.stderr.write(f"hpa-controller: {' '.join(message.splitlines())}\n")
    return code


def nobody_reads() -> None:
    """Whoever read our standard output has had enough (`| head`): what is left of it goes nowhere, unnoticed.

    Without this the interpreter would, at its end.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(*lines: str) -> None:
    """Write lines to standard output."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
