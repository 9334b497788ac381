"""`hpa-controller explain NAMESPACE/NAME`: why a running controller decided what it did."""

import argparse
import json
import shutil
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from controller.cli.asking import Losses, Unanswered, answers, asked, finished
from controller.cli.explain_flags import (
    add_hpa,
    add_whereabouts,
    count_between,
    hpa_of,
    misnamed,
    whereabouts_of,
)
from controller.cli.outcome import BAD_INPUT, complain
from controller.explain.answer import LAST_DEFAULT, LAST_MAX, WORDS, Answer

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller

USAGE: Final = "[NAMESPACE/]NAME [-n NAMESPACE] [--last N] [--watch] [--output text|json|yaml] [FLAGS]"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPA, how much of it, and how it is shown."""
    add_hpa(parser)
    parser.add_argument(
        "--last",
        type=count_between(1, LAST_MAX),
        default=LAST_DEFAULT,
        metavar="N",
        help=f"the last N syncs: the newest in full, those before it in a line each (default 1, at most {LAST_MAX})",
    )
    parser.add_argument(
        "-w", "--watch", action="store_true", help="go on, and show every new sync, of whoever decides by then"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json", "yaml"),
        default="text",
        help="for people, or everything there is to know; docs/explain-schema.json describes it (default text)",
    )
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Ask, and show what is answered."""
    if problem := misnamed(parsed):
        return complain(f"explain: {problem}", BAD_INPUT)
    return finished(_explain(parsed))


async def _explain(parsed: argparse.Namespace) -> None:
    detail = f"&detail={WORDS}" if parsed.output == "text" else ""
    shown: tuple[str, str] | None = None
    losses = Losses()

    async def ask(controller: "Controller") -> tuple[bytes, Answer]:
        namespace, name = hpa_of(parsed, controller.namespace)
        path = f"/explain/{quote(namespace, safe='')}/{quote(name, safe='')}"
        last = parsed.last if shown is None else 1
        return await _remembered(controller, f"{path}?last={last}{detail}", f"{namespace}/{name}")

    async for body, answer in answers(whereabouts_of(parsed), ask, watch=parsed.watch, lost=losses):
        losses.over()
        latest = answer.syncs[-1].time, answer.partial
        if latest != shown:
            if shown is not None and parsed.output == "text":
                sys.stdout.write("\n")
            _show(body, answer, parsed.output, watch=parsed.watch)
            shown = latest


async def _remembered(controller: "Controller", path: str, hpa: str) -> tuple[bytes, Answer]:
    """The answer as it came and decoded, with a sync at least. Raises NotReached or Unanswered."""
    body, answer = await asked(controller, path, Answer, "to explain")
    if not answer.syncs:
        raise Unanswered(f"{controller.where}: no sync of {hpa} is remembered")
    return body, answer


def _show(body: bytes, answer: Answer, output: str, *, watch: bool) -> None:
    if output == "json":
        sys.stdout.write(msgspec.json.format(body, indent=2).decode() + "\n")
    elif output == "yaml":
        import yaml  # noqa: PLC0415 - only needed here

        # One document follows another: without a start of its own they would run into each other.
        yaml.safe_dump(
            json.loads(body), sys.stdout, sort_keys=False, allow_unicode=True, width=1000, explicit_start=watch
        )
    else:
        from controller.cli.console import Console  # noqa: PLC0415
        from controller.cli.explain_text import page  # noqa: PLC0415

        width = shutil.get_terminal_size((100, 40)).columns
        console = Console(width)
        for text in page(answer, width):
            console.print(text, soft_wrap=True)
    sys.stdout.flush()
