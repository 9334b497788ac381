"""What a user types: commands, arguments, exit codes."""

from controller.cli.main import main

__all__ = ["main"]
