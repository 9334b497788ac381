"""What the operating system says of files and connections: what a path is, and why something was refused."""

import errno
import os
import stat
from pathlib import Path


def why(error: OSError | ValueError) -> str:
    """What went wrong, as `no such file or directory`: without the number and whatever libraries put around it.

    An error that has no number of the operating system's, a TLS library's for instance, speaks for itself.
    """
    if not isinstance(error, OSError):
        return str(error)
    # OpenSSL counts its errors by itself; they tell which library of its found them.
    if error.errno is not None and error.errno in errno.errorcode and not hasattr(error, "library"):
        return os.strerror(error.errno).lower()
    return error.strerror or str(error)


def is_folder(path: Path) -> bool:
    """Whether it is a folder. Raises OSError where it is not there, or cannot be looked at.

    `Path.is_dir` tells neither from a file, on newer Pythons.
    """
    return stat.S_ISDIR(path.stat().st_mode)
