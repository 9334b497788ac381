"""The name and the version of the program, the only place that states them."""

import platform
from typing import Final

__version__ = "0.1.0"

PROGRAM: Final = "hpa-controller"
"""Also what the API server calls us in managedFields: it takes the user agent up to the slash."""

USER_AGENT: Final = f"{PROGRAM}/{__version__} ({platform.system().lower()}/{platform.machine()})"
