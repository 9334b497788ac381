"""A report in a file."""

import os
from contextlib import suppress
from pathlib import Path

from controller.cli.outcome import BAD_INPUT, DONE, complain
from controller.os_errors import why


def stored(path: Path, page: str) -> int:
    """Have a page in a file, and give the exit code; where it does not fit a line says so, and no part is left."""
    is_new = not os.path.lexists(path)
    try:
        path.write_text(page, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        if is_new:
            with suppress(OSError):
                path.unlink(missing_ok=True)
        return complain(f"--report: {path}: {why(error)}", BAD_INPUT)
    return DONE
