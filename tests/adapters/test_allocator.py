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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's; CI has that")
@pytest.mark.parametrize(("manner", "mapped"), [("apart", 5), ("as it comes", 0)])
def test_large_blocks_are_mapped_by_themselves_for_good(manner: str, mapped: int) -> None:
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", PROGRAM, manner], check=True, capture_output=True, text=True, timeout=60
    )
    assert int(run.stdout) == mapped
