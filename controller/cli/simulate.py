"""`hpa-controller simulate`: what an HPA would do under a load, in virtual time."""

import argparse
import random
from collections.abc import Iterator, Sequence
from itertools import chain

from controller.cli.outcome import BAD_INPUT, DONE, complain, say
from controller.cli.replay_manifests import ManifestError
from controller.cli.report_file import stored
from controller.cli.simulate_asked import PODS_MAX, AskedError, Way, duration_ns, plan_of, replicas_at_first, ways_of
from controller.cli.simulate_report import Report
from controller.cli.simulate_views import Moments, comparison_lines, heading, json_lines, summary_lines, timeline_lines
from controller.flag_values import (
    Once,
    add_flag,
    count,
    duration,
    file_name,
    new_file,
    not_negative,
    positive_duration,
    share,
)
from controller.manifest.load import UnreadableError
from controller.recording.variants import NAMES, VariantError
from controller.simulation.curve import VALUE_MAX
from controller.simulation.loop import Simulation, Step
from controller.simulation.meter import Plan
from controller.simulation.tally import Tally
from controller.wire.errors import escaped

USAGE = "-f FILE [--load CURVE] [FLAGS]"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The HPA, its load, how its pods behave, and what to hold against each other."""
    parser.add_argument(
        "-f",
        "--filename",
        action=Once,
        type=file_name,
        required=True,
        metavar="FILE",
        help="the manifest with the HPA, or - for standard input",
    )
    parser.add_argument("--name", default="", metavar="NAMESPACE/NAME", help="the HPA, if the manifest has several")
    parser.add_argument(
        "-o",
        "--output",
        choices=("text", "json"),
        default="text",
        help="lines for people, or JSON per sync and a summary (default text)",
    )
    parser.add_argument(
        "--report", type=new_file, metavar="FILE.html", help="draw it into a page that needs no network"
    )
    _add_load(parser)
    _add_pods(parser)
    ways = parser.add_argument_group("what if", "Other ways to decide; each has pods of its own under the same load.")
    add_flag(ways, "--horizontal-pod-autoscaler-sync-period", positive_duration, "15s", "how often the HPA is synced")
    ways.add_argument(
        "--set",
        action="append",
        default=[],
        dest="assignments",
        metavar="NAME=VALUE",
        help=f"another setting (repeatable), such as tolerance=0.05; NAME is one of {', '.join(NAMES)}",
    )
    ways.add_argument(
        "--variant",
        action="append",
        default=[],
        dest="variants",
        metavar="NAME=VALUE,…",
        help="one more way to decide, held against the others (repeatable): tolerance=0.2,hpa=FILE; what --set says "
        "holds for it, too",
    )


def _add_load(parser: argparse.ArgumentParser) -> None:
    load = parser.add_argument_group(
        "load",
        "In replicas' worth: 4 is what four ready pods carry at exactly the target. A curve is a number (4), a wave "
        "(2~10/30m: from 2 to 10 and back in half an hour), or points with straight lines between them "
        "(4@0s,4@5m,12@5m: 4 for five minutes, then 12); @FILE has lines of a time and a load, as they were.",
    )
    load.add_argument(
        "--load",
        action="append",
        default=[],
        dest="loads",
        metavar="[METRIC=]CURVE",
        help="the load, or that of one metric by its name (repeatable; default a wave within the HPA's replicas)",
    )
    add_flag(load, "--noise", share, "0", "the share by which a measurement differs from the load at most")
    add_flag(load, "--seed", count, "1", "another number is another noise")
    load.add_argument(
        "--duration",
        type=positive_duration,
        metavar="DURATION",
        help="how long is simulated (default: two waves, or until a quarter of an hour after the last point)",
    )


def _add_pods(parser: argparse.ArgumentParser) -> None:
    pods = parser.add_argument_group("pods")
    pods.add_argument(
        "--replicas",
        type=_replicas,
        metavar="NUMBER",
        help="how many there are at first (default: as the load needs, at least one)",
    )
    add_flag(pods, "--start-up", duration, "30s", "how long a new pod is not ready")
    add_flag(
        pods,
        "--start-up-usage",
        _times,
        "0",
        "what it uses of CPU and memory until then, in shares of the target",
        "NUMBER",
    )
    pods.add_argument(
        "--capacity",
        type=_capacity,
        metavar="NUMBER",
        help="how many times the target a pod can carry at most, as with a CPU limit (default: without an end)",
    )
    add_flag(
        pods,
        "--metric-resolution",
        positive_duration,
        "15s",
        "how often metrics are measured; CPU is the mean since the measurement before",
    )


def _times(text: str) -> float:
    """So many times the target."""
    times = not_negative(text)
    if times > VALUE_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {VALUE_MAX:,}")
    return times


def _capacity(text: str) -> float:
    """So many times the target, but not none at all."""
    times = _times(text)
    if times == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0")
    return times


def _replicas(text: str) -> int:
    """A number of pods that can be simulated."""
    replicas = count(text)
    if replicas > PODS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {PODS_MAX:,}")
    return replicas


def run(parsed: argparse.Namespace) -> int:
    """Simulate every way, and show it."""
    try:
        ways = ways_of(parsed.filename, parsed.name, parsed.assignments, parsed.variants)
        plan, loads = plan_of(parsed, ways)
        length_ns = duration_ns(parsed, plan)
    except (AskedError, ManifestError, UnreadableError, VariantError) as error:
        return complain(str(error), BAD_INPUT)
    period_ns = parsed.horizontal_pod_autoscaler_sync_period
    labels = [way.label for way in ways]
    course = _Course(parsed, ways, plan)
    moments = course.moments(length_ns, period_ns)
    key = ways[0].autoscaler.key
    about = heading(key, loads, plan, length_ns, period_ns)
    for line in _lines(parsed.output, about, labels, moments, course.tallies, key):
        say(line)
    if course.report is None:
        return DONE
    return stored(parsed.report, course.report.page(f"Simulation of {key}", about, course.tallies))


def _lines(
    output: str, about: str, labels: Sequence[str], moments: Moments, tallies: Sequence[Tally], key: str
) -> Iterator[str]:
    """What is shown; `tallies` are full when `moments` have been gone through."""
    if output == "json":
        yield from json_lines(key, labels, moments, tallies)
        return
    shown = timeline_lines(moments) if len(labels) == 1 else comparison_lines(labels, moments)
    yield from map(escaped, chain([about], shown))
    yield from map(escaped, summary_lines(tallies))


class _Course:
    """All ways, sync by sync, counted and drawn as they are gone through."""

    def __init__(self, parsed: argparse.Namespace, ways: Sequence[Way], plan: Plan) -> None:
        self._simulations = [
            Simulation(
                way.autoscaler,
                plan,
                replicas_at_first(parsed.replicas, way.autoscaler, plan),
                _Noise(parsed.seed).uniform,
            )
            for way in ways
        ]
        self.tallies = [Tally() for _ in ways]
        self.report = None if parsed.report is None else Report([way.label for way in ways])

    def moments(self, duration_ns: int, sync_period_ns: int) -> Iterator[tuple[Step, ...]]:
        """Every sync, with what each way does at it."""
        for moment in zip(*(one.steps(duration_ns, sync_period_ns) for one in self._simulations), strict=True):
            for tally, step in zip(self.tallies, moment, strict=True):
                tally.take(step)
            if self.report is not None:
                self.report.take(moment)
            yield moment


class _Noise:
    """Random numbers, the same for a metric by its name whatever others there are."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._random: dict[str, random.Random] = {}

    def uniform(self, name: str) -> float:
        """The next one of a metric, from 0 to 1."""
        if name not in self._random:
            self._random[name] = random.Random(f"{self._seed}/{name}")  # noqa: S311 - noise is no secret
        return self._random[name].random()
