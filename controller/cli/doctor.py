"""`hpa-controller doctor`: what will go wrong with the HPAs of a cluster, or does already, and what to do."""

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Final

import msgspec

from controller.cli.explain_flags import add_whereabouts, whereabouts_of
from controller.cli.outcome import BAD_INPUT, DONE, NO, UNREACHED, complain, say
from controller.explain.checkup import checked
from controller.explain.findings import Finding, plural
from controller.explain.rows import PATH, Rows
from controller.wire.errors import UNDECODABLE, printable

if TYPE_CHECKING:
    from controller.cli.explain_reach import Controller
    from controller.cli.explain_whereabouts import Whereabouts
    from controller.explain.facts import Facts

USAGE: Final = "[-n NAMESPACE | -A] [--output text|json] [FLAGS]"
_OK: Final = 200
_TEXT_MAX: Final = 1000


class Report(msgspec.Struct, frozen=True):
    """What `--output json` prints. `missing` says what could not be looked at."""

    hpas: int
    findings: tuple[Finding, ...]
    missing: tuple[str, ...]


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Where to look, and how it is shown."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("-n", "--namespace", default="", metavar="NAME", help="only this namespace (default: all)")
    which.add_argument("-A", "--all-namespaces", action="store_true", help="all namespaces, which it does anyway")
    parser.add_argument(
        "-o", "--output", choices=("text", "json"), default="text", help="for people, or one JSON object (default text)"
    )
    add_whereabouts(parser)


def run(parsed: argparse.Namespace) -> int:
    """Look, and print what was found; 1 if there is a problem among it."""
    # These libraries take half a second, which `--help` and bad flags need not wait for.
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415
    from controller.clock import SystemClock  # noqa: PLC0415
    from controller.kube.kubeconfig_files import ConfigurationError  # noqa: PLC0415

    try:
        facts = asyncio.run(_facts(parsed.namespace, whereabouts_of(parsed)))
    except ConfigurationError as error:
        too = "; --introspection-address is not enough, the cluster is looked at, too"
        return complain(f"{error}{too if parsed.introspection_address else ''}", BAD_INPUT)
    except NotReached as error:
        return complain(str(error), UNREACHED)
    findings = checked(facts, SystemClock().now().wall_ns)
    report = Report(len(facts.patients), findings, facts.missing)
    if parsed.output == "json":
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n")
    else:
        say(*lines(report))
    return NO if any(finding.severity == "problem" for finding in findings) else DONE


def lines(report: Report) -> list[str]:
    """A line per finding and per thing that could not be looked at, and a summary."""
    shown = [
        printable(f"{one.about}: {one.severity}: {one.code}: {one.text}; {one.remedy}", _TEXT_MAX)
        for one in report.findings
    ]
    shown += [printable(f"partial: {text}", _TEXT_MAX) for text in report.missing]
    problems = sum(one.severity == "problem" for one in report.findings)
    advice = len(report.findings) - problems
    checked_hpas = f"{report.hpas} {plural('HPA', report.hpas)} checked"
    if not report.findings:
        return [*shown, f"{checked_hpas}: nothing found" + (" where we could look" if report.missing else "")]
    counts = f"{problems} {plural('problem', problems)}, {advice} {plural('piece', advice)} of advice"
    return [*shown, f"{checked_hpas}: {counts}"]


async def _facts(namespace: str, whereabouts: "Whereabouts") -> "Facts":
    from controller.cli.doctor_facts import Reader  # noqa: PLC0415
    from controller.cli.explain_reach import connected, holder, reached  # noqa: PLC0415
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415

    in_cluster = msgspec.structs.replace(whereabouts, address="")
    async with connected(in_cluster) as (connection, client):
        rows, missing = None, []
        try:
            if whereabouts.address:
                async with reached(whereabouts) as controller:
                    rows = await _rows(controller)
            else:
                rows = await _rows(await holder(connection, client, whereabouts))
        except NotReached as error:
            missing.append(f"no controller was asked about foreign writers, gates and old data: {error}")
        if rows is not None and rows.partial:
            # What an instance that does not lead remembers may be from long ago.
            missing.append(f"what the controller knows was not looked at: {rows.partial}")
            rows = None
        return await Reader(client, namespace).facts(rows, missing)


async def _rows(controller: "Controller") -> Rows:
    """What the controller knows. Raises NotReached."""
    from controller.cli.explain_whereabouts import NotReached  # noqa: PLC0415

    status, body = await controller.get(PATH)
    try:
        if status == _OK:
            return msgspec.json.decode(body, type=Rows)
    except UNDECODABLE as error:
        raise NotReached(f"{controller.where} answers in a form that this version does not know: {error}") from error
    raise NotReached(f"{controller.where} answers with HTTP status {status}: it is too old, or no hpa-controller")
