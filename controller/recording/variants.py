"""What would have been decided: settings that replace the recorded ones (`replay --set`)."""

from collections.abc import Iterable
from typing import Final

from controller.decide.gates import GATES
from controller.recording.format import Settings
from controller.wire.durations import parse_duration

_DURATIONS: Final = {
    "downscaleStabilization": "downscale_stabilization",
    "cpuInitializationPeriod": "cpu_initialization_period",
    "initialReadinessDelay": "initial_readiness_delay",
}
_TRUTH: Final = {"true": True, "false": False}
NAMES: Final = ("tolerance", *_DURATIONS, *GATES)


class VariantError(ValueError):
    """An assignment that cannot be understood; the message names it."""


def varied(recorded: Settings, assignments: Iterable[str]) -> Settings:
    """The recorded settings with `NAME=VALUE` assignments in force.

    Names are those of the header's settings and of feature gates; durations are Go durations.

    Raises:
        VariantError: an unknown name or a malformed value.
    """
    changed = Settings(
        recorded.sync_period,
        recorded.tolerance,
        recorded.downscale_stabilization,
        recorded.cpu_initialization_period,
        recorded.initial_readiness_delay,
        dict(recorded.feature_gates or {}),
    )
    for assignment in assignments:
        name, separator, value = assignment.partition("=")
        if not separator or name not in NAMES:
            raise VariantError(f"{assignment!r} is not NAME=VALUE with one of {', '.join(NAMES)}")
        try:
            _assign(changed, name, value)
        except (ValueError, KeyError) as error:
            raise VariantError(f"{assignment!r}: {error}") from error
    return changed


def _assign(settings: Settings, name: str, value: str) -> None:
    if name == "tolerance":
        settings.tolerance = float(value)
    elif name in _DURATIONS:
        setattr(settings, _DURATIONS[name], parse_duration(value) // 10**9)
    else:
        gates = settings.feature_gates if settings.feature_gates is not None else {}
        gates[name] = _TRUTH[value.lower()]
        settings.feature_gates = gates
