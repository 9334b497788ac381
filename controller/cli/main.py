"""The command line: which command, its parser, its exit code.

Every command is a module with `USAGE`, `add_flags(parser)` and `run(parsed) -> exit code`, imported only when it is
called, so that `lint` does not wait for HTTP libraries.
"""

import argparse
import difflib
import importlib
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

from controller.cli.outcome import (
    BAD_INPUT,
    DONE,
    INTERRUPTED,
    UNREAD,
    complain,
    escape_what_cannot_be_shown,
    nobody_reads,
    not_taken,
    open_what_is_closed,
    program,
)
from controller.os_errors import why
from controller.version import __version__

COMMANDS: Final = {
    "run": ("controller.cli.run", "run the controller against a cluster"),
    "lab": ("controller.cli.lab", "a cluster on this machine that moves, with the controller at work"),
    "lint": ("controller.cli.lint", "check HPA manifests as the API server would, and for what will not work"),
    "record": ("controller.cli.record", "record what a running controller decides for an HPA"),
    "replay": ("controller.cli.replay", "decide again what recordings saw"),
    "simulate": ("controller.cli.simulate", "what an HPA would do under a load, in virtual time"),
    "explain": ("controller.cli.explain", "why a running controller decided what it did, and what would change it"),
    "top": ("controller.cli.top", "every HPA in a line: its metric, its replicas, what limits it"),
    "doctor": ("controller.cli.doctor", "what will go wrong with the HPAs of a cluster, and what to do"),
    "shadow": ("controller.cli.shadow", "how another controller's decisions compare with those of this one"),
    "modes": ("controller.cli.modes", "show what a running controller may write"),
    "promote": ("controller.cli.modes", "let the controller write, everywhere or in some namespaces"),
    "demote": ("controller.cli.modes", "let the controller only look on and compare itself with another one"),
    "freeze": ("controller.cli.modes", "stop every write of the controller at once"),
    "version": ("controller.cli.version", "print the version"),
}
"""Modules and what they do, in the order of the help text."""


class Parser(argparse.ArgumentParser):
    """argparse whose errors are one line that says what is wrong, and one that says where help is."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with BAD_INPUT."""
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            message = self._unknown(message.removeprefix(prefix).split()[0])
        self.exit(BAD_INPUT, f"{self.prog}: {message}\nSee `{self.prog} --help`.\n")

    def _unknown(self, argument: str) -> str:
        if not argument.startswith("-"):
            return f"unexpected argument {argument!r}"
        flag = argument.partition("=")[0]
        known = [option for action in self._actions for option in action.option_strings]
        close = difflib.get_close_matches(flag, known, n=1, cutoff=0.75)
        if close:
            return f"unknown flag {flag}; did you mean {close[0]}?"
        passes_on = any(action.dest == "run_flags" for action in self._actions)
        return f"unknown flag {flag}" + ("; flags of `hpa-controller run` go after --" if passes_on else "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and give its exit code.

    0 done, 1 no, 2 bad usage or input, 3 cluster not reached, 130 interrupted, 141 whoever read the output has left.
    """
    open_what_is_closed()
    escape_what_cannot_be_shown()
    try:
        code = _run(program(), list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        nobody_reads()
        return UNREAD
    except OSError as error:
        if not not_taken(error):
            raise
        nobody_reads()
        return complain(f"standard output: {why(error)}", BAD_INPUT)
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _run(called: str, given: list[str]) -> int:
    name = given[0] if given else "--help"
    if name == "help" and given[1:2] and given[1] in COMMANDS:
        name, given = given[1], [given[1], "--help"]
    if name in ("-h", "--help", "help"):
        sys.stdout.write(_help(called))
        return DONE
    name = "version" if name == "--version" else name
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        kind = "flag" if name.startswith("-") else "command"
        sys.stderr.write(f"{called}: unknown {kind} {name}{hint}\nSee `{called} --help`.\n")
        return BAD_INPUT
    module_name, text = COMMANDS[name]
    command = importlib.import_module(module_name)
    parser = Parser(prog=f"{called} {name}", description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)
    parser.usage = f"%(prog)s {command.USAGE}"
    parser.set_defaults(command=name)
    command.add_flags(parser)
    return int(command.run(parser.parse_args(given[1:])))


def _help(called: str) -> str:
    lines = [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(
        (
            f"usage: {called} COMMAND [FLAGS]",
            "",
            f"The Kubernetes Horizontal Pod Autoscaler controller as a standalone program, version {__version__}.",
            "",
            *lines,
            "",
            f"`{called} COMMAND --help` shows a command's flags.",
            "",
        )
    )
