"""The flags of `run` that recordings need."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from controller.decide.quantity import QuantityError, parse

BYTES_MAX_DEFAULT: Final = "1Gi"
BYTES_MAX_LEAST: Final = 1024 * 1024


class RecordSettings(msgspec.Struct, frozen=True):
    """Where recordings go, and how many bytes of them are kept."""

    folder: Path
    bytes_max: int


def add_flags(parser: argparse.ArgumentParser) -> None:
    """`--record` and its bound."""
    group = parser.add_argument_group("recording")
    group.add_argument(
        "--record",
        type=_folder,
        metavar="DIR",
        help="write every sync with all that it saw and decided into files in this folder, for `hpa-controller replay` "
        "(default: none)",
    )
    group.add_argument(
        "--record-max-bytes",
        type=_bytes,
        default=_bytes(BYTES_MAX_DEFAULT),
        metavar="QUANTITY",
        help="how large the recordings in that folder may be together; the oldest are deleted "
        f"(default {BYTES_MAX_DEFAULT})",
    )


def from_flags(given: Mapping[str, Any]) -> RecordSettings | None:
    """What the parsed flags stand for; None: nothing is recorded."""
    folder: Path | None = given["record"]
    return None if folder is None else RecordSettings(folder, given["record_max_bytes"])


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("it is empty; name a folder")
    return Path(text)


def _bytes(text: str) -> int:
    try:
        amount = parse(text).milli() // 1000
    except QuantityError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of bytes such as 500Mi or 2Gi") from error
    if amount < BYTES_MAX_LEAST:
        raise argparse.ArgumentTypeError(f"{text!r} is too little; give at least 1Mi")
    return amount
