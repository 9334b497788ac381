"""What the operating system and OpenSSL say of files and connections: what a path is, and why something was refused."""

import errno
import os
import stat
from collections.abc import Callable
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


def no_pass_phrase(key: str) -> Callable[[], str]:
    """What a TLS library calls for the pass phrase of a key; `key` names it in the ValueError that this raises.

    Left to itself OpenSSL would ask the terminal, and wait.
    """

    def refuse() -> str:
        raise ValueError(f"{key} is encrypted; keep it without a pass phrase, as `openssl pkey -in … -out …` writes it")

    return refuse


def is_folder(path: Path) -> bool:
    """Whether it is a folder. Raises OSError where it is not there, or cannot be looked at.

    `Path.is_dir` tells neither from a file, on newer Pythons.
    """
    return stat.S_ISDIR(path.stat().st_mode)
