"""What would have been decided: settings and specs that replace the recorded ones (`replay --set`, `--hpa`)."""

import math
from collections.abc import Iterable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from controller.decide.gates import GATES
from controller.decide.spec import Settings
from controller.wire.durations import parse_duration

_DURATIONS: Final = {
    "downscaleStabilization": "downscale_stabilization_ns",
    "cpuInitializationPeriod": "cpu_initialization_period_ns",
    "initialReadinessDelay": "initial_readiness_delay_ns",
}
_TRUTH: Final = {"true": True, "false": False}
NAMES: Final = ("tolerance", *_DURATIONS, *GATES)


class VariantError(ValueError):
    """An assignment that cannot be understood; the message names it."""


class Variant(msgspec.Struct, frozen=True):
    """Another way to decide.

    `assignments` are as for `varied`; `spec` is the JSON of an autoscaling/v2 spec, None for the recorded one.
    """

    label: str
    assignments: tuple[str, ...] = ()
    spec: dict[str, Any] | None = None


AS_RECORDED: Final = Variant("recorded")


def varied(recorded: Settings, assignments: Iterable[str]) -> Settings:
    """The recorded settings with `NAME=VALUE` assignments in force.

    Names are those of a version 1 header's settings and of feature gates; durations are Go durations.

    Raises:
        VariantError: an unknown name or a malformed value.
    """
    changed = recorded
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator or name not in NAMES:
            raise VariantError(f"{assignment!r} is not NAME=VALUE with one of {', '.join(NAMES)}")
        try:
            changed = _assigned(changed, name, value)
        except ValueError as error:
            raise VariantError(f"{assignment!r}: {error}") from error
    return changed


def _assigned(settings: Settings, name: str, value: str) -> Settings:
    if name == "tolerance":
        return replace(settings, tolerance=_tolerance(value))
    if name in _DURATIONS:
        duration_ns = parse_duration(value)
        if duration_ns < 0:
            raise ValueError(f"{value!r} is not a duration from 0s on, such as 300s")
        return replace(settings, **{_DURATIONS[name]: duration_ns})
    if value.lower() not in _TRUTH:
        raise ValueError(f"{value!r} is not true or false")
    return replace(settings, gates=replace(settings.gates, **{GATES[name]: _TRUTH[value.lower()]}))


def _tolerance(text: str) -> float:
    try:
        tolerance = float(text)
    except ValueError:
        tolerance = math.nan
    if not 0.0 <= tolerance < math.inf:
        raise ValueError(f"{text!r} is not a finite number from 0 on, such as 0.1")
    return tolerance
