"""`hpa-controller shadow`: how the decisions of another controller compare with those of a running one of ours."""

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import Final

import msgspec

from controller.cli.asking import asked, finished
from controller.cli.explain_flags import (
    add_hpa,
    add_whereabouts,
    count_between,
    hpa_of,
    misnamed,
    whereabouts_of,
)
from controller.cli.outcome import BAD_INPUT, complain, say
from controller.explain.compared import PATH, Comparison, Difference, Differences
from controller.explain.wording import metrics_status
from controller.wire.autoscalers import status_from
from controller.wire.errors import WireError, printable

USAGE: Final = "[[NAMESPACE/]NAME] [-n NAMESPACE] [--last N] [--output text|json] [FLAGS]"
LAST_DEFAULT: Final = 5
LAST_MAX: Final = 1_000_000
METRICS: Final = "currentMetrics"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Which HPA, and how it is shown."""
    add_hpa(parser, nargs="?", help="only this HPA; with --namespace alone those of a namespace")
    parser.add_argument(
        "--last",
        type=count_between(0, LAST_MAX),
        default=None,
        metavar="N",
        help=f"show the last N differences (default {LAST_DEFAULT}, as JSON all that are remembered)",
    )
    parser.add_argument("-o", "--output", choices=("text", "json"), default="text", help="for people or programs")
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Ask, and show what is answered."""
    if problem := misnamed(parsed):
        return complain(f"shadow: {problem}", BAD_INPUT)
    return finished(_shadow(parsed))


async def _shadow(parsed: argparse.Namespace) -> None:
    from controller.cli.explain_reach import reached  # noqa: PLC0415 - its libraries take half a second

    async with reached(whereabouts_of(parsed)) as controller:
        body, comparison = await asked(controller, PATH, Comparison, "for `shadow`")
        own_namespace = controller.namespace
    hpa = "/".join(hpa_of(parsed, own_namespace)) if parsed.hpa else parsed.namespace and f"{parsed.namespace}/"
    if parsed.output == "json":
        every = not hpa and parsed.last is None
        say(body.decode() if every else msgspec.json.encode(_about(comparison, hpa, parsed.last)).decode())
    else:
        width = shutil.get_terminal_size((100, 40)).columns if sys.stdout.isatty() else 120
        say(*lines(comparison, hpa, LAST_DEFAULT if parsed.last is None else parsed.last, width))


def _about(page: Comparison, hpa: str, last: int | None) -> Comparison:
    """What the page has about some HPAs, see `lines`; the last differences, or all of them."""
    hpas = tuple(one for one in page.hpas if _chosen(hpa, one.hpa))
    latest = [one for one in page.latest if _chosen(hpa, one.hpa)]
    return Comparison(
        comparisons=sum(one.comparisons for one in hpas),
        differences=Differences(sum(one.differences.input for one in hpas), sum(one.differences.logic for one in hpas)),
        hpas=hpas,
        left_to_others={key: writer for key, writer in page.left_to_others.items() if _chosen(hpa, key)},
        latest=tuple(latest if last is None else latest[-last:] if last > 0 else ()),
    )


def lines(page: Comparison, hpa: str, last: int, width: int) -> Iterator[str]:
    """The page for people: all in a line, an HPA per line with those that differ first, then the last differences.

    `hpa`: only this one; `namespace/` those of a namespace, and empty all.
    """
    hpas = [one for one in page.hpas if _chosen(hpa, one.hpa)]
    left = {key: writer for key, writer in page.left_to_others.items() if _chosen(hpa, key)}
    if left:
        for key, writer in sorted(left.items()):
            yield f"{key} is left to {printable(writer)}, which writes it, too"
        yield ""
    if not hpas:
        yield "no decision of another controller has been seen" + (f" about {hpa.rstrip('/')}" if hpa else "")
        return
    compared = sum(one.comparisons for one in hpas)
    agreeing = sum(one.agreeing for one in hpas)
    # Rounded down: 100 % is said only where all agree.
    share = f"{1000 * agreeing // compared / 10:.1f} %" if compared else "none"
    yield f"{agreeing} of {compared} decisions agree ({share})"
    yield ""
    names = max(len("NAMESPACE/NAME"), *(len(one.hpa) for one in hpas))
    yield f"{'NAMESPACE/NAME':<{names}}  {'AGREE':>7}  {'INPUT':>7}  {'LOGIC':>7}"
    for one in sorted(hpas, key=lambda one: (-one.differences.logic, -one.differences.input, one.hpa)):
        yield f"{one.hpa:<{names}}  {one.agreeing:>7}  {one.differences.input:>7}  {one.differences.logic:>7}"
    told = [one for one in page.latest if _chosen(hpa, one.hpa)][-last:] if last > 0 else []
    for difference in told:
        yield ""
        yield from _difference(difference, width)


def _chosen(hpa: str, key: str) -> bool:
    return hpa in ("", key) or (hpa.endswith("/") and key.startswith(hpa))


def _difference(one: Difference, width: int) -> Iterator[str]:
    told = f"{one.time}  {one.hpa}: {one.writer} decided otherwise, {one.kind}: {one.because}"
    yield from textwrap.wrap(_escaped(told), width, subsequent_indent="    ")
    for field in one.fields:
        yield f"    {field.name}"
        theirs, ours = field.theirs, field.ours
        if field.name == METRICS:
            theirs, ours = _metrics_in_words(theirs, ours)
        yield from _said("theirs", theirs, width)
        yield from _said("ours", ours, width)
    if one.theirs or one.ours:
        yield "    in words"
        yield from _said("theirs", one.theirs, width)
        yield from _said("ours", one.ours, width)


def _metrics_in_words(theirs: str, ours: str) -> tuple[str, str]:
    """Both `currentMetrics`; as they are where words do not tell them apart, or another version wrote them."""
    try:
        words = [metrics_status(status_from({METRICS: msgspec.json.decode(text)}).metrics) for text in (theirs, ours)]
    except (msgspec.DecodeError, WireError):
        return theirs, ours
    return (theirs, ours) if words[0] == words[1] else (words[0], words[1])


def _said(whose: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(_escaped(text), width, initial_indent=f"      {whose:<7} ", subsequent_indent=" " * 14)


def _escaped(text: str) -> str:
    """All of it, without what a terminal would take for orders: the other controller quotes whatever it was told."""
    return printable(text, len(text))
