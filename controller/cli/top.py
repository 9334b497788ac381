"""`hpa-controller top`: every HPA in a line, as the controller saw it at its last sync."""

import argparse
import asyncio
import shutil
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

import msgspec

from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain
from controller.explain.answer import Refusal
from controller.explain.rows import PATH, Rows

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller, Whereabouts

USAGE: Final = "[-n NAMESPACE | -A] [-l SELECTOR] [--sort COLUMN] [--watch] [FLAGS]"
WATCH_PERIOD_S: Final = 2.0
_PIPED_COLUMNS: Final = 1000
SORTS: Final = ("name", "ratio", "replicas", "change", "scaled", "data", "lag", "limit")
_OK: Final = 200
_CLEARED: Final = "\x1b[H\x1b[2J"


class _Unanswered(Exception):
    """The controller answered that it cannot tell; the text is what it said."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPAs, in which order."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "-n", "--namespace", default="", metavar="NAME", help="of this namespace (default: the kubeconfig's)"
    )
    which.add_argument("-A", "--all-namespaces", action="store_true", help="of all namespaces")
    parser.add_argument("-l", "--selector", default="", metavar="SELECTOR", help="with these labels, as in kubectl")
    parser.add_argument(
        "--sort",
        choices=SORTS,
        default="name",
        help="by name; or highest first: ratio of metric to target, replicas, change, age of data, lag; latest scaled "
        "first; limited ones first (default name)",
    )
    parser.add_argument("--watch", action="store_true", help="go on; on a terminal the screen is kept up to date")
    parser.add_argument(
        "--output", choices=("text", "json"), default="text", help="a table, or everything in it (default text)"
    )
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Ask, and show the rows."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_reach import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    try:
        asyncio.run(_top(parsed, whereabouts_of(parsed)))
    except ConfigurationError as error:
        return complain(f"{error}; or give --introspection-address HOST:PORT", BAD_INPUT)
    except NotReached as error:
        return complain(str(error), UNREACHED)
    except _Unanswered as error:
        return complain(str(error), NO)
    return DONE


async def _top(parsed: argparse.Namespace, whereabouts: "Whereabouts") -> None:
    from controller.cli.explain_reach import reached  # noqa: PLC0415

    async with reached(whereabouts) as controller:
        namespace = "" if parsed.all_namespaces else parsed.namespace or controller.namespace
        query = {"namespace": namespace, "labelSelector": parsed.selector}
        given = urlencode({name: value for name, value in query.items() if value})
        path = f"{PATH}?{given}" if given else PATH
        while True:
            body, answer = await _asked(controller, path)
            _show(parsed, body, answer, namespaced=not namespace)
            if not parsed.watch:
                return
            await asyncio.sleep(WATCH_PERIOD_S)


async def _asked(controller: "Controller", path: str) -> tuple[bytes, Rows]:
    """The answer as it came and decoded. Raises NotReached or _Unanswered."""
    status, body = await controller.get(path)
    if status != _OK:
        try:
            said = msgspec.json.decode(body, type=Refusal).error
        except msgspec.DecodeError:
            said = f"HTTP status {status}; it is no hpa-controller, or one that is too old for `top`"
        raise _Unanswered(f"{controller.where}: {said}")
    try:
        return body, msgspec.json.decode(body, type=Rows)
    except msgspec.DecodeError as error:
        raise _Unanswered(f"{controller.where} answers in a form that this version does not know: {error}") from error


def _show(parsed: argparse.Namespace, body: bytes, answer: Rows, *, namespaced: bool) -> None:
    if parsed.output == "json":
        sys.stdout.write(body.decode() + "\n")
        sys.stdout.flush()
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    from controller.cli.top_table import order, table  # noqa: PLC0415

    size = shutil.get_terminal_size((120, 40))
    screen = parsed.watch and sys.stdout.isatty()
    rows, hidden = order(answer.rows, parsed.sort), 0
    if screen:
        room = max(1, size.lines - 3)
        rows, hidden = rows[:room], max(0, len(rows) - room)
    # Whoever pipes it wants all of it, as of kubectl.
    width = size.columns if sys.stdout.isatty() else _PIPED_COLUMNS
    lines = list(table(rows, width, namespaced=namespaced)) if rows else [Text("no HPAs here")]
    if answer.partial:
        lines.insert(0, Text(f"partial: {answer.partial}", style="yellow"))
    if hidden:
        lines.append(Text(f"… and {hidden} more", style="bold"))
    if screen:
        sys.stdout.write(_CLEARED)
    if not sys.stdout.isatty():
        sys.stdout.write("".join(f"{line.plain}\n" for line in lines))
    else:
        console = Console(file=sys.stdout, width=max(size.columns, 1000), highlight=False)
        for line in lines:
            console.print(line, soft_wrap=True)
    sys.stdout.flush()
