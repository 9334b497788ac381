"""Large blocks stay apart from small ones, also after some have come and gone."""

import platform
import subprocess
import sys

import pytest

PROGRAM = """
import ctypes, sys
from controller.allocator import LARGE_BYTES, keep_large_apart

class Mallinfo(ctypes.Structure):  # not mallinfo2, which glibc has only since 2.33
    _fields_ = [(name, ctypes.c_int) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

library = ctypes.CDLL(None)
library.mallinfo.restype = Mallinfo
if sys.argv[1] == "apart":
    assert keep_large_apart()
for _ in range(3):
    bytearray(2 * LARGE_BYTES)
mapped = library.mallinfo().hblks
held = [bytearray(2 * LARGE_BYTES) for _ in range(5)]
print(library.mallinfo().hblks - mapped)
"""


LIBRARY, VERSION = platform.libc_ver()
KEEPS_LARGE_APART = tuple(int(part) for part in VERSION.split(".") if part) > (2, 41)
"""glibc 2.43 does so by itself, and keeps one that was freed for whoever comes next."""

pytestmark = pytest.mark.skipif(LIBRARY != "glibc", reason="mallopt is glibc's; CI has that")


def mapped(manner: str) -> int:
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, manner], check=True, capture_output=True, text=True, timeout=60
    )
    return int(run.stdout)


def test_large_blocks_are_mapped_by_themselves_for_good() -> None:
    assert mapped("apart") == (4 if KEEPS_LARGE_APART else 5)


def test_older_libraries_have_to_be_told() -> None:
    assert mapped("as it comes") == (4 if KEEPS_LARGE_APART else 0)
