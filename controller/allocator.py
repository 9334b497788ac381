"""The C library's allocator, told what it would otherwise guess wrong."""

import ctypes
from typing import Final

LARGE_BYTES: Final = 128 * 1024
_MMAP_THRESHOLD: Final = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


def keep_large_apart() -> bool:
    """Have every block from LARGE_BYTES on mapped by itself for good; False where the C library knows no such thing.

    glibc begins like that, but after the first large block that is freed it takes further ones from among the small
    ones. The buffers of a TLS connection are of that size: each that comes and goes would leave a hole.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(_MMAP_THRESHOLD, LARGE_BYTES))
