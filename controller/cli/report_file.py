"""A report in a file: all of it, or what was there before."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from controller.cli.outcome import BAD_INPUT, DONE, complain
from controller.os_errors import why


def stored(path: Path, page: str) -> int:
    """Have a page in a file, and give the exit code; where it cannot be written a line says why.

    A file of before stays until the page is complete.
    """
    try:
        _store(path, page.encode(errors="backslashreplace"))
    except OSError as error:
        return complain(f"--report: {path}: {why(error)}", BAD_INPUT)
    return DONE


def _store(path: Path, page: bytes) -> None:
    file = path.resolve()
    if file.exists() and not (file.is_file() and os.access(file.parent, os.W_OK)):
        file.write_bytes(page)  # nothing takes the place of a device, or of a file in a folder that is not ours
        return
    beside = file.with_name(f".hpa-report-{os.getpid()}")
    try:
        beside.write_bytes(page)
        if file.exists():
            shutil.copymode(file, beside)
        beside.replace(file)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
