"""What `simulate` is asked for: the ways to decide, the load, and the pods at first."""

import argparse
import math
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Final

import msgspec

from controller.cli.replay_manifests import Manifest, check_stdin, parted
from controller.cli.replay_views import VARIANTS_MAX, listed
from controller.decide.spec import Autoscaler, Settings
from controller.manifest.load import FILE_BYTES_MAX
from controller.os_errors import why
from controller.recording.variants import VariantError, varied
from controller.simulation.curve import Curve, parse_curve, parse_history
from controller.simulation.loop import TICK_NS
from controller.simulation.meter import Plan, name_of
from controller.wire.autoscalers import spec_from
from controller.wire.durations import format_duration
from controller.wire.errors import WireError

AS_GIVEN: Final = "as given"
NAMESPACE: Final = "default"
MOMENTS_MAX: Final = 1_000_000
"""How often it may be looked at what happens, be it for a sync, for a measurement or in between."""

PODS_MAX: Final = 10_000
"""How many pods a target may come to have."""

_GATES: Final = "gates are given with --set"
_USUAL_SHARE: Final = 0.9
"""How far the load goes if nothing is said: to so much of what all replicas can carry."""


class AskedError(ValueError):
    """It cannot be simulated; the message says why."""


class Way(msgspec.Struct, frozen=True):
    """A way to decide, and what it is called."""

    label: str
    autoscaler: Autoscaler


def ways_of(file: str, name: str, assignments: Sequence[str], variants: Sequence[str]) -> list[Way]:
    """The HPA of a manifest under `NAME=VALUE` assignments, then its variants: further ones, separated by commas.

    A variant has the assignments, too, where it does not say otherwise, and its label names them. `name` chooses one of
    several HPAs; `hpa=FILE` in a variant puts another manifest in its place.

    Raises:
        AskedError, VariantError: something is not understood, or ambiguous.
        ManifestError, UnreadableError: a manifest cannot be used.
    """
    asked = [[part.strip() for part in text.split(",")] for text in variants]
    check_stdin([f"hpa={file}", *chain.from_iterable(asked)])
    manifest = Manifest(file, _GATES)
    settings = varied(Settings(), assignments)
    key = _key(manifest, name)
    ways = [Way(_label(assignments) or AS_GIVEN, _autoscaler(key, manifest, settings))]
    for text, parts in zip(variants, asked, strict=True):
        changes, files = parted(parts)
        if len(files) > 1 or "" in files:
            raise VariantError(f"{text!r}: name one manifest, as in hpa=FILE")
        changed = varied(settings, changes)
        other = Manifest(files[0], _GATES) if files else manifest
        label = _label([*assignments, *parts])
        if any(way.label == label for way in ways):
            raise AskedError(f"--variant {text}: it is given twice")
        ways.append(Way(label, _autoscaler(key, other, changed)))
    if len(ways) > VARIANTS_MAX:
        raise AskedError(f"{len(ways)} ways are too many; {VARIANTS_MAX} can be held against each other")
    return ways


def plan_of(parsed: argparse.Namespace, ways: Sequence[Way]) -> tuple[Plan, str]:
    """How the target behaves, and its loads as they are written.

    Raises:
        AskedError: a load cannot be understood, or is of a metric that there is not.
    """
    names = {name_of(metric) for way in ways for metric in way.autoscaler.metrics}
    texts: dict[str, str] = {}
    for text in parsed.loads:
        name, named, curve = text.partition("=")
        if not named or text.startswith("@"):
            name, curve = "", text
        elif not name:
            raise AskedError(f"--load {text}: name a metric before the =, or leave it away")
        if name and name not in names:
            raise AskedError(f"--load {text}: the HPA has no metric {name}, only {', '.join(sorted(names))}")
        if name in texts:
            raise AskedError(f"--load {text}: the load of {name or 'all metrics'} is given twice")
        texts[name] = curve
    if names <= texts.keys():
        if "" in texts:
            raise AskedError(f"--load {texts['']}: the HPA has no other metric than {', '.join(sorted(names))}")
    elif "" not in texts:
        texts[""] = _usual(ways[0].autoscaler)
    plan = Plan(
        loads={name: _curve(name, text) for name, text in texts.items()},
        start_up_ns=parsed.start_up,
        start_up_usage=parsed.start_up_usage,
        capacity=parsed.capacity,
        resolution_ns=parsed.metric_resolution,
        noise=parsed.noise,
    )
    return plan, " and ".join(f"{name}={text}" if name else text for name, text in texts.items())


