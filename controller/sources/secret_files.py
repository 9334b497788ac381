"""Secrets that operators keep in files: mounted, and replaced from time to time."""

from pathlib import Path

from controller.os_errors import why


class SecretError(Exception):
    """A file cannot be used; the message says which, for what, and why."""


def read_secret(path: str, place: str) -> str:
    """A file's one line, read each time: it is small, and then no change of it is missed. `place` says what it is for.

    Raises:
        SecretError: it cannot be read, or holds something else.
    """
    try:
        text = Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretError(f"the file {path} for {place} cannot be read: {why(error)}") from error
    if not text or not text.isprintable():
        raise SecretError(f"the file {path} for {place} holds no secret on one line")
    return text
