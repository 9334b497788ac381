"""`hpa-controller explain NAMESPACE/NAME`: why a running controller decided what it did."""

import argparse
import asyncio
import json
import shutil
import sys
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain
from controller.explain.answer import LAST_DEFAULT, LAST_MAX, WORDS, Answer, Refusal

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller, Whereabouts

USAGE: Final = "NAMESPACE/NAME [--last N] [--watch] [--output text|json|yaml] [FLAGS]"
WATCH_PERIOD_S: Final = 2.0
_OK: Final = 200
_NOT_FOUND: Final = 404


class _Unanswered(Exception):
    """The controller answered that it cannot tell; the text is what it said."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPA, how much of it, and how it is shown."""
    parser.add_argument("hpa", type=_key, metavar="NAMESPACE/NAME", help="the HPA")
    parser.add_argument(
        "--last",
        type=_last,
        default=LAST_DEFAULT,
        metavar="N",
        help=f"the last N syncs: the newest in full, those before it in a line each (default 1, at most {LAST_MAX})",
    )
    parser.add_argument("--watch", action="store_true", help="go on, and show every new sync")
    parser.add_argument(
        "--output",
        choices=("text", "json", "yaml"),
        default="text",
        help="for people, or everything there is to know; docs/explain-schema.json describes it (default text)",
    )
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Ask, and show what is answered."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_reach import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    try:
        asyncio.run(_explain(parsed, whereabouts_of(parsed)))
    except ConfigurationError as error:
        return complain(f"{error}; or give --introspection-address HOST:PORT", BAD_INPUT)
    except NotReached as error:
        return complain(str(error), UNREACHED)
    except _Unanswered as error:
        return complain(str(error), NO)
    return DONE


async def _explain(parsed: argparse.Namespace, whereabouts: "Whereabouts") -> None:
    from controller.cli.explain_reach import reached  # noqa: PLC0415

    namespace, _, name = parsed.hpa.partition("/")
    detail = f"&detail={WORDS}" if parsed.output == "text" else ""
    path = f"/explain/{quote(namespace, safe='')}/{quote(name, safe='')}?last="
    async with reached(whereabouts) as controller:
        body, answer = await _asked(controller, f"{path}{parsed.last}{detail}", parsed.hpa)
        _show(body, answer, parsed.output)
        shown = answer.syncs[-1].time
        while parsed.watch:
            await asyncio.sleep(WATCH_PERIOD_S)
            body, answer = await _asked(controller, f"{path}1{detail}", parsed.hpa)
            if answer.syncs[-1].time != shown:
                shown = answer.syncs[-1].time
                if parsed.output == "text":
                    sys.stdout.write("\n")
                _show(body, answer, parsed.output)


async def _asked(controller: "Controller", path: str, hpa: str) -> tuple[bytes, Answer]:
    """The answer as it came and decoded. Raises NotReached or _Unanswered."""
    status, body = await controller.get(path)
    if status != _OK:
        try:
            said = msgspec.json.decode(body, type=Refusal).error
        except msgspec.DecodeError:
            said = f"HTTP status {status}"
            if status == _NOT_FOUND:
                said += "; it is no hpa-controller, or one that is too old to explain"
        raise _Unanswered(f"{controller.where}: {said}")
    try:
        answer = msgspec.json.decode(body, type=Answer)
    except msgspec.DecodeError as error:
        raise _Unanswered(f"{controller.where} answers in a form that this version does not know: {error}") from error
    if not answer.syncs:
        raise _Unanswered(f"{controller.where}: no sync of {hpa} is remembered")
    return body, answer


def _show(body: bytes, answer: Answer, output: str) -> None:
    if output == "json":
        sys.stdout.write(msgspec.json.format(body, indent=2).decode() + "\n")
    elif output == "yaml":
        import yaml  # noqa: PLC0415 - only needed here

        yaml.safe_dump(json.loads(body), sys.stdout, sort_keys=False, allow_unicode=True, width=1000)
    else:
        from rich.console import Console  # noqa: PLC0415

        from controller.cli.explain_text import page  # noqa: PLC0415

        width = shutil.get_terminal_size((100, 40)).columns
        console = Console(file=sys.stdout, width=max(width, 1000), highlight=False, soft_wrap=True)
        for text in page(answer, width):
            console.print(text, soft_wrap=True)
    sys.stdout.flush()


def _key(text: str) -> str:
    namespace, separator, name = text.partition("/")
    if not separator or not namespace or not name or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAMESPACE/NAME")
    return text


def _last(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:6]) <= LAST_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {LAST_MAX}")
    return int(text)
