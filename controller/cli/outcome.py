"""How commands end and what they print."""

import errno
import io
import os
import sys
from pathlib import Path
from typing import Final

from controller.wire.errors import escaped

DONE: Final = 0
NO: Final = 1
BAD_INPUT: Final = 2
UNREACHED: Final = 3
INTERRUPTED: Final = 130
UNREAD: Final = 141
"""As of a program that SIGPIPE ends: what it would have said at last nobody knows."""

_FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))


def escape_what_cannot_be_shown() -> None:
    """Have what a terminal's encoding lacks, and names of files that are not UTF-8, escaped instead of refused."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def open_what_is_closed() -> None:
    """Have standard streams lead nowhere where whoever started us has closed them (`>&-`)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - for as long as we run


def program() -> str:
    """`kubectl hpa` when called as kubectl's plug-in."""
    return "kubectl hpa" if Path(sys.argv[0]).name == "kubectl-hpa" else "hpa-controller"


def complain(message: str, code: int) -> int:
    """Write one line about what is wrong to standard error; gives the exit code back."""
    # It may quote what somebody wrote, which a terminal must not obey.
    sys.stderr.write(f"{program()}: {escaped(' '.join(message.splitlines()))}\n")
    return code


def nobody_reads() -> None:
    """Whoever read our standard output has had enough (`| head`): what is left of it goes nowhere, unnoticed.

    Without this the interpreter would, at its end.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def not_taken(error: OSError) -> bool:
    """Whether it means that what was written to standard output could not be stored: its disk is full, say."""
    return error.filename is None and error.errno in _FULL


def say(*lines: str) -> None:
    """Write lines to standard output."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
