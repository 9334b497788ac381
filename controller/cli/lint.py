"""`hpa-controller lint`: what the API server and the controller will make of manifests."""

import argparse
import sys

from controller.cli.outcome import BAD_INPUT, DONE, NO, complain, say
from controller.decide.gates import GateError, parse_gates
from controller.manifest import lint, render
from controller.manifest.load import UnreadableError

USAGE = "-f FILE... [FLAGS]"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Files, how to print, and the gates to assume."""
    parser.add_argument(
        "-f",
        "--filename",
        nargs="+",
        action="extend",
        required=True,
        metavar="FILE",
        help="manifests in YAML or JSON, folders of them, or - for standard input",
    )
    parser.add_argument(
        "-R",
        "--recursive",
        action="store_true",
        help="read the folders in folders, too",
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="lines for people, or JSON per document (default text)",
    )
    parser.add_argument(
        "--feature-gates",
        default="",
        metavar="GATE=BOOL,…",
        help="of the API server, if not 1.36's defaults",
    )


def run(parsed: argparse.Namespace) -> int:
    """Print what was found; 1 if any document has errors."""
    try:
        gates = parse_gates(parsed.feature_gates)
        results = lint.lint_files(parsed.filename, sys.stdin.buffer, gates, recursive=parsed.recursive)
    except GateError as error:
        return complain(f"--feature-gates: {error}", BAD_INPUT)
    except UnreadableError as error:
        return complain(str(error), BAD_INPUT)
    say(*(render.json_lines(results) if parsed.output == "json" else render.text(results)))
    return NO if lint.failed(results) else DONE
