"""Flags, and their values as Go writes them: durations, truth values, numbers.

Each function gives the value of a text, and raises argparse.ArgumentTypeError where it is none.
"""

import argparse
import math
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from controller.decide.instants import NANOSECONDS
from controller.os_errors import is_folder, why
from controller.wire.durations import format_duration, parse_duration

_TRUE: Final = ("1", "t", "true")
_FALSE: Final = ("0", "f", "false")
_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DIGITS_MAX: Final = 10


def go_bool(text: str) -> bool:
    """A truth value as Go's flags take it: 1, t, true, 0, f, false in any case.

    Raises:
        argparse.ArgumentTypeError: none of these.
    """
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is not true or false")


def add_flag(
    group: argparse._ArgumentGroup,
    name: str,
    kind: Callable[[str], Any],
    default: str,
    text: str,
    metavar: str = "",
    action: "str | type[argparse.Action]" = "store",
) -> None:
    """A flag with a value; its default is said at the end of its help text. `metavar`: the value's name in it."""
    said = f" (default {default})" if default else ""
    shown = metavar or _METAVARS.get(kind, "TEXT")
    group.add_argument(name, type=kind, default=kind(default), metavar=shown, help=text + said, action=action)


def add_switch(group: argparse._ArgumentGroup, name: str, text: str, *, default: bool) -> None:
    """A flag that is on or off, as in Go with or without `=BOOL`; its default is said at the end of its help text."""
    group.add_argument(
        name,
        nargs="?",
        const=True,
        default=default,
        type=go_bool,
        metavar="BOOL",
        help=f"{text} (default {str(default).lower()})",
    )


def bind_address(text: str) -> str:
    """An address to listen on, as it was written; empty or 0 for none. See `host_and_port`."""
    try:
        host_and_port(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def host_and_port(address: str) -> tuple[str, int]:
    """Host (empty: all) and port of an address such as `:8080`; an empty one and port 0 where it is empty or 0.

    Raises:
        ValueError: it is no address.
    """
    if not address or address == "0":
        return "", 0
    host, separator, port = address.rpartition(":")
    if not separator or whole(port, 0, 2**16 - 1) is None:
        raise ValueError(f"{address!r} is no address such as :8080 or 127.0.0.1:8080")
    return host.strip("[]"), int(port)


def duration(text: str) -> int:
    """Nanoseconds, from 0 on."""
    try:
        duration_ns = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if duration_ns < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is negative")
    return duration_ns


def positive_duration(text: str) -> int:
    """Nanoseconds, more than 0."""
    duration_ns = duration(text)
    if duration_ns == 0:
        raise argparse.ArgumentTypeError(f"{format_duration(duration_ns)} is too short")
    return duration_ns


def seconds(text: str) -> float:
    """Seconds, more than 0."""
    try:
        duration_ns = parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    if duration_ns <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is too short")
    return duration_ns / NANOSECONDS


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or "_" in text:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def ratio(text: str) -> float:
    """A finite number that stands for a share."""
    return number(text)


def not_negative(text: str) -> float:
    """A finite number from 0 on."""
    value = number(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is negative")
    return value


def share(text: str) -> float:
    """A number from 0 to below 1."""
    value = number(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to below 1, such as 0.05")
    return value


def whole(text: str, least: int, most: int) -> int | None:
    """The whole number that the text is, None where it is none from `least`, which is not below 0, to `most`."""
    if not text.isascii() or not text.isdigit() or len(text) > _DIGITS_MAX:
        return None
    return int(text) if least <= int(text) <= most else None


def at_least_one(text: str) -> int:
    """A whole number from 1 on."""
    return _from(text, 1)


def count(text: str) -> int:
    """A whole number from 0 on."""
    return _from(text, 0)


def _from(text: str, least: int) -> int:
    number = whole(text, least, 2**31 - 1)
    if number is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
    return number


def file_name(text: str) -> str:
    """A name of a file or folder: a variable of a script that is not set must not stand for the folder one is in."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a file")
    return text


def file_path(text: str) -> Path:
    """A file or folder, where no name such as - or a URL means anything else."""
    return Path(file_name(text))


class Added(argparse.Action):
    """A flag with a list that may be given again, as the built-in controller's: all of it holds, in its order."""

    def __call__(self, _: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, __: Any = None) -> None:
        """See argparse; a value is a text with commas or a tuple."""
        before = getattr(namespace, self.dest)
        if isinstance(values, str):
            setattr(namespace, self.dest, f"{before},{values}")
        else:
            setattr(namespace, self.dest, tuple(dict.fromkeys((*before, *values))))


class Once(argparse.Action):
    """A flag with one value that may not be given twice, since others of its name take several."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, _: Any = None
    ) -> None:
        """See argparse."""
        if getattr(namespace, self.dest) is not None:
            parser.error(f"argument {'/'.join(self.option_strings)}: takes one value, and was given twice")
        setattr(namespace, self.dest, values)


def new_file(text: str) -> Path:
    """The name of a file that is written at the end; that it cannot be is better said before."""
    path = file_path(text)
    if text == "-":
        raise argparse.ArgumentTypeError("standard output is taken by what is said; name a file")
    in_folder = itself = False
    try:
        with suppress(FileNotFoundError):
            in_folder = is_folder(path.parent)
            itself = is_folder(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{error.filename}: {why(error)}") from error
    if not in_folder:
        raise argparse.ArgumentTypeError(f"no such folder: {path.parent}")
    if itself:
        raise argparse.ArgumentTypeError(f"{text!r} is a folder")
    return path


def is_namespace(text: str) -> bool:
    """Whether there can be a namespace of that name."""
    return _NAMESPACE.fullmatch(text) is not None


def is_host(text: str) -> bool:
    """Whether a host of that name can be looked up: no part is empty, or has more than 63 characters."""
    try:
        text.encode("idna")
    except UnicodeError:
        return False
    return True


def namespace(text: str) -> str:
    """A name that a namespace can have."""
    if not is_namespace(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no name of a namespace")
    return text


def namespaces(text: str) -> tuple[str, ...]:
    """Names of namespaces, separated by commas; an empty text stands for none."""
    return tuple(dict.fromkeys(namespace(name.strip()) for name in text.split(","))) if text.strip() else ()


def only(known: str) -> Callable[[str], str]:
    """A check that takes nothing but one text."""

    def check(text: str) -> str:
        if text != known:
            raise argparse.ArgumentTypeError(f"{text!r} is not known, only {known!r}")
        return text

    return check


json_only: Final = only("application/json")
leases_only: Final = only("leases")
_METAVARS: Final[dict[Callable[[str], Any], str]] = {
    duration: "DURATION",
    positive_duration: "DURATION",
    seconds: "DURATION",
    ratio: "RATIO",
    not_negative: "NUMBER",
    share: "SHARE",
    at_least_one: "NUMBER",
    count: "NUMBER",
    namespaces: "NAME,…",
    bind_address: "ADDRESS",
    json_only: "TYPE",
    leases_only: "KIND",
}
