"""Runs a program that cannot outlive the process that started it.

Called as ``python tether.py PARENT_PID PROGRAM ARGUMENT…``; the program takes over this process and its id.
Linux sends the signal when the *thread* that started us ends: start servers from the main thread.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def main() -> None:
    """Ties this process to its parent and becomes the program."""
    parent, program, *arguments = sys.argv[1:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"tether: prctl failed: {os.strerror(ctypes.get_errno())}")
    # The parent may have died before the call above, which then waits for the death of somebody else.
    if os.getppid() != int(parent):
        sys.exit("tether: the parent is gone")
    os.execv(program, [program, *arguments])  # noqa: S606  # replaces this process, no shell wanted


if __name__ == "__main__":
    main()
