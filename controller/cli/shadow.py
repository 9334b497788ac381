"""`hpa-controller shadow`: how the decisions of another controller compare with those of a running one of ours."""

import argparse
import asyncio
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain, say

if TYPE_CHECKING:
    from controller.cli.explain_reach import Whereabouts

USAGE: Final = "[NAMESPACE/NAME] [--last N] [--output text|json] [FLAGS]"
LAST_DEFAULT: Final = 5
_OK: Final = 200
_PATH: Final = "/shadow"


class Differences(msgspec.Struct):
    """Decisions that differ, by class."""

    input: int = 0
    logic: int = 0


class Compared(msgspec.Struct):
    """How often the decisions about an HPA were compared, and what came of it."""

    comparisons: int
    differences: Differences
    hpa: str = ""

    @property
    def agreeing(self) -> int:
        """Those that do not differ."""
        return self.comparisons - self.differences.input - self.differences.logic


class Field(msgspec.Struct):
    """A field that both would have written differently."""

    name: str
    theirs: str
    ours: str


class Difference(msgspec.Struct):
    """One decision of the other that ours would not have made."""

    hpa: str
    writer: str
    time: str
    because: str
    kind: str = msgspec.field(name="class")
    fields: list[Field] = []
    theirs: str = ""
    ours: str = ""


class Page(msgspec.Struct, rename="camel"):
    """What the controller answers."""

    comparisons: int
    differences: Differences
    hpas: list[Compared]
    left_to_others: dict[str, str]
    latest: list[Difference]


class _Unanswered(Exception):
    """The controller answered something else; the text says what."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPA, and how it is shown."""
    parser.add_argument("hpa", nargs="?", default="", metavar="NAMESPACE/NAME", help="only this HPA")
    parser.add_argument(
        "--last",
        type=int,
        default=LAST_DEFAULT,
        metavar="N",
        help=f"show the last N differences (default {LAST_DEFAULT})",
    )
    parser.add_argument("--output", choices=("text", "json"), default="text", help="for people or programs")
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Ask, and show what is answered."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_reach import NotReached  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    try:
        body = asyncio.run(_asked(whereabouts_of(parsed)))
        if parsed.output == "json":
            say(body.decode())
        else:
            width = shutil.get_terminal_size((100, 40)).columns if sys.stdout.isatty() else 120
            say(*lines(msgspec.json.decode(body, type=Page), parsed.hpa, parsed.last, width))
    except ConfigurationError as error:
        return complain(f"{error}; or give --introspection-address HOST:PORT", BAD_INPUT)
    except NotReached as error:
        return complain(str(error), UNREACHED)
    except (_Unanswered, msgspec.MsgspecError) as error:
        return complain(f"this is not what a controller of this version answers: {error}", NO)
    return DONE


def lines(page: Page, hpa: str, last: int, width: int) -> Iterator[str]:
    """The page for people: all in a line, an HPA per line with those that differ first, then the last differences."""
    hpas = [one for one in page.hpas if hpa in ("", one.hpa)]
    if page.left_to_others:
        for key, writer in page.left_to_others.items():
            yield f"{key} is left to {writer}, which writes it, too"
        yield ""
    if not hpas:
        yield "no decision of another controller has been seen" + (f" about {hpa}" if hpa else "")
        return
    compared = sum(one.comparisons for one in hpas)
    agreeing = sum(one.agreeing for one in hpas)
    share = f"{100 * agreeing / compared:.1f} %" if compared else "none"
    yield f"{agreeing} of {compared} decisions agree ({share})"
    yield ""
    names = max(len("NAMESPACE/NAME"), *(len(one.hpa) for one in hpas))
    yield f"{'NAMESPACE/NAME':<{names}}  {'AGREE':>7}  {'INPUT':>7}  {'LOGIC':>7}"
    for one in sorted(hpas, key=lambda one: (-one.differences.logic, -one.differences.input, one.hpa)):
        yield f"{one.hpa:<{names}}  {one.agreeing:>7}  {one.differences.input:>7}  {one.differences.logic:>7}"
    told = [one for one in page.latest if hpa in ("", one.hpa)][-last:] if last > 0 else []
    for difference in told:
        yield ""
        yield from _difference(difference, width)


def _difference(one: Difference, width: int) -> Iterator[str]:
    yield from textwrap.wrap(
        f"{one.time}  {one.hpa}: {one.writer} decided otherwise, {one.kind}: {one.because}",
        width,
        subsequent_indent="    ",
    )
    for field in one.fields:
        yield f"    {field.name}"
        yield from _said("theirs", field.theirs, width)
        yield from _said("ours", field.ours, width)
    if one.theirs or one.ours:
        yield "    in words"
        yield from _said("theirs", one.theirs, width)
        yield from _said("ours", one.ours, width)


def _said(whose: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=f"      {whose:<7} ", subsequent_indent=" " * 14)


async def _asked(whereabouts: "Whereabouts") -> bytes:
    from controller.cli.explain_reach import reached  # noqa: PLC0415

    async with reached(whereabouts) as controller:
        status, body = await controller.get(_PATH)
    if status != _OK:
        raise _Unanswered(f"{status} {body[:200].decode('utf-8', 'replace')}")
    return body
