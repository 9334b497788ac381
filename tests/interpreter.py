"""The Python that figures were measured with."""

import platform
import sys


def interpreter() -> str:
    """Its version, and the distribution that compiled it, if it is one's: who compiles it decides about a tenth."""
    name = f"CPython {platform.python_version()}"
    if sys.base_prefix != "/usr":
        return name
    try:
        return f"{name} of {platform.freedesktop_os_release()['PRETTY_NAME']}"
    except (OSError, KeyError):
        return name
