"""Why a file or a connection was refused, in the operating system's words."""

import errno
import os


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