def duration_ns(parsed: argparse.Namespace, plan: Plan) -> int:
    """How long is simulated.

    Raises:
        AskedError: it would be too much.
    """
    length_ns: int = plan.end_ns if parsed.duration is None else parsed.duration
    often_ns = min(parsed.horizontal_pod_autoscaler_sync_period, plan.resolution_ns, TICK_NS)
    if length_ns > often_ns * MOMENTS_MAX:
        most = format_duration(often_ns * MOMENTS_MAX)
        raise AskedError(
            f"{format_duration(length_ns)} is too long to be simulated; with these periods {most} is the most"
        )
    return length_ns


def replicas_at_first(asked: int | None, autoscaler: Autoscaler, plan: Plan) -> int:
    """What was asked for, else what the load needs at first within the HPA's bounds, at least one."""
    if asked is not None:
        return asked
    # None at all, which no HPA has brought about, is a pause (§12.3).
    return min(max(math.ceil(plan.most(0)), autoscaler.replicas_min, 1), autoscaler.spec.replicas_max)


def _label(parts: Sequence[str]) -> str:
    """All that holds: of several values of one name the last."""
    held = {part.partition("=")[0]: part for part in parts}
    # A name of a file need not be Unicode, what is shown has to be.
    return ", ".join(held.values()).encode("utf-8", "backslashreplace").decode()


def _key(manifest: Manifest, name: str) -> str:
    """Namespace and name of the HPA that is meant."""
    names = manifest.names
    if not name and len(names) > 1:
        raise AskedError(
            f"there are several HorizontalPodAutoscalers; choose one with --name: {listed(set(names), '')}"
        )
    if name and names and not {name, name.partition("/")[2]} & {*names}:
        raise AskedError(f"--name: no HorizontalPodAutoscaler in it is {name}, only {listed(set(names), name)}")
    meant = name or "".join(names)
    return meant if "/" in meant else f"{NAMESPACE}/{meant}"


def _autoscaler(key: str, manifest: Manifest, settings: Settings) -> Autoscaler:
    namespace, _, name = key.partition("/")
    try:
        spec = spec_from(manifest.spec(key, settings.gates))
    except WireError as error:
        raise AskedError(f"{key}: {error}") from error
    if spec.replicas_max > PODS_MAX:
        raise AskedError(
            f"{key}: spec.maxReplicas: {spec.replicas_max} is more than the {PODS_MAX:,} that are simulated"
        )
    return Autoscaler(namespace, name, spec, settings)


def _usual(autoscaler: Autoscaler) -> str:
    """A wave that takes an HPA through nearly all of its replicas."""
    least = max(autoscaler.replicas_min, 1)
    return f"{least}~{max(float(least), _USUAL_SHARE * autoscaler.spec.replicas_max):g}/30m"


def _curve(name: str, text: str) -> Curve:
    try:
        return parse_history(_read(Path(text[1:]))) if text.startswith("@") else parse_curve(text)
    except ValueError as error:
        raise AskedError(f"--load {f'{name}={text}' if name else text}: {error}") from error


def _read(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            text = opened.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise ValueError(why(error)) from error
    if len(text) > FILE_BYTES_MAX:
        raise ValueError(f"it is larger than {FILE_BYTES_MAX // 2**20} MiB")
    return text.decode("utf-8-sig", "backslashreplace")
