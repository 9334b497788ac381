"""`hpa-controller top`: every HPA in a line, as the controller saw it at its last sync."""

import argparse
import shutil
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from controller.cli.asking import Losses, answers, asked, finished
from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.decide import selectors
from controller.explain.rows import PATH, Rows

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller

USAGE: Final = "[-n NAMESPACE | -A] [-l SELECTOR] [--sort COLUMN] [--watch] [FLAGS]"
_PIPED_COLUMNS: Final = 1000
SORTS: Final = ("name", "ratio", "replicas", "change", "scaled", "data", "lag", "limit")
_CLEARED: Final = "\x1b[H\x1b[2J"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPAs, in which order."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-n",
        "--namespace",
        default="",
        metavar="NAME",
        help="of this namespace (default: the kubeconfig's; with --introspection-address: all)",
    )
    which.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    parser.add_argument(
        "-l", "--selector", type=_selector, default="", metavar="SELECTOR", help="with these labels, as in kubectl"
    )
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="name",
        help="by name; or highest first: ratio of metric to target, replicas, change, age of data, lag; latest scaled "
        "first; limited ones first (default name)",
    )
    parser.add_argument("-w", "--watch", action="store_true", help="go on; on a terminal the screen is kept up to date")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="a table, or everything in it (default text)"
    )
    add_whereabouts(parser)


def _selector(text: str) -> str:
    try:
        selectors.parse(text)
    except selectors.SelectorError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def run(parsed: argparse.Namespace) -> int:
    """Ask, and show the rows."""
    return finished(_top(parsed))


async def _top(parsed: argparse.Namespace) -> None:
    namespace, latest, losses = "", Rows(()), Losses()
    screen = parsed.watch and parsed.output == "text" and sys.stdout.isatty()

    async def ask(controller: "Controller") -> tuple[bytes, Rows]:
        nonlocal namespace
        namespace = "" if parsed.all_namespaces else parsed.namespace or controller.namespace
        query = {"namespace": namespace, "labelSelector": parsed.selector}
        given = urlencode({name: value for name, value in query.items() if value})
        return await asked(controller, f"{PATH}?{given}" if given else PATH, Rows, "for `top`")

    def lost(why: str) -> None:
        if screen:
            _show(parsed, latest, namespace, warning=f"as it was; still trying: {why}")
        else:
            losses(why)

    async for body, answer in answers(whereabouts_of(parsed), ask, watch=parsed.watch, lost=lost):
        latest = answer
        losses.over()
        if parsed.output == "json":
            sys.stdout.write(body.decode() + "\n")
            sys.stdout.flush()
        else:
            _show(parsed, answer, namespace)


def _show(parsed: argparse.Namespace, answer: Rows, namespace: str, *, warning: str = "") -> None:
    from rich.text import Text  # noqa: PLC0415

    from controller.cli.console import Console  # noqa: PLC0415
    from controller.cli.top_table import order, table  # noqa: PLC0415

    size = shutil.get_terminal_size((120, 40))
    screen = parsed.watch and sys.stdout.isatty()
    warnings = [warning] * bool(warning) + [f"partial: {answer.partial}"] * bool(answer.partial)
    rows, hidden = order(answer.rows, parsed.sort), 0
    if screen:
        warnings = [_in_a_line(text, size.columns) for text in warnings]
        room = max(1, size.lines - 3 - len(warnings))
        rows, hidden = rows[:room], max(0, len(rows) - room)
    # Whoever pipes it wants all of it, as of kubectl.
    width = size.columns if sys.stdout.isatty() else _PIPED_COLUMNS
    lines = list(table(rows, width, namespaced=not namespace)) if rows else [Text(_none(namespace, parsed.selector))]
    lines[:0] = [Text(text, style="yellow") for text in warnings]
    if hidden:
        lines.append(Text(f"… and {hidden} more", style="bold"))
    if screen:
        sys.stdout.write(_CLEARED)
    if not sys.stdout.isatty():
        sys.stdout.write("".join(f"{line.plain}\n" for line in lines))
    else:
        console = Console(size.columns)
        for line in lines:
            console.print(line, soft_wrap=True)
    sys.stdout.flush()


def _none(namespace: str, selector: str) -> str:
    where = f"in the namespace {namespace}" if namespace else "in any namespace"
    return f"no HPAs {where}" + (f" with labels {selector}" if selector else "")


def _in_a_line(text: str, width: int) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= width else f"{line[: width - 1]}…"
