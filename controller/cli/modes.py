"""`hpa-controller modes`, `promote`, `demote` and `freeze`: what a running controller may write, without a restart."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Final

from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain, say
from controller.flag_values import is_namespace
from controller.modes import Mode, Modes

USAGE: Final = "[NAMESPACE …] [FLAGS]"
_COMMANDS: Final[dict[str, Mode]] = {"promote": "write", "demote": "shadow", "freeze": "freeze"}
_DEFAULT_NAME: Final = "hpa-controller-modes"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of all four."""
    command = parser.get_default("command")
    named = "the namespaces in question" + (" (default: all of them)" if command in ("freeze", "modes") else "")
    parser.add_argument("namespaces", nargs="*", metavar="NAMESPACE", help=named)
    if command != "modes":
        parser.add_argument("--all", action="store_true", help="all namespaces, whatever was said of single ones")
    parser.add_argument(
        "--modes-configmap",
        default=_DEFAULT_NAME,
        metavar="NAME",
        help=f"the ConfigMap that the controller was started with (default {_DEFAULT_NAME})",
    )
    add_whereabouts(parser, directly=False)


def run(parsed: argparse.Namespace) -> int:
    """Show or change the modes."""
    mode = _COMMANDS.get(parsed.command)
    everywhere = getattr(parsed, "all", False)
    if parsed.namespaces and everywhere:
        return complain(f"{parsed.command}: name the namespaces or give --all, not both", BAD_INPUT)
    if mode in ("write", "shadow") and not parsed.namespaces and not everywhere:
        return complain(f"{parsed.command}: name the namespaces, or give --all", BAD_INPUT)
    for namespace in parsed.namespaces:
        if not is_namespace(namespace):
            return complain(f"{parsed.command}: {namespace!r} is no name of a namespace", BAD_INPUT)
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli import modes_request  # noqa: PLC0415
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    whereabouts, name = whereabouts_of(parsed), parsed.modes_configmap
    try:
        if mode is None:
            said = asyncio.run(modes_request.read(whereabouts, name))
        else:
            said = asyncio.run(modes_request.change(whereabouts, name, mode, tuple(parsed.namespaces)))
    except ConfigurationError as error:
        return complain(str(error), BAD_INPUT)
    except NotReached as error:
        return complain(str(error), UNREACHED)
    except modes_request.NoModes as error:
        return complain(str(error), NO)
    say(*_lines(said.modes, parsed.namespaces if mode is None else ()))
    for doubt in said.doubts:
        complain(f"note: {doubt}", DONE)
    return complain(said.unheard, NO) if said.unheard else DONE


def _lines(modes: Modes, asked: Sequence[str]) -> list[str]:
    """A table of what is said, or what follows from it for the namespaces that are asked for."""
    if asked:
        return [f"{namespace:<24} {modes.of(namespace)}" for namespace in asked]
    overruled = "  (frozen, as all are)" if modes.everywhere == "freeze" else ""
    return [
        f"{'all namespaces':<24} {modes.everywhere}",
        *(f"{namespace:<24} {mode}{overruled}" for namespace, mode in sorted(modes.by_namespace.items())),
        *(f"not understood, and so frozen: {problem}" for problem in modes.problems.values()),
    ]
