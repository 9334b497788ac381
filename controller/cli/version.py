"""`hpa-controller version`."""

import argparse

from controller.cli.outcome import DONE, say
from controller.version import __version__

USAGE = ""


def add_flags(_: argparse.ArgumentParser) -> None:
    """It has none."""


def run(_: argparse.Namespace) -> int:
    """Print the version."""
    say(f"hpa-controller {__version__}")
    return DONE
